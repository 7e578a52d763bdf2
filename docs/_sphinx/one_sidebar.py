"""The sidebar names every page on every page: it is made once, and each page marks its own place in it.

Sphinx and the theme would make it anew for each page, which took half of the time of a build.
"""

import re
from functools import cache, partial
from typing import Any

from sphinx.environment.adapters.toctree import TocTree


def setup(app: Any) -> dict[str, bool]:
    """Give the theme the tree to work on, and mark what it made of it."""
    app.connect("html-page-context", _give_tree, priority=100)
    app.connect("html-page-context", _mark_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _give_tree(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    context["toctree"] = partial(_tree_of_start_page, app)


@cache  # before the processes start that write pages: the first page is written without them
def _tree_of_start_page(app: Any, **options: Any) -> str:
    """Return the tree as the start page has it: links lead from the top folder, and no page is marked."""
    tree = TocTree(app.env).get_toctree_for(app.config.root_doc, app.builder, **options)
    return app.builder.render_partial(tree)["fragment"]


def _mark_page(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark the page, open the branches that lead to it, let links lead from its folder, name the headings' level."""
    sidebar = context.get("furo_navigation_tree", "")
    for name in TocTree(app.env).get_toctree_ancestors(page):
        sidebar = re.sub(
            rf'<li class="([^"]*)"><a class="(reference internal)" href="({re.escape(name)}\.html)">(.*?</a>)(<input)?',
            partial(_marked, here=name == page),
            sidebar,
        )
    sidebar = re.sub(r'href="(?!#|\w+:)', f'href="{"../" * page.count("/")}', sidebar)
    # Screen readers want the level, which the theme leaves out.
    context["furo_navigation_tree"] = sidebar.replace('role="heading"', 'role="heading" aria-level="2"')


def _marked(entry: re.Match[str], here: bool) -> str:
    classes, link, address, name, switch = entry.groups(default="")
    if here:
        classes, link, address = f"{classes} current-page", f"current {link}", "#"
    switch = switch and f'{switch} checked=""'
    return f'<li class="{classes} current"><a class="{link}" href="{address}">{name}{switch}'
