"""Shares of the training samples: their weighted label sets are the scores, and transcriptions give the same shares."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LazyClassifier, LPkNN, MLkNN
from nearlabel.models import LeafShares, training_shares
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, SimilarityWeights
from nearlabel.rivals import BinaryRelevance, PredictiveClusteringTree, RandomForestPCT
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import CalibratedLabels, FixedThresholdsClassifier, TunedThresholdsClassifierCV
from nearlabel.utils.estimators import label_scores
from nearlabel.utils.validation import as_dense

X, Y = make_multilabel_classification(90, 8, n_classes=5, n_labels=2, random_state=0)
X, QUERIES, Y = X[:60].copy(), np.vstack([X[60:], X[:5]]), Y[:60].copy()
X[7] = X[8]  # duplicates with different labels
Y[7], Y[8], Y[9] = [1, 0, 0, 1, 0], [0, 1, 0, 0, 0], 0


def inverse(distances):
    """Weights by a function of the user."""
    return 1 / (1 + distances)


COSINE = ExactNeighbors("cosine")
VOTES = {
    "uniform": BRkNN(7),
    "one": BRkNN(1),
    "all": BRkNN(60, weights="distance"),
    "distance": BRkNN(7, weights="distance"),
    "function": BRkNNa(7, weights=inverse),
    "gaussian": BRkNNb(20, weights=GaussianWeights(4.0)),
    "cosine": BRkNN(20, weights=SimilarityWeights(8.0), search=COSINE),
    "label sets": LPkNN(9),
}
TREES = {
    "forest": RandomForestClassifier(20, random_state=0),
    "whole": RandomForestClassifier(20, bootstrap=False, max_features=2, random_state=1),
    "few samples": RandomForestClassifier(20, max_samples=15, min_samples_leaf=4, random_state=2),
    "pruned": RandomForestClassifier(20, ccp_alpha=0.02, criterion="entropy", random_state=2),
    "extra": ExtraTreesClassifier(20, max_depth=3, random_state=3),
    "extra, drawn": ExtraTreesClassifier(20, bootstrap=True, max_features=None, random_state=3),
    "tree": DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
    "extra tree": ExtraTreeClassifier(random_state=0),
    "ours": RandomForestPCT(20, random_state=0),
    "ours, whole": RandomForestPCT(20, bootstrap=False, random_state=0),
    "our tree": PredictiveClusteringTree(random_state=0),
}


def scores_of(model, rows=QUERIES):
    """Return the scores of the second class of each label, for all forms of `predict_proba`."""
    return label_scores(model, rows, Y.shape[1], "predict_proba")


def checked(model, labels=Y, rows=QUERIES, training=X):
    """Return shares after a check of what is true of all."""
    shares = training_shares(model, rows, training)
    assert isinstance(shares, sparse.csr_array)
    assert shares.shape == (len(rows), len(labels))
    assert shares.has_canonical_format
    assert (shares.data > 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-12)
    return shares


@pytest.mark.parametrize("name", VOTES | TREES)
def test_the_scores_are_the_shares_of_the_labels(name):
    """Several labels, one of them empty, one full."""
    labels = np.hstack([Y[:, :3], np.zeros((60, 1), dtype=int), np.ones((60, 1), dtype=int)])
    model = (VOTES | TREES)[name].fit(X, labels)
    np.testing.assert_allclose(checked(model) @ labels, scores_of(model), rtol=0, atol=1e-12)


@pytest.mark.parametrize("model", [*VOTES.values(), *TREES.values(), MLMLM()], ids=[*VOTES, *TREES, "mlmlm"])
def test_one_label(model):
    """The classes of a one-dimensional y may be texts."""
    y = np.where(Y[:, 0] == 1, "yes", "no")
    scores = model.fit(X, y).predict_proba(QUERIES)
    np.testing.assert_allclose(checked(model) @ Y[:, 0], scores[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rows", [sparse.csr_array, sparse.csr_matrix, pd.DataFrame])
@pytest.mark.parametrize("name", ["distance", "label sets", "few samples", "ours", "mlmlm"])
def test_containers(rows, name):
    """Sparse X and data frames give the same shares."""
    model = (VOTES | TREES | {"mlmlm": MLMLM()})[name].fit(rows(X), Y)
    found = training_shares(model, rows(QUERIES), rows(X))
    np.testing.assert_allclose((found @ Y), scores_of(model, rows(QUERIES)), rtol=0, atol=1e-12)


def test_neighbors_by_hand():
    """Distances 1, 2 and 4: weights 1, 1/2 and 1/4 of 7/4; the sample itself alone if it is a neighbour."""
    model = BRkNN(3, weights="distance").fit([[8.0], [0.0], [5.0], [100.0]], [[1], [0], [1], [0]])
    np.testing.assert_allclose(
        training_shares(model, [[4.0], [0.0]]).toarray(), [[1 / 6, 1 / 6, 4 / 6, 0], [0, 1, 0, 0]]
    )


def test_weights_of_0():
    """By the kernel for the cosine, all of a query vote equally; by a function that gives 0, none, and scores are 0."""
    rows, labels, query = [[1.0, 0.0], [1.0, 0.1], [0.9, 0.0]], [[1, 0], [1, 1], [0, 1]], [[-1.0, 0.0]]
    model = BRkNN(3, weights=SimilarityWeights(), search=COSINE).fit(rows, labels)
    np.testing.assert_allclose(training_shares(model, query).toarray(), [[1 / 3, 1 / 3, 1 / 3]])
    model = BRkNN(3, weights=np.zeros_like).fit(rows, labels)
    assert training_shares(model, query).nnz == 0
    assert not model.predict_proba(query).any()


def test_sample_weights_of_votes():
    """They multiply the weights of the votes; samples of weight 0 are none of the training samples."""
    weights = np.arange(60) % 4
    model = BRkNN(9, weights="distance").fit(X, Y, weights)
    kept = Y[weights > 0]
    np.testing.assert_allclose(checked(model, kept) @ kept, scores_of(model), rtol=0, atol=1e-12)


def test_tags_and_sparse_label_sets():
    """The columns of the labels are those of the model."""
    tags = [[f"t{label}" for label in np.flatnonzero(row)] for row in Y]
    for y in (tags, sparse.csr_array(Y)):
        model = BRkNN(5).fit(X, y)
        sums = as_dense(checked(model) @ model.training_labels())
        np.testing.assert_allclose(sums, scores_of(model), rtol=0, atol=1e-12)
    model = RandomForestPCT(5, random_state=0).fit(X, tags)
    np.testing.assert_allclose(checked(model) @ Y, scores_of(model), rtol=0, atol=1e-12)


def test_after_an_update():
    """Samples that came are there, and those that went are not."""
    model = BRkNN(5, weights="distance").fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    model.forget([0, 3])
    kept = np.delete(np.arange(60), [0, 3])
    np.testing.assert_allclose(checked(model, kept) @ Y[kept], scores_of(model), rtol=0, atol=1e-12)


class Stricter(LazyClassifier):
    """A rule of a user: the shares of the votes are its scores."""

    def __init__(self, n_neighbors=3, *, search=None):
        self.n_neighbors = n_neighbors
        self.search = search

    def _decide_labels(self, scores, votes):
        return scores > 0.8


class Squared(Stricter):
    """Another one, whose scores are no shares."""

    def _score_votes(self, votes):
        return votes.share() ** 2


def test_rules_of_users():
    """Those with the scores of the base class have shares, others not."""
    model = Stricter().fit(X, Y)
    np.testing.assert_allclose(checked(model) @ Y, scores_of(model), rtol=0, atol=1e-12)
    with pytest.raises(TypeError, match="got Squared"):
        training_shares(Squared().fit(X, Y), QUERIES)


# Trees and forests.


def slow_shares(forest, training, rows):
    """Return u_i(x) = 1/T Σ_t c_i(t) [i in leaf_t(x)] / n_t(x), as it is written."""
    n_trees, shares = len(forest.estimators_), np.zeros((len(rows), len(training)))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        leaves, of_training = tree.apply(rows), tree.apply(training)
        for query, leaf in enumerate(leaves):
            in_leaf = [i for i in drawn if of_training[i] == leaf]  # with repetitions
            for i in in_leaf:
                shares[query, i] += 1 / len(in_leaf) / n_trees
    return shares


@pytest.mark.parametrize("name", ["forest", "whole", "few samples", "pruned", "extra, drawn"])
def test_forests_equal_loops(name):
    """Each sample counts as often as it was drawn."""
    forest = TREES[name].fit(X, Y)
    np.testing.assert_allclose(checked(forest).toarray(), slow_shares(forest, X, QUERIES), rtol=0, atol=1e-14)


def test_blocks_of_trees(monkeypatch):
    """Their size changes nothing."""
    forest = RandomForestClassifier(20, random_state=0).fit(X, Y)
    whole = training_shares(forest, QUERIES, X).toarray()
    monkeypatch.setattr(
        "nearlabel.models.leaf_shares.row_blocks", lambda n, size: [slice(0, 7), slice(7, 19), slice(19, n)]
    )
    np.testing.assert_allclose(training_shares(forest, QUERIES, X).toarray(), whole, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(12, random_state=0), ExtraTreesClassifier(12, random_state=0)]
)
def test_out_of_bag(model):
    """Scores of trees that did not draw the sample are those of scikit-learn; some samples have no such tree."""
    forest = model.set_params(bootstrap=True, oob_score=True, n_estimators=3)
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, Y)
    shares = LeafShares.of(forest, X).out_of_bag()
    sums = np.asarray(shares.sum(axis=1))
    assert (np.isclose(sums, 1) | (sums == 0)).all()
    assert 0 < (sums == 0).sum() < 30
    assert shares.diagonal().max() == 0
    np.testing.assert_allclose(shares @ Y, forest.oob_decision_function_[:, 1], rtol=0, atol=1e-12)


def test_out_of_bag_of_one_label_and_of_bagging():
    """The decision function of a one-dimensional y has a column for each class."""
    for forest in (
        RandomForestClassifier(40, oob_score=True, random_state=0),
        BaggingClassifier(n_estimators=40, oob_score=True, random_state=0),
    ):
        forest.fit(X, Y[:, 0])
        shares = LeafShares.of(forest, X).out_of_bag()
        np.testing.assert_allclose(shares @ Y[:, 0], forest.oob_decision_function_[:, 1], rtol=0, atol=1e-12)


def test_out_of_bag_needs_a_bootstrap():
    """Without, each tree has each sample."""
    with pytest.raises(ValueError, match=r"must be grown on samples drawn for each tree .* Hint: bootstrap=True"):
        LeafShares.of(TREES["whole"].fit(X, Y), X).out_of_bag()


@pytest.mark.parametrize(
    "options",
    [{}, {"bootstrap": False, "max_samples": 0.5}, {"max_features": 0.5, "bootstrap_features": True}],
    ids=str,
)
def test_bagging_of_trees(options):
    """Each tree has features of its own; three classes."""
    y = np.array(["a", "b", "c"])[Y[:, :2].sum(axis=1)]
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=4), 15, random_state=0, **options).fit(X, y)
    classes = (y[:, np.newaxis] == model.classes_).astype(float)
    np.testing.assert_allclose(checked(model) @ classes, model.predict_proba(QUERIES), rtol=0, atol=1e-12)
    model.fit(sparse.csr_array(X), y)
    found = training_shares(model, sparse.csr_array(QUERIES), sparse.csr_array(X))
    np.testing.assert_allclose(found @ classes, model.predict_proba(sparse.csr_array(QUERIES)), rtol=0, atol=1e-12)


def test_one_sample_in_each_leaf():
    """A whole tree gives a training sample all shares in its own score."""
    apart = np.arange(12.0)[:, np.newaxis]
    tree = DecisionTreeClassifier(random_state=0).fit(apart, np.arange(12))
    np.testing.assert_array_equal(training_shares(tree, apart, apart).toarray(), np.eye(12))


def test_labels_of_one_class_only():
    """Where no label differs, our forest has no trees: all samples share its scores equally."""
    labels = np.tile([1, 0], (60, 1))
    model = RandomForestPCT(3).fit(X, labels)
    np.testing.assert_allclose(checked(model).toarray(), 1 / 60)
    np.testing.assert_allclose(checked(model) @ labels, model.predict_proba(QUERIES), rtol=0, atol=1e-12)


def test_what_is_stored_is_small():
    """Two arrays of bytes serve all queries, also from a pickle."""
    forest = RandomForestClassifier(20, random_state=0).fit(X, Y)
    known = pickle.loads(pickle.dumps(LeafShares.of(forest, X)))
    assert set(vars(known)) == {"leaves", "counts"}
    assert known.leaves.dtype == known.counts.dtype == np.uint8
    assert known.leaves.shape == known.counts.shape == (60, 20)
    np.testing.assert_array_equal(known.shares(forest, QUERIES).toarray(), checked(forest).toarray())


def test_weights_are_refused():
    """Leaves then contain weighted means; scikit-learn draws bootstrap samples by weights from 1.9 on."""
    weights = np.random.default_rng(0).random(60)
    for model in (
        RandomForestClassifier(5, bootstrap=False, random_state=0).fit(X, Y, weights),
        RandomForestClassifier(5, class_weight="balanced_subsample", random_state=0).fit(X, Y),
        DecisionTreeClassifier(class_weight="balanced").fit(X, Y[:, 0]),
        PredictiveClusteringTree(random_state=0).fit(X, Y, weights),
    ):
        with pytest.raises(ValueError, match="without sample weights and class weights, got other sums in the leaves"):
            training_shares(model, QUERIES, X)


def test_other_samples_are_refused():
    """Fewer, in another order, none; or a forest of which the leaves are not."""
    forest = TREES["forest"].fit(X, Y)
    with pytest.raises(ValueError, match="X_training must be the 60 samples of the fit, got 59"):
        training_shares(forest, QUERIES, X[1:])
    with pytest.raises(ValueError, match="X_training must be the samples of the fit, in their order"):
        training_shares(forest, QUERIES, X[::-1])
    with pytest.raises(
        ValueError, match="X_training must be the samples that RandomForestClassifier was fitted to, got N"
    ):
        training_shares(forest, QUERIES)
    known = LeafShares.of(RandomForestClassifier(20, max_depth=1, random_state=0).fit(X, Y), X)
    with pytest.raises(ValueError, match="model must be the one of which the leaves are"):
        known.shares(forest, QUERIES)
    with pytest.raises(ValueError, match="model must have 20 trees, got 1"):
        known.shares(TREES["tree"].fit(X, Y), QUERIES)
    with pytest.raises(TypeError, match=r"model must be trees with means of labels in their leaves, got BRkNN\(\)"):
        LeafShares.of(BRkNN(), X)


def test_constraints_are_refused():
    """They change the values of leaves."""
    tree = DecisionTreeClassifier(monotonic_cst=[1] + [0] * 7, random_state=0).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="monotonic_cst must be None"):
        training_shares(tree, QUERIES, X)


# ML-MLM.


@pytest.mark.parametrize("options", [{}, {"power": 2.0, "scale": "none"}, {"n_landmarks": 10}, {"metric": "manhattan"}])
def test_labelsets_share_their_weight(options):
    """The samples of a label set together have its weight, and the sums are the scores."""
    model = MLMLM(**options).fit(X, Y)
    shares = checked(model)
    np.testing.assert_allclose(shares @ Y, scores_of(model), rtol=0, atol=1e-12)
    _, candidates, _ = next(model._answers(QUERIES))
    of_sets = [shares[:, model._labelset_of == number].sum(axis=1) for number in range(len(model.labelsets_))]
    np.testing.assert_allclose(np.transpose(of_sets), candidates.weights(model.power_), rtol=0, atol=1e-12)


def test_samples_of_a_labelset_by_loops():
    """In proportion to exp(-2 d² / r²), r the distance of the tenth nearest sample."""
    model = MLMLM(power=3.0, scale="none").fit(X, Y)
    shares = training_shares(model, QUERIES[:3]).toarray()
    for query, found in zip(QUERIES[:3], shares, strict=True):
        distances = np.sqrt(((X - query) ** 2).sum(axis=1))
        kernel = np.exp(-2 * distances**2 / np.sort(distances)[9] ** 2)
        for number in range(len(model.labelsets_)):
            own = model._labelset_of == number
            np.testing.assert_allclose(found[own] / found[own].sum(), kernel[own] / kernel[own].sum(), rtol=1e-9)


def test_mlmlm_at_the_edge():
    """Far from all samples, equal samples, fewer than ten, one."""
    far = np.full((1, 8), 1e9)
    for n_samples in (60, 5, 1):
        model = MLMLM(power=4.0).fit(X[:n_samples], Y[:n_samples])
        np.testing.assert_allclose(
            checked(model, Y[:n_samples], far) @ Y[:n_samples], scores_of(model, far), atol=1e-12
        )
    equal = np.ones((20, 2))
    model = MLMLM().fit(equal, Y[:20])
    found = checked(model, Y[:20], np.array([[1.0, 1.0], [3.0, 1.0]]))
    np.testing.assert_allclose(found.toarray(), 1 / 20)


def test_mlmlm_without_a_labelset():
    """A label set that no sample has any more is no candidate."""
    model = MLMLM(power=2.0).fit(X, Y)
    own = np.flatnonzero(model._labelset_of == 3)
    model.forget(own)
    kept = np.delete(Y, own, axis=0)
    np.testing.assert_allclose(checked(model, kept) @ kept, scores_of(model), rtol=0, atol=1e-12)


# What is around a model, and models without shares.


def test_pipelines_searches_and_thresholds():
    """The samples go through the pipeline; the shares are those of the inner classifier's own scores."""
    inner = {"brknn": BRkNN(6), "forest": RandomForestClassifier(10, random_state=0), "mlmlm": MLMLM()}
    for last in inner.values():
        piped = make_pipeline(StandardScaler(), last).fit(X, Y)
        expected = piped.predict_proba(QUERIES) if last is not inner["forest"] else scores_of(piped)
        for model in (
            piped,
            make_pipeline(FunctionTransformer(), piped),
            FrozenEstimator(piped),
            FixedThresholdsClassifier(piped).fit(X, Y),
            TunedThresholdsClassifierCV(piped, cv=2).fit(X, Y),
            CalibratedLabels(FixedThresholdsClassifier(piped), cv=2).fit(X, Y),
            GridSearchCV(piped, {}, cv=2, scoring="f1_micro").fit(X, Y),
        ):
            np.testing.assert_allclose(checked(model) @ Y, expected, rtol=0, atol=1e-12)
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(10, oob_score=True, random_state=0)).fit(X, Y)
    found = LeafShares.of(forest, X).out_of_bag() @ Y
    np.testing.assert_allclose(found, forest[-1].oob_decision_function_[:, 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("methods", [[BRkNN()], [BRkNN(weights="distance")], [MLMLM()]])
def test_neighbors_classifier_cv(methods):
    """Its own scores are mapped; the shares are those before the map."""
    chosen = NeighborsClassifierCV(methods=methods, n_neighbors=(3, 5)).fit(X, Y)
    inner = chosen.best_estimator_
    scores = inner[-1].estimator_.predict_proba(inner[:-1].transform(QUERIES))
    np.testing.assert_allclose(checked(chosen) @ Y, scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        *(MLkNN(), DMLkNN(), CMLkNN(), IBLR(), NLDD(), BinaryRelevance(DecisionTreeClassifier())),
        FixedThresholdsClassifier(MLkNN()),
        *(NeighborsClassifierCV(methods=[MLkNN()], n_neighbors=(3,)), make_pipeline(StandardScaler(), IBLR())),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")
def test_models_without_shares(model):
    """The error names what has shares."""
    with pytest.raises(
        TypeError, match=r"weighted votes of training label sets, got .* Hint: BRkNN, BRkNNa, .* have shares"
    ):
        training_shares(model.fit(X, Y), QUERIES, X)


def test_other_models_without_shares():
    """Boosted trees, linear models, and bags of them."""
    for model in (
        GradientBoostingClassifier(n_estimators=2),
        LogisticRegression(),
        BaggingClassifier(LogisticRegression(), 2),
    ):
        with pytest.raises(TypeError, match=f"got {type(model).__name__}. Hint"):
            training_shares(model.fit(X, Y[:, 0]), QUERIES, X)


def test_unknown_cells():
    """Each label has neighbours of its own."""
    labels = np.where(np.arange(300).reshape(60, 5) % 7 == 0, np.nan, Y)
    with pytest.raises(ValueError, match="y must have no unknown cells for shares of training samples, got BRkNN"):
        training_shares(BRkNN(3).fit(X, labels), QUERIES)


@pytest.mark.parametrize("model", [BRkNN(), MLMLM(), MLkNN(), RandomForestPCT(), RandomForestClassifier()])
def test_not_fitted(model):
    """As `predict_proba`."""
    with pytest.raises(NotFittedError):
        training_shares(model, QUERIES, X)


def test_malformed_queries():
    """As `predict_proba`."""
    for model in (BRkNN(), MLMLM(), RandomForestPCT(3), RandomForestClassifier(3)):
        with pytest.raises(ValueError, match="features"):
            training_shares(model.fit(X, Y), QUERIES[:, :3], X)
