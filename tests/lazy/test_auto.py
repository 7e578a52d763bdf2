"""``n_neighbors="auto"``: chosen by leave-one-out predictions, from one search."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from conftest import CONTAINERS
from nearlabel.lazy import IBLR, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.utils.validation import as_dense

METHODS = [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN, DMLkNN, CMLkNN]


@pytest.fixture(scope="module")
def small():
    """34 rows in which the labels follow the place, more or less."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(34, 2))
    Y = np.column_stack([X > 0, X.sum(axis=1) > 0.5]) ^ (rng.random((34, 3)) < 0.15)
    return X, Y.astype(int)


def refitted(model, X, Y, k):
    """Micro F1 of what fits of all other rows predict for each row."""
    predicted = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        predicted.append(clone(model).set_params(n_neighbors=k).fit(X[others], Y[others]).predict(X[[i]])[0])
    return micro_f1(Y, np.array(predicted))


@pytest.mark.long
@pytest.mark.parametrize(
    ("method", "numbers"),
    [
        (BRkNN, (1, 7, 30)),
        (BRkNNa, (2, 29)),
        (BRkNNb, (7, 30)),
        (LPkNN, (1, 12)),
        (MLkNN, (1, 2, 7, 12, 29, 30)),
        (DMLkNN, (3, 9)),
    ],
)
def test_the_table_is_that_of_refits(small, method, numbers):
    """Every number from 1 to 30 has, exactly, the micro F1 of refits without each row; the best, first, is taken."""
    X, Y = small
    model = method("auto").fit(X, Y)
    table = model.cv_results_
    assert table["n_neighbors"].tolist() == list(range(1, 31))
    for k in numbers:
        assert table["micro_f1"][k - 1] == refitted(method(), X, Y, k)
    assert model.n_neighbors_ == table["n_neighbors"][np.argmax(table["micro_f1"])]


@pytest.mark.parametrize(
    ("method", "container"),
    [*((method, "dense") for method in METHODS), (MLkNN, "csr_array"), (BRkNN, "csr_array"), (IBLR, "csr_array")],
)
def test_equals_the_fit_with_that_number(small, method, container):
    """What is fitted is what the chosen number gives: scores bit for bit, label sets, leave-one-out."""
    X, Y = small
    Y = CONTAINERS[container](Y)
    model = method("auto").fit(X, Y)
    single = method(model.n_neighbors_).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X[:9] + 0.1), single.predict_proba(X[:9] + 0.1))
    np.testing.assert_array_equal(as_dense(model.predict(X)), as_dense(single.predict(X)))
    if method is not IBLR:
        np.testing.assert_array_equal(model.loo_predict_proba(), single.loo_predict_proba())
    assert model.n_neighbors == "auto"
    assert type(model.search_) is ExactNeighbors


@pytest.mark.long
def test_iblr_chooses_on_five_folds(small):
    """It has no leave-one-out answers: the predictions of five shuffled folds are judged together."""
    from sklearn.model_selection import KFold

    X, Y = small
    model = IBLR("auto", ridge=1.0).fit(X, Y)
    assert model.cv_results_["n_neighbors"].tolist() == list(range(1, 27))  # 34 rows less 7, and less the row itself
    truth, predicted = [], []
    for rows, held in KFold(5, shuffle=True, random_state=0).split(X):
        predicted.append(IBLR(4, ridge=1.0).fit(X[rows], Y[rows]).predict(X[held]))
        truth.append(Y[held])
    assert model.cv_results_["micro_f1"][3] == micro_f1(np.vstack(truth), np.vstack(predicted))


class _Counting(BaseEstimator):
    """An exact search that counts how often it is asked for the training rows."""

    def fit(self, X):
        self.search_, self.asked_ = ExactNeighbors().fit(X), []
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        self.asked_.append((X is None, n_neighbors))
        return self.search_.kneighbors(X, n_neighbors)


def test_one_search(small):
    """Thirty numbers and the fit with the best take one search; ML-kNN's is one neighbour longer."""
    X, Y = small
    assert BRkNN("auto", search=_Counting()).fit(X, Y).search_.asked_ == [(True, 30)]
    assert MLkNN("auto", search=_Counting()).fit(X, Y).search_.asked_ == [(True, 31)]


def test_a_fit_with_a_number_forgets_the_table(small):
    """No table of an earlier fit is left."""
    X, Y = small
    model = MLkNN("auto").fit(X, Y)
    assert not hasattr(model.set_params(n_neighbors=3).fit(X, Y), "cv_results_")


@pytest.mark.parametrize(
    ("method", "n", "most"), [(BRkNN, 5, 4), (BRkNN, 2, 1), (MLkNN, 5, 3), (MLkNN, 3, 1), (IBLR, 10, 7)]
)
def test_few_rows(method, n, most):
    """As many numbers are tried as remain when rows are held out."""
    X, Y = np.arange(float(n))[:, np.newaxis], np.tile([[1, 0], [0, 1]], (n, 1))[:n]
    assert method("auto").fit(X, Y).cv_results_["n_neighbors"].tolist() == list(range(1, most + 1))


@pytest.mark.parametrize(("method", "n"), [(BRkNN, 1), (MLkNN, 2), (IBLR, 1), (IBLR, 2)])
def test_too_few_rows(method, n):
    """Where nothing remains, a number has to be given."""
    with pytest.raises(
        ValueError, match=f"X must have more samples to leave some out and find neighbours, got n_samples={n}"
    ):
        method("auto").fit(np.eye(n), np.eye(n, 2, dtype=int))


def test_known_neighbors_limit_the_numbers(small):
    """A precomputed search of 6 neighbours allows 6; ML-kNN, which looks one further, 5."""
    X, Y = small
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=6)
    assert BRkNN("auto", search=known).fit(X, Y).cv_results_["n_neighbors"][-1] == 6
    assert MLkNN("auto", search=known).fit(X, Y).cv_results_["n_neighbors"][-1] == 5


def test_other_words():
    """Any other word is an error."""
    with pytest.raises(ValueError, match="n_neighbors must be an integer or 'auto', got 'best'"):
        MLkNN("best").fit(np.eye(4), np.eye(4, dtype=int))
