"""The bars on a terminal that show how far long work has come."""

import gzip
import io
import json
import re
import sys

import numpy as np
import pytest

from nearlabel.cli import _console
from nearlabel.datasets import Dataset, load_multidigits, write_npz
from nearlabel.lazy import MLkNN
from nearlabel.persistence import save_model
from nearlabel.utils import progress


class _Terminal:
    """Standard error that says that it is a terminal."""

    def __init__(self, stream):
        self._stream = stream

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def isatty(self):
        return True


@pytest.mark.parametrize(("quiet", "shown"), [((), True), (("--quiet",), False)])
def test_progress(nearlabel, monkeypatch, tmp_path, capsys, quiet, shown):
    """On a terminal a bar with the time left, unless asked for quiet; elsewhere none."""
    path = write_npz(tmp_path / "digits.npz", load_multidigits())
    monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    monkeypatch.setenv("TERM", "xterm")
    answer = nearlabel(*quiet, "fit", path, "--method=mlknn", "--k", 3, "--out", tmp_path / "m.skops")
    assert answer.code == 0
    assert ("models of digits" in answer.err) == shown
    assert ("0:00:00" in answer.err) == shown
    assert not _console._QUIET.get()


PROGRESS = {
    "fit OUT --method mlknn --k 3 --validate none": ("reading DATA", "model of digits"),
    "fit OUT --k 3 --search exact --scale none": (
        "reading DATA",
        "methods for digits",
        "model of digits",
    ),
    "tune OUT --methods brknn --k 3 --scales none --search exact": (
        "reading DATA",
        "models of digits",
        "model of digits",
    ),
    "describe": ("reading DATA",),
    "predict MODEL --out p.csv --score": ("reading DATA", "rows"),
    "explain MODEL --row 3": ("explanation",),
    "report MODEL --rows 2 --out r.html": ("report",),
}


@pytest.mark.long
@pytest.mark.parametrize("command", PROGRESS)
def test_progress_of_all_long_work(nearlabel, monkeypatch, tmp_path, command):
    """Reading, searching, fitting, predicting and explaining: one bar at a time, and none with --quiet."""
    monkeypatch.chdir(tmp_path)
    digits = load_multidigits()
    data = Dataset(digits.X[:200], digits.Y[:200], digits.feature_names, digits.label_names, "digits")
    path = write_npz("digits.npz", data)
    save_model(MLkNN(3).fit(data.X, data.Y), "m.skops", data=data)
    monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    monkeypatch.setenv("TERM", "xterm")
    name, *options = command.replace("OUT", "--out n.skops").replace("MODEL", "m.skops").split()
    model, options = (options[:1], options[1:]) if "MODEL" in command else ([], options)
    answer = nearlabel(name, *model, path, *options)
    assert answer.code == 0
    bars = re.findall(r"(?<=\x1b\[2K)[a-z][\w. ]+?(?= +\x1b)", answer.err)
    assert tuple(dict.fromkeys(bars)) == tuple(text.replace("DATA", "digits.npz") for text in PROGRESS[command])
    force = ["--force"] if "OUT" in command else []
    assert nearlabel("--quiet", name, *model, path, *options, *force).err == ""


def test_a_search_moves_the_bar_of_fit(nearlabel, monkeypatch, tmp_path):
    """Also where nothing is evaluated, which leaves one search of all rows."""
    shares = []
    monkeypatch.setattr(progress._Bar, "hear", lambda self, share: shares.append(share))
    X = np.random.default_rng(0).normal(size=(9000, 12))
    names = [f"x{column}" for column in range(12)]
    path = write_npz(tmp_path / "many.npz", Dataset(X, (X[:, :2] > 0).astype(int), tuple(names), ("a", "b"), "many"))
    monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    answer = nearlabel("fit", path, "--method=mlknn", "--k", 3, "--validate", "none", "--out", tmp_path / "m.skops")
    assert answer.code == 0
    assert len(shares) > 1
    assert shares[0] < 0.9
    assert max(shares) == pytest.approx(1)


def large_file(folder, kind):
    """A file of more than one block, of three numbers and a 0/1 column."""
    X = np.random.default_rng(0).random((40_000, 3)).round(4)
    rows = [[int(row[0] > 0.5), *row] for row in X.tolist()]
    names = ("tag_a", "x0", "x1", "x2")
    if "arff" in kind:
        types = ("{0,1}", *["numeric"] * 3)
        head = [f"@attribute {name} {type_}" for name, type_ in zip(names, types, strict=True)]
        lines = ["@relation 'large: -C 1'", *head, "@data", *(",".join(map(str, row)) for row in rows)]
    elif "csv" in kind:
        lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    elif "svm" in kind:
        lines = [f"{tag} 0:{a} 1:{b} 2:{c}" for tag, a, b, c in rows]
    else:
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    path = folder / f"large.{kind}"
    text = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(text, 1) if kind.endswith(".gz") else text)
    return path


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "arff", "svm.gz", "jsonl"])
def test_reading_moves_the_bar(nearlabel, monkeypatch, tmp_path, kind):
    """By the bytes that were read of the file, compressed ones of a compressed file."""
    path = large_file(tmp_path, kind)
    shares = []
    monkeypatch.setattr(progress._Bar, "hear", lambda self, share: shares.append(share))
    monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    options = ("--labels-prefix", "tag_") if "csv" in kind or kind == "jsonl" else ()
    assert nearlabel("describe", path, *options).code == 0
    assert len(shares) > 1
    assert 0 < shares[0] < 0.9
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_standard_input_has_a_bar(nearlabel, monkeypatch, table):
    """Its length is not known: the bar shows that something goes on."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table[1].read_bytes())))
    monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    monkeypatch.setenv("TERM", "xterm")
    answer = nearlabel("describe", "-", "--labels-column", "tags", "--ignore", "id")
    assert answer.code == 0
    assert "reading standard input" in answer.err


def test_progress_of_searches(monkeypatch):
    """A search moves the bar within its part, never back, and never to the part's end."""
    shown = []
    bar = progress._Bar(lambda completed, total: shown.append((completed, total)))
    for share in (0.5, 1.0, 0.2):  # another search of the same part
        bar.hear(share)
    bar.tell(1, 2)
    bar.hear(0.5)
    bar.tell(2, 2)
    bar.hear(0.5)
    assert shown == [(0.495, 1), (0.99, 1), (0.99, 1), (1, 2), (1.495, 2), (2, 2), (2, 2)]


def test_the_bar_shows_the_time_that_the_work_expects(monkeypatch, capsys):
    """It runs down until the next estimate, and not below 0; rich's own is shown where there is none."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    progress_module = pytest.importorskip("rich.progress")
    left = progress.time_left_column(progress_module)
    bars = progress_module.Progress(left)
    bars.add_task("work")
    assert "left" not in str(left.render(bars.tasks[0]))
    left.expect(3725.5)
    assert str(left.render(bars.tasks[0])) == "1:02:06 left"
    now[0] += 3700
    assert str(left.render(bars.tasks[0])) == "0:00:26 left"
    now[0] += 100
    assert str(left.render(bars.tasks[0])) == "0:00:00 left"


@pytest.mark.parametrize("terminal", [True, False])
def test_reproduce_shows_the_time_left(nearlabel, monkeypatch, tmp_path, terminal):
    """On a terminal the time left by the folds done; in a pipe or a log file nothing."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("nearlabel.experiments._run.TimeLeft.seconds_after", lambda self, number, seconds: 4000.0)
    if terminal:
        monkeypatch.setattr(sys, "stderr", _Terminal(sys.stderr))
    answer = nearlabel("reproduce", _paper_of_digits(tmp_path))
    assert answer.code == 0
    assert ("left" in answer.err) == terminal
    assert bool(re.search(r"1:06:\d\d left", answer.err)) == terminal
    assert terminal or answer.err == ""


PATIENCE = progress.PATIENCE  # read before conftest.py changes it


def _paper_of_digits(folder):
    """A paper's file with one experiment on the packaged data."""
    path = folder / "paper.toml"
    path.write_text("""name = "digits"
title = "Digits"
reference = "None"
[experiments.main]
datasets = ["multidigits"]
methods = ["mlknn"]
n_neighbors = [3]
cv = 2
metrics = ["hamming_loss"]
[tables.1]
title = "ML-kNN"
experiments = ["main"]
printed = [["multidigits", "mlknn", 3, "hamming_loss", 0.1]]
""")
    return path


def test_lines_where_there_is_no_terminal(monkeypatch, capsys):
    """The first after ten seconds, then ever more rarely; none for short work, at the end, and for the quiet."""
    now = iter([0.0, 1.0, 9.9, 10.0, 15.0, 19.9, 20.0, 30.0, 41.0, 60.0])
    monkeypatch.setattr("nearlabel.utils.progress.time.monotonic", lambda: next(now))
    monkeypatch.setattr(progress, "PATIENCE", PATIENCE)
    with _console.progress_bar("rows") as tell:
        for done in range(1, 10):
            tell(done, 9)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "nearlabel: rows: 33 % after 10 s, about 0:00:20 left.",
        "nearlabel: rows: 67 % after 20 s, about 0:00:10 left.",
        "nearlabel: rows: 89 % after 41 s, about 0:00:06 left.",
    ]
    with _console.quietly(True), _console.progress_bar("rows") as tell:
        tell(1, 2)
    assert not capsys.readouterr().err
