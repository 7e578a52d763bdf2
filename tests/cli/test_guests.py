"""A user's own code on the command line."""

import json
import subprocess
import sys

import numpy as np
import pytest

from nearlabel.utils import naming

CODE = '''
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from nearlabel.lazy import BRkNN
from nearlabel.thresholds import MicroFOptimum

class Cut(MicroFOptimum):
    """MicroFOptimum under another name."""

class Shares(BRkNN):
    """BRkNN under another name."""

class Listed(BaseEstimator):
    """scikit-learn's search."""

    def fit(self, X, y=None):
        self.search_ = NearestNeighbors().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        return self.search_.kneighbors(X, n_neighbors)

def agreement(y_true, y_pred, power=1):
    """The share of equal cells."""
    return float(np.mean(y_true == y_pred) ** power)

def failing(y_true, y_pred):
    return 0.0
'''


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in a folder with a file of the user's; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(naming, "import_folders", {})
    path = [*sys.path]
    (tmp_path / "users_code.py").write_text(CODE)
    yield tmp_path
    sys.modules.pop("users_code", None)
    assert [folder for folder in sys.path if folder != str(tmp_path)] == path


def cells(answer):
    """What a command printed as JSON."""
    assert answer.err == ""
    assert answer.code == 0
    return json.loads(answer.out)


@pytest.mark.long
@pytest.mark.parametrize("where", ["users_code", "./users_code.py"])
def test_evaluate(nearlabel, here, where):
    """A classifier and metrics of a user, by module or by file, with options, beside those of nearlabel."""
    mine, metric = f"{where}:Shares:weights=distance", f"{where}:agreement:power=2"
    methods = ("--methods", f"brknn:weights=distance,{mine},{mine}@0.3", "--k", 4, "--cv", 2)
    metrics = ("--metrics", f"hamming_loss,{metric}", "--format", "json")
    found = cells(nearlabel("evaluate", "multidigits", *methods, *metrics))
    values = {(cell["method"], cell["metric"]): cell["mean"] for cell in found if cell["n_neighbors"] == 4}
    asked = {key: value for key, value in values.items() if not key[1].endswith("_without_copies")}
    assert (len(asked), len(values)) == (6, 12)  # 2 % of the rows are copies
    assert values[mine, "hamming_loss"] == values["brknn:weights=distance", "hamming_loss"]
    assert values[mine, metric] == pytest.approx((1 - values[mine, "hamming_loss"]) ** 2, abs=1e-4)


@pytest.mark.long
def test_a_run_is_compared_and_resumed(nearlabel, here):
    """The table marks the best by the user's metric, the records carry its direction, the plan what the names mean."""
    arguments = ("evaluate", "multidigits", "--methods", "users_code:Shares,brknn-b", "--k", 4, "--cv", 4, "--metrics",
                 "users_code:agreement", "--out", "run")  # fmt: skip
    first = nearlabel(*arguments)
    assert first.code == 0
    assert "users_code:agreement ↑" in first.out.replace("\n", "")
    assert "corrected-t over the 4 folds" in first.out
    assert nearlabel(*arguments).out == first.out
    assert nearlabel("compare", "run").code == 0
    objects = json.loads((here / "run" / "plan.json").read_text())["objects"]
    assert objects["methods"]["users_code:Shares"].startswith("users_code.Shares(")
    assert objects["metrics"]["users_code:agreement"].startswith("users_code.agreement, ")


def test_a_search(nearlabel, here):
    """It is compared to the exact one by the same metric."""
    arguments = ("evaluate", "multidigits", "--methods", "brknn", "--k", 4, "--cv", 2, "--search", "users_code:Listed")
    found = [cost for cost in cells(nearlabel(*arguments, "--format", "json")) if cost["n_neighbors"] == 4]
    assert [(cost["search"], cost["recall"]) for cost in found] == [("users_code:Listed", 1)]


@pytest.mark.long
@pytest.mark.filterwarnings("default:.* contains types that load_model")
def test_tune_and_fit(nearlabel, here, monkeypatch):
    """The best model among a user's, by his metric, is kept and predicts; whoever loads it trusts his class."""
    searches, metric = ("--search", "users_code:Listed"), ("--metric", "users_code:agreement")
    models = ("--methods", "users_code:Shares", "--k", "2,4", "--scales", "none", *searches)
    tuned = nearlabel("tune", "multidigits", *models, *metric, "--out", "best.skops")
    assert tuned.code == 0
    assert tuned.err.startswith("nearlabel: best.skops contains types that load_model builds only if they are trusted.")
    assert tuned.err.endswith(" on the command line --trusted users_code.Listed,users_code.Shares.\n")
    assert tuned.err.count("\n") == 1
    assert "users_code:Shares" in tuned.out
    fit = "fit", "multidigits", "--method", "users_code:Shares", "--k", 4, "--validate", 5
    fitted = nearlabel(*fit, *metric, "--out", "model.skops")
    assert (fitted.code, fitted.err.count("\n")) == (0, 1)
    assert fitted.err.endswith(
        "(..., trusted=['users_code.Shares']), on the command line --trusted users_code.Shares.\n"
    )
    refused = nearlabel("predict", "model.skops", "multidigits", "--out", "p.csv")
    assert "--trusted users_code.Shares" in refused.err
    del sys.modules["users_code"]
    monkeypatch.syspath_prepend(here)  # --trusted imports what Python finds: the folder is PYTHONPATH's matter
    predict = "predict", "model.skops", "multidigits", "--out", "p.csv", "--trusted", "users_code.Shares"
    assert nearlabel(*predict).code == 0


OPTIONS = [
    ("fit", "--thresholds", "./users_code.py:Cut", "--metric", "users_code:agreement", "--scale", "none", "--k", "5",
     "--validate", "none", "--out", "m.skops"),
    ("fit", "--method", "users_code:Shares", "--search", "users_code:Listed", "--k", "5", "--dry-run"),
    ("audit", "--method", "users_code:Shares", "--search", "./users_code.py:Listed"),
    ("examine", "--search", "users_code:Listed"),
    ("tune", "--methods", "mlknn", "--thresholds", "users_code:Cut", "--search", "users_code:Listed", "--dry-run"),
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=[options[0] + options[1] for options in OPTIONS])
@pytest.mark.filterwarnings("default:.* contains types that load_model")
def test_every_option_that_takes_a_name(nearlabel, here, options):
    """Thresholds without a method, searches of an audit and of an examination, and others."""
    rng = np.random.default_rng(0)
    cells = [f"{x:.3f},{z:.3f},{x > 0.5:d},{z > 0.5:d}" for x, z in rng.random((60, 2))]
    (here / "data.csv").write_text("\n".join(["x,z,a,b", *cells]) + "\n")
    answer = nearlabel(options[0], "data.csv", "--labels", "a,b", *options[1:])
    assert answer.code == 0, answer.err
    assert "users_code" in sys.modules


@pytest.mark.long
def test_code_of_another_folder_reaches_every_process(here):
    """Workers of --jobs, of a time limit and of joblib inside an estimator import the module from its folder."""
    (here / "deep").mkdir()
    (here / "users_code.py").rename(here / "deep" / "users_code.py")
    mine = "./deep/users_code.py"
    with (here / "deep" / "users_code.py").open("a") as file:
        file.write("class Tree(__import__('sklearn.tree').tree.DecisionTreeClassifier): pass\n")
    evaluate = ("evaluate", "multidigits", "--methods", f"{mine}:Shares", "--k", "4", "--cv", "2", "--jobs", "2",
                "--metrics", f"{mine}:agreement")  # fmt: skip
    tune = ("tune", "multidigits", "--methods", f"{mine}:Shares", "--k", "3", "--scales", "none")
    tree = "br:estimator=deep.users_code.Tree:n_jobs=2"
    inside = ("fit", "multidigits", "--method", tree, "--out", "m.skops", "--validate", "none")
    for arguments in (evaluate, tune, inside):
        answer = subprocess.run(
            [sys.executable, "-P", "-m", "nearlabel", *arguments], capture_output=True, text=True, check=False
        )
        assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("evaluate", "multidigits", "--methods", "no_code:Shares"),
            "No module named 'no_code' is installed or",
        ),
        (("evaluate", "multidigits", "--methods", "./no_code.py:Shares"), "There is no file no_code.py."),
        (("evaluate", "multidigits", "--methods", "users_code:Share"), "got no 'Share' there. Did you mean 'Shares'?"),
        (("evaluate", "multidigits", "--metrics", "users_code:failing"), "check_metric_is_best_for_the_truth"),
        (("tune", "multidigits", "--metric", "micro"), "must be a name of the catalogue, a Metric or a function"),
        (("fit", "multidigits", "--metric", "f", "--out", "m.skops"), "must be a name of the catalogue, a Metric or"),
    ],
)
def test_mistakes(nearlabel, here, arguments, message):
    """Each is told in a line, before data are read."""
    answer = nearlabel(*arguments)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
