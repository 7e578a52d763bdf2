"""`StreamClassifier`: answers first, then learns, then forgets; the model is always a fit of the rows that stay."""

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.lazy import IBLR, BRkNN, LPkNN, MLkNN, StreamClassifier
from nearlabel.metrics import f1_examples, hamming_loss, micro_f1
from nearlabel.models import updates
from nearlabel.testing import check_multilabel_estimator
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

N_ROWS = 120
METHODS = {
    "BRkNN": partial(BRkNN, 3, weights="distance"),
    "LPkNN": partial(LPkNN, 3),
    "MLkNN": partial(MLkNN, 3),
    "thresholds": lambda: TunedThresholdsClassifierCV(BRkNN(3), cv="loo"),
}


@pytest.fixture(scope="module")
def problem():
    """Rows with ties and duplicates, label sets that depend on them, and queries."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(N_ROWS + 20, 3)).astype(np.float64)
    Y = (rng.random((N_ROWS + 20, 4)) < (X[:, [0, 1, 2, 0]] + 0.2) / 5).astype(np.int64)
    return X[:N_ROWS], Y[:N_ROWS], X[N_ROWS:]


def batches(sizes=(7, 1, 2, 13), n_rows=N_ROWS):
    """Yield slices of so many rows, over and over."""
    start, turn = 0, 0
    while start < n_rows:
        size = sizes[turn % len(sizes)]
        yield slice(start, min(start + size, n_rows))
        start, turn = start + size, turn + 1


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("forgetting", ["oldest", "least_useful"])
@pytest.mark.parametrize("method", METHODS)
def test_after_each_step_the_model_is_a_fit_of_the_rows_that_stay(problem, method, forgetting, store):
    """To the bit, also where batches are larger than the memory; thresholds after they were tuned anew."""
    X, Y, queries = problem
    stream = StreamClassifier(METHODS[method](), max_rows=25, min_rows=5, forgetting=forgetting)
    for rows in batches((9, 1, 30), n_rows=60):
        assert stream.partial_fit(store(X[rows]), store(Y[rows])) is stream
        kept = stream.kept_
        assert stream.n_samples_seen_ == rows.stop
        assert len(kept) <= 25
        assert (np.diff(kept) > 0).all()
        fitted = METHODS[method]().fit(store(X[kept]), store(Y[kept]))
        np.testing.assert_array_equal(stream.predict_proba(store(queries)), fitted.predict_proba(store(queries)))
        if method == "thresholds":
            updates.retune(stream.estimator_)
        np.testing.assert_array_equal(
            as_dense(stream.predict(store(queries))), as_dense(fitted.predict(store(queries)))
        )


def test_scores_are_those_of_predictions_before_learning(problem):
    """As if each batch had been predicted by hand; the rows of the first model are not scored."""
    X, Y, _ = problem
    stream, truth, predicted = StreamClassifier(MLkNN(3), max_rows=30, min_rows=20), [], []
    for rows in batches():
        if hasattr(stream, "estimator_"):
            truth.append(Y[rows])
            predicted.append(stream.predict(X[rows]))
        stream.partial_fit(X[rows], Y[rows])
    truth, predicted = np.vstack(truth), np.vstack(predicted)
    assert stream.prequential_ == pytest.approx(
        {
            "n_samples": len(truth),
            "micro_f1": micro_f1(truth, predicted),
            "example_f1": f1_examples(truth, predicted, zero_division=1.0),
            "hamming_loss": hamming_loss(truth, predicted),
        }
    )


def test_the_oldest_go():
    """The latest rows stay, of a first fit and of a batch that is too large as well."""
    X, Y = np.arange(30.0).reshape(-1, 1), np.tile([[0, 1], [1, 0]], (15, 1))
    stream = StreamClassifier(BRkNN(1), max_rows=4).fit(X[:10], Y[:10])
    assert stream.kept_.tolist() == [6, 7, 8, 9]
    assert stream.partial_fit(X[10:11], Y[10:11]).kept_.tolist() == [7, 8, 9, 10]
    assert stream.partial_fit(X[11:30], Y[11:30]).kept_.tolist() == [26, 27, 28, 29]
    assert stream.prequential_["n_samples"] == 20


def test_the_least_useful_go():
    """Two neighbours each; a row that agrees less than the other one loses, one that no one asks loses nothing."""
    X = [[0.0], [0.1], [5.0], [5.1], [9.0]]
    y = [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1]]
    stream = StreamClassifier(BRkNN(2), max_rows=5, forgetting="least_useful").fit(X, y)
    # The neighbours 0 and 1 agree with F1 1 and 0, so their balances are +1/2 and -1/2: row 1 goes.
    assert stream.partial_fit([[0.04]], [[1, 0]]).kept_.tolist() == [0, 2, 3, 4, 5]
    # Those of 5.0 both agree: all balances but that of row 0 are 0, and row 2 is the oldest of these.
    assert stream.partial_fit([[5.04]], [[1, 0]]).kept_.tolist() == [0, 3, 4, 5, 6]
    # 5.04 and 5.1 are asked; the row 3 is wrong for label 1, which row 6 had too: nobody differs, row 3 is the oldest.
    assert stream.partial_fit([[5.2]], [[0, 1]]).kept_.tolist() == [0, 4, 5, 6, 7]


def test_rows_that_have_just_come_stay():
    """Also where rows that have helped must go for them."""
    X = [[0.0], [0.1], [5.0], [5.1]]
    y = [[1, 0], [0, 1], [1, 0], [0, 1]]
    stream = StreamClassifier(BRkNN(2), max_rows=4, forgetting="least_useful").fit(X, y)
    stream.partial_fit([[0.04]], [[1, 0]]).partial_fit([[5.04]], [[1, 0]])
    assert stream.kept_.tolist() == [0, 2, 4, 5]
    assert (stream._rows.balance[:2] > 0).all()
    assert stream.partial_fit([[90.0], [91.0], [92.0]], [[1, 0]] * 3).kept_.tolist() == [2, 6, 7, 8]


def test_balances_fade():
    """A row that once was useful goes before one that was so as much later."""
    X = [[0.0], [0.1], [5.0], [5.1]]
    y = [[1, 0], [0, 1], [1, 0], [0, 1]]
    stream = StreamClassifier(BRkNN(2), max_rows=4, forgetting="least_useful").fit(X, y)
    stream.set_params(max_rows=6).partial_fit([[0.04]], [[1, 0]]).partial_fit([[5.04]], [[1, 0]])
    assert stream.kept_.tolist() == [0, 1, 2, 3, 4, 5]
    stream.set_params(max_rows=5).partial_fit([[100.0]], [[1, 0]])
    assert stream.kept_.tolist() == [0, 2, 4, 5, 6]  # 3 lost as much as 1, and later
    first, second = stream._rows.balance[:2]
    assert 0 < first < second


def test_useful_rows_stay_where_labels_are_wrong():
    """Of rows with right and with random label sets the latter go."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    Y = (X[:, [0, 1, 0]] > [0.5, 0.5, 0.2]).astype(int)
    wrong = rng.random(600) < 0.3
    Y[wrong] = rng.integers(0, 2, size=(wrong.sum(), 3))
    stream = StreamClassifier(BRkNN(5), max_rows=150, forgetting="least_useful")
    for rows in batches((20,), 600):
        stream.partial_fit(X[rows], Y[rows])
    assert wrong[stream.kept_].mean() < 0.15
    assert wrong[450:].mean() > 0.25


def test_rows_are_gathered_until_there_are_enough(problem):
    """Before that there is no model, which `predict` says; `fit` needs no gathering."""
    X, Y, queries = problem
    stream = StreamClassifier(MLkNN(10), min_rows=1)
    for row in range(10):
        stream.partial_fit(X[[row]], Y[[row]])
    with pytest.raises(NotFittedError, match="it has collected 10 samples of min_rows=1"):
        stream.predict(queries)
    assert stream.kept_.tolist() == list(range(10))
    assert np.isnan(stream.prequential_["micro_f1"])
    stream.partial_fit(X[[10]], Y[[10]])
    assert stream.prequential_["n_samples"] == 0
    np.testing.assert_array_equal(stream.predict(queries), MLkNN(10).fit(X[:11], Y[:11]).predict(queries))
    with pytest.raises(NotFittedError, match="collected 0 samples"):
        StreamClassifier().forget([0])
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=9, got 10"):
        StreamClassifier().fit(X[:9], Y[:9])


def test_rows_are_gathered_from_any_container(problem):
    """Sparse and dense rows, in one stream."""
    X, Y, queries = problem
    stream = StreamClassifier(MLkNN(3), min_rows=20)
    stream.partial_fit(X[:9], Y[:9]).partial_fit(sparse.csr_array(X[9:20]), Y[9:20])
    np.testing.assert_array_equal(stream.predict(queries), MLkNN(3).fit(X[:20], Y[:20]).predict(queries))


def test_new_labels(problem):
    """They come as further columns, as tags and as `classes`; a label that nobody could predict was missed."""
    X, Y, queries = problem
    stream = StreamClassifier(MLkNN(3), min_rows=20).partial_fit(X[:20], Y[:20, :3]).partial_fit(X[20:40], Y[20:40])
    padded = Y[:40].copy()
    padded[:20, 3] = 0
    np.testing.assert_array_equal(stream.predict_proba(queries), MLkNN(3).fit(X[:40], padded).predict_proba(queries))
    before = np.hstack([MLkNN(3).fit(X[:20], Y[:20, :3]).predict(X[20:40]), np.zeros((20, 1), dtype=int)])
    assert stream.prequential_["micro_f1"] == pytest.approx(micro_f1(Y[20:40], before))

    tagged = StreamClassifier(BRkNN(1), min_rows=2).partial_fit([[0.0], [1.0]], [["sad"], ["calm"]])
    tagged.partial_fit([[2.0]], [["loud"]], classes=["shrill"])
    assert tagged.label_names_.tolist() == ["calm", "sad", "loud", "shrill"]
    assert tagged.predict_labels([[0.1], [2.1]]) == [("sad",), ("loud",)]
    assert [one.predicted for one in tagged.explain([[2.1]])] == [["loud"]]
    assert tagged.changes_ == {"added": 1, "forgotten": 0, "new_labels": ["loud", "shrill"]}
    assert not tagged.thresholds_stale_


def test_one_label_of_two_classes():
    """A one-dimensional y; a class may come late, also before the other in their order."""
    X, y = np.arange(12.0).reshape(-1, 1), np.array(["no"] * 6 + ["yes"] * 6)
    stream = StreamClassifier(BRkNN(1), min_rows=3)
    for rows in batches((3,), 12):
        stream.partial_fit(X[rows], y[rows])
    np.testing.assert_array_equal(stream.predict(X), y)
    assert stream.prequential_["n_samples"] == 9
    assert stream.prequential_["hamming_loss"] == pytest.approx(3 / 9)
    late = StreamClassifier(BRkNN(1), min_rows=3).partial_fit(X[6:], y[6:]).partial_fit(X[:6], y[:6])
    np.testing.assert_array_equal(late.predict(X), y)
    assert late.prequential_["hamming_loss"] == 1


def test_data_frames(problem):
    """Names of features are checked, those of labels kept, and columns found by name."""
    X, Y, queries = problem
    rows, labels = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("wxyz"))
    stream = StreamClassifier(MLkNN(3), min_rows=20, max_rows=50)
    for some in batches():
        stream.partial_fit(rows[some], labels[some][["w", "x", "y", "z"]])
    plain = StreamClassifier(MLkNN(3), min_rows=20, max_rows=50)
    for some in batches():
        plain.partial_fit(X[some], Y[some])
    np.testing.assert_array_equal(stream.predict(pd.DataFrame(queries, columns=list("abc"))), plain.predict(queries))
    assert stream.label_names_.tolist() == list("wxyz")
    assert stream.feature_names_in_.tolist() == list("abc")
    stream.partial_fit(rows[:1], labels[:1][["z", "y", "x", "w"]])
    np.testing.assert_array_equal(stream._labels[-1], Y[0])
    with pytest.raises(ValueError, match="feature names should match"):
        stream.partial_fit(rows[:1].rename(columns={"a": "q"}), labels[:1])


def test_a_pipeline_inside(problem):
    """Its steps stay as the first rows made them; neighbours are found among rows as the last step sees them."""
    X, Y, queries = problem
    stream = StreamClassifier(make_pipeline(StandardScaler(), MLkNN(3)), min_rows=20, max_rows=40)
    for rows in batches((20, 5)):
        stream.partial_fit(X[rows], Y[rows])
    scaler, kept = StandardScaler().fit(X[:20]), stream.kept_
    fitted = MLkNN(3).fit(scaler.transform(X[kept]), Y[kept])
    np.testing.assert_array_equal(stream.predict_proba(queries), fitted.predict_proba(scaler.transform(queries)))
    assert [one.predicted for one in stream.explain(queries)] == [
        np.flatnonzero(row).tolist() for row in stream.predict(queries)
    ]


def test_forget(problem):
    """Rows go by their places; what would leave too few is refused, and changes nothing."""
    X, Y, queries = problem
    stream = StreamClassifier(MLkNN(3), min_rows=20).partial_fit(X[:30], Y[:30]).partial_fit(X[30:40], Y[30:40])
    stream.forget(np.flatnonzero(stream.kept_ < 25))
    assert stream.kept_.tolist() == list(range(25, 40))
    np.testing.assert_array_equal(stream.predict(queries), MLkNN(3).fit(X[25:40], Y[25:40]).predict(queries))
    with pytest.raises(ValueError, match="rows must leave at least 4 training samples for n_neighbors=3, got 12 of 15"):
        stream.forget(range(12))
    with pytest.raises(ValueError, match="rows must be numbers from 0 to 14, got 15"):
        stream.forget([15])
    assert len(stream.kept_) == len(stream._labels) == 15


def test_an_error_changes_nothing(problem):
    """Rows of another width, labels of another number, a length too short."""
    X, Y, _ = problem
    stream = StreamClassifier(MLkNN(3), min_rows=20).fit(X[:30], Y[:30]).partial_fit(X[30:40], Y[30:40])
    before = pickle.dumps(stream)
    for rows, labels in ((X[:3, :2], Y[:3]), (X[:3], Y[:3, :2]), (X[:3], Y[:2]), (X[:3], Y[:3] * 2), (X[:3], Y[:3, 0])):
        with pytest.raises(ValueError, match=r"X has|must have at least|inconsistent|must contain|one-dimensional"):
            stream.partial_fit(rows, labels)
        assert pickle.dumps(stream) == before


def test_unknown_labels_are_refused(problem):
    """By the name of the class."""
    X, Y, _ = problem
    with pytest.raises(ValueError, match="y must have no unknown cells for StreamClassifier, got 1"):
        StreamClassifier().fit(X, np.where(np.arange(Y.size).reshape(Y.shape) == 5, np.nan, Y))


def test_copies(problem):
    """A clone has no rows, a pickle goes on as the original does; `fit` begins anew."""
    X, Y, _ = problem
    stream = StreamClassifier(MLkNN(3), min_rows=20, max_rows=40, forgetting="least_useful", drift_window=10)
    for rows in batches(n_rows=100):
        stream.partial_fit(X[rows], Y[rows])
    assert not hasattr(clone(stream), "estimator_")
    copied = pickle.loads(pickle.dumps(stream)).partial_fit(X[100:], Y[100:])
    stream.partial_fit(X[100:], Y[100:])
    np.testing.assert_array_equal(copied.kept_, stream.kept_)
    assert (copied.prequential_, copied.drift_) == (stream.prequential_, stream.drift_)
    assert stream.fit(X[:30], Y[:30]).kept_.tolist() == list(range(30))
    assert stream.prequential_["n_samples"] == 0
    assert stream.drift_ is None


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"max_rows": 10}, ValueError, "max_rows must be more than the n_neighbors=10 of the estimator, got 10"),
        ({"max_rows": 1}, ValueError, "max_rows must be at least 2, got 1"),
        ({"max_rows": 20.5}, TypeError, "max_rows must be an integer"),
        ({"forgetting": "newest"}, ValueError, r"forgetting must be one of \['least_useful', 'oldest'\], got 'newest'"),
        ({"min_rows": 0}, ValueError, "min_rows must be at least 1"),
        ({"drift_window": 0}, ValueError, "drift_window must be at least 1"),
        ({"drift_alpha": 0.0}, ValueError, "drift_alpha must be a finite number above 0"),
        ({"drift_alpha": 1.0}, ValueError, r"drift_alpha must be less than 1, got 1\.0"),
        ({"estimator": IBLR()}, TypeError, "estimator must be a method by votes of neighbours, .*, got IBLR"),
        ({"estimator": StandardScaler()}, TypeError, "estimator must be a method by votes .*, got StandardScaler"),
    ],
)
def test_parameters(problem, parameters, error, message):
    """What is wrong is said by `fit` and by `partial_fit`."""
    X, Y, _ = problem
    with pytest.raises(error, match=message):
        StreamClassifier(**parameters).fit(X, Y)
    with pytest.raises(error, match=message):
        StreamClassifier(**parameters).partial_fit(X, Y)


def test_a_memory_smaller_than_the_first_rows(problem):
    """`min_rows` is at most `max_rows`: so few rows are enough."""
    X, Y, _ = problem
    stream = StreamClassifier(BRkNN(3), max_rows=8).partial_fit(X[:8], Y[:8]).partial_fit(X[8:10], Y[8:10])
    assert stream.kept_.tolist() == list(range(2, 10))


def test_the_contract():
    """That of every multi-label classifier."""
    check_multilabel_estimator(StreamClassifier(MLkNN(3), max_rows=500))
