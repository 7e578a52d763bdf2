"""The page on adding a paper: its files are written, its command is run, its program runs."""

import shlex

import pytest

from _pages import blocks
from nearlabel import cli

BLOCKS = blocks("howto/add_a_paper")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files of the page, in a folder of their own."""
    for block in BLOCKS:
        if block.file:
            (tmp_path / block.file).write_text(block.text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(text):
    """The lines without blanks at their ends, and without empty lines around."""
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


def test_the_files_of_the_page(folder):
    """A data set and a paper."""
    assert sorted(path.name for path in folder.iterdir()) == ["smith2026.toml", "songs.csv"]


def test_the_command_of_the_page(folder, capsys):
    """It prints what the page shows."""
    (session,) = (block.text for block in BLOCKS if not block.kind)
    command, expected = session.removeprefix("$ nearlabel ").split("\n", 1)
    code, printed = cli.main(shlex.split(command)), capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert lines(printed.out) == lines(expected)


def test_the_program_of_the_page(folder, capsys):
    """It prints the table's largest differences, and a figure's curve of two points."""
    (program,) = (block.text for block in BLOCKS if block.kind == "python")
    names = {}
    exec(program, names)
    largest, curve = capsys.readouterr().out.splitlines()
    assert largest == str(names["table"].largest_differences())
    assert set(names["table"].largest_differences()) == {"hamming_loss", "micro_f1"}
    assert curve.startswith("{1: 0.1666")


@pytest.mark.long
def test_a_run_of_the_paper_resumes_and_is_compared(folder, capsys):
    """Its records lie in the folder of --out, and are those of any other run."""
    assert cli.main(["reproduce", "smith2026.toml", "--out", "results", "--format", "csv"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 1 + 4 + 2 * 2  # header, cells, points
    assert (folder / "results" / "smith2026-figure1.png").is_file()
    assert cli.main(["compare", "results/smith2026-main", "--over", "folds"]) == 0


def test_a_method_of_a_user(folder, capsys):
    """A name in the file stands for what the command says; without it the command is refused, and nothing imported."""
    paper = folder / "smith2026.toml"
    paper.write_text(paper.read_text().replace("brknn", "mine"))
    code = cli.main(["reproduce", "smith2026.toml", "--table", "2", "--method", "mine=nearlabel.lazy:BRkNN"])
    assert code == 0
    assert "mine     3   hamming_loss   0.170 ± 0.080   0.167 ± 0.083" in capsys.readouterr().out
    paper.write_text(paper.read_text().replace("mine", "./mine.py:Mine"))
    assert cli.main(["reproduce", "smith2026.toml", "--table", "2"]) == 2
    assert "if you trust the code, add --method mine=module:Class to the command" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        cli.main(["reproduce", "smith2026.toml", "--method", "mine"])
    assert "must be NAME=WHAT, as in mine=./mine.py:Mine, got 'mine'" in capsys.readouterr().err
