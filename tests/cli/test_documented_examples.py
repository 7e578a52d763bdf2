"""Every command that the page of the command line or a help text shows runs, on small data."""

import re
import runpy
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from nearlabel.cli import _COMMANDS, _data, _demo, _report, _reproduce
from nearlabel.datasets import Dataset
from nearlabel.experiments import METHODS, Plan, _methods

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "command_line.md").read_text()
EXAMPLES = dict.fromkeys(
    [example for _, _, examples in _COMMANDS.values() for example in examples]
    + re.findall(r"^nearlabel .+$", PAGE, re.MULTILINE)
)
# The first example of each command runs with the ordinary tests, the others with the long ones.
FIRST = {example.split()[1]: example for example in reversed(EXAMPLES)}
OF_PAPERS = runpy.run_path(str(Path(__file__).with_name("test_reproduce.py")))
QUICK = "--methods brknn,mlknn,lpknn --k 3 --cv 3 --metrics hamming_loss,micro_f1"
# What an example finds in its folder, beside songs.csv.
PREPARATIONS = {
    "model.skops": "fit multidigits --k 3 --out model.skops",
    "songs.skops": "fit songs.csv --labels-prefix mood_ --ignore id,title --k 3 --out songs.skops",
    "named.skops": "fit songs.csv --labels-prefix mood_ --id id --show title --k 3 --out named.skops",
    "results": f"evaluate emotions {QUICK} --out results",
    "results-emotions": f"evaluate emotions {QUICK} --out results-emotions",
    "results-yeast": f"evaluate yeast {QUICK} --out results-yeast",
    "results-scene": f"evaluate scene {QUICK} --out results-scene",
    "results-rows": f"evaluate emotions {QUICK} --per-row --out results-rows",
}

# The users' files that examples name.
GUESTS = {
    "mypackage/__init__.py": "",
    "mypackage/methods.py": """
from nearlabel.lazy import LazyClassifier
class MyClassifier(LazyClassifier):
    labels_are_independent = True
    def __init__(self, n_neighbors=10, *, alpha=1, search=None):
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.search = search
    def _decide_labels(self, scores, votes):
        return votes.count >= self.alpha
""",
    "mypackage/searches.py": """
from nearlabel.neighbors import ExactNeighbors
class MySearch(ExactNeighbors):
    pass
""",
    "mine.py": """
from nearlabel.thresholds import MicroFOptimum
def my_metric(y_true, y_pred):
    return float((y_true == y_pred).mean())
class MyStrategy(MicroFOptimum):
    pass
""",
}


def small(name="multidigits", subset="all"):
    """Thirty rows of any name: counts, of which the first decides, for what selects or weighs features."""
    rng = np.random.default_rng(sum(map(ord, name + subset)))
    X = rng.poisson([1.0, 0.1, 0.1, 0.1], (30, 4)).astype(float)
    Y = ((X[:, :1] > 0) ^ (rng.random((30, 3)) < 0.03)).astype(np.int64)
    return Dataset(X, Y, tuple("abcd"), ("x", "y", "z"), name)


@pytest.fixture(autouse=True)
def small_world(monkeypatch, tmp_path):
    """Small data under the well-known names, methods that are slow stood in for, a folder with a CSV file."""
    for module in (_data, _demo, _report):
        monkeypatch.setattr(module, "load_multidigits", small)
    monkeypatch.setattr(_data, "fetch_dataset", small)
    monkeypatch.setattr(_demo, "Plan", lambda **settings: Plan(**settings | {"n_neighbors": (1, 3), "cv": 2}))
    monkeypatch.setitem(OF_PAPERS["SmallPaper"].__init__.__globals__, "small", small)
    monkeypatch.setattr(_reproduce, "Paper", OF_PAPERS["SmallPaper"])
    monkeypatch.setattr(_methods, "METHODS", {**METHODS, **dict.fromkeys(OF_PAPERS["SLOW"], METHODS["br"])})
    monkeypatch.chdir(tmp_path)
    songs = small("songs")
    lines = ["id,title,a,b,c,d,mood_calm,mood_sad,mood_wild"]
    for row, (x, y) in enumerate(zip(songs.X.tolist(), songs.Y.tolist(), strict=True)):
        lines.append(f"s{row},song {row}," + ",".join(map(str, [*x, *y])))
    Path("songs.csv").write_text("\n".join(lines) + "\n")
    Path("new.csv").write_text("\n".join(lines[:4]) + "\n")
    Path("erased.txt").write_text("s3\ns17\n")
    Path("corrections.csv").write_text("id,label,correct\ns3,mood_calm,1\n")
    monkeypatch.syspath_prepend(tmp_path)
    Path("mypackage").mkdir()
    for name, program in GUESTS.items():
        Path(name).write_text(program)
    for name in [name for name in sys.modules if name.split(".")[0] in ("mine", "mypackage")]:
        del sys.modules[name]  # of another test's folder


def smaller(words):
    """Few neighbours and folds, and one process: data and methods are stood in for in this one only."""
    instead = {"--jobs": {"2": "1"}, "--k": {"1-30": "1-3", "5,10,20": "2,5"}}
    words = [instead.get(option, {}).get(word, word) for option, word in zip(["", *words], words, strict=False)]
    less = {"evaluate": ["--cv", "2"], "tune": ["--k", "2", "--methods", "mlknn@micro-f"], "reproduce": ["--quick"]}
    return words + less.get(words[0], [])


@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
@pytest.mark.parametrize(
    "example", [pytest.param(e, marks=() if e in FIRST.values() else pytest.mark.long) for e in EXAMPLES]
)
def test_example(nearlabel, example):
    """It ends well, and the file that it names is there."""
    words = shlex.split(example)[1:]
    outputs = [file for option, file in pairwise(words) if option in ("--out", "--figure")]
    for needed in PREPARATIONS.keys() & (set(words) - set(outputs)):
        assert nearlabel(*PREPARATIONS[needed].split()).code == 0
    answer = nearlabel(*smaller(words))
    if "pip install 'nearlabel[completion]'" in answer.err:
        pytest.skip(answer.err)
    assert answer.code == 0, answer.err
    for file in outputs if words[0] not in ("compare", "reproduce") else ():  # these name files by what is in them
        assert Path(file).exists()
