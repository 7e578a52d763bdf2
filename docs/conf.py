"""How Sphinx makes the documentation site: `make docs`."""

import sys
from importlib.metadata import version as version_of
from pathlib import Path

from pygments.lexers.special import TextLexer

sys.path.insert(0, str(Path(__file__).parent / "_sphinx"))

project = "nearlabel"
author = "the nearlabel developers"
project_copyright = author
version = release = version_of("nearlabel")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "outside_links",
    "short_names",
    "users_pages",
]
exclude_patterns = ["_*", "gallery/**/*.ipynb", "gallery/**/*.py", "gallery/**/*.zip", "gallery/**/*.json"]
templates_path = ["_templates"]

# Pages are plain Markdown, readable on a code host too; headings can be linked to.
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]

# The reference is made of docstrings alone. Names in backquotes are links where there is something to link to.
default_role = "py:obj"
highlight_language = "none"  # of blocks that name no language: commands
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autosummary_ignore_module_all = False
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "furo"
html_title = f"nearlabel {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_copy_source = False
html_search_scorer = str(Path(__file__).parent / "_sphinx" / "scorer.js")
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "light_logo": "logo_light.svg",
    "dark_logo": "logo_dark.svg",
    "navigation_with_keys": True,
}

# A button copies a program without its outputs, or a command without its prompt; what is printed has no button.
copybutton_selector = "div:is(.highlight-python, .highlight-console, .highlight-none, .highlight-doctest) pre"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_copy_empty_lines = False  # those of outputs
copybutton_line_continuation_character = "\\"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/(?!reuters_)\w+\.py$",  # that one needs real data and an encoder
    "within_subsection_order": "gallery_order.GalleryOrder",
    "image_scrapers": ("matplotlib", "written_pictures.collect"),
    "thumbnail_size": (480, 320),
    "write_computation_times": False,
    "show_signature": False,
    "download_all_examples": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
}


def setup(app):
    """Show blocks of CSV as plain text: Pygments has no lexer for them."""
    app.add_lexer("csv", TextLexer)
    app.connect("html-page-context", set_levels_of_captions, priority=900)  # behind the theme, which makes the sidebar


def set_levels_of_captions(app, pagename, templatename, context, doctree):
    """Name the level of the sidebar's headings, which the theme leaves out, for screen readers."""
    sidebar = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = sidebar.replace('role="heading"', 'role="heading" aria-level="2"')
