"""Label sets with unknown cells: each label is as if the rows that do not know it were not there."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from _pairs import every_pair
from conftest import CONTAINERS
from nearlabel.lazy import (
    IBLR,
    MLMLM,
    NLDD,
    BRkNN,
    BRkNNa,
    BRkNNb,
    CMLkNN,
    DMLkNN,
    LPkNN,
    MLkNN,
    NeighborsSweep,
    _known_neighbors,
    _unknown,
)
from nearlabel.metrics import micro_f1
from nearlabel.models.out_of_sample import Needs
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, PrecomputedNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.rivals import SMBR, BinaryRelevance, ClassifierChain, LabelPowerset
from nearlabel.selection import NeighborsPerLabel, tune_neighbors
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.validation import as_dense

NAN = np.nan
K = 4
MODELS = [
    BRkNN(K),
    BRkNN(K, weights="distance"),
    BRkNNa(K),
    BRkNNb(K, weights="distance", rounding="half_up"),
    MLkNN(K, smoothing=0.5),
    MLkNN(K, weights="distance"),
    BRkNN(K, weights=GaussianWeights(unit=1.0)),
    MLkNN(K, weights=GaussianWeights(unit=1.0)),
]
ROWS = {"array": np.asarray, "csr_array": sparse.csr_array}
pytestmark = pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")


class Holes:
    """Rows with ties and duplicates; labels of which none, few, many, nearly all cells are unknown, and two alike."""

    def __init__(self, n_rows=30):
        rng = np.random.default_rng(0)
        self.X = rng.integers(0, 4, (n_rows, 3)).astype(float)
        self.Y = (self.X[:, [0, 1, 2, 0, 1, 2]] + 2 * rng.random((n_rows, 6)) > 2.5).astype(float)
        self.hidden = rng.random(self.Y.shape) < [0, 0.2, 0.5, 0.85, 0, 0]
        self.hidden[:, 5] = self.hidden[:, 1]
        self.hidden[7] = True
        self.queries = rng.integers(0, 4, (8, 3)).astype(float)

    @property
    def y(self):
        """The label sets with NaN in unknown cells."""
        return np.where(self.hidden, NAN, self.Y)


HOLES = Holes()


def of_one_label(model, known, label):
    """A fit of one label to the rows that know it; with fewer than k neighbours, all."""
    k = min(K, known.sum() - model.counts_rows)
    return clone(model).set_params(n_neighbors=k).fit(HOLES.X[known], HOLES.Y[known][:, [label]])


@pytest.mark.pairs
@pytest.mark.parametrize(("X", "y", "model"), every_pair(ROWS.values(), ["dense", "csr_array"], MODELS))
def test_each_label_is_that_of_a_fit_to_the_rows_that_know_it(X, y, model):
    """The definition, bit for bit: scores of queries."""
    scores = clone(model).fit(X(HOLES.X), CONTAINERS[y](HOLES.y)).predict_proba(X(HOLES.queries))
    for label, hidden in enumerate(HOLES.hidden.T):
        alone = of_one_label(model, ~hidden, label).predict_proba(HOLES.queries)
        np.testing.assert_array_equal(scores[:, [label]], alone)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_leave_one_out_is_that_of_refits(model):
    """A known cell by the other rows that know the label, an unknown one by all that do."""
    scores = clone(model).fit(HOLES.X, HOLES.y).loo_predict_proba()
    for label, hidden in enumerate(HOLES.hidden.T):
        for row in range(0, len(HOLES.X), 4):
            others = ~hidden & (np.arange(len(HOLES.X)) != row)
            alone = of_one_label(model, others, label).predict_proba(HOLES.X[[row]])
            assert scores[row, label] == alone[0, 0]


@pytest.mark.parametrize("y", ["dense", "csr_array"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_groups_left_out_are_those_of_refits(model, y):
    """Scores and label sets; rows of a group that do not know a label are left out with those that do."""
    groups = np.arange(len(HOLES.X)) // 3
    fitted = clone(model).fit(HOLES.X, CONTAINERS[y](HOLES.y))
    scores, labels = fitted.loo_predict_proba(groups), as_dense(fitted.loo_predict(groups))
    for group in np.unique(groups)[::3]:
        inside = groups == group
        refitted = clone(model).fit(HOLES.X[~inside], HOLES.y[~inside])
        np.testing.assert_array_equal(scores[inside], refitted.predict_proba(HOLES.X[inside]))
        np.testing.assert_array_equal(labels[inside], refitted.predict(HOLES.X[inside]))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_label_sets_are_decided_on_the_scores_of_all_labels(model):
    """By the rule of each method; BRkNNb takes the sum of the scores for the mean size."""
    fitted = clone(model).fit(HOLES.X, HOLES.y)
    scores, labels = fitted.predict_proba(HOLES.queries), fitted.predict(HOLES.queries)
    if isinstance(model, BRkNNb):
        sizes = np.floor(scores.sum(axis=1) + 0.5 + 1e-9).astype(int)
        best = np.argsort(-scores, axis=1, kind="stable")
        expected = np.zeros_like(labels)
        for row, size in enumerate(sizes):
            expected[row, best[row, :size]] = 1
    else:
        expected = scores >= 0.5 if isinstance(model, MLkNN) else scores > 0.5
    if isinstance(model, BRkNNa):
        empty = ~expected.any(axis=1)
        expected[empty, scores[empty].argmax(axis=1)] = True
    np.testing.assert_array_equal(labels, expected)
    as_csr = clone(model).fit(HOLES.X, sparse.csr_array(HOLES.y)).predict(HOLES.queries)
    assert sparse.issparse(as_csr)
    np.testing.assert_array_equal(as_csr.toarray(), labels)


@pytest.mark.parametrize("y", ["dense", "csr_array"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_best_labels_and_the_stored_scores(model, y):
    """They are those of the dense scores."""
    fitted = clone(model).fit(HOLES.X, CONTAINERS[y](HOLES.y))
    scores = fitted.predict_proba(HOLES.queries)
    best, labels = fitted.predict_topk(HOLES.queries, 3)
    np.testing.assert_array_equal(labels, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    np.testing.assert_array_equal(best, np.take_along_axis(scores, labels, axis=1))
    stored = fitted.predict_proba_sparse(HOLES.queries)
    assert stored.has_sorted_indices
    rows, columns = stored.nonzero()
    np.testing.assert_array_equal(stored.toarray()[rows, columns], scores[rows, columns])
    assert not isinstance(model, BRkNN) or (stored.toarray() == scores).all()


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_what_stands_in_unknown_cells_changes_nothing(model):
    """Rows are masked, not their values; a mask of numpy says so."""
    by_nan = clone(model).fit(HOLES.X, HOLES.y).predict_proba(HOLES.queries)
    for value in (0, 1):
        masked = np.ma.array(np.where(HOLES.hidden, value, HOLES.Y).astype(int), mask=HOLES.hidden)
        np.testing.assert_array_equal(clone(model).fit(HOLES.X, masked).predict_proba(HOLES.queries), by_nan)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_all_known_is_the_ordinary_fit(model):
    """No machinery of unknown cells is made, whatever the type of y."""
    fitted, ordinary = (clone(model).fit(HOLES.X, y) for y in (HOLES.Y, HOLES.Y.astype(int)))
    assert fitted._cells is None
    np.testing.assert_array_equal(fitted.predict_proba(HOLES.queries), ordinary.predict_proba(HOLES.queries))


def test_a_refit_forgets_the_unknown_cells():
    """Nothing of an earlier fit answers."""
    model = MLkNN(K).fit(HOLES.X, HOLES.y).fit(HOLES.X, HOLES.Y)
    np.testing.assert_array_equal(model.predict_proba(HOLES.X), MLkNN(K).fit(HOLES.X, HOLES.Y).predict_proba(HOLES.X))


@pytest.mark.parametrize("limits", [(0, 8), (64, 1), (10**6, 10**6)], ids=["alone", "a little deeper", "deeper"])
@pytest.mark.parametrize("model", [BRkNN(K, weights="distance"), MLkNN(K)], ids=repr)
def test_lists_that_are_not_deep_enough(model, limits, monkeypatch):
    """Where a label is unknown all around a query its neighbours are searched for again, with the same answer."""
    monkeypatch.setattr(_known_neighbors, "_FEW_QUERIES", limits[0])
    monkeypatch.setattr(_known_neighbors, "_DEEPER", limits[1])
    X = np.repeat(np.arange(60.0), 2)[:, np.newaxis]
    Y = np.random.default_rng(0).integers(0, 2, (120, 2)).astype(float)
    known = X[:, 0] >= 40
    fitted = clone(model).fit(X, np.where(np.column_stack([known, X[:, 0] >= 0]), Y, NAN))
    alone = clone(model).fit(X[known], Y[known][:, [0]])
    np.testing.assert_array_equal(fitted.predict_proba(X)[:, [0]], alone.predict_proba(X))
    np.testing.assert_array_equal(fitted.loo_predict_proba()[known, :1], alone.loo_predict_proba())
    np.testing.assert_array_equal(fitted.loo_predict_proba()[~known, :1], alone.predict_proba(X[~known]))


def test_sample_weights():
    """They are of rows, whatever the label; a row of weight 0 is no row."""
    weights = np.random.default_rng(1).random(len(HOLES.X)).round(1)
    scores = BRkNN(K).fit(HOLES.X, HOLES.y, weights).predict_proba(HOLES.queries)
    for label, hidden in enumerate(HOLES.hidden.T):
        known = ~hidden & (weights > 0)
        alone = BRkNN(min(K, known.sum())).fit(HOLES.X[known], HOLES.Y[known][:, [label]], weights[known])
        np.testing.assert_array_equal(scores[:, [label]], alone.predict_proba(HOLES.queries))


@pytest.mark.parametrize("method", [BRkNN, BRkNNb, MLkNN])
def test_auto_takes_the_best_micro_f1_over_known_cells(method):
    """Of leave-one-out predictions; a function gets NaN where a cell is unknown."""
    X, y = HOLES.X[:16], HOLES.y[:16, [1, 2]]
    fitted = method("auto").fit(X, y)
    known = ~np.isnan(y)
    for k, value in [*zip(*fitted.cv_results_.values(), strict=True)][::3]:
        predicted = method(k).fit(X, y).loo_predict()
        assert value == micro_f1(y[known].reshape(-1, 1), predicted[known].reshape(-1, 1))
    assert fitted.n_neighbors_ == 1 + np.argmax(fitted.cv_results_["micro_f1"])
    assert tune_neighbors(method(), X, y, n_neighbors=20).n_neighbors == fitted.n_neighbors_

    def value_of(truth, scores):
        assert (np.isnan(truth) != known).all()
        return -np.nanmean((truth - scores) ** 2)

    chosen = method(value_of).fit(X, y)
    assert chosen.n_neighbors_ == 1 + np.argmax(chosen.cv_results_["value"])
    np.testing.assert_array_equal(chosen.predict_proba(X), method(chosen.n_neighbors_).fit(X, y).predict_proba(X))


def test_a_sweep_of_known_cells():
    """Its answers are those of fits with each number."""
    sweep = NeighborsSweep.left_out(MLkNN(), HOLES.X, HOLES.y, (2, 5))
    for k, truth, answer in sweep.answers():
        np.testing.assert_array_equal(truth, HOLES.y)
        np.testing.assert_array_equal(answer.scores, MLkNN(k).fit(HOLES.X, HOLES.y).loo_predict_proba())


@pytest.mark.parametrize("y", ["dense", "csr_array"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_explanations_show_the_rows_that_vote_on_each_label(model, y):
    """Scores and label sets are those of the model, and each label says how many neighbours know it."""
    fitted = clone(model).fit(HOLES.X, CONTAINERS[y](HOLES.y))
    scores, labels = fitted.predict_proba(HOLES.queries), as_dense(fitted.predict(HOLES.queries))
    for row, explanation in enumerate(fitted.explain(HOLES.queries[:3])):
        listed = explanation.labels["label"]
        np.testing.assert_array_equal(explanation.labels["score"], scores[row, listed])
        assert explanation.predicted == np.flatnonzero(labels[row]).tolist()
        n_known = len(HOLES.X) - HOLES.hidden[:, listed].sum(axis=0)
        np.testing.assert_array_equal(explanation.labels["known"], np.minimum(K, n_known - model.counts_rows))
        voters = explanation.neighbors["row"]
        np.testing.assert_array_equal(explanation.neighbors["unknown"], HOLES.hidden[voters].sum(axis=1))
        for label, votes in zip(listed, explanation.labels["votes"], strict=True):
            alone = of_one_label(model, ~HOLES.hidden[:, label], label)
            near = np.flatnonzero(~HOLES.hidden[:, label])[alone.search_.kneighbors(HOLES.queries[[row]], K)[1][0]]
            assert set(near[: alone.n_neighbors_]) <= set(voters)
            assert votes == HOLES.Y[near[: alone.n_neighbors_], label].sum()
        assert "known" in str(explanation)
        explanation.to_dict()


def test_explanations_by_thresholds():
    """They decide; flips are those of the label's own votes."""
    fitted = BRkNNb(K).fit(HOLES.X, HOLES.y)
    (explanation,) = fitted.explain(HOLES.queries[:1], thresholds=0.3)
    labels = explanation.labels
    np.testing.assert_array_equal(labels["chosen"], labels["score"] >= 0.3)
    flipped = (labels["votes"] + labels["flip"]) / labels["known"]
    np.testing.assert_array_equal(flipped >= 0.3, ~labels["chosen"])
    (by_function,) = fitted.explain(HOLES.queries[:1], decide=lambda scores: scores >= 0.3)
    assert by_function.predicted == explanation.predicted
    assert "flip" not in by_function.labels


def test_what_is_learnt_stands_in_the_attributes():
    """Priors and posteriors of known rows; NaN where a label has fewer neighbours, 0 where nothing is known."""
    X, y = np.arange(5.0)[:, np.newaxis], np.array([[1, 1, NAN], [0, NAN, NAN], [1, 0, NAN], [0, NAN, NAN], [1, 1, 1]])
    model = MLkNN(3).fit(X, y)
    assert model.prior_.tolist() == [4 / 7, 3 / 5, 0]
    assert np.isfinite(model.posterior_).tolist() == [[True] * 4, [True] * 3 + [False], [False] * 4]
    np.testing.assert_array_equal(np.isfinite(model.likelihood_[1]), np.isfinite(model.posterior_))
    assert model.predict_proba(X)[:, 2].tolist() == [0] * 5
    assert model.loo_predict_proba()[:, 2].tolist() == [0] * 5


@pytest.mark.parametrize(
    ("hidden", "messages"),
    [
        ((slice(4, None), 0), ["Label 0 is known in fewer than 5 samples: all of them vote, instead of 4"]),
        ((slice(None), [0, 1]), [r"2 labels \(0, 1\) are known in too few samples to have a neighbour: the score is"]),
        (([2, 3], slice(None)), ["All labels are unknown in 2 of 9 training samples, which are never neighbours"]),
        ((slice(0, 2), 0), []),
    ],
    ids=["few rows", "no row", "no label", "nothing to say"],
)
def test_warnings(hidden, messages):
    """Once for each kind, when fitting only."""
    y = np.random.default_rng(0).integers(0, 2, (9, 3)).astype(float)
    y[hidden] = NAN
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MLkNN(4).fit(np.arange(9.0)[:, np.newaxis], y).loo_predict()
    assert len(caught) == len(messages)
    for warning, message in zip(caught, messages, strict=True):
        with pytest.warns(AdviceWarning, match=message):
            warnings.warn(warning.message, stacklevel=1)


REFUSING = [
    LPkNN(), IBLR(), NLDD(), MLMLM(), CMLkNN(), DMLkNN(), SMBR(), ClassifierChain(), LabelPowerset(),
    NeighborsPerLabel(),
]  # fmt: skip


@pytest.mark.parametrize("y", ["dense", "csr_array"])
@pytest.mark.parametrize("model", REFUSING, ids=lambda model: type(model).__name__)
def test_who_sees_whole_label_sets_refuses_by_name(model, y):
    """With the number of cells, and who can take them."""
    expected = (
        f"y must have no unknown cells for {type(model).__name__}, got {HOLES.hidden.sum()}. Hint: BRkNN, .*MLkNN"
    )
    with pytest.raises(ValueError, match=expected):
        model.fit(HOLES.X, CONTAINERS[y](HOLES.y))


def test_minus_one_is_refused():
    """Some literature means negative by it."""
    with pytest.raises(ValueError, match=r"y must contain 0, 1 and NaN only, got -1\. Hint: 0 means that"):
        MLkNN(1).fit([[0.0], [1.0], [2.0]], [[0, 1], [-1, NAN], [1, 1]])


def test_known_neighbours_of_a_precomputed_search():
    """They are enough, or the error says that they are not."""
    enough = PrecomputedNeighbors.from_search(ExactNeighbors(), HOLES.X, n_neighbors=len(HOLES.X) - 1)
    model = MLkNN(K, search=enough).fit(HOLES.X, HOLES.y)
    np.testing.assert_array_equal(model.loo_predict_proba(), MLkNN(K).fit(HOLES.X, HOLES.y).loo_predict_proba())
    few = PrecomputedNeighbors.from_search(ExactNeighbors(), HOLES.X, n_neighbors=K + 1)
    with pytest.raises(ValueError, match=r"search must know 4 neighbours of each sample among.* Hint: precompute"):
        MLkNN(K, search=few).fit(HOLES.X, HOLES.y)


def test_the_search_of_another_library():
    """Distinct distances are in the same order anywhere."""
    X = np.random.default_rng(0).random(HOLES.X.shape)
    by_sklearn = MLkNN(K, search=NearestNeighbors()).fit(X, HOLES.y)
    np.testing.assert_array_equal(by_sklearn.predict(X + 0.01), MLkNN(K).fit(X, HOLES.y).predict(X + 0.01))


@pytest.mark.parametrize("model", [MLkNN(K), BRkNNb(K)], ids=repr)
def test_a_model_is_kept(model, tmp_path):
    """By pickle and in a file: answers to queries, and to rows left out."""
    fitted = clone(model).fit(HOLES.X, sparse.csr_array(HOLES.y))
    for kept in (pickle.loads(pickle.dumps(fitted)), load_model(save_model(fitted, tmp_path / "m.skops"))):
        np.testing.assert_array_equal(kept.predict_proba(HOLES.queries), fitted.predict_proba(HOLES.queries))
        np.testing.assert_array_equal(kept.loo_predict_proba(), fitted.loo_predict_proba())


def test_blocks_of_queries(monkeypatch):
    """Queries one at a time give the same answers."""
    fitted = BRkNNa(K).fit(HOLES.X, sparse.csr_array(HOLES.y))
    expected = fitted._cells.answer(fitted, HOLES.queries, Needs())
    best, stored = fitted.predict_topk(HOLES.queries, 2), fitted.predict_proba_sparse(HOLES.queries)
    monkeypatch.setattr(_unknown, "row_blocks", lambda n, _: (slice(i, i + 1) for i in range(n)))
    found = fitted._cells.answer(fitted, HOLES.queries, Needs())
    np.testing.assert_array_equal(found.labels.toarray(), expected.labels.toarray())
    np.testing.assert_array_equal(found.scores, expected.scores)
    np.testing.assert_array_equal(fitted.predict_topk(HOLES.queries, 2), best)
    np.testing.assert_array_equal(fitted.predict_proba_sparse(HOLES.queries).toarray(), stored.toarray())


def test_tags_of_some_rows():
    """None is a row of which nobody knows the tags; an empty list is a row without a tag."""
    X, tags = np.arange(6.0)[:, np.newaxis], [["calm"], None, ["sad"], [], ["calm", "sad"], None]
    model = BRkNN(1).fit(X, tags)
    assert model.label_names_.tolist() == ["calm", "sad"]
    assert model.predict_labels(X) == [("calm",), ("calm",), ("sad",), (), ("calm", "sad"), ("calm", "sad")]
    pairs = BRkNN(1).fit(X[:2], [["calm", "sad"], ["calm", "warm"]])
    assert pairs.predict_labels(X[:2]) == [("calm", "sad"), ("calm", "warm")]
    assert BRkNN(1).fit(X[:2], [np.array(["sad"]), None]).predict_labels(X[:1]) == [("sad",)]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([0.0, NAN, 1.0, 1.0], [0, 0, 1, 1]),
        (["no", None, "yes", "yes"], ["no", "no", "yes", "yes"]),
        (pd.Series([0, None, 1, 1], name="urgent", dtype="Int64"), [0, 0, 1, 1]),
        (pd.Series([False, None, True, True], name="urgent", dtype="boolean"), [False, False, True, True]),
        (np.ma.array([0, 1, 1, 1], mask=[0, 1, 0, 0]), [0, 0, 1, 1]),
    ],
    ids=["floats", "texts", "nullable", "nullable boolean", "masked"],
)
def test_one_label(y, expected):
    """A one-dimensional y is one label, with its classes and its name."""
    model = BRkNN(1).fit([[0.0], [1.0], [2.1], [3.0]], y)
    assert model.predict([[0.0], [1.0], [2.1], [3.0]]).tolist() == expected
    assert model.label_names_.tolist() == ["urgent"] or not hasattr(y, "name")


def test_columns_of_a_frame():
    """Nullable columns keep their names; predictions are whole numbers."""
    y = pd.DataFrame({"calm": [1, None, 0], "sad": [0, 1, None]}, dtype="Int64")
    model = BRkNN(1).fit([[0.0], [1.0], [2.0]], y)
    assert model.label_names_.tolist() == ["calm", "sad"]
    assert model.predict([[0.0], [1.1], [2.0]]).tolist() == [[1, 0], [0, 1], [0, 1]]
    assert model.predict([[0.0]]).dtype == np.int64


def test_many_labels_of_which_few_have_holes():
    """Labels that all rows know are one group, so a sparse y of many labels stays sparse."""
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    y = sparse.csr_array((rng.random((40, 3000)) < 0.002).astype(np.float64))
    y.data[:] = 1
    y = y.tolil()
    y[3, 7] = y[5, 7] = y[3, 2000] = NAN
    model = MLkNN(3).fit(X, sparse.csr_array(y))
    assert [len(labels) for labels, _ in model._cells.groups] == [2998, 1, 1]
    known = np.delete(np.arange(40), [3, 5])
    alone = MLkNN(3).fit(X[known], y.toarray()[known][:, [7]])
    np.testing.assert_array_equal(model.predict_proba(X)[:, [7]], alone.predict_proba(X))
    assert model.predict(X).shape == (40, 3000)


@pytest.mark.parametrize(("n_features", "weighted"), every_pair([2, 3], [False, True]))
def test_binary_relevance_fits_each_label_to_the_rows_that_know_it(n_features, weighted):
    """With their weights; a label that no row knows has probability 0."""
    X, y = HOLES.X[:, :n_features], HOLES.y.copy()
    y[:, 3] = NAN
    weights = np.random.default_rng(1).random(len(X)) + 0.1
    some = {"sample_weight": weights} if weighted else {}
    model = BinaryRelevance(random_state=0).fit(X, y, **some)
    scores = model.predict_proba(X)
    assert not scores[:, 3].any()
    for label in (0, 1, 2):
        known = ~np.isnan(y[:, label])
        alone = BinaryRelevance(random_state=0).fit(X[known], y[known][:, [label]], *([weights[known]] * weighted))
        np.testing.assert_allclose(scores[:, [label]], alone.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("y_of", [np.asarray, lambda y: sparse.csr_array(sparse.coo_array(y))], ids=["dense", "sparse"])
@pytest.mark.parametrize("classifier", [BRkNN(1), BRkNNa(1), BRkNNb(1), MLkNN(1)], ids=repr)
def test_every_group_has_a_row_that_knows_a_rare_label(classifier, y_of):
    """There is then no row that all who know the label answer for."""
    X, groups = np.arange(6.0)[:, np.newaxis], np.array([0, 0, 0, 1, 1, 1])
    Y = np.array([[1, 1], [0, 0], [1, np.nan], [0, np.nan], [1, 1], [0, np.nan]])
    fitted = clone(classifier).fit(X, y_of(Y))
    scores = fitted.loo_predict_proba(groups=groups)
    assert as_dense(fitted.loo_predict(groups=groups)).shape == Y.shape
    for group in (0, 1):
        rest = groups != group
        np.testing.assert_array_equal(
            scores[~rest], clone(classifier).fit(X[rest], y_of(Y[rest])).predict_proba(X[~rest])
        )


def test_a_metric_that_is_learnt_from_all_rows():
    """Its distances are those of all rows, whatever a label's rows are, so that a query's answer is its own."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2)) * [1, 30]
    X[:20] *= [20, 0.2]
    y = np.where(np.arange(300) < 20, rng.random(300) < 0.5, np.nan)[:, np.newaxis]
    scores = BRkNN(3, search=ExactNeighbors("seuclidean")).fit(X, y).predict_proba(X[20:120])
    search = ExactNeighbors("seuclidean", metric_params={"V": X.var(axis=0, ddof=1)})
    np.testing.assert_array_equal(scores, BRkNN(3, search=search).fit(X[:20], y[:20]).predict_proba(X[20:120]))
