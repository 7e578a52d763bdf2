import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from conftest import CHECKS, CONTAINERS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import average_precision, hamming_loss, one_error
from nearlabel.neighbors import kernel_level, kernel_levels
from nearlabel.neighbors.exact.kernels import OFF, StumpRuns, kernel_in_use, least_z
from nearlabel.rivals import AdaBoostMH, ADTBoostMH
from nearlabel.rivals._boosting import Weights
from nearlabel.rivals._stumps import StumpSearch, sorted_features, stored_columns

METHODS = [AdaBoostMH(n_estimators=12), ADTBoostMH(n_estimators=6)]
NAMES = ["AdaBoostMH", "ADTBoostMH"]


@pytest.fixture(params=list(dict.fromkeys([kernel_levels()[0], "off"])))
def level(request):
    """Search with the kernel, if there is one, and without."""
    with kernel_level(request.param):
        yield request.param


class Pairs:
    """The distribution over pairs of a row and a label, by plain loops and exact sums."""

    def __init__(self, Y):
        """Start uniform."""
        self.Y, self.n_labels = [[int(v) for v in row] for row in Y], Y.shape[1]
        self.epsilon = 1 / Y.size
        self.D = [[self.epsilon] * self.n_labels for _ in self.Y]

    def weight(self, rows, label, carried):
        """Return the weight of the rows with or without the label."""
        return math.fsum(self.D[i][label] for i in rows if self.Y[i][label] == carried)

    def root_sum(self, rows):
        """Return Σ_labels √(W₊ W₋) of some rows."""
        return sum(math.sqrt(self.weight(rows, k, 1) * self.weight(rows, k, 0)) for k in range(self.n_labels))

    def total(self, rows):
        """Return the weight of some rows."""
        return math.fsum(d for i in rows for d in self.D[i])

    def put_rule(self, parts):
        """Give outputs to the parts, change and normalise the weights; return outputs and the normaliser."""
        outputs = []
        for rows in parts:
            sums = [(self.weight(rows, k, 1), self.weight(rows, k, 0)) for k in range(self.n_labels)]
            outputs.append([math.log((w + self.epsilon) / (v + self.epsilon)) / 2 for w, v in sums])
        for rows, h in zip(parts, outputs, strict=True):
            for i in rows:
                self.D[i] = [d * math.exp(-(2 * y - 1) * o) for d, y, o in zip(self.D[i], self.Y[i], h, strict=True)]
        z = self.total(range(len(self.Y)))
        self.D = [[d / z for d in row] for row in self.D]
        return outputs, z


def conditions(X):
    """Yield (feature, threshold) in the order that ties follow."""
    for feature in range(X.shape[1]):
        for low, high in pairwise(sorted({float(v) for v in X[:, feature]})):
            yield feature, (low + high) / 2


def first_of_least(candidates):
    """Return the first of the candidates (z, ...) whose z is least, to a part in 10 ** 10."""
    least = min(z for z, *_ in candidates)
    return next(candidate for candidate in candidates if candidate[0] <= least * (1 + 1e-10))


def split(X, rows, feature, threshold):
    """Return the rows of either side."""
    left = [i for i in rows if X[i, feature] <= threshold]
    return left, [i for i in rows if i not in left]


def loop_adaboost(X, Y, n_rounds):
    """Boost stumps by loops: a list of (feature, threshold, outputs, normaliser, criterion)."""
    pairs, rows, rounds = Pairs(Y), range(len(X)), []
    for _ in range(n_rounds):
        candidates = []
        for feature, threshold in conditions(X):
            z = 2 * sum(pairs.root_sum(side) for side in split(X, rows, feature, threshold))
            candidates.append((z, feature, threshold))
        z, feature, threshold = first_of_least(candidates)
        rounds.append((feature, threshold, *pairs.put_rule(split(X, rows, feature, threshold)), z))
    return rounds


def loop_adtree(X, Y, n_rounds):
    """Grow the alternating decision tree by loops: root, normaliser; (node, feature, threshold, outputs, z)."""
    pairs, everyone = Pairs(Y), list(range(len(X)))
    root, nodes, rounds = pairs.put_rule([everyone]), [everyone], []
    for _ in range(n_rounds):
        candidates = []
        for node, rows in enumerate(nodes):
            outside = pairs.total(i for i in everyone if i not in rows)
            for feature, threshold in conditions(X):
                z = 2 * sum(pairs.root_sum(side) for side in split(X, rows, feature, threshold)) + outside
                candidates.append((z, node, feature, threshold))
        _, node, feature, threshold = first_of_least(candidates)
        parts = split(X, nodes[node], feature, threshold)
        nodes.extend(parts)
        rounds.append((node, feature, threshold, *pairs.put_rule(parts)))
    return root, rounds


def small_problem(seed, n=24):
    """Rows with ties, zeros, negative values, a feature twice, mirrored and constant; labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, 4)) * rng.choice([0.5, 1.0, 3.0], 4)
    X[:, 2] = rng.normal(size=n) * (rng.random(n) < 0.5)
    X = np.column_stack([X, X[:, 1], np.full(n, 2.0), -X[:, 0]])
    Y = (X[:, :3] + rng.normal(size=(n, 3)) > 0.3).astype(int)
    return X, Y


def scores_by_rounds(model, X):
    """Sum the outputs of AdaBoost.MH round by round, row by row."""
    rounds = list(zip(model.features_, model.thresholds_, model.outputs_, strict=True))
    return [sum(outputs[int(row[f] > t)] for f, t, outputs in rounds) for row in X]


def scores_by_tree(model, row):
    """Walk down the tree of ADTBoost.MH for one row."""

    def below(node):
        total = model.root_ if node == 0 else model.outputs_[(node - 1) // 2][(node - 1) % 2]
        for t in np.flatnonzero(model.preconditions_ == node):
            total = total + below(2 * t + 1 + int(row[model.features_[t]] > model.thresholds_[t]))
        return total

    return below(0)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_contract(method, check):
    """Both keep our own contract."""
    if check is testing.check_scikit_learn_tools:
        pytest.skip("it asks for predict_proba; these have decision values, see test_scikit_learn_tools")
    check(clone(method))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_scikit_learn_tools(method):
    """Cross-validation of decision values and grid search work."""
    X, Y = small_problem(0, 40)
    assert cross_val_predict(method, X, Y, cv=KFold(3), method="decision_function").shape == Y.shape
    search = GridSearchCV(method, {"n_estimators": [1, 3]}, scoring=["roc_auc", "f1_micro"], refit=False, cv=KFold(3))
    results = search.fit(X, Y).cv_results_
    assert np.isfinite(results["mean_test_roc_auc"]).all()


@pytest.mark.parametrize(("seed", "container"), list(enumerate(["dense", "csr_array", "csc_array"] * 2)))
def test_adaboost_equals_loops(seed, container, level):
    """Features, thresholds, outputs and Z are those of plain loops, on features with ties, dense and sparse."""
    X, Y = small_problem(seed)
    model = AdaBoostMH(n_estimators=9).fit(CONTAINERS[container](X), Y)
    features, thresholds, outputs, z, criteria = zip(*loop_adaboost(X, Y, 9), strict=True)
    assert model.features_.tolist() == list(features)
    assert model.thresholds_.tolist() == list(thresholds)
    np.testing.assert_allclose(model.outputs_, outputs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.z_, z, rtol=1e-12)
    assert (np.array(criteria) <= model.z_).all()  # smoothing costs a little


@pytest.mark.parametrize(("seed", "container"), list(enumerate(["dense", "csr_array"] * 2)))
def test_adtree_equals_loops(seed, container, level):
    """Preconditions too are those of plain loops."""
    X, Y = small_problem(seed, 20)
    model = ADTBoostMH(n_estimators=8).fit(CONTAINERS[container](X), Y)
    (root, root_z), rounds = loop_adtree(X, Y, 8)
    nodes, features, thresholds, outputs, z = zip(*rounds, strict=True)
    assert model.preconditions_.tolist() == list(nodes)
    assert model.features_.tolist() == list(features)
    assert model.thresholds_.tolist() == list(thresholds)
    np.testing.assert_allclose(model.root_, root[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.outputs_, outputs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.z_, [root_z, *z], rtol=1e-12)


def few_values(n=24):
    """Rows of 0 and 1, of 1 and 2 (no zeros), of -1, 0 and 1, and of -1 and 1; labels that depend on them."""
    rng = np.random.default_rng(5)
    words = (rng.random((n, 5)) < [0.1, 0.3, 0.3, 0.5, 0.9]).astype(float)
    signs = rng.integers(-1, 2, (n, 1))
    X = np.column_stack([words, words[:, [2]] + 1, signs, 2 * words[:, [3]] - 1, words[:, [1]]])
    Y = (words[:, 1:4] + signs + rng.normal(size=(n, 3)) > 0.5).astype(int)
    return X, Y


def few_and_many_values(n=24):
    """The same among features of many values that allow equal splits: ahead of their words, behind them, mirrored."""
    X, Y = few_values(n)
    spread = np.random.default_rng(6).random((n, 3)) + 3 * X[:, 1:4]
    return np.column_stack([spread[:, 0], X, spread[:, 1:], -spread[:, [2]], np.round(2 * spread[:, [1]])]), Y


PROBLEMS_WITH_WORDS = [few_values, few_and_many_values]


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("make", PROBLEMS_WITH_WORDS)
def test_features_of_few_values_equal_loops(make, container, level):
    """Words, alone and among numbers: rules of both methods are those of plain loops."""
    X, Y = make()
    model = AdaBoostMH(n_estimators=12).fit(CONTAINERS[container](X), Y)
    features, thresholds, outputs, *_ = zip(*loop_adaboost(X, Y, 12), strict=True)
    assert (model.features_.tolist(), model.thresholds_.tolist()) == ([*features], [*thresholds])
    np.testing.assert_allclose(model.outputs_, outputs, rtol=0, atol=1e-12)
    tree = ADTBoostMH(n_estimators=6).fit(CONTAINERS[container](X), Y)
    nodes, features, thresholds, outputs, _ = zip(*loop_adtree(X, Y, 6)[1], strict=True)
    assert (tree.preconditions_.tolist(), tree.features_.tolist()) == ([*nodes], [*features])
    assert tree.thresholds_.tolist() == [*thresholds]
    np.testing.assert_allclose(tree.outputs_, outputs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_bytes", [1, 2**12, 2**19])
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("make", [*PROBLEMS_WITH_WORDS, lambda n: small_problem(0, n)])
def test_kernels_and_blocks_change_no_bit(make, method, n_bytes, monkeypatch):
    """Whether a kernel or numpy finds the least Z, in few blocks or in many: equal rules in all bits."""
    X, Y = make(80)
    expected = clone(method).fit(X, Y)  # by the kernel, if there is one
    monkeypatch.setattr("nearlabel.rivals._stumps._CACHE_BYTES", n_bytes)
    for rows in (X, sparse.csr_array(X)):
        with kernel_level("off"):
            model = clone(method).fit(rows, Y)
        for name in ("features_", "thresholds_", "outputs_", "z_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))


@pytest.mark.skipif(kernel_levels() == ("off",), reason="no kernels here")
@pytest.mark.parametrize("every", [1, 2, 40])
def test_least_z_of_each_run(every):
    """The kernel finds the least Z of the best runs, and of no other run one that is too small; some rows, or all."""
    rng = np.random.default_rng(every)
    n, n_labels, n_runs = 200, 3, 12
    Y = rng.random((n, n_labels)) < 0.3
    rows = np.concatenate([np.lexsort(Y.T), *(rng.permutation(n) for _ in range(n_runs - 1))])
    starts, has_threshold = np.arange(0, rows.size + 1, n), rng.random(rows.size) < 1 / every
    weights = rng.random((n, 2 * n_labels)) * np.hstack([Y, ~Y])
    for reached in (np.ones(n, dtype=bool), rng.random(n) < 0.4):
        least = least_z(StumpRuns(starts, rows, has_threshold, n), weights, None if reached.all() else reached)
        side = np.cumsum((weights * reached[:, np.newaxis])[rows].reshape(n_runs, n, -1), axis=1)
        other = (weights * reached[:, np.newaxis]).sum(axis=0) - side
        roots = [np.sqrt(np.maximum(s[..., :n_labels] * s[..., n_labels:], 0)).sum(axis=-1) for s in (side, other)]
        z = np.where(has_threshold.reshape(n_runs, n), 2 * (roots[0] + roots[1]), np.inf).min(axis=1)
        assert least.min() == pytest.approx(z.min(), rel=1e-10)
        assert (least >= z * (1 - 1e-10)).all()
        assert np.isinf(least[1:]).any()


def test_runs_are_checked_before_the_kernel_reads_them():
    """Rows that do not exist, runs beyond the entries, and weights of other rows."""
    rows, thresholds = np.array([0, 1, 2]), np.array([True, True, False])
    for starts, of_rows in (([0, 4], rows), ([1, 3], rows), ([0, 2, 1, 3], rows), ([0, 3], rows + 1), ([0, 3], -rows)):
        with pytest.raises(ValueError, match="must be those of runs of 3 rows"):
            StumpRuns(np.array(starts), of_rows, thresholds, 3)
    runs = StumpRuns(np.array([0, 3]), rows, thresholds, 3)
    with kernel_level("off"):
        assert least_z(runs, np.ones((3, 2))) is None
    if kernel_levels() != ("off",):
        for shape in ((2, 2), (3, 3)):
            with pytest.raises(ValueError, match="weights and reached must have 3 rows"):
                least_z(runs, np.ones(shape))


@pytest.mark.parametrize("word_first", [True, False])
def test_ties_between_words_and_numbers(word_first, level):
    """Of a word and a number that split the rows alike, the lower feature is taken, whichever is searched first."""
    rng = np.random.default_rng(0)
    word = np.repeat([0.0, 1.0], 20)
    number = word + rng.random(40) / 2
    X = np.column_stack([word, number] if word_first else [number, word])
    model = AdaBoostMH(n_estimators=1).fit(X, word[:, np.newaxis].astype(int))
    assert model.features_.tolist() == [0]
    assert (model.thresholds_[0] == 0.5) == word_first


def test_loops_hang_rules_below_the_root():
    """The comparison above is not one of trees with nothing but root rules."""
    nodes = [rule[0] for seed in range(4) for rule in loop_adtree(*small_problem(seed, 20), 8)[1]]
    assert len({node for node in nodes if node > 0}) > 3


@pytest.mark.parametrize("seed", range(4))
def test_bounds_spare_no_better_stump(seed, level):
    """On runs of many blocks the search finds what trying all thresholds finds, whatever the weights."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(300, 6)), seed % 3 + 1) * (rng.random((300, 6)) < [1, 1, 1, 0.3, 0.3, 0.1])
    Y = (X[:, :4] + rng.normal(size=(300, 4)) > [0, 0.5, 1.5, 2.2]).astype(int)
    weights, search = Weights(Y), StumpSearch(X, 4)
    for _ in range(8):
        now = weights.by_sign * (rng.random((300, 1)) < 0.6)
        stump, candidates = search.best(now), []
        for feature, threshold in conditions(X):
            left = X[:, feature] <= threshold
            roots = sum(np.sqrt(side[:4] * side[4:]).sum() for side in (now[left].sum(axis=0), now[~left].sum(axis=0)))
            candidates.append((2 * roots, feature, threshold))
        assert tuple(stump)[:2] == first_of_least(candidates)[1:]
        assert stump.z == pytest.approx(min(candidates)[0], rel=1e-12)
        part = rng.integers(0, 3, 300)
        weights.put_rule(part)


def test_first_round_by_hand():
    """Four rows, two labels, uniform weights of 1/8: the middle separates label 0 and says nothing of label 1."""
    X, Y = [[1.0], [2.0], [4.0], [8.0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    # At 3, label 0: W₊ = 1/4, W₋ = 0 on the left, the reverse on the right, √ 0. Label 1: √(1/8 · 1/8), twice.
    # Z = 2 (0 + 0 + 1/8 + 1/8) = 1/2. At 1.5 and at 6: label 0 0 + √(1/8 · 2/8), label 1 0 + √(2/8 · 1/8): Z = 0.707.
    model = AdaBoostMH(n_estimators=1).fit(X, Y)
    assert (model.features_.tolist(), model.thresholds_.tolist()) == ([0], [3.0])
    h = math.log((1 / 4 + 1 / 8) / (1 / 8)) / 2
    np.testing.assert_allclose(model.outputs_, [[[h, 0], [-h, 0]]], atol=1e-15)
    # Half the weight is of label 1 and stays, half has the factor exp(-h) = 1 / √3.
    assert model.z_ == pytest.approx([0.5 + 0.5 / math.sqrt(3)])
    np.testing.assert_allclose(model.decision_function([[3.0], [3.1]]), [[h, 0], [-h, 0]], atol=1e-15)
    assert model.predict([[3.0], [3.1]]).tolist() == [[1, 1], [0, 1]]  # a score of 0 is a label


def test_tree_by_hand():
    """Exclusive or: no condition helps at the root, so the first rule is a tie, and the others hang below it."""
    X, Y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 2), np.array([[0], [1], [1], [0]] * 2)
    model = ADTBoostMH(n_estimators=3).fit(X, Y)
    assert model.preconditions_.tolist() == [0, 1, 2]
    assert model.features_.tolist() == [0, 1, 1]
    assert model.thresholds_.tolist() == [0.5, 0.5, 0.5]
    assert model.root_.tolist() == [0.0]
    # Below node 1 are four rows of 1/8: two with the label on one side, two without on the other; ε is 1/8.
    h = math.log((2 / 8 + 1 / 8) / (1 / 8)) / 2
    np.testing.assert_allclose(model.outputs_[:2, :, 0], [[0, 0], [-h, h]], atol=1e-15)
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_product_of_z_bounds_the_training_error(method, seed):
    """The training Hamming loss is at most the product of all Z (Schapire and Singer 1999, theorem 1)."""
    X, Y = small_problem(seed, 60)
    for n_estimators in (1, 4, 30):
        model = clone(method).set_params(n_estimators=n_estimators).fit(X, Y)
        loss = (model.predict(X) != Y).mean()
        margins = (2 * Y - 1) * model.decision_function(X)
        assert loss <= np.prod(model.z_) < 1
        assert np.prod(model.z_) == pytest.approx(np.exp(-margins).mean(), rel=1e-10)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_one_label_is_binary_boosting(method):
    """With a label and its complement, both get the scores, with signs, that the label has alone."""
    X, Y = small_problem(1, 40)
    one = clone(method).fit(X, Y[:, :1])
    two = clone(method).fit(X, np.column_stack([Y[:, 0], 1 - Y[:, 0]]))
    np.testing.assert_array_equal(one.features_[:4], two.features_[:4])
    scores = two.decision_function(X)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-12)
    assert one.predict(X).shape == (40, 1)
    assert (one.predict(X) == Y[:, :1]).mean() > 0.8


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_storage_and_order_of_rows_change_no_bit(method, seed):
    """Sparse or dense, duplicates and explicit zeros stored or not, rows in any order: equal scores in all bits."""
    X, Y = small_problem(seed, 50)
    expected = clone(method).fit(X, Y)
    order = np.random.default_rng(seed).permutation(50)
    stored = sparse.coo_array(X)
    halves = (
        np.r_[stored.data, stored.data, 0.0] / 2,
        (np.r_[stored.row, stored.row, 0], np.r_[stored.col, stored.col, 5]),
    )
    halves[0][-1] = 0.0
    doubled = sparse.csr_array(halves, shape=X.shape)
    for rows, labels in ((sparse.csr_array(X), sparse.csr_array(Y)), (doubled, Y), (X[order], Y[order])):
        model = clone(method).fit(rows, labels)
        for name in ("features_", "thresholds_", "outputs_", "z_"):
            np.testing.assert_array_equal(getattr(model, name), getattr(expected, name))
        np.testing.assert_array_equal(model.decision_function(sparse.csr_array(X)), expected.decision_function(X))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_scores_are_sums_of_outputs(method, problem):
    """Scores of queries equal the sum of outputs by a loop over rounds, or a walk down the tree."""
    X, Y, queries = problem
    Y = Y[:, (Y.min(axis=0) == 0) & (Y.max(axis=0) == 1)]
    model = clone(method).set_params(n_estimators=25).fit(X, Y)
    by_loop = scores_by_rounds(model, queries)
    if isinstance(model, ADTBoostMH):
        by_loop = [scores_by_tree(model, row) for row in queries]
    np.testing.assert_allclose(model.decision_function(queries), by_loop, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(model.predict(queries), model.decision_function(queries) >= 0)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_blocks_change_nothing(method, monkeypatch):
    """Scores do not depend on how many queries fit the memory budget."""
    X, Y = small_problem(3, 60)
    model = clone(method).fit(X, Y)
    scores = model.decision_function(X)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (100,))
    np.testing.assert_array_equal(model.decision_function(X), scores)


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_constant_features(method):
    """Where no feature varies all queries get the outputs of all rows."""
    X, Y = np.full((6, 2), 3.0), np.array([[1, 0, 1]] * 4 + [[0, 1, 1]] * 2)
    for rows in (X, 0 * X, sparse.csr_array(X)):
        model = clone(method).fit(rows, Y)
        # Two labels vary: 12 pairs, ε = 1/12; label 0 has 4/12 with and 2/12 without.
        h = math.log((4 + 1) / (2 + 1)) / 2
        np.testing.assert_allclose(model.decision_function([[0.0, 9.0]])[:, :2], [[h, -h]], atol=1e-12)
        assert model.predict([[0.0, 9.0]]).tolist() == [[1, 0, 1]]
        assert len(model.z_) == 1


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_few_rows(method):
    """One row, two rows, equal rows with different labels, rows without labels."""
    assert clone(method).fit([[1.0]], [[1, 0]]).predict([[5.0]]).tolist() == [[1, 0]]
    two = clone(method).fit([[1.0], [2.0]], [[1, 0], [0, 0]])
    assert two.predict([[1.4], [1.6]]).tolist() == [[1, 0], [0, 0]]
    equal = clone(method).fit([[1.0], [1.0], [1.0]], [[1, 0], [1, 1], [0, 0]])
    assert equal.predict([[1.0]]).tolist() == [[1, 0]]


def test_separable_rows_stay_finite():
    """A thousand rounds on rows that one stump separates neither overflow nor lose a row."""
    X, Y = np.arange(20.0).reshape(-1, 1), (np.arange(20) >= 10).astype(int).reshape(-1, 1)
    model = AdaBoostMH(n_estimators=1000).fit(X, Y)
    assert np.isfinite(model.outputs_).all()
    np.testing.assert_array_equal(model.predict(X), Y)


def test_float32_and_integers():
    """Values are compared as float64, so the type of X decides nothing."""
    X, Y = small_problem(2, 40)
    X = np.round(X)
    expected = AdaBoostMH(n_estimators=5).fit(X, Y).decision_function(X)
    for kind in (np.float32, np.int64, np.int8):
        got = AdaBoostMH(n_estimators=5).fit(X.astype(kind), Y).decision_function(X.astype(kind))
        np.testing.assert_array_equal(got, expected)


def test_thresholds_lie_between_neighbours():
    """Every pair of neighbouring values has one threshold, also numbers with none between, and it separates them."""
    next_to_one = np.nextafter(1.0, 2.0)
    X = np.array([[-1e308, 1.0, 0, 5e-324], [1e308, next_to_one, 0, 0], [0, 1.0, 0, -5e-324], [-2.0, 1.0, 0, 0]])
    laid_out = sorted_features(stored_columns(X))
    for feature, expected in enumerate([3, 1, 0, 2]):
        thresholds = laid_out.thresholds[laid_out.feature == feature]
        thresholds = np.sort(thresholds[~np.isnan(thresholds)])
        values = np.unique(X[:, feature])
        assert len(thresholds) == expected == len(values) - 1
        assert (values[:-1] <= thresholds).all()
        assert (thresholds < values[1:]).all()


@pytest.mark.parametrize("method", [AdaBoostMH, ADTBoostMH], ids=NAMES)
@pytest.mark.parametrize(
    ("value", "error", "message"),
    [(0, ValueError, "n_estimators must be at least 1, got 0"), (2.0, TypeError, "n_estimators must be an integer")],
)
def test_bad_parameters(method, value, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        method(value).fit(np.eye(4), np.eye(4, dtype=int))


@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_unfitted_and_pickled(method):
    """Nothing can be asked before a fit; a fitted one survives pickling."""
    with pytest.raises(NotFittedError):
        clone(method).decision_function(np.eye(2))
    X, Y = small_problem(4)
    model = clone(method).fit(X, Y)
    thawed = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(thawed.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("method", [AdaBoostMH(60), ADTBoostMH(30)], ids=NAMES)
def test_real_data(data_folder, method):
    """On emotions both rank and decide far better than label frequencies do; the training error keeps its bound."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    model = clone(method).fit(training.X, training.Y)
    scores, truth = model.decision_function(test.X), np.asarray(test.Y)
    frequencies = np.tile(training.Y.mean(axis=0), (len(truth), 1))
    assert hamming_loss(truth, model.predict(test.X)) < 0.75 * truth.mean()
    assert average_precision(truth, scores) > average_precision(truth, frequencies) + 0.15
    assert one_error(truth, scores) < 0.36
    assert hamming_loss(training.Y, model.predict(training.X)) <= np.prod(model.z_)


@pytest.mark.skipif(kernel_in_use() == OFF, reason="no kernels")
def test_the_kernel_finds_thresholds_that_separate_a_label():
    """Where a label has no weight left on one side, sums in another order may exceed the total by rounding."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n_rows, n_labels = int(rng.integers(3, 60)), int(rng.integers(1, 4))
        order = rng.permutation(n_rows).astype(np.int32)
        carries = np.zeros((n_rows, n_labels))
        carries[order[: int(rng.integers(1, n_rows))]] = 1
        carries = np.where(rng.random(carries.shape) < 0.03, 1 - carries, carries)
        weights = rng.random(carries.shape)
        weights = np.concatenate([weights * carries, weights * (1 - carries)], axis=1)
        has_threshold = np.arange(n_rows) < n_rows - 1
        (found,) = least_z(StumpRuns(np.array([0, n_rows]), order, has_threshold, n_rows), weights)
        left = np.cumsum(weights[order], axis=0)[:-1]
        sides = (left, np.maximum(weights.sum(axis=0) - left, 0))
        expected = 2 * sum(np.sqrt(side[:, :n_labels] * side[:, n_labels:]) for side in sides).sum(axis=1)
        assert found == pytest.approx(expected.min(), rel=1e-9, abs=1e-7), seed
