"""Every command that a page or a help text shows runs, on small data; those of followed pages have their own tests."""

import re
import runpy
import shlex
import sys
from itertools import compress, pairwise
from pathlib import Path

import numpy as np
import pytest

from _commands import LISTED, shown
from nearlabel.cli import _COMMANDS
from nearlabel.datasets import Dataset, write_npz
from nearlabel.experiments import METHODS, Plan
from nearlabel.selection import specs

ROOT = Path(__file__).parents[2]
OF_PAGES = [
    one
    for one in shown()
    if one.command.startswith("nearlabel ")
    and one.page not in LISTED["followed"]
    and one.command not in LISTED["not_run"]
]
OF_PAGES.sort(key=lambda one: one.page != "docs/command_line.md")
EXAMPLES = dict.fromkeys(
    [one for command in _COMMANDS.values() for one in command.EXAMPLES if one not in LISTED["not_run"]]
    + [one.command for one in OF_PAGES]
)
# The first example of each command runs with the ordinary tests, the others with the long ones.
FIRST = {example.split()[1]: example for example in reversed(EXAMPLES)}
OF_PAPERS = runpy.run_path(str(Path(__file__).with_name("test_reproduce.py")))
QUICK = "--methods brknn,mlknn,lpknn --k 3 --cv 3 --metrics hamming_loss,micro_f1"
# What an example finds in its folder, beside songs.csv.
PREPARATIONS = {
    "model.skops": "fit multidigits --k 3 --out model.skops",
    "digits.skops": "fit multidigits --method mlknn --k 3 --out digits.skops",
    "safe.skops": "fit multidigits --method mlknn --k 3 --guarantee recall=0.8 --out safe.skops",
    "songs.skops": "fit songs.csv --labels-prefix mood_ --ignore id,title --k 3 --out songs.skops",
    "named.skops": "fit songs.csv --labels-prefix mood_ --id id --show title --k 3 --out named.skops",
    "results": f"evaluate emotions {QUICK} --out results",
    "results-emotions": f"evaluate emotions {QUICK} --out results-emotions",
    "results-yeast": f"evaluate yeast {QUICK} --out results-yeast",
    "results-scene": f"evaluate scene {QUICK} --out results-scene",
    "results-rows": f"evaluate emotions {QUICK} --per-row --out results-rows",
    "results-digits": "evaluate multidigits --methods mlknn,brknn --k 3 --cv 3 --per-row --out results-digits",
    "image-rows": "evaluate image --methods mlknn,adaboostmh --k 3 --per-row --out image-rows",
}
# What an example finds in another form.
OTHERWISE = {
    "nearlabel report model.skops test.csv --out report.html": {
        "model.skops": "fit songs.csv --labels-prefix mood_ --ignore id,title --k 3 --out model.skops"
    },
    "nearlabel forget songs.skops --ids erased.txt": {
        "songs.skops": "fit songs.csv --labels-prefix mood_ --id id --show title --k 3 --out songs.skops"
    },
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


def small_plan(*, n_neighbors=None, **settings):
    """The comparison, but that of the demo, with thirty numbers of neighbours, is a small one."""
    if n_neighbors == tuple(range(1, 31)):
        return Plan(n_neighbors=(1, 3), **settings | {"cv": 2})
    return Plan(n_neighbors=n_neighbors, **settings)


@pytest.fixture(autouse=True)
def small_world(monkeypatch, tmp_path):
    """Small data under the well-known names, methods that are slow stood in for, a folder with a CSV file."""
    monkeypatch.setattr("nearlabel.datasets.load_multidigits", small)
    monkeypatch.setattr("nearlabel.datasets.fetch_dataset", small)
    monkeypatch.setattr("nearlabel.experiments.Plan", small_plan)
    monkeypatch.setitem(OF_PAPERS["SmallPaper"].__init__.__globals__, "small", small)
    monkeypatch.setattr("nearlabel.papers.Paper", OF_PAPERS["SmallPaper"])
    monkeypatch.setattr(specs, "METHODS", {**METHODS, **dict.fromkeys(OF_PAPERS["SLOW"], METHODS["br"])})
    monkeypatch.chdir(tmp_path)
    songs = small("songs")
    lines = ["id,title,a,b,c,d,mood_calm,mood_sad,mood_wild"]
    for row, (x, y) in enumerate(zip(songs.X.tolist(), songs.Y.tolist(), strict=True)):
        lines.append(f"s{row},song {row}," + ",".join(map(str, [*x, *y])))
    Path("songs.csv").write_text("\n".join(lines) + "\n")
    for name in ("new.csv", "test.csv", "tonight.csv", "unlabelled.csv"):
        Path(name).write_text("\n".join(lines[:4]) + "\n")
    for name in ("test.npz", "training.npz", "yeast-twice.npz"):
        write_npz(name, small())
    (meka,) = re.findall(r"^```csv\n(.*?)^```", (ROOT / "docs" / "comparing.md").read_text(), re.M | re.S)
    Path("meka.csv").write_text(meka)
    Path("erased.txt").write_text("s3\ns17\n")
    Path("corrections.csv").write_text("id,label,correct\ns3,mood_calm,1\n")
    monkeypatch.syspath_prepend(tmp_path)
    Path("mypackage").mkdir()
    for name, program in GUESTS.items():
        Path(name).write_text(program)
    for name in [name for name in sys.modules if name.split(".")[0] in ("mine", "mypackage")]:
        del sys.modules[name]  # of another test's folder


def fit_the_table(words):
    """Write the songs as the command describes them: with labels in one column, or without columns of text."""
    header, *rows = [line.split(",") for line in Path("songs.csv").read_text().splitlines()]
    if "--labels-column" in words:
        names = [name.removeprefix("mood_") for name in header[-3:]]
        tags = [";".join(compress(names, map(int, row[-3:]))) for row in rows]
        header, rows = [*header[:-3], "tags"], [[*row[:-3], of] for row, of in zip(rows, tags, strict=True)]
    if not {"--ignore", "--id"} & set(words):
        header, rows = header[2:], [row[2:] for row in rows]
    Path("songs.csv").write_text("".join(",".join(row) + "\n" for row in [header, *rows]))


def smaller(words):
    """Few neighbours and folds, and one process: data and methods are stood in for in this one only."""
    instead = {"--jobs": {"2": "1"}, "--k": {"1-30": "1-3", "5,10,20": "2,5", "20": "2"}, "--n": {"50": "3"}}
    words = [instead.get(option, {}).get(word, word) for option, word in zip(["", *words], words, strict=False)]
    less = {"evaluate": ["--cv", "2"], "tune": ["--k", "2", "--methods", "mlknn@micro-f"], "reproduce": ["--quick"]}
    return words + less.get(words[0], [])


@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
@pytest.mark.filterwarnings("ignore:Too few samples with labels for the guarantee")
@pytest.mark.parametrize(
    "example", [pytest.param(e, marks=() if e in FIRST.values() else pytest.mark.long) for e in EXAMPLES]
)
def test_example(nearlabel, example):
    """It ends well, and the file that it names is there."""
    words = shlex.split(example)[1:]
    outputs = [file for option, file in pairwise(words) if option in ("--out", "--figure")]
    preparations = PREPARATIONS | OTHERWISE.get(example, {})
    for needed in preparations.keys() & (set(words) - set(outputs)):
        assert nearlabel(*preparations[needed].split()).code == 0
    if "songs.csv" in words:
        fit_the_table(words)
    answer = nearlabel(*smaller(words))
    if "pip install 'nearlabel[completion]'" in answer.err:
        pytest.skip(answer.err)
    assert answer.code == 0, answer.err
    for file in outputs if words[0] not in ("compare", "reproduce") else ():  # these name files by what is in them
        assert Path(file).exists()
