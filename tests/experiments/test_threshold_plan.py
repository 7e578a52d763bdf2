from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.svm import SVC, LinearSVC

from conftest import long_after
from nearlabel.datasets import Dataset
from nearlabel.experiments import ThresholdPlan, run
from nearlabel.experiments._other_plans import CLASSIFIERS, METRICS
from nearlabel.thresholds import FBR, MicroFOptimum, PillaiAscent, SCut

PLAN = ThresholdPlan(("svm-linear", "svm-rbf", "knn"), n_parts=3, n_parts_used=2, cv=3, n_neighbors=4, C=0.5, seed=1)


@pytest.fixture(scope="session")
def pair(make_dataset):
    """A training part of 36 rows and a test part of 20."""
    return make_dataset(), make_dataset(n=20, seed=1)


@pytest.fixture(scope="session")
def records(pair):
    """Records of three runs."""
    return run(PLAN, {"pair": pair})


def figures_of(plan, fold):
    """The figures of a run: (method, measure) -> value."""
    settings = [(setting["method"], setting["metric"]) for setting in plan.settings(fold)]
    return dict(zip(settings, plan.values(fold), strict=True))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"methods": ()}, r"methods must name at least one, each once, got \(\)"),
        ({"methods": ("knn", "knn")}, r"methods must name at least one, each once, got \('knn', 'knn'\)"),
        ({"methods": ("svm",)}, r"method must be one of \['knn', 'svm-linear', 'svm-rbf'\], got 'svm'"),
        ({"n_parts": 1}, "n_parts must be at least 2, got 1"),
        ({"n_parts_used": 0}, "n_parts_used must be at least 1, got 0"),
        ({"n_parts_used": 3}, "n_parts_used must be smaller than n_parts=3, got 3"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"first_folds": 0}, "first_folds must be at least 1, got 0"),
        ({"scale": "log"}, r"scale must be one of \['minmax', 'none', 'standard', 'tfidf'\], got 'log'"),
        ({"C": 0}, "C must be a finite number above 0, got 0"),
    ],
)
def test_wrong_values(setting, message):
    """Each value out of range is refused when the plan is made, before anything runs."""
    with pytest.raises(ValueError, match=message):
        replace(PLAN, **setting)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"methods": "knn"}, r"methods must be a tuple, got 'knn'\. Hint: \('knn',\)"),
        ({"n_parts": 10.0}, "n_parts must be an integer, got 10.0 of type float"),
        ({"seed": None}, "seed must be an integer, got None of type NoneType"),
        ({"C": "1"}, "C must be a number, got '1' of type str"),
    ],
)
def test_wrong_types(setting, message):
    """Each value of a wrong type is refused when the plan is made."""
    with pytest.raises(TypeError, match=message):
        replace(PLAN, **setting)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_parts": 37}, "n_parts must be at most the 36 training samples of pair, got 37"),
        ({"cv": 25}, "cv must be at most the 24 training samples of a run of pair, got 25"),
        (
            {"n_parts": 5, "n_parts_used": 4, "cv": 29},
            "cv must be at most the 28 training samples of a run of pair, got 29",
        ),
        ({"n_neighbors": 17}, "n_neighbors must be at most the 16 training samples of a fold of pair, got 17"),
        ({"cv": 5, "n_neighbors": 20}, "n_neighbors must be at most the 19 training samples of a fold of pair, got 20"),
    ],
)
def test_too_few_rows(pair, setting, message):
    """The rows of the smallest run, and of the smallest fold in it, decide before anything runs."""
    with pytest.raises(ValueError, match=message):
        list(replace(PLAN, **setting).folds({"pair": pair}))


def test_as_many_rows_as_it_takes(pair):
    """One row a part, one a fold, all of a fold's rows as neighbours; without kNN its number does not matter."""
    assert len(list(replace(PLAN, n_parts=36, n_parts_used=35, cv=35, n_neighbors=34).folds({"pair": pair}))) == 36
    assert len(list(replace(PLAN, methods=("svm-rbf",), n_neighbors=99).folds({"pair": pair}))) == 3
    (value, *_) = replace(PLAN, methods=("knn",), n_neighbors=16).values(next(PLAN.folds({"pair": pair})))
    assert 0 <= value <= 1


def test_one_set_is_refused(toy):
    """The protocol needs test rows that no run trains on."""
    with pytest.raises(ValueError, match="toy must have a given training and test part for this protocol, got one set"):
        list(PLAN.folds({"toy": toy}))


def test_missing_values_are_refused(pair):
    """The error names the problem, before anything runs."""
    X = pair[1].X.copy()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="X of pair must be finite, got 1 missing or infinite values"):
        list(PLAN.folds({"pair": (pair[0], replace(pair[1], X=X))}))


@pytest.mark.parametrize(("n_parts", "n_parts_used"), [(10, 8), (3, 2), (5, 1), (36, 35)])
def test_each_run_leaves_out_its_own_parts(pair, n_parts, n_parts_used):
    """Rows fall into parts that the same runs leave out: for each part its own run, and those before it."""
    plan = replace(PLAN, methods=("svm-rbf",), n_parts=n_parts, n_parts_used=n_parts_used, cv=2)
    left_out = np.ones((n_parts, 36), dtype=int)
    for fold in plan.folds({"pair": pair}):
        assert len(set(fold.training)) == len(fold.training)
        left_out[fold.number, fold.training] = 0
    of_rows, sizes = np.unique(left_out, axis=1, return_counts=True)
    of_parts = [
        [int((part - run) % n_parts < n_parts - n_parts_used) for run in range(n_parts)] for part in range(n_parts)
    ]
    assert sorted(of_rows.T.tolist()) == sorted(of_parts)
    assert sizes.sum() == 36
    assert np.ptp(sizes) <= 1


def test_test_rows_are_those_given(pair):
    """Every run is tested on the whole test part and trained on rows of the training part only."""
    for fold in PLAN.folds({"pair": pair}):
        assert (fold.X[fold.test] == pair[1].X).all()
        assert (fold.Y[fold.test] == pair[1].Y).all()
        assert fold.training.max() < 36


def test_the_seed_decides_the_parts(pair):
    """A seed always cuts in the same way, another one in another."""
    cuts = [[fold.training.tolist() for fold in replace(PLAN, seed=seed).folds({"pair": pair})] for seed in (0, 0, 1)]
    assert cuts[0] == cuts[1] != cuts[2]


@pytest.mark.long
def test_records_come_by_run_then_method_then_measure(records):
    """Settings and values are in one order; there is no number of neighbours."""
    labels = [(r["dataset"], r["seed"], r["fold"], r["method"], r["n_neighbors"], r["metric"]) for r in records]
    assert labels == [
        ("pair", None, fold, method, None, metric) for fold in range(3) for method in PLAN.methods for metric in METRICS
    ]


@pytest.mark.long
def test_methods_do_not_depend_on_each_other(pair, records):
    """Every value stands with its own method: each by itself, in another order, gives the same."""
    reverse = run(replace(PLAN, methods=PLAN.methods[::-1]), {"pair": pair})
    assert sorted(map(str, reverse)) == sorted(map(str, records))
    alone = run(replace(PLAN, methods=("svm-rbf",)), {"pair": pair})
    assert alone == [record for record in records if record["method"] == "svm-rbf"]


def share_of_neighbours(X, Y, queries, k):
    """For each query the share of the k nearest rows that carry each label; of equal distances the lower row."""
    distances = ((queries[:, np.newaxis] - X) ** 2).sum(axis=2)
    return np.array([Y[np.argsort(row, kind="stable")[:k]].mean(axis=0) for row in distances])


def decisions(make_svm, X, Y, queries):
    """One SVM a label; a label that no row carries has minus infinity, one that all carry infinity."""
    columns = []
    for y in Y.T:
        one_class = y.min() == y.max()
        constant = np.full(len(queries), np.inf if y.any() else -np.inf)
        columns.append(constant if one_class else make_svm().fit(X, y).decision_function(queries))
    return np.column_stack(columns)


TRANSCRIBED = {
    "svm-linear": lambda *rows: decisions(lambda: LinearSVC(C=0.5, random_state=1), *rows),
    "svm-rbf": lambda *rows: decisions(lambda: SVC(C=0.5, kernel="rbf", gamma="scale"), *rows),
    "knn": lambda *rows: share_of_neighbours(*rows, k=4),
}


def transcribed_figures(score, X, Y, X_test, Y_test, number):
    """A run as the paper has it: pooled scores of shuffled folds, thresholds, a refit, the test rows."""
    folds = list(KFold(3, shuffle=True, random_state=1 + number).split(X))
    pooled = np.vstack([score(X[rest], Y[rest], X[part]) for rest, part in folds])
    truth = np.vstack([Y[part] for _, part in folds])
    test_scores = score(X, Y, X_test)
    optimum = MicroFOptimum().fit(pooled, truth)
    ascent = PillaiAscent().fit(pooled, truth)
    strategies = {
        "": optimum,
        "_first_scan": PillaiAscent(max_scans=1).fit(pooled, truth),
        "_fbr0": FBR(MicroFOptimum(), variant=0, cv=3).fit(pooled, truth),
        "_fbr1": FBR(MicroFOptimum(), variant=1, cv=3).fit(pooled, truth),
        "_per_label": SCut().fit(pooled, truth),
    }

    def micro_f1(strategy, scores, Y):
        return f1_score(Y, scores >= strategy.thresholds_, average="micro", zero_division=0)

    return {
        f"test_micro_f1{name}": micro_f1(strategy, test_scores, Y_test) for name, strategy in strategies.items()
    } | {
        "validation_micro_f1": micro_f1(optimum, pooled, truth),
        "n_scans": ascent.n_scans_,
        "n_evaluated": ascent.n_evaluated_,
        "evaluated_share": ascent.n_evaluated_ / (2 * (len(X) + 1) * Y.shape[1]),
    }


@pytest.mark.parametrize("method", CLASSIFIERS)
@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_figures_equal_a_transcription(make_dataset, method, scale):
    """Each figure of each run is that of one classifier a label, fold by fold, in plain scikit-learn."""
    training, test = make_dataset(n=90), make_dataset(n=40, seed=1)
    plan = replace(PLAN, methods=(method,), scale=scale)
    for fold in plan.folds({"pair": (training, test)}):
        X, X_test = training.X[fold.training], test.X
        if scale == "minmax":
            low, width = X.min(axis=0), np.ptp(X, axis=0)
            X, X_test = (X - low) / width, (X_test - low) / width
        rows = X, training.Y[fold.training], X_test, test.Y
        expected = transcribed_figures(TRANSCRIBED[method], *rows, fold.number)
        figures = {metric: value for (_, metric), value in figures_of(plan, fold).items()}
        assert figures == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", long_after(1, CLASSIFIERS))
def test_sparse_rows_and_label_sets_give_the_same(make_dataset, method):
    """How features and label sets are stored does not matter."""
    plan = replace(PLAN, methods=(method,))
    dense, stored = (
        run(plan, {"pair": (make_dataset(store=store), make_dataset(n=20, seed=1, store=store))})
        for store in (np.asarray, sparse.csr_array)
    )
    assert stored == dense


@pytest.mark.long
def test_a_look_runs_the_first_runs(pair, records):
    """The records of two runs are those of the first two of all."""
    look = run(replace(PLAN, first_folds=2), {"pair": pair})
    assert look == [record for record in records if record["fold"] < 2]
    assert {record["fold"] for record in records} == {0, 1, 2}


@pytest.mark.parametrize("varying", [True, False])
def test_one_kernel_for_all_labels(make_dataset, varying):
    """Scores are those of an SVC for each label, also where no feature varies."""
    data, queries = make_dataset(), make_dataset(seed=1)
    X, Z = (np.asarray(rows.X, dtype=float) * varying for rows in (data, queries))
    model = CLASSIFIERS["svm-rbf"](PLAN).fit(X, data.Y)
    expected = [SVC(C=PLAN.C, gamma="scale").fit(X, y).decision_function(Z) for y in data.Y.T]
    np.testing.assert_allclose(model.decision_function(Z), np.column_stack(expected), rtol=0, atol=1e-9)


def test_the_linear_svm_draws_from_the_seed(make_dataset):
    """With more features than rows its solver is a random one, but the records are not."""
    rng = np.random.default_rng(0)
    names = tuple(map(str, range(60)))
    pair = [replace(make_dataset(n=n), X=rng.normal(size=(n, 60)), feature_names=names) for n in (40, 20)]
    plan = replace(PLAN, methods=("svm-linear",), C=10.0)
    other = replace(plan, seed=2)
    fold = next(plan.folds({"pair": tuple(pair)}))
    X, Y = fold.X[fold.training], fold.Y[fold.training]
    scores = [CLASSIFIERS["svm-linear"](plan).fit(X, Y).decision_function(X) for plan in (plan, plan, other)]
    assert (scores[0] == scores[1]).all()
    assert (scores[0] != scores[2]).any()


def rare(make_dataset, n, seed, carriers):
    """A problem with two more labels: one of few rows, which are far off, and one that no row carries."""
    data = make_dataset(n=n, seed=seed)
    extra = np.zeros((n, 2), dtype=np.int64)
    extra[:carriers, 0] = 1
    X = data.X + 50 * extra[:, :1]
    return Dataset(X, np.hstack([data.Y, extra]), data.feature_names, tuple("abcdef"), "rare")


@pytest.mark.parametrize("carriers", [0, 1, 2])
@pytest.mark.parametrize("method", CLASSIFIERS)
def test_a_label_that_training_parts_miss(make_dataset, method, carriers):
    """Neither a warning nor a prediction comes from a label without positives in a fold or in the whole run."""
    plan = replace(PLAN, methods=(method,))
    pair = rare(make_dataset, 36, 0, carriers), rare(make_dataset, 20, 1, 0)
    common = [replace(part, Y=part.Y[:, :4], label_names=part.label_names[:4]) for part in pair]
    with_rare, without = run(plan, {"pair": pair}), run(plan, {"pair": tuple(common)})
    chosen = "test_micro_f1", "test_micro_f1_fbr0", "test_micro_f1_per_label"
    for ours, expected in zip(with_rare, without, strict=True):
        assert np.isfinite(ours["value"])
        if carriers == 0 and ours["metric"] in (*chosen, "validation_micro_f1"):
            assert ours == expected


@pytest.mark.long
def test_a_missing_label_is_not_predicted_from_a_constant(make_dataset):
    """scikit-learn's decision value 0 of a label that a training part misses is no score.

    With one row a fold, the label's one carrier is scored by a classifier that never saw the label, all other rows by
    ones that did and say a clear no. That 0 would look like perfect evidence, and the label would be tuned to it.
    """
    plan = replace(PLAN, methods=("svm-rbf",), n_parts=2, n_parts_used=1, cv=18)
    pair = rare(make_dataset, 36, 0, 1), rare(make_dataset, 20, 1, 0)
    (fold,) = (fold for fold in plan.folds({"pair": pair}) if 0 in fold.training)
    X, Y = fold.X[fold.training], fold.Y[fold.training]
    folds = list(KFold(18, shuffle=True, random_state=1 + fold.number).split(X))
    pooled = np.vstack([TRANSCRIBED["svm-rbf"](X[rest], Y[rest], X[part]) for rest, part in folds])
    truth = np.vstack([Y[part] for _, part in folds])
    (carrier,) = np.flatnonzero(truth[:, 4])
    assert pooled[carrier, 4] == -np.inf
    assert (np.delete(pooled[:, 4], carrier) < 0).all()
    reached = MicroFOptimum().fit(pooled, truth).objective_
    misled = MicroFOptimum().fit(np.where(np.isinf(pooled), 0, pooled), truth).objective_
    assert figures_of(plan, fold)["svm-rbf", "validation_micro_f1"] == reached < misled


def test_one_label(make_dataset):
    """A single label is a problem like any other."""
    pair = [make_dataset(n=n, seed=n) for n in (36, 20)]
    pair = tuple(replace(part, Y=part.Y[:, :1], label_names=part.label_names[:1]) for part in pair)
    for record in run(PLAN, {"pair": pair}):
        assert np.isfinite(record["value"])


def test_figures_are_shares(records):
    """F is in [0, 1]; so is, here, the share of evaluated thresholds, whose parts are whole numbers."""
    for record in records:
        if record["metric"] in ("n_scans", "n_evaluated"):
            assert record["value"] == int(record["value"]) >= 1
        else:
            assert 0 <= record["value"] <= 1


def test_evaluated_share_is_of_the_rows_of_a_run(pair, records):
    """Threshold vectors, divided by twice the candidates of all labels: 24 rows and the cut above them, 4 labels."""
    values = {(r["fold"], r["method"], r["metric"]): r["value"] for r in records}
    for fold in range(3):
        for method in PLAN.methods:
            share = values[fold, method, "n_evaluated"] / (2 * (24 + 1) * 4)
            assert values[fold, method, "evaluated_share"] == share


@pytest.mark.long
@pytest.mark.parametrize("n_workers", [1, 2])
def test_resuming_and_workers_change_nothing(pair, records, tmp_path, n_workers):
    """After an interruption one run is kept, two are made, and the records are those of one go in one process."""

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(PLAN, {"pair": pair}, out=tmp_path, progress=interrupt)
    told = []
    resumed = run(PLAN, {"pair": pair}, out=tmp_path, n_workers=n_workers, progress=lambda *done: told.append(done))
    assert told == [(2, 3), (3, 3)]
    assert resumed == records


def test_numbers_of_numpy_and_lists_make_the_same_plan(pair, tmp_path):
    """Any collection and any kind of number; the plan's file can be written and read again."""
    numbers = {"n_parts": np.int64(3), "cv": np.int32(3), "C": np.float32(2), "seed": np.uint8(1)}
    plan = replace(PLAN, methods=["svm-rbf"], **numbers)
    same = replace(PLAN, methods=("svm-rbf",), n_parts=3, cv=3, C=2.0)
    assert plan == same
    assert run(plan, {"pair": pair}, out=tmp_path) == run(same, {"pair": pair}, out=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"C": 2.0}, r"C=2\.0 \(there: 0\.5\)"),
        ({"n_parts_used": 1}, r"n_parts_used=1 \(there: 2\)"),
        ({"methods": ("knn",)}, r"methods=\['knn'\] \(there: \['svm-linear', 'svm-rbf', 'knn'\]\)"),
    ],
)
def test_records_of_another_plan_are_left_alone(pair, tmp_path, setting, message):
    """The error says what differs."""
    run(PLAN, {"pair": pair}, out=tmp_path)
    with pytest.raises(ValueError, match=f"must contain records of the same plan, got {message}"):
        run(replace(PLAN, **setting), {"pair": pair}, out=tmp_path)


def test_tfidf_is_weighted_by_the_rows_of_the_run(make_dataset):
    """Counts are weighted by the rows that a run uses: a row it leaves out changes nothing."""
    pair = make_dataset(), make_dataset(n=20, seed=1)
    plan = replace(PLAN, methods=("knn",), scale="tfidf")
    fold = next(plan.folds({"pair": pair}))
    changed = fold.X.copy()
    changed[np.setdiff1d(np.arange(36), fold.training)] *= 0
    assert list(plan.values(fold._replace(X=changed))) == list(plan.values(fold))
