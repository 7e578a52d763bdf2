"""Rows that are unlike all training rows: p-values by plain loops, their promise, and detectors of models."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearlabel.lazy import MLMLM, BRkNN, MLkNN
from nearlabel.models import explain, novelty_detector
from nearlabel.neighbors import ExactNeighbors, NoveltyDetector
from nearlabel.rivals import RandomForestPCT
from nearlabel.thresholds import TunedThresholdsClassifierCV


def rows(seed, n=60, ties=False):
    """Return rows of two features, on a grid if `ties`."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return np.round(X * 2) / 2 if ties else X


def mean_distance(row, others, k):
    """Return the mean distance of a row to its k nearest among others."""
    return np.sort(cdist([row], others)[0])[:k].mean()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [1, 4])
def test_p_values_by_loops(ties, k):
    """The share of the rows, the query among them, that are at least as far from their neighbours as the query."""
    X, queries = rows(0, ties=ties), rows(1, 20, ties=ties) * 1.5
    usual = [mean_distance(X[i], np.delete(X, i, axis=0), k) for i in range(len(X))]
    detector = NoveltyDetector(k, level=0.1).fit(X)
    found = detector.p_values(queries)
    for query, p_value in zip(queries, found, strict=True):
        d = mean_distance(query, X, k)
        at_least = sum(u >= d - 1e-12 for u in usual)
        assert p_value == pytest.approx((1 + at_least) / (len(X) + 1))
        assert (detector.predict([query])[0] == -1) == (p_value <= 0.1) == (detector.decision_function([query])[0] < 0)
        # The exact conformal p-value, of all rows with the query among them, is at most that: no row held out.
        exact = [mean_distance(X[i], [*np.delete(X, i, axis=0), query], k) for i in range(len(X))]
        assert (1 + sum(u >= d - 1e-12 for u in exact)) / (len(X) + 1) <= p_value


@pytest.mark.long
def test_at_most_the_level_is_novel():
    """Of 150 draws of few training rows and new ones like them; rows elsewhere are all novel."""
    shares, elsewhere = [], []
    for seed in range(150):
        X = rows(seed, 139)
        detector = NoveltyDetector(3, level=0.1).fit(X[:39])
        shares.append((detector.predict(X[39:]) == -1).mean())
        elsewhere.append((detector.predict(X[39:49] + 20) == -1).mean())
    assert 0.05 < np.mean(shares) <= 0.1 + 3 * np.std(shares) / np.sqrt(150)
    assert np.mean(elsewhere) == 1.0


def test_too_few_rows_for_the_level():
    """With 1 / level - 1 rows the least p-value is the level; with fewer no row is novel."""
    X, far = rows(0, 10), [[99.0, 99.0]]
    assert NoveltyDetector(2, level=0.1).fit(X[:9]).predict(far).tolist() == [-1]
    assert NoveltyDetector(2, level=0.1).fit(X[:8]).predict(far).tolist() == [1]


def test_training_rows():
    """`fit_predict` leaves each row out: two that lie apart are novel, if the level allows two."""
    X = np.vstack([rows(0, 48), [[50.0, 50.0], [-60.0, 0.0]]])
    assert np.flatnonzero(NoveltyDetector(3, level=0.04).fit_predict(X) == -1).tolist() == [48, 49]
    assert (NoveltyDetector(3, level=0.01).fit_predict(X) == 1).all()


def test_containers_and_searches():
    """Sparse rows, frames and another metric; NaN where the search takes it."""
    X = np.abs(rows(0))
    expected = NoveltyDetector(5).fit(X).p_values(X)
    assert NoveltyDetector(5).fit(sparse.csr_array(X)).p_values(sparse.csr_array(X)).tolist() == expected.tolist()
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert NoveltyDetector(5).fit(frame).p_values(frame).tolist() == expected.tolist()
    cosine = NoveltyDetector(5, level=0.05, search=ExactNeighbors("cosine")).fit(X)
    assert cosine.predict([[1.0, 1.0], [-1.0, -1.0]]).tolist() == [1, -1]
    holes = X.copy()
    holes[3, 0] = np.nan
    assert np.isfinite(NoveltyDetector(5, search=ExactNeighbors("heom")).fit(holes).p_values(holes)).all()


@pytest.mark.parametrize(
    ("detector", "error", "message"),
    [
        (NoveltyDetector(level=0), ValueError, r"level must be between 0 and 1, got 0\."),
        (NoveltyDetector(level="1 %"), TypeError, r"level must be a number, got '1 %' of type str\."),
        (NoveltyDetector(0), ValueError, r"n_neighbors must be at least 1, got 0"),
        (NoveltyDetector(60), ValueError, r"n_neighbors must be smaller than n_samples=60, got 60"),
    ],
)
def test_wrong_parameters(detector, error, message):
    """Each is named in `fit`."""
    with pytest.raises(error, match=message):
        detector.fit(rows(0))


@pytest.mark.parametrize("method", [MLkNN, BRkNN])
def test_the_detector_of_a_model(method):
    """It is that of the model's rows as its search sees them, behind its steps, and agrees with `explain`."""
    X, queries = rows(0), rows(1, 15) * 2
    Y = (X > 0).astype(int)
    alone = NoveltyDetector(4, level=0.1).fit(X)
    assert novelty_detector(method(4).fit(X, Y), 0.1).p_values(queries).tolist() == alone.p_values(queries).tolist()
    model = make_pipeline(StandardScaler(), TunedThresholdsClassifierCV(method(4), cv="loo")).fit(X, Y)
    detector = novelty_detector(model, 0.1)
    scaled = NoveltyDetector(4, level=0.1).fit(model[0].transform(X))
    assert detector.predict(queries).tolist() == scaled.predict(model[0].transform(queries)).tolist()
    novelty = np.array([one.novelty for one in explain(model, queries)])
    p_values = detector[-1].p_values(model[0].transform(queries))
    assert p_values == pytest.approx((1 + len(X) * (1 - novelty)) / (len(X) + 1))


@pytest.mark.parametrize("model", [MLkNN, BRkNN])
def test_the_detector_of_a_model_knows_equal_distances(model):
    """Rows that are all as far from each other as new ones are no novelty, however many distances are added up."""
    X = np.eye(60) * 0.05  # distances of 0.1: ten of them, added one by one, are less than in pairs
    fitted = model(10, search=ExactNeighbors("manhattan")).fit(X[:40], X[:40, :2] > 0)
    assert novelty_detector(fitted, 0.1).p_values(X[40:]).tolist() == [1.0] * 20


def test_the_detector_of_ml_mlm():
    """Ten neighbours among the rows as the method scales them."""
    X, queries = rows(0), rows(1, 15) * 3
    model = MLMLM(scale="minmax").fit(X, X > 0)
    scaled = MinMaxScaler().fit(X)
    alone = NoveltyDetector(10, level=0.1).fit(scaled.transform(X))
    found = novelty_detector(model, 0.1)
    assert found.predict(queries.tolist()).tolist() == alone.predict(scaled.transform(queries)).tolist()
    assert -1 in found.predict(queries)


@parametrize_with_checks(
    [NoveltyDetector(3, level=0.1)],
    expected_failed_checks=lambda _: {
        "check_outliers_fit_predict": "fit_predict leaves each training row out, which predict cannot",
    },
)
def test_scikit_learns_checks(estimator, check):
    """Those of outlier detectors."""
    check(estimator)


def test_models_without_neighbours():
    """A forest has none; a level out of range is named."""
    X = rows(0)
    with pytest.raises(
        TypeError, match=r"model must search a number of neighbours, .* one, got RandomForestPCT\. Hint"
    ):
        novelty_detector(RandomForestPCT(2).fit(X, X > 0))
    with pytest.raises(ValueError, match=r"level must be between 0 and 1, got 2\."):
        novelty_detector(MLkNN(3).fit(X, X > 0), 2)
