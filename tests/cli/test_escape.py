import csv
import json
import sys

import numpy as np
import pytest

from nearlabel.cli import _console
from nearlabel.persistence import load_model, read_card, save_model
from nearlabel.utils.characters import escape_line

ESCAPE = "\x1b]0;gotcha\x07"
NASTY = f"tag_{ESCAPE}two\nlines|\u202e"
SHOWN = r"tag_\x1b]0;gotcha\x07two\nlines|\u202e"


@pytest.fixture
def nasty(tmp_path):
    """Rows with a label and a feature whose names would act on a terminal."""
    rng = np.random.default_rng(0)
    file = tmp_path / "nasty.csv"
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([f"x{ESCAPE}", "y", NASTY, "tag_plain"])
        writer.writerows([*row, int(row[0] > 0), int(row[1] > 0)] for row in rng.normal(size=(30, 2)))
    return file


def test_signs():
    """All that is no sign to be read; letters of any language, and signs joined by a joiner, stay as they are."""
    assert escape_line("a\tb\nc") == r"a\tb\nc"
    assert escape_line("\x00\x1b[31m\x7f\x9b\r\u2028\u2066") == r"\x00\x1b[31m\x7f\x9b\r\u2028\u2066"
    assert escape_line("\u061c\u200e\u200f\u202e\ufffe\uffff") == r"\u061c\u200e\u200f\u202e\ufffe\uffff"
    plain = "café 中文 سلام שלום \N{ZERO WIDTH JOINER} [b] \\x1b"
    assert escape_line(plain) == plain


def test_names_do_not_act(nearlabel, nasty, tmp_path):
    """On the screen every command shows them, each in one row; files keep them as they are."""
    options, model = ("--labels-prefix", "tag_"), tmp_path / "m.skops"
    assert (
        nearlabel("fit", nasty, *options, "--method=mlknn", "--k", 3, "--thresholds", "0.3", "--out", model).code == 0
    )
    shown = [
        nearlabel("describe", nasty, *options).out,
        nearlabel("card", model).out,
        nearlabel("card", model, "--format", "markdown").out.replace("\\|", "|"),
        nearlabel("explain", model, nasty, "--row", 0).out.replace("two lines", r"two\nlines"),
    ]
    for out in shown:
        assert SHOWN in out
        assert not set(out) & {"\x1b", "\x07", "\u202e"}
    assert json.loads(nearlabel("card", model, "--format", "json").out)["data"]["label_names"][0] == NASTY
    predictions = tmp_path / "p.jsonl"
    assert nearlabel("predict", model, nasty, "--out", predictions).code == 0
    assert {name for line in predictions.read_text().splitlines() for name in json.loads(line)["labels"]} <= {
        NASTY,
        "tag_plain",
    }


FORGED = "zz\nsound   model     bank.skops\nq"


def test_names_of_files_are_no_lines(nearlabel, tmp_path, monkeypatch):
    """A file cannot be named so that a line of its own appears; the notes of a card may have several."""
    monkeypatch.chdir(tmp_path)
    options, model = ("--labels-prefix", "tag_"), f"{FORGED}.skops"
    rows = [f"{row},{row * 7 % 11},{row % 2},{row // 15}" for row in range(30)]
    (tmp_path / f"{FORGED}.csv").write_text("\n".join(["x,y,tag_a,tag_b", *rows, ""]))
    answers = [
        nearlabel("fit", f"{FORGED}.csv", *options, "--method=mlknn", "--k", 3, "--out", model),
        nearlabel("update", model, f"{FORGED}.csv", "--force"),
        nearlabel("verify", "."),
        nearlabel("describe", f"{FORGED}.csv", *options),
        nearlabel("examine", f"{FORGED}.csv", *options),
        nearlabel("explain", model, f"{FORGED}.csv", "--row", 0, "--figure", f"{FORGED}.svg"),
        nearlabel("report", model, f"{FORGED}.csv", "--out", f"{FORGED}.html"),
        nearlabel("audit", model),
    ]
    for answer in answers:
        assert escape_line(FORGED) in answer.out, answer.err
        assert not [line for line in answer.out.splitlines() if line.startswith(("sound   model     bank", "q"))]
    card = read_card(model)
    save_model(load_model(model), "m.skops", notes="one\ntwo")
    assert card.data.name == FORGED
    assert nearlabel("card", "m.skops").out.splitlines()[-2:] == ["one", "two"]


def test_notes_and_errors_do_not_act(nearlabel, nasty, capsys):
    """One line each, on standard error."""
    _console.print_notes([f"a {NASTY}"])
    assert capsys.readouterr().err == f"nearlabel: a {SHOWN}\n".replace(r"\n", " ", 1)
    answer = nearlabel("fit", nasty, "--labels", "tag_plain", "--out", "m.skops", "--method", ESCAPE)
    assert answer.code == 2
    assert "\x1b" not in answer.err


@pytest.mark.parametrize("name", ["[/b]", ESCAPE])
def test_progress_of_any_name(monkeypatch, capsys, name):
    """What a file calls its data is neither markup nor a command."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with _console.progress_bar(f"models of {name}") as progress:
        progress(1, 2)
    assert f"models of {escape_line(name)}" in capsys.readouterr().err


def test_markdown_rows_stay_rows(capsys):
    """A new line in a name would end the table."""
    _console.print_markdown("a\nb", ("c\nd", "e|f"), [("g\nh", "i")])
    lines = capsys.readouterr().out.splitlines()
    assert lines == [r"**a\nb**", "", r"| c\nd | e\|f |", "| --- | ---: |", r"| g\nh | i |", ""]


def test_latex_cells_are_their_text(capsys):
    """No character of a name is a command, an option of the line before, or the end of a cell."""
    _console.print_latex("50 %\n", ("a_b", "F1 ↑"), [("[x] & {y}", "-0.5±0.1*"), ("*\\#$^~<|>", "1 ")])
    assert capsys.readouterr().out.splitlines() == [
        r"% 50 %\n",
        r"\begin{tabular}{lr}",
        r"\hline",
        r"a\_b & F1 $\uparrow$ \\",
        r"\hline",
        r"{[}x] \& \{y\} & $-$0.5$\pm$0.1{*} \\",
        r"{*}\textbackslash{}\#\$\textasciicircum{}\textasciitilde{}\textless{}\textbar{}\textgreater{} & 1 \\",
        r"\hline",
        r"\end{tabular}",
        "",
    ]
