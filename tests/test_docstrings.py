"""Docstrings say what signatures say, and documents name what exists."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

import nearlabel
from nearlabel.cli import build_parser

ROOT = Path(__file__).parents[1]
MODULES = [name for name in dir(nearlabel) if inspect.ismodule(getattr(nearlabel, name))]


def public_objects():
    """Yield every public class, method and function of the library."""
    for name in MODULES:
        module = importlib.import_module(f"nearlabel.{name}")
        public = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
        for entry in public:
            thing = getattr(module, entry)
            if not callable(thing) or not getattr(thing, "__module__", "").startswith("nearlabel"):
                continue
            yield f"{name}.{entry}", thing
            if inspect.isclass(thing):
                for member, function in inspect.getmembers(thing, inspect.isfunction):
                    if not member.startswith("_") and function.__module__.startswith("nearlabel"):
                        yield f"{name}.{entry}.{member}", function


def documented_parameters(docstring):
    """Return the names in the section Parameters, or None where there is none."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(docstring), re.M | re.S)
    if section is None:
        return None
    heads = re.findall(r"^(\S[^:\n]*?) ?(?::|$)", section.group(1), re.M)
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


OBJECTS = dict(public_objects())


def signature_of(thing):
    """Return the names of a function's or class's parameters."""
    return [name for name in inspect.signature(thing).parameters if name != "self"]


def test_public_objects_have_a_docstring():
    """Everything public is documented."""
    assert [name for name, thing in OBJECTS.items() if not thing.__doc__] == []


def test_documented_parameters_are_those_of_the_signature():
    """A section Parameters lists the parameters of the signature, in their order."""
    documented = {name: documented_parameters(thing.__doc__ or "") for name, thing in OBJECTS.items()}
    documented = {name: parameters for name, parameters in documented.items() if parameters is not None}
    assert documented == {name: signature_of(OBJECTS[name]) for name in documented}


def test_parameters_of_every_class_are_documented():
    """A class that takes parameters documents them on the class."""
    classes = {
        n: c for n, c in OBJECTS.items() if inspect.isclass(c) and not issubclass(c, Exception) and signature_of(c)
    }
    assert [name for name, of in classes.items() if not documented_parameters(of.__doc__)] == []


@pytest.mark.parametrize("first", [1, pytest.param(None, marks=pytest.mark.long)], ids=["first", "all"])
def test_the_examples_of_the_readme_print_what_it_shows(first, capsys):
    """The programs run one after the other, and each prints the text behind it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", readme, re.S)
    assert len(shown) == 2
    names = {}
    for program, output in shown[:first]:
        exec(program, names)
        assert capsys.readouterr().out == output != ""


def test_commands_of_the_documents_exist():
    """Every `nearlabel ...` command line in README and docs is one that the parser takes."""
    parser = build_parser()
    found = 0
    for document in [ROOT / "README.md", *ROOT.glob("docs/*.md")]:
        for line in re.findall(r"^(?:\$ )?nearlabel (.+)$", document.read_text(), re.M):
            parser.parse_args(line.split())
            found += 1
    assert found >= 4


def test_links_of_the_documents_lead_somewhere():
    """Every relative link of the documents names a file or folder."""
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md")]
    links = [(d, link) for d in documents for link in re.findall(r"\]\((?!http)([^)#]+)", d.read_text())]
    assert [f"{d.name}: {link}" for d, link in links if not (d.parent / link).exists()] == []


def test_every_command_is_documented():
    """The page of the command line has a section for each command, with all its options that no section above has."""
    page = (ROOT / "docs" / "command_line.md").read_text()
    actions = build_parser()._actions
    commands = next(a for a in actions if hasattr(a, "choices") and isinstance(a.choices, dict)).choices
    common = {o for action in actions for o in action.option_strings}
    shared = page.partition("\n## `nearlabel ")[0]
    assert all(f"`{o}" in page for o in common - {"-h", "--help", "--version"})
    for name, command in commands.items():
        section = re.search(rf"^## `nearlabel {name}`\n(.*?)(?=^## |\Z)", page, re.M | re.S)
        assert section, f"{name} is not documented"
        options = [o for action in command._actions for o in action.option_strings if o.startswith("--")]
        assert [o for o in options if o not in common and f"`{o}" not in section.group(1) + shared] == []
