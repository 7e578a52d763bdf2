"""`verbose` of long work in Python: where it is, after ten seconds, in a script, a terminal and a notebook."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from nearlabel.audit import audit
from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, Tuning, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.selection import MixtureClassifierCV, NeighborsClassifierCV
from nearlabel.utils import progress
from nearlabel.utils.messages import listening, tell

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = (X[:, :2] + RANDOM.normal(size=(60, 2)) > 0).astype(int)
DATA = Dataset(X, Y, ("a", "b", "c"), ("y", "z"), "toy")
SMALL = {"methods": [BRkNN(), MLkNN()], "n_neighbors": [3], "scales": ["minmax"], "metrics": ["euclidean"]}
DOORS = {
    "NeighborsClassifierCV": lambda verbose: NeighborsClassifierCV(**SMALL, verbose=verbose).fit(X, Y),
    "MixtureClassifierCV": lambda verbose: MixtureClassifierCV(**SMALL, families=("neighbors",), verbose=verbose).fit(
        X, Y
    ),
    "models": lambda verbose: Tuning(("brknn", "mlknn"), (3, 5)).run(DATA, verbose=verbose),
    "folds": lambda verbose: run(Plan(("brknn",), (3,), cv=3, metrics=("micro_f1",)), [DATA], verbose=verbose),
    "audit": lambda verbose: audit(BRkNN(3).fit(X, Y), scores="model", verbose=verbose),
}
every_door = pytest.mark.parametrize("what", DOORS)


@pytest.fixture
def _impatient(monkeypatch):
    """What is shown after ten seconds is shown at once."""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)


@every_door
@pytest.mark.usefixtures("_impatient")
def test_a_script_gets_lines(what, capsys):
    """The share, the seconds and what is left; nothing if `verbose` is 0."""
    DOORS[what](1)
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith(f"nearlabel: {what}: ")
    assert " % after 0 s, about 0:00:0" in first
    DOORS[what](0)
    assert capsys.readouterr().err == ""


@every_door
def test_short_work_shows_nothing(what, monkeypatch, capsys):
    """Not before the ten seconds are over, in a terminal neither."""
    monkeypatch.setattr(progress, "PATIENCE", 10.0)
    DOORS[what](1)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    DOORS[what](1)
    assert capsys.readouterr().err == ""


@every_door
@pytest.mark.usefixtures("_impatient")
def test_one_bar_at_a_time(what, capsys):
    """Within another bar, or where somebody listens, no second one is shown."""
    with progress.progress_bar("outer"):
        DOORS[what](1)
    assert not [line for line in capsys.readouterr().err.splitlines() if "outer" not in line]
    with listening(lambda share: None):
        DOORS[what](1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("verbose", [-1, "much", None])
@every_door
def test_a_wrong_value(what, verbose):
    """It is checked where it arrives."""
    with pytest.raises((TypeError, ValueError), match="verbose must be"):
        DOORS[what](verbose)


@pytest.mark.usefixtures("_impatient")
def test_a_callable_takes_the_place_of_the_bar(capsys):
    """As the command line does it."""
    calls = []
    run(Plan(("brknn",), (3,), cv=3, metrics=("micro_f1",)), [DATA], progress=lambda *call: calls.append(call))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    assert capsys.readouterr().err == ""


def test_nested_choices_are_parts_of_the_whole():
    """Three choices, of all samples and of two folds: each takes a third, its fit of the best, too."""
    shares = []
    with listening(shares.append):
        NeighborsClassifierCV(**SMALL, nested=2).fit(X, Y)
    thirds = np.ceil(np.array(shares) * 3 - 1e-9)
    assert thirds.tolist() == sorted(thirds)
    assert [max(share for share, of in zip(shares, thirds, strict=True) if of == third) for third in (1, 2, 3)] == (
        pytest.approx([1 / 3, 2 / 3, 1])
    )


class _Shown:
    """A display of IPython that remembers what it shows."""

    def __init__(self):
        self.bundles, self.kept = [], None

    def display(self, bundle, *, raw, display_id):
        assert raw
        assert display_id
        self.bundles.append(bundle)
        return self

    def update(self, bundle, *, raw):
        assert raw
        self.bundles.append(bundle)


@pytest.fixture
def notebook(monkeypatch):
    """A program that a kernel of Jupyter runs, and what it displays."""
    shown = _Shown()
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return shown


def test_a_notebook_gets_a_bar(notebook, monkeypatch, capsys):
    """From the tenth second on it is drawn, then moved at most five times a second; at the end the time stays."""
    now = iter([0.0, 9.0, 10.0, 10.1, 10.3, 24.0])
    monkeypatch.setattr("nearlabel.utils.progress.time.monotonic", lambda: next(now))
    monkeypatch.setattr(progress, "PATIENCE", 10.0)
    with progress.reported("<b>fit</b>", 1):
        for share in (0.2, 0.5, 0.6, 0.7):
            tell(share)
    bar, moved, end = (bundle["text/html"] for bundle in notebook.bundles)
    assert bar.startswith('<progress max="100" value="50"></progress> &lt;b&gt;fit&lt;/b&gt;: 50 % after 10 s, about')
    assert 'value="69"' in moved
    assert end == "&lt;b&gt;fit&lt;/b&gt;: 24 s."
    assert capsys.readouterr().err == ""


def test_short_work_leaves_no_trace_in_a_notebook(notebook, monkeypatch):
    """Nor does the quiet."""
    monkeypatch.setattr(progress, "PATIENCE", 10.0)
    DOORS["audit"](1)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    DOORS["audit"](0)
    assert notebook.bundles == []
    DOORS["audit"](1)
    assert len(notebook.bundles) >= 2


def test_a_terminal_gets_a_bar_after_its_patience(monkeypatch):
    """It is erased at the end; without rich there are lines."""
    pytest.importorskip("rich.progress")
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress.progress_bar("later", patience=1000.0) as told:
        told(1, 2)
    assert stream.getvalue() == ""
    with progress.progress_bar("now") as told:
        told(1, 2)
    assert "now" in stream.getvalue()
    monkeypatch.setattr(progress.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress_bar("poor") as told:
        told(1, 2)
    assert "nearlabel: poor: 50 %" in stream.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_what_is_known_is_shown_in_time(terminal, monkeypatch):
    """Where the next report is far, the last one is shown when the patience is over, by a thread that ends with it."""
    pytest.importorskip("rich.progress")
    stream = io.StringIO()
    stream.isatty = lambda: terminal
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.reported("fit", 1) as told:
        told(1, 2)
        assert stream.getvalue() == ""
        time.sleep(0.3)
        assert "fit" in stream.getvalue()
        assert "50" in stream.getvalue()
    assert not [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]


def test_without_standard_error(monkeypatch):
    """Programs without a console have none."""
    monkeypatch.setattr(sys, "stderr", None)
    assert DOORS["NeighborsClassifierCV"](1).predict(X).shape == (60, 2)


def test_models_of_files_without_it():
    """A model that an earlier version saved has no such attribute, and can be cloned all the same."""
    model = NeighborsClassifierCV(**SMALL).fit(X, Y)
    del model.__dict__["verbose"]
    assert model.get_params()["verbose"] == 1
    assert clone(model).fit(X, Y).best_params_ == model.best_params_
    assert "NeighborsClassifierCV" in repr(model)
