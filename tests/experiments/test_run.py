import json
import math
from dataclasses import replace
from functools import cached_property

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneOut
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from conftest import long_after
from nearlabel.datasets import Dataset
from nearlabel.experiments import NEIGHBOR_METHODS, THRESHOLDS, Plan, make_method, read_records, run, summarise
from nearlabel.experiments.records import read_made_with
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import CATALOGUE
from nearlabel.neighbors import ExactNeighbors, kernel_level, kernel_levels
from nearlabel.thresholds import FixedThresholdsClassifier, MicroFOptimum, TunedThresholdsClassifierCV

SCALERS = {"none": None, "minmax": MinMaxScaler, "standard": StandardScaler}
SMALL = Plan(("brknn", "mlknn"), (2, 5), cv=3, metrics=("hamming_loss", "one_error"))


def fitted_one_by_one(plan, problems):
    """The records of a plan, each classifier with a search of its own, each measure by its own function."""
    for fold in plan.folds(problems):
        X, X_test = fold.X[fold.training], fold.X[fold.test]
        if SCALERS[plan.scale]:
            scaler = SCALERS[plan.scale]().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        for method in plan.methods:
            for k in plan.n_neighbors if method.split("+")[-1].startswith(NEIGHBOR_METHODS) else (None,):
                answers = Answers(make_method(method, k, ExactNeighbors()).fit(X, fold.Y[fold.training]), X_test)
                of_model = {"method": method, "n_neighbors": k}
                for metric in plan.metrics:
                    value = measured(metric, fold.Y[fold.test], answers)
                    yield fold.label() | of_model | {"metric": metric, "value": None if math.isnan(value) else value}


class Answers:
    """What a fitted classifier says of the rows X, asked once for all measures."""

    def __init__(self, model, X):
        self._model, self._X = model, X

    @cached_property
    def labels(self):
        """Label sets (n_samples, n_labels)."""
        return self._model.predict(self._X)

    @cached_property
    def scores(self):
        """Scores (n_samples, n_labels)."""
        return self._model.predict_proba(self._X)


def measured(metric, Y, answers):
    """One measure of one fitted classifier."""
    if metric == "empty_predictions":
        return float(np.mean([not any(row) for row in answers.labels]))
    entry = CATALOGUE[metric]
    return float(entry.function(Y, answers.labels if entry.needs == "prediction" else answers.scores))


@pytest.mark.long
@pytest.mark.parametrize("scale", SCALERS)
def test_equals_fitting_each_by_itself(toy, make_dataset, scale):
    """Sharing one search and one count among all methods, k and measures changes no digit of any record."""
    methods = (*NEIGHBOR_METHODS, "lpknn:ties=first") if scale == "none" else ("mlknn", "lpknn")
    plan = Plan(methods, (1, 5), cv=3, scale=scale, seeds=(3,))
    problems = {"toy": toy, "pair": (toy, make_dataset(n=11, seed=1))}
    assert run(plan, problems) == list(fitted_one_by_one(plan, problems))


@pytest.mark.long
def test_samplers(toy):
    """Each method is fitted to rows of its own, made of the training rows; others keep theirs."""
    plan = Plan(
        (
            "mlsmote:n_neighbors=2+mlknn",
            "mlknn",
            "mlsmote:n_neighbors=2+mlknn@micro-f",
            "igs+mchen+brknn@micro-f",
            "mrsp3+brknn@micro-f",
        ),
        (2, 3),
        cv=3,
    )
    assert run(plan, {"toy": toy}) == list(fitted_one_by_one(plan, {"toy": toy}))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_methods_without_neighbors_and_selections(toy, sparse_toy):
    """Methods without a number of neighbours are run once a fold; selected features have a search of their own."""
    methods = ("nldd:estimator=tree", "igs+mlknn", "br:estimator=tree", "igs:labels=mean+nldd:estimator=tree", "mlknn")
    plan = Plan(methods, (1, 5), cv=3)
    records = run(plan, {"toy": toy})
    assert records == list(fitted_one_by_one(plan, {"toy": toy}))
    assert run(plan, {"toy": sparse_toy}) == records
    numbers = {method: [r["n_neighbors"] for r in records if r["method"] == method] for method in methods}
    assert {method: set(ks) for method, ks in numbers.items()} == {
        method: {1, 5} if method.endswith("mlknn") else {None} for method in methods
    }
    assert len(numbers["mlknn"]) == 2 * len(numbers[methods[0]])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_thresholds_of_methods_without_leave_one_out(toy):
    """They are tuned on the scores of a five-fold cross-validation of the training rows, a selection in each fold."""
    plan = Plan(("nldd:estimator=tree@micro-f", "iblr:ridge=1@micro-f", "igs+mlknn@micro-f"), (4,), cv=3)
    records = iter(run(plan, {"toy": toy}))
    for fold in plan.folds({"toy": toy}):
        for method in plan.methods:
            answers = Answers(make_method(method, 4).fit(toy.X[fold.training], toy.Y[fold.training]), toy.X[fold.test])
            for metric in plan.metrics:
                assert next(records)["value"] == measured(metric, toy.Y[fold.test], answers)


@pytest.mark.parametrize("name", long_after(5, THRESHOLDS))
def test_tuned_rows_equal_fitting_each_by_itself(toy, sparse_toy, name):
    """So do those of every strategy, up to the largest k that leaves one row out; storage changes nothing."""
    # Two families and one search are enough of the product: methods and metrics do not know the strategies.
    metrics = ("micro_f1", "macro_f1", "f1_examples", "one_error", "empty_predictions")
    plan = Plan((f"mlknn@{name}", "lpknn", f"lpknn@{name}"), (1, 16), cv=2, metrics=metrics)
    records = run(plan, {"toy": toy})
    assert records == list(fitted_one_by_one(plan, {"toy": toy}))
    assert run(plan, {"toy": sparse_toy}) == records


@pytest.mark.parametrize(
    ("spec", "by_hand"),
    [
        ("mlknn@micro-f:beta=2", TunedThresholdsClassifierCV(MLkNN(5), MicroFOptimum(2), cv=LeaveOneOut())),
        ("brknn@0.3", FixedThresholdsClassifier(BRkNN(5), 0.3)),
    ],
)
def test_thresholds_by_hand(toy, spec, by_hand):
    """A row is what scikit-learn's leave-one-out, a refit for each training row, gives on the same fold."""
    plan = Plan((spec,), (5,), cv=3)
    records = iter(run(plan, {"toy": toy}))
    for fold in plan.folds({"toy": toy}):
        answers = Answers(by_hand.fit(toy.X[fold.training], toy.Y[fold.training]), toy.X[fold.test])
        for metric in plan.metrics:
            assert next(records)["value"] == measured(metric, toy.Y[fold.test], answers)


def test_thresholds_change_label_sets_only(toy):
    """Measures of rankings are those of the plain method; what is tuned for is better where it is tuned."""
    metrics = tuple(CATALOGUE)
    plan = Plan(("mlknn", "mlknn@micro-f", "mlknn@0.3", "mlknn@0.5"), (2, 5), cv=3, metrics=metrics)
    values = {}
    for record in run(plan, {"toy": toy}):
        of_measure = values.setdefault(CATALOGUE[record["metric"]].needs, {})
        of_measure.setdefault(record["method"], []).append(record["value"])
    plain, tuned, lower, half = values["prediction"].values()
    assert plain == half
    assert len({tuple(plain), tuple(tuned), tuple(lower)}) == 3
    assert len(values["score"]) == 4
    assert all(row == values["score"]["mlknn"] for row in values["score"].values())


@pytest.mark.long
def test_one_search_a_fold(toy, monkeypatch):
    """All methods, k and thresholds are served by one search of the training rows and one of the test rows."""
    asked, search = [], ExactNeighbors.kneighbors

    def counted(self, X=None, *args, **kwargs):
        asked.append("training" if X is None else len(X))
        return search(self, X, *args, **kwargs)

    monkeypatch.setattr(ExactNeighbors, "kneighbors", counted)
    specs = [f"{method}{behind}" for method in NEIGHBOR_METHODS for behind in ("", "@micro-f", "@fbr1", "@0.3")]
    specs = [spec for spec in specs if spec not in ("iblr@micro-f", "iblr@fbr1")]  # these take fits of their own
    run(Plan(specs, (1, 5, 9), cv=3, metrics=("micro_f1", "one_error")), {"toy": toy})
    assert asked == ["training", 12] * 3


def test_order_of_records(toy):
    """A fold after the other; in a fold by method, number of neighbours and measure, as the plan has them."""
    records = run(SMALL, {"toy": toy})
    assert [tuple(r.values())[:-1] for r in records] == [
        ("toy", 0, fold, method, k, metric)
        for fold in range(3)
        for method in SMALL.methods
        for k in SMALL.n_neighbors
        for metric in SMALL.metrics
    ]


@pytest.mark.long
@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_sparse_equals_dense(toy, sparse_toy, scale):
    """Storage changes no record."""
    plan = replace(SMALL, methods=NEIGHBOR_METHODS, scale=scale)
    assert run(plan, {"toy": sparse_toy}) == run(plan, {"toy": toy})


def test_workers_change_nothing(toy, tmp_path):
    """Two processes give the records of one, in memory and on file, to the byte."""
    plan = replace(SMALL, cv=9)
    assert run(plan, {"toy": toy}, out=tmp_path / "two", n_workers=2) == run(plan, {"toy": toy}, out=tmp_path / "one")
    files = [(tmp_path / name / "records.jsonl").read_bytes() for name in ("one", "two")]
    assert files[0] == files[1]


def test_records_on_file_are_those_returned(toy, tmp_path):
    """Numbers survive the file exactly, and plan and digest stand beside."""
    records = run(SMALL, {"toy": toy}, out=tmp_path / "a" / "b")
    assert list(read_records(tmp_path / "a" / "b")) == records
    plan = json.loads((tmp_path / "a" / "b" / "plan.json").read_text())
    assert plan["methods"] == ["brknn", "mlknn"]
    assert list(plan["problems"]) == ["toy"]


def test_progress_is_told_after_every_fold(toy):
    """The number of folds done, and of all."""
    told = []
    run(SMALL, {"toy": toy}, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def one_label(n=12):
    """Every row has the label: no ranking measure says anything."""
    X = np.arange(n, dtype=float)[:, np.newaxis]
    return Dataset(X, np.ones((n, 1), dtype=np.int64), ("x",), ("y",), "one")


def test_an_undefined_measure_is_null(tmp_path):
    """A measure without a row to speak of is None in the record and null, not NaN, on file."""
    records = run(SMALL, {"one": one_label()}, out=tmp_path)
    assert {r["value"] for r in records if r["metric"] == "one_error"} == {None}
    lines = (tmp_path / "records.jsonl").read_text()
    assert '"metric": "one_error", "value": null, "crc": ' in lines
    assert "NaN" not in lines


def test_a_summary_leaves_undefined_folds_out(toy):
    """The mean is over the folds where the measure is defined; a measure that never is has no cell."""
    Y = toy.Y.copy()
    test = next(iter(replace(SMALL, metrics=("coverage",)).folds({"toy": toy}))).test
    Y[test] = 0
    records = run(SMALL, {"toy": replace(toy, Y=Y), "one": one_label()})
    defined = [
        r["value"] for r in records[8:24] if (r["method"], r["n_neighbors"], r["metric"]) == ("mlknn", 5, "one_error")
    ]
    cells = {(c.dataset, c.method, c.n_neighbors, c.metric): c for c in summarise(records)}
    assert records[7]["metric"] == "one_error"
    assert records[7]["value"] is None
    assert cells["toy", "mlknn", 5, "one_error"].mean == pytest.approx(np.mean(defined))
    assert ("one", "mlknn", 5, "one_error") not in cells


def test_only_counting_empty_predictions(toy):
    """The share of empty predictions needs no other measure beside it."""
    plan = Plan(("brknn", "brknn-a"), (4,), cv=2, metrics=("empty_predictions",))
    few = replace(toy, Y=np.eye(36, 4, dtype=np.int64))
    assert [r["value"] for r in run(plan, {"few": few})] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (replace(SMALL, cv=37), "cv must be at most the 36 rows of toy"),
        (replace(SMALL, n_neighbors=(24,)), "n_neighbors must be smaller than the 24 training samples of a fold"),
        (replace(SMALL, methods=("brknn@pcut",), n_neighbors=(23,)), "toy minus the 1 left out to tune brknn@pcut"),
    ],
)
def test_too_few_rows_leave_nothing_behind(toy, make_dataset, tmp_path, plan, message):
    """The second data set is found too small before the first is run; no folder is made."""
    with pytest.raises(ValueError, match=message):
        run(plan, {"large": make_dataset(n=80), "toy": toy}, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_worker_at_all(toy):
    """0 processes is a mistake in our own words."""
    with pytest.raises(ValueError, match=r"n_workers must be a number of processes.*, got 0"):
        run(SMALL, {"toy": toy}, n_workers=0)


def test_no_problem_no_record():
    """Nothing to run is no error."""
    assert run(SMALL, {}) == []


@pytest.mark.long
def test_an_interrupted_pair_of_workers(toy, tmp_path):
    """Ctrl-C while folds are in other processes gives no warning; what is on file are the first folds, whole."""
    plan = replace(SMALL, cv=9)

    def interrupt(done, _total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan, {"toy": toy}, out=tmp_path, n_workers=2, progress=interrupt)
    assert list(read_records(tmp_path)) == run(plan, {"toy": toy})[: 2 * 8]


def test_what_made_the_records_stands_beside_them(toy, tmp_path):
    """A line for each environment that made some; the records are the same in all of them."""
    file = tmp_path / "one" / "made_with.jsonl"
    with kernel_level("off"):
        for _ in range(2):  # the second run finds all records
            run(SMALL, {"toy": toy}, out=tmp_path / "one")
            assert [line["kernels"] for line in read_made_with(tmp_path / "one")] == ["off"]
    assert json.loads(file.read_text())["numpy"] == np.__version__
    records = tmp_path / "one" / "records.jsonl"
    whole = records.read_bytes()
    records.write_bytes(b"".join(whole.splitlines(keepends=True)[: len(whole.splitlines()) // 3]))
    with kernel_level(kernel_levels()[0]):
        run(SMALL, {"toy": toy}, out=tmp_path / "one")
    made = [line["kernels"] for line in read_made_with(tmp_path / "one")]
    assert made == list(dict.fromkeys(["off", kernel_levels()[0]]))
    assert records.read_bytes() == whole


def test_a_folder_of_an_older_version_does_not_say_what_made_it(tmp_path):
    """Nothing is known then, which is no error; what is no JSON is one."""
    assert read_made_with(tmp_path) == []
    (tmp_path / "made_with.jsonl").write_text("{}\n3\n")
    with pytest.raises(ValueError, match=r"made_with.jsonl, line 2: must be an object of JSON, got '3'"):
        read_made_with(tmp_path)
