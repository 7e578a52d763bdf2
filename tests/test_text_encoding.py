"""Text has an encoding that is stated: that of the machine's language is another on each."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "nearlabel"
_OF_TEXT = {"read_text", "write_text"}


def faults(name, tree):
    """Yield the calls that open text without an encoding.

    `open` as a method counts where its mode is written there, or where it is called without arguments, as that of a
    path is.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or any(keyword.arg == "encoding" for keyword in node.keywords):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = 0 if isinstance(node.func, ast.Attribute) else 1
        modes = [of.value for of in node.keywords if of.arg == "mode"] + node.args[place : place + 1]
        mode = modes[0].value if modes and isinstance(modes[0], ast.Constant) else None
        is_mode = isinstance(mode, str) and set(mode) <= set("rwxabt+")
        is_other = isinstance(node.func, ast.Attribute) and (getattr(node.func.value, "id", "") == "os" or modes)
        if called in _OF_TEXT or (called == "open" and (("b" not in mode) if is_mode else not is_other)):
            yield f"{name}, line {node.lineno}: {called} without an encoding"


@pytest.mark.long
def test_every_text_has_an_encoding():
    """No module opens, reads or writes text in the encoding of the machine."""
    files = sorted(SOURCE.rglob("*.py"))
    trees = ((str(path.relative_to(SOURCE)), ast.parse(path.read_text(encoding="utf-8"))) for path in files)
    assert [fault for name, tree in trees for fault in faults(name, tree)] == []


def test_the_check_finds_faults():
    """What lacks an encoding is listed, and nothing else."""
    program = (
        'path.read_text()\npath.write_text("a")\nopen("a")\nopen("a", "w")\npath.open()\npath.open("a+")\n'
        'path.open(mode="w")\n'
        'path.read_text(encoding="utf-8")\nopen("a", "rb")\nopen("a", encoding="ascii")\npath.open("wb")\n'
        "os.open(folder, os.O_RDONLY)\narchive.open(member)\n"
    )
    assert [fault.split(",")[1] for fault in faults("a.py", ast.parse(program))] == [f" line {n}: {of}" for n, of in (
        (1, "read_text without an encoding"), (2, "write_text without an encoding"), (3, "open without an encoding"),
        (4, "open without an encoding"), (5, "open without an encoding"), (6, "open without an encoding"),
        (7, "open without an encoding"),
    )]  # fmt: skip
