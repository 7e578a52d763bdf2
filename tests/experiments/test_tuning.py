from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments import Candidate, Tuning, make_method
from nearlabel.metrics import CATALOGUE, score_all
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import FeatureScaler
from nearlabel.selection.methods import MethodSpec
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.estimators import label_scores, response_method_of

LOO_METHODS = ("brknn", "mlknn", "brknn@micro-f", "mlknn@macro-f", "lpknn@0.4")


def dataset(X, Y, name="toy"):
    """Rows with names."""
    return Dataset(X, Y, tuple(map(str, range(X.shape[1]))), tuple("abcdefgh"[: Y.shape[1]]), name)


@pytest.fixture
def data():
    """Thirty rows with ties; a row without labels, a label of one class."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (30, 3)).astype(float)
    Y = np.column_stack([X + rng.normal(size=(30, 3)) > 2, np.zeros(30)]).astype(np.int64)
    Y[4] = 0
    return dataset(X, Y)


def parts_of(n_rows, n_parts=5):
    """The parts of the rows."""
    return [part for _, part in KFold(n_parts, shuffle=True, random_state=0).split(np.zeros(n_rows))]


def answer(candidate, data, parts):
    """Label sets and scores of every row by a fit to the rows outside its part; thresholds not yet tuned."""
    spec = MethodSpec.of(candidate.method)
    labels, scores = np.zeros(data.Y.shape, dtype=np.int64), np.zeros(data.Y.shape)
    for part in parts:
        others = np.delete(np.arange(len(data.Y)), part)
        scaler = FeatureScaler(candidate.scale).fit(data.X[others])
        model = spec.make_untuned(candidate.n_neighbors, ExactNeighbors())
        model.fit(scaler.transform(data.X[others]), data.Y[others])
        rows = scaler.transform(data.X[part])
        labels[part] = model.predict(rows)
        scores[part] = label_scores(model, rows, data.Y.shape[1], response_method_of(model))
    return labels, scores


def decided(candidate, data, labels, scores, parts):
    """The label sets by the candidate's thresholds, those that are tuned without the part that they decide."""
    thresholds = MethodSpec.of(candidate.method).thresholds
    if thresholds is None:
        return labels
    if not isinstance(thresholds, ThresholdStrategy):
        return (scores >= thresholds).astype(np.int64)
    found = np.zeros_like(labels)
    for part in parts:
        others = np.setdiff1d(np.arange(len(labels)), part)
        found[part] = clone(thresholds).fit(scores[others], data.Y[others]).predict(scores[part])
    return found


def answers_of(candidates, data, held, parts):
    """Label sets and scores of every candidate."""
    answers = []
    for candidate in candidates:
        labels, scores = answer(candidate, data, held)
        answers.append((decided(candidate, data, labels, scores, parts), scores))
    return answers


def expected(answers, data, metric, parts):
    """Value of every candidate, and all metrics of the choice made anew without each part."""

    def value(labels, scores, rows):
        return score_all(data.Y[rows], labels[rows], scores[rows], [metric])[metric]

    sign = 1 if CATALOGUE[metric].greater_is_better else -1
    chosen = np.zeros_like(data.Y), np.zeros(data.Y.shape)
    for part in parts:
        others = np.setdiff1d(np.arange(len(data.Y)), part)
        best = max(answers, key=lambda pair: sign * value(*pair, others))
        for whole, own in zip(chosen, best, strict=True):
            whole[part] = own[part]
    values = [value(*pair, np.arange(len(data.Y))) for pair in answers]
    return values, score_all(data.Y, *chosen)


def check(tuned, candidates, values, scores):
    """Everything is as expected; best first."""
    assert {t.candidate: t.value for t in tuned.trials} == pytest.approx(dict(zip(candidates, values, strict=True)))
    sign = 1 if CATALOGUE[tuned.metric].greater_is_better else -1
    assert [t.value for t in tuned.trials] == sorted((t.value for t in tuned.trials), reverse=sign > 0)
    assert tuned.best == candidates[int(np.argmax(sign * np.array(values)))]
    assert tuned.scores == pytest.approx({k: v for k, v in scores.items() if np.isfinite(v)})


@pytest.mark.long
def test_leave_one_out_against_refits(data):
    """Each row by a refit without it; thresholds and the choice without each fifth; all in loops."""
    candidates = [Candidate(m, k, "none", "exact") for m, k in product(LOO_METHODS, (1, 4))]
    held = [np.array([row]) for row in range(30)]
    answers = answers_of(candidates, data, held, parts_of(30))
    for metric in ("micro_f1", "hamming_loss", "ranking_loss"):
        tuned = Tuning(LOO_METHODS, n_neighbors=(1, 4), metric=metric).run(data)
        check(tuned, candidates, *expected(answers, data, metric, parts_of(30)))
        assert tuned.measured.startswith("leave-one-out; selection nested in 5-fold")
        assert {trial.held_out for trial in tuned.trials} == {"leave-one-out"}


@pytest.mark.long
def test_folds_against_refits(data):
    """Scaling, selection of features and fits see the other folds only; methods with k and without."""
    data.X[7, 0] = 60.0  # so that the range of the feature is not the same without this row
    by_neighbors, other = ("mlknn@micro-f", "iblr", "igs:factor=1+brknn"), "br:estimator=logistic@micro-f"
    candidates = []
    for scale in ("none", "minmax"):
        candidates += [
            Candidate(method, k, scale, "exact", out_of_range="keep") for method, k in product(by_neighbors, (1, 4))
        ]
        candidates.append(Candidate(other, None, scale, None, out_of_range="keep"))
    answers = answers_of(candidates, data, parts_of(30, 3), parts_of(30, 3))
    tuned = Tuning(
        (*by_neighbors, other), n_neighbors=(1, 4), scales=("none", "minmax"), cv=3, out_of_range="keep"
    ).run(data)
    check(tuned, candidates, *expected(answers, data, "micro_f1", parts_of(30, 3)))
    assert {trial.held_out for trial in tuned.trials} == {"3-fold cross-validation"}


def test_methods_without_leave_one_out_answers_have_folds(data):
    """They stand beside the others, and the card says so."""
    tuned = Tuning(("brknn", "iblr"), n_neighbors=(3,)).run(data)
    assert {t.candidate.method: t.held_out for t in tuned.trials} == {
        "brknn": "leave-one-out",
        "iblr": "5-fold cross-validation",
    }
    assert tuned.measured.startswith("leave-one-out and 5-fold cross-validation; ")


def test_one_candidate_is_judged_plainly(data):
    """Nothing is chosen or tuned: the measures are those of the leave-one-out label sets and scores."""
    tuned = Tuning(("mlknn",), n_neighbors=(4,)).run(data)
    model = make_method("mlknn", 4).fit(data.X, data.Y)
    known = score_all(data.Y, model.loo_predict(), model.loo_predict_proba())
    assert tuned.scores == pytest.approx(known)
    assert tuned.measured == "leave-one-out"
    (trial,) = tuned.trials
    assert trial[:3] == (Candidate("mlknn", 4, "none", "exact"), known["micro_f1"], "leave-one-out")
    labels = model.loo_predict()
    parts = [score_all(data.Y[part], labels[part], metrics=["micro_f1"])["micro_f1"] for part in parts_of(30)]
    assert trial.values == pytest.approx(parts)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": (40,)}, "n_neighbors must be at most 28 where some of 30 rows"),
        ({"cv": 31}, "cv must be at most the 30 rows of toy, got 31"),
    ],
)
def test_a_check_refuses_what_a_run_refuses(data, options, message):
    """In the same words, without a fit; what can be tried passes."""
    tuning = Tuning(("brknn", "mlknn"), **options)
    for refuses in (tuning.check, tuning.run):
        with pytest.raises(ValueError, match=message):
            refuses(data)
    assert Tuning(("brknn",), n_neighbors=(3,)).check(data) is None


def test_a_check_reads_the_state_and_writes_none(data, tmp_path):
    """A file of other options is refused."""
    tuning = Tuning(("brknn",), n_neighbors=(3,))
    tuning.check(data, state=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []
    tuning.run(data, state=tmp_path / "state")
    with pytest.raises(ValueError, match="state must be of the same data and options"):
        Tuning(("mlknn",), n_neighbors=(3,)).check(data, state=tmp_path / "state")


@pytest.mark.long
def test_sparse_equals_dense(data):
    """The storage of X and Y changes no figure."""
    tuning = Tuning(("mlknn@micro-f", "lpknn", "iblr"), n_neighbors=(2, 3), searches=("exact", "exact:metric=cosine"))
    rows = dataset(data.X + 1, data.Y)  # no row is zero, for the cosine
    stored = dataset(sparse.csr_array(rows.X), sparse.csr_array(rows.Y))
    one, other = tuning.run(rows), tuning.run(stored)
    assert [t.candidate for t in one.trials] == [t.candidate for t in other.trials]
    assert other.scores == pytest.approx(one.scores)


def test_numbers_of_neighbors_as_far_as_the_rows_allow(data):
    """An int means up to it; the last row but one is the last neighbour, and with folds fewer."""
    few = dataset(data.X[:8], data.Y[:8])
    tuned = Tuning(("mlknn", "iblr"), n_neighbors=30).run(few)
    of = {
        m: sorted(t.candidate.n_neighbors for t in tuned.trials if t.candidate.method == m) for m in ("mlknn", "iblr")
    }
    assert of == {"mlknn": [1, 2, 3, 4, 5, 6], "iblr": [1, 2, 3, 4, 5]}
    with pytest.raises(ValueError, match="n_neighbors must be at most 6 where some of 8 rows are held out, got 7"):
        Tuning(("mlknn",), n_neighbors=(7,)).run(few)


def test_of_equal_values_the_first_wins():
    """In the order of the options, then the smaller number of neighbours."""
    X, Y = np.repeat([[0.0], [9.0]], 10, axis=0), np.repeat([[1, 0], [0, 1]], 10, axis=0)
    tuned = Tuning(("mlknn", "brknn"), n_neighbors=3).run(dataset(X, Y))
    assert tuned.best == Candidate("mlknn", 1, "none", "exact")
    assert tuned.trials[0].value == tuned.trials[-1].value == 1


def test_progress_is_the_time_of_what_is_left(data):
    """Called once for each fit, which thresholds share; at the end nothing is left."""
    seen = []
    Tuning(("mlknn", "mlknn@micro-f", "brknn"), n_neighbors=(1, 2)).run(data, progress=lambda *pair: seen.append(pair))
    assert len(seen) == 4
    assert all(0 < done <= total for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert [done == total for done, total in seen] == [False, False, False, True]


@pytest.mark.parametrize(
    ("candidate", "steps"),
    [
        (Candidate("mlknn", 3, "none", "exact"), "MLkNN(n_neighbors=3)"),
        (Candidate("mlknn", 3, "none", "exact:metric=cosine"), "MLkNN(n_neighbors=3, search=ExactNeighbors("),
        (Candidate("br:estimator=logistic", None, "minmax", None), "BinaryRelevance"),
    ],
)  # fmt: skip
def test_models(data, candidate, steps):
    """A candidate is an estimator; one whose features are scaled is a pipeline."""
    model = candidate.make()
    last = model[-1] if isinstance(model, Pipeline) else model
    assert isinstance(model, Pipeline) == (candidate.scale != "none")
    assert repr(last).startswith(steps)
    assert model.fit(data.X, data.Y).predict(data.X).shape == data.Y.shape


def test_tuned_model_shuffles_its_folds():
    """A method without leave-one-out scores has its thresholds tuned on shuffled folds: files are often sorted."""
    assert Candidate("iblr@micro-f", 3, "none", "exact").make().random_state == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"methods": ()}, "methods must name at least one"),
        ({"methods": ("knn",)}, "method must be one of"),
        ({"scales": ("max",)}, "scale must be one of"),
        ({"searches": ("exakt",)}, "search must be one of"),
        ({"n_neighbors": (0,)}, "n_neighbors must be at least 1"),
        ({"n_neighbors": ()}, "n_neighbors must name at least one"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"metric": "micro_f"}, "metric must be a name of the catalogue, a Metric or a function, got 'micro_f'"),
    ],
)
def test_bad_settings(settings, message):
    """Refused before any data are read."""
    with pytest.raises(ValueError, match=message):
        Tuning(**{"methods": ("mlknn",)} | settings)


def test_bad_data(data):
    """Missing values, too few rows, a measure that is undefined: one line each."""
    with pytest.raises(ValueError, match="X of toy must be finite, got 1 missing"):
        Tuning(("mlknn",)).run(dataset(np.vstack([data.X[:-1], [[np.nan, 0, 0]]]), data.Y))
    with pytest.raises(ValueError, match="data must have more samples, so that some can be held out, got 2"):
        Tuning(("mlknn",)).run(dataset(data.X[:2], data.Y[:2]))
    with pytest.raises(ValueError, match="'toy' must have at least 2 rows for some to be held out, got 1"):
        Tuning(("mlknn",)).run(dataset(data.X[:1], data.Y[:1]))
    with pytest.raises(ValueError, match="metric must be defined on the samples, got coverage"):
        Tuning(("mlknn",), metric="coverage").run(dataset(data.X, np.zeros_like(data.Y)))
