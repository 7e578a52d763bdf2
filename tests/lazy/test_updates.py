"""`partial_fit` and `forget`: after each step all equals a fit of the present rows in their order, to the bit."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from conftest import long_after
from nearlabel.lazy import IBLR, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, SimilarityWeights
from nearlabel.utils.validation import as_dense

N_LABELS = 4
METHODS = {
    "BRkNN": BRkNN,
    "BRkNNa": BRkNNa,
    "BRkNNb": partial(BRkNNb, weights="distance"),
    "BRkNN, Gaussian": partial(BRkNN, weights=GaussianWeights(sharpness=0.7, unit=2.0)),
    "BRkNN, similarity": partial(BRkNN, weights=SimilarityWeights(power=3)),
    "LPkNN": LPkNN,
    "MLkNN": MLkNN,
    "MLkNN by distance": partial(MLkNN, weights="distance"),
    "MLkNN, Gaussian": partial(MLkNN, weights=GaussianWeights(sharpness=0.7, unit=2.0)),
    "DMLkNN": partial(DMLkNN, delta=1),
    "CMLkNN": CMLkNN,
    "CMLkNN, given": partial(CMLkNN, similarity=np.eye(N_LABELS)),
}
PROBLEMS = {
    "whole": (np.asarray, np.asarray, "euclidean"),
    "sparse": (sparse.csr_array, sparse.csr_array, "euclidean"),
    "sparse labels": (np.asarray, sparse.csr_array, "manhattan"),
    "cosine": (sparse.csr_array, np.asarray, "cosine"),
}


class Drawn:
    """Rows with many ties and duplicates, and label sets that depend on them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def rows(self, n_rows):
        """Return whole numbers."""
        return self.random.integers(0, 4, size=(n_rows, 3)).astype(np.float64)

    def labels(self, X, n_labels=N_LABELS):
        """Return label sets, the last label of few rows."""
        noise = self.random.random((len(X), n_labels))
        chance = np.stack([(X[:, label % 3] + 0.3) / (5 + 10 * (label == n_labels - 1)) for label in range(n_labels)])
        return (noise < chance.T).astype(np.int64)


def assert_like_a_fit(model, make, X, y, queries):
    """Compare all answers, and what was learnt, with those of a fit."""
    fitted = make().fit(X, y)
    assert model._n_samples == X.shape[0]
    for answer in ("predict_proba", "predict"):
        np.testing.assert_array_equal(
            as_dense(getattr(model, answer)(queries)), as_dense(getattr(fitted, answer)(queries))
        )
    for answer in ("loo_predict_proba", "loo_predict"):
        np.testing.assert_array_equal(as_dense(getattr(model, answer)()), as_dense(getattr(fitted, answer)()))
    for name, value in vars(fitted).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(model, name), value, err_msg=name)
    if hasattr(fitted, "_counts"):
        np.testing.assert_array_equal(model._counts, fitted._counts)
        np.testing.assert_array_equal(model._training_distances, fitted._training_distances)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_after_each_step_it_is_like_a_fit(method, problem):
    """Rows come and go, one or many at a time."""
    store_X, store_y, metric = PROBLEMS[problem]
    drawn = Drawn(seed=5)

    def make():
        return METHODS[method](3, search=ExactNeighbors(metric))

    X = drawn.rows(40)
    y = drawn.labels(X)
    model = make().fit(store_X(X), store_y(y))
    for step in range(8):
        if step % 2:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 2, len(X) // 3]), replace=False)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            result = model.forget(gone)
        else:
            more = drawn.rows(drawn.random.choice([1, 2, 5]))
            X, y = np.vstack([X, more]), np.vstack([y, drawn.labels(more)])
            result = model.partial_fit(store_X(more), store_y(y[-len(more) :]))
        assert result is model
        assert_like_a_fit(model, make, store_X(X), store_y(y), store_X(drawn.rows(10)))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["BRkNN", "BRkNNb", "LPkNN", "MLkNN"])
def test_explanations_follow_updates_without_a_search_for_all(method, problem, monkeypatch):
    """The novelty is that of a fit; only the first explanation searches for the neighbours of all samples."""
    store_X, store_y, metric = PROBLEMS[problem]
    drawn, searched = Drawn(seed=7), []
    search = ExactNeighbors._search

    def counted(self, queries, k):
        searched.append(queries is None)
        return search(self, queries, k)

    def novelties(model):
        return [one.novelty for one in model.explain(queries)]

    X, queries = drawn.rows(60), store_X(drawn.rows(6))
    y = drawn.labels(X)
    model = METHODS[method](3, search=ExactNeighbors(metric)).fit(store_X(X), store_y(y))
    novelties(model)
    for step in range(12):
        with monkeypatch.context() as patch:
            patch.setattr(ExactNeighbors, "_search", counted)
            if step % 3:
                more = drawn.rows(drawn.random.choice([1, 3]))
                X, y = np.vstack([X, more]), np.vstack([y, drawn.labels(more)])
                model.partial_fit(store_X(more), store_y(y[-len(more) :]))
            else:
                gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 4]), replace=False)
                X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
                model.forget(gone)
            found = novelties(model)
        fitted = METHODS[method](3, search=ExactNeighbors(metric)).fit(store_X(X), store_y(y))
        assert found == novelties(fitted)
    assert searched
    assert not any(searched)


OTHER_SEEDS = [pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2)]


@pytest.mark.long
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", [0, *OTHER_SEEDS])
def test_many_steps(method, problem, seed):
    """As above, 15 times; 200 times with the seeds that are slow."""
    store_X, store_y, metric = PROBLEMS[problem]
    drawn = Drawn(seed)

    def make():
        return METHODS[method](3, search=ExactNeighbors(metric))

    X = drawn.rows(25)
    y = drawn.labels(X)
    model = make().fit(store_X(X), store_y(y))
    for _ in range(200 if seed else 15):
        if len(X) > 8 and drawn.random.random() < 0.5:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 1, 3]), replace=False)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            model.forget(gone)
        else:
            more = drawn.rows(drawn.random.choice([1, 1, 3]))
            X, y = np.vstack([X, more]), np.vstack([y, drawn.labels(more)])
            model.partial_fit(store_X(more), store_y(y[-len(more) :]))
        assert_like_a_fit(model, make, store_X(X), store_y(y), store_X(drawn.rows(4)))


@pytest.mark.long
@pytest.mark.parametrize("method", ["BRkNN", "BRkNNa", "BRkNNb", "MLkNN", "MLkNN by distance"])
@pytest.mark.parametrize("seed", [0, *OTHER_SEEDS])
@pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")
def test_many_steps_with_unknown_cells(method, seed):
    """As above, where rows come with holes."""
    drawn = Drawn(seed)
    make = partial(METHODS[method], 3)
    X = drawn.rows(25)
    y = drawn.labels(X).astype(np.float64)
    model = make().fit(X, y)
    for _ in range(200 if seed else 15):
        if len(X) > 12 and drawn.random.random() < 0.5:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 1, 3]), replace=False)
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            model.forget(gone)
        else:
            more = drawn.rows(drawn.random.choice([1, 1, 3]))
            labels = drawn.labels(more).astype(np.float64)
            labels[drawn.random.random(labels.shape) < 0.3] = np.nan
            X, y = np.vstack([X, more]), np.vstack([y, labels])
            model.partial_fit(more, labels)
        assert_like_a_fit(model, make, X, y, drawn.rows(4))


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_is_nobodys_neighbour(method):
    """It comes and goes, and no other row's list or votes change."""
    drawn = Drawn(seed=1)
    X = drawn.rows(40)
    y = drawn.labels(X)
    far = np.full((1, 3), 1e3)
    model = METHODS[method](3).fit(X, y).partial_fit(far, y[:1])
    make = partial(METHODS[method], 3)
    assert_like_a_fit(model, make, np.vstack([X, far]), np.vstack([y, y[:1]]), X[:5])
    assert_like_a_fit(model.forget([40]), make, X, y, X[:5])


@pytest.mark.parametrize("method", METHODS)
def test_new_labels_are_those_of_a_padded_fit(method):
    """A further column, and later labels that go again, though not from the names."""
    if method == "CMLkNN, given":
        pytest.skip("its similarity is of so many labels")
    drawn = Drawn(seed=2)
    X = drawn.rows(40)
    y = drawn.labels(X, 6)
    y[:30, 4:] = 0
    model = METHODS[method](3).fit(X[:30], y[:30, :4])
    model.partial_fit(X[30:35], y[30:35, :5]).partial_fit(X[35:], y[35:])
    assert model.changes_ == {"added": 10, "forgotten": 0, "new_labels": [4, 5]}
    assert_like_a_fit(model, lambda: METHODS[method](3), X, y, drawn.rows(10))
    model.forget(np.arange(30, 40))
    assert_like_a_fit(model, lambda: METHODS[method](3), X[:30], y[:30], drawn.rows(10))


@pytest.mark.parametrize("store_y", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", long_after(2, ["MLkNN by distance", "BRkNNa", "BRkNN", "BRkNNb", "MLkNN"]))
@pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")
def test_unknown_cells_come_and_go(method, store_y):
    """From all known to some unknown and back, also rows of which nothing is known."""
    drawn = Drawn(seed=7)
    make = partial(METHODS[method], 3)
    X = drawn.rows(40)
    y = drawn.labels(X).astype(np.float64)
    model = make().fit(X, store_y(y))
    for step in range(8):
        if step % 3 == 2:
            gone = drawn.random.choice(len(X), size=5, replace=False)
            if step == 5:
                gone = np.flatnonzero(np.isnan(y).any(axis=1))
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            model.forget(gone)
        else:
            more = drawn.rows(4)
            labels = drawn.labels(more).astype(np.float64)
            labels[drawn.random.random(labels.shape) < 0.3] = np.nan
            labels[0] = np.nan
            X, y = np.vstack([X, more]), np.vstack([y, labels])
            model.partial_fit(more, store_y(labels))
        assert (model._cells is None) == (not np.isnan(y).any())
        assert_like_a_fit(model, make, X, store_y(y), drawn.rows(10))
        np.testing.assert_array_equal(as_dense(model.training_labels()), y)


def test_new_labels_beside_unknown_cells():
    """Earlier rows are known not to have a new label."""
    drawn = Drawn(seed=7)
    X = drawn.rows(40)
    y = drawn.labels(X, 5).astype(np.float64)
    y[:30, 4] = 0
    y[35:, 1:3] = y[3, 0] = np.nan
    model = MLkNN(3).fit(X[:30], y[:30, :4]).partial_fit(X[30:], y[30:])
    assert_like_a_fit(model, partial(MLkNN, 3), X, y, drawn.rows(10))
    with pytest.raises(ValueError, match="y must have no unknown cells for LPkNN, got 11"):
        LPkNN(3).fit(X[:3], y[:3]).partial_fit(X[3:], y[3:])


@pytest.mark.long
def test_a_number_of_neighbours_beside_unknown_cells():
    """Chosen anew over the known cells."""
    drawn = Drawn(seed=7)
    X = drawn.rows(60)
    y = drawn.labels(X).astype(np.float64)
    y[drawn.random.random(y.shape) < 0.2] = np.nan
    model = MLkNN("auto").fit(X[:50], y[:50]).partial_fit(X[50:], y[50:]).retune()
    assert model.n_neighbors_ == MLkNN("auto").fit(X, y).n_neighbors_
    assert_like_a_fit(model, partial(MLkNN, model.n_neighbors_), X, y, drawn.rows(10))


def test_a_row_that_is_no_neighbour():
    """It changes the list of no other row, when it comes and when it goes."""
    X, y = np.arange(9.0)[:, np.newaxis], np.eye(9, 2, dtype=int)
    model = MLkNN(2).fit(X, y).partial_fit([[100.0]], [[1, 1]])
    assert_like_a_fit(model, lambda: MLkNN(2), np.vstack([X, [[100.0]]]), np.vstack([y, [[1, 1]]]), X + 0.3)
    assert_like_a_fit(model.forget([9]), lambda: MLkNN(2), X, y, X + 0.3)


def test_the_number_of_neighbours_stays_until_it_is_chosen_anew():
    """It is that of a fit then, and so is its table."""
    drawn = Drawn(seed=1)
    X = drawn.rows(80)
    y = drawn.labels(X)
    for choice in ("auto", lambda truth, scores: -abs(truth - scores).sum()):
        model = MLkNN(choice).fit(X[:60], y[:60])
        assert not model.n_neighbors_stale_
        k = model.n_neighbors_
        model.partial_fit(X[60:], y[60:]).forget(np.arange(20))
        assert model.n_neighbors_stale_
        assert model.n_neighbors_ == k
        assert_like_a_fit(model, lambda k=k: MLkNN(k), X[20:], y[20:], drawn.rows(5))
        model.retune()
        assert not model.n_neighbors_stale_
        expected = MLkNN(choice).fit(X[20:], y[20:])
        assert model.n_neighbors_ == expected.n_neighbors_
        for name, column in expected.cv_results_.items():
            np.testing.assert_array_equal(model.cv_results_[name], column)
        assert_like_a_fit(model, lambda choice=choice: MLkNN(choice), X[20:], y[20:], drawn.rows(5))


def test_weights_follow_their_rows():
    """Rows without a weight weigh one, those of weight 0 are none."""
    drawn = Drawn(seed=4)
    X = drawn.rows(50)
    y = drawn.labels(X)
    weights = drawn.random.integers(0, 4, size=50).astype(np.float64)
    model = BRkNN(3).fit(X[:30], y[:30]).partial_fit(X[30:40], y[30:40], sample_weight=weights[30:40])
    model.partial_fit(X[40:], y[40:])
    weights[:30] = weights[40:] = 1
    queries = drawn.rows(20)
    assert (model.predict_proba(queries) == BRkNN(3).fit(X, y, weights).predict_proba(queries)).all()
    model.forget([0, 1, 30])
    kept = np.delete(np.flatnonzero(weights), [0, 1, 30])
    expected = BRkNN(3).fit(X[kept], y[kept], weights[kept])
    assert (model.predict_proba(queries) == expected.predict_proba(queries)).all()


def test_names_of_labels_and_rows():
    """Columns of data frames are matched by name, wherever they stand; rows are called by the names of the index."""
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0]}, index=["r0", "r1", "r2", "r3"])
    y = pd.DataFrame({"calm": [1, 0, 0, 1], "sad": [0, 1, 1, 0]}, index=X.index)
    model = MLkNN(1).fit(X, y)
    more = pd.DataFrame({"a": [4.0, 5.0]}, index=["r4", "r5"])
    model.partial_fit(more, pd.DataFrame({"loud": [1, 0], "sad": [0, 1], "calm": [1, 1]}))
    assert model.label_names_.tolist() == ["calm", "sad", "loud"]
    assert model.changes_ == {"added": 2, "forgotten": 0, "new_labels": ["loud"]}
    assert model._labels[4:].tolist() == [[1, 0, 1], [1, 1, 0]]
    model.forget(["r1", "r4"])
    assert model._row_names.tolist() == ["r0", "r2", "r3", "r5"]
    assert model.search_.take(np.arange(4)).ravel().tolist() == [0, 2, 3, 5]
    model.forget([0])
    assert model._row_names.tolist() == ["r2", "r3", "r5"]
    with pytest.raises(ValueError, match="rows must be names in the index of X, got 'r0', which is not in it"):
        model.forget(["r0"])
    with pytest.raises(ValueError, match="y must have a column for each label of fit, got none for 'calm'"):
        model.partial_fit(more, y[["sad"]][:2].set_axis(more.index))


def test_tags_and_classes():
    """Tags may be new, and known before a row has them; the classes of one column too."""
    model = BRkNN(1).partial_fit([[0.0], [1.0]], [["b"], ["a"]], classes=["c"])
    assert model.label_names_.tolist() == ["a", "b", "c"]
    model.partial_fit([[5.0], [6.0]], [[], ["d", "c"]])
    assert model.predict_labels([[0.0], [5.0], [6.0]]) == [("b",), (), ("c", "d")]
    column = MLkNN(1).partial_fit([[0.0], [1.0], [2.0]], ["yes", "yes", "yes"])
    column.partial_fit([[3.0]], ["no"])
    expected = MLkNN(1).fit([[0.0], [1.0], [2.0], [3.0]], ["yes", "yes", "yes", "no"])
    queries = np.linspace(0, 4, 9)[:, np.newaxis]
    assert column.classes_.tolist() == ["no", "yes"]
    assert (column.predict_proba(queries) == expected.predict_proba(queries)).all()
    assert column.predict(queries).tolist() == expected.predict(queries).tolist()
    with pytest.raises(ValueError, match=r"y must contain two classes if it is one-dimensional, got 3"):
        column.partial_fit([[3.0]], ["perhaps"])


WRONG = {
    "features": (([[1.0, 2.0]], [[1, 0]]), "X has 2 features"),
    "NaN": (([[np.nan]], [[1, 0]]), "NaN"),
    "lengths": (([[1.0], [2.0]], [[1, 0]]), "inconsistent numbers of samples"),
    "few labels": (([[1.0]], [[1]]), r"y must have at least 2 columns, as in fit, got 1\."),
    "names": (([[1.0]], [["a"]]), "y must be an array without names of labels, as in fit, got names"),
    "one column": (([[1.0]], [1]), "y must be one-dimensional if y of fit was"),
    "label sets": (([[1.0]], [[2, 0]]), "y must contain 0 and 1 only"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_an_error_changes_nothing(given, message):
    """Neither the classifier nor its search."""
    X, y = np.arange(5.0)[:, np.newaxis], np.eye(5, 2, dtype=int)
    model = MLkNN(2).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(*given)
    with pytest.raises(ValueError, match="rows must leave at least 3 training samples for n_neighbors=2, got 3 of 5"):
        model.forget([0, 1, 2])
    with pytest.raises(ValueError, match="rows must be numbers from 0 to 4, got 5"):
        model.forget([5])
    assert_like_a_fit(model, lambda: MLkNN(2), X, y, X + 0.3)


def test_an_interruption_changes_nothing(monkeypatch):
    """Whatever is done when it comes."""
    X, y = np.arange(9.0)[:, np.newaxis], np.eye(9, 2, dtype=int)
    model = MLkNN(2).fit(X, y)

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(MLkNN, "_learn_counts", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit([[0.5]], [[1, 1]])
        with pytest.raises(KeyboardInterrupt):
            model.forget([3])
    assert_like_a_fit(model, lambda: MLkNN(2), X, y, X + 0.3)


def test_who_cannot_be_updated_says_so():
    """A regression on all rows, distances to all label sets, a search that cannot follow."""
    assert not hasattr(IBLR(), "partial_fit")
    assert not hasattr(NLDD(), "partial_fit")
    model = BRkNN(1, search=NearestNeighbors()).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    with pytest.raises(TypeError, match=r"search must have the methods add and remove .* got NearestNeighbors"):
        model.forget([0])


@pytest.mark.parametrize("method", ["BRkNN", "LPkNN", "MLkNN", "DMLkNN", "CMLkNN"])
def test_a_forgotten_row_is_in_no_pickle(method):
    """Its features, label set and name; what was learnt is of the others."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), random.integers(0, 2, size=(60, 40))
    names = [f"name-of-{row}" for row in range(60)]
    model = METHODS[method](3).fit(pd.DataFrame(X, index=names), y)
    traces = [X[7, 0].tobytes(), y[7].astype(np.int8).tobytes(), "name-of-7".encode("utf-32-le")]
    assert [trace in pickle.dumps(model) for trace in traces] == [True, True, True]
    model.forget([7])
    assert [trace in pickle.dumps(model) for trace in traces] == [False, False, False]
    assert_like_a_fit(
        pickle.loads(pickle.dumps(model)), lambda: METHODS[method](3), np.delete(X, 7, 0), np.delete(y, 7, 0), X
    )


def test_a_fit_forgets_all_changes():
    """It begins anew."""
    X, y = np.arange(9.0)[:, np.newaxis], np.eye(9, 2, dtype=int)
    model = MLkNN(2).fit(X, y).partial_fit([[0.5]], [[1, 1]])
    assert model.changes_["added"] == 1
    assert model.fit(X, y).changes_ == {"added": 0, "forgotten": 0, "new_labels": []}
    model.partial_fit([[0.5]], [[1, np.nan]]).fit(X, y)
    assert_like_a_fit(model, lambda: MLkNN(2), X, y, X + 0.3)


@pytest.mark.filterwarnings("ignore:All labels are unknown")
@pytest.mark.parametrize("classifier", [BRkNN(2), MLkNN(2)], ids=repr)
@pytest.mark.parametrize(("first", "then"), [([["a"], ["b"]] * 4, [["b", "c"], ["b"], None]),
                                             ([*[["a"], ["b"]] * 4, None], [["c"], ["a"], ["a", "c"]])])  # fmt: skip
def test_tags_with_unknown_ones_arrive_by_name(classifier, first, then):
    """Tags are columns of their names even if those of a row are unknown; of such a row no label is known."""
    X = np.arange(len(first + then), dtype=float)[:, np.newaxis]
    n = len(first)
    updated = clone(classifier).fit(X[:n], first).partial_fit(X[n:], then)
    refitted = clone(classifier).fit(X, first + then)
    assert updated.label_names_.tolist() == refitted.label_names_.tolist()
    np.testing.assert_array_equal(updated.training_labels(), refitted.training_labels())
    np.testing.assert_array_equal(updated.predict_proba(X + 0.3), refitted.predict_proba(X + 0.3))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_no_distance_to_a_forgotten_row_stays(weights):
    """From some of them its features could be found again."""
    random = np.random.default_rng(0)
    X, y = random.random((60, 3)), random.integers(0, 2, size=(60, 2))
    model = MLkNN(5, weights=weights).fit(X, y).partial_fit(random.random((3, 3)), y[:3]).forget([7])
    model = pickle.loads(pickle.dumps(model))
    away = np.sqrt(((X - X[7]) ** 2).sum(axis=1))[np.arange(60) != 7]
    kept = [part for part in (model._lists.distances, model._lists.reach) if part is not None]
    values = np.concatenate([part[np.isfinite(part)] for part in kept])
    assert len(values)
    assert not np.isin(values.round(12), np.append(away, away**2).round(12)).any()


def test_all_rows_of_a_name_go():
    """Rows that came without names have none."""
    X = pd.DataFrame(np.arange(12.0), index=[f"r{row // 2}" for row in range(12)])
    model = BRkNN(2).fit(X, np.eye(12, 2, dtype=int)).partial_fit([[20.0]], [[1, 1]])
    assert model.forget(X.index[:3])._row_names.tolist() == [*[f"r{row // 2}" for row in range(4, 12)], ""]
    with pytest.raises(ValueError, match="rows must be names in the index of X, got ''"):
        model.forget([""])
    with pytest.raises(ValueError, match="names need a pandas data frame"):
        BRkNN(2).fit(X.to_numpy(), np.eye(12, 2, dtype=int)).forget(["r1"])


def test_tags_come_one_row_at_a_time():
    """One without a tag, one of which nothing is known, and one that lacks known tags."""
    X, tags = np.arange(8.0)[:, np.newaxis], [["a"], ["b"], ["a", "b"], ["b"], [], None, ["c"], ["a"]]
    with pytest.warns(UserWarning, match="All labels are unknown in 1"):
        expected = BRkNN(1).fit(X, tags)
    model = BRkNN(1).fit(X[:4], tags[:4])
    for row in range(4, 8):
        model.partial_fit(X[row : row + 1], pd.Series(tags[row : row + 1]) if row == 7 else tags[row : row + 1])
    np.testing.assert_array_equal(model.training_labels(), expected.training_labels())
    np.testing.assert_array_equal(model.predict_proba(X + 0.1), expected.predict_proba(X + 0.1))


def test_a_failed_choice_changes_nothing():
    """Also where cells are unknown."""
    random = np.random.default_rng(0)
    X, y = random.random((40, 2)), random.integers(0, 2, size=(40, 2)).astype(np.float64)
    y[3, 1] = np.nan
    asked = []

    def value(truth, scores):
        asked.append(1)
        if len(asked) > 33:
            raise RuntimeError
        return 0.0

    model = MLkNN(value).fit(X, y).forget([1])
    before = model.predict_proba(X)
    with pytest.raises(RuntimeError):
        model.retune()
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.n_neighbors_stale_


def test_parameters_that_no_update_can_follow():
    """Weights need distances; classes are names of columns; an array that is used again is no row any more."""
    X, y = np.arange(9.0)[:, np.newaxis], np.eye(9, 2, dtype=int)
    with pytest.raises(ValueError, match="weights must be those of fit, got 'distance'"):
        MLkNN(2).fit(X, y).set_params(weights="distance").forget([0])
    for classes, error in (("loud", TypeError), (["loud"], ValueError), ([5], ValueError)):
        with pytest.raises(error, match="classes must be"):
            BRkNN(2).fit(X, y).partial_fit(X, y, classes=classes)
    again = np.array([[0.5]])
    model = BRkNN(1).fit(X, y).partial_fit(again, [[1, 1]])
    again[0] = 7
    assert model.search_.take([9]).tolist() == [[0.5]]
    assert model.forget([]).changes_["forgotten"] == 0
