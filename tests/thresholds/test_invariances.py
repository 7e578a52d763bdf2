"""What holds for every strategy: how problems are stored, ordered, counted and cut into blocks decides nothing."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from _exhaustive import small_problem
from _strategies import BY_THRESHOLDS, STRATEGIES, medium_problem, stored
from nearlabel.thresholds import FBR, ByThresholds, ExpectedF, _cuts, _expected, _global, _mcut, micro_pr_frontier
from nearlabel.utils import blocks

ALL = pytest.mark.parametrize("name", STRATEGIES)
THRESHOLDS = pytest.mark.parametrize("name", BY_THRESHOLDS)


def with_absent(name, absent):
    """Return an unfitted strategy that takes what is not stored for `absent`."""
    strategy = clone(STRATEGIES[name])
    if isinstance(strategy, FBR):
        return strategy.set_params(strategy__absent=absent)
    return strategy if isinstance(strategy, ExpectedF) else strategy.set_params(absent=absent)


def problem(name, seed, ties=True):
    """Return a problem that the strategy takes: probabilities for ExpectedF."""
    scores, Y = medium_problem(seed, ties)
    return (np.clip(scores / 4, 0, 1) if name == "expected_f" else scores), Y


def facts(strategy, scores):
    """Return what was learnt and predicted as lists that can be compared."""
    labels = strategy.predict(scores)
    labels = labels.toarray() if sparse.issparse(labels) else labels
    return [labels.tolist(), getattr(strategy, "thresholds_", np.zeros(0)).tolist()]


def assert_same(one, other, scores, other_scores=None):
    """Assert equal predictions and thresholds, and equal values up to rounding."""
    assert facts(one, scores) == facts(other, scores if other_scores is None else other_scores)
    assert getattr(one, "objective_", 0.0) == pytest.approx(getattr(other, "objective_", 0.0), abs=1e-12)


@pytest.mark.parametrize("absent", [0.0, -np.inf])
@THRESHOLDS
def test_csr_scores_equal_the_dense_ones_they_stand_for(name, absent):
    """Negative stored scores, stored zeros, absent carriers and columns absent throughout make no difference."""
    for seed in range(12):
        scores, Y = medium_problem(seed)
        rng = np.random.default_rng(seed)
        scores = np.where(rng.random(scores.shape) < rng.choice([0.1, 0.5, 0.9]), absent, scores)
        scores[:, rng.integers(Y.shape[1])] = absent
        dense = with_absent(name, absent).fit(scores, Y)
        assert_same(dense, with_absent(name, absent).fit(stored(scores, absent), Y), scores, stored(scores, absent))


@pytest.mark.parametrize("name", ["rcut", "rcut_2", "mcut", "expected_f"])
def test_csr_rows_equal_the_dense_ones_they_stand_for(name):
    """Rules that rank each row agree on stored and dense scores, where as many positive ones are stored as chosen."""
    for seed in range(12):
        scores, Y = problem(name, seed)
        scores = np.abs(scores) + (0 if name == "expected_f" else 0.25)
        scores[:, 3:] *= np.random.default_rng(seed).random((len(Y), scores[:, 3:].shape[1])) < 0.5
        dense = clone(STRATEGIES[name]).fit(scores, Y)
        if name != "rcut" or dense.n_chosen_ <= 3:
            assert_same(dense, clone(STRATEGIES[name]).fit(stored(scores), Y), scores, stored(scores))


@ALL
def test_storage_of_scores_and_labels(name):
    """Unsorted and duplicate entries, other sparse formats, CSR Y, lists and Fortran order make no difference."""
    for seed in range(4):
        scores, Y = problem(name, seed)
        scores = np.abs(scores)
        canonical = stored(scores)
        rows, columns = canonical.tocoo().coords
        order = np.random.default_rng(seed).permutation(len(rows))
        entries = np.concatenate([order, order])
        halves = canonical[rows, columns][entries] / 2
        shuffled = sparse.coo_array((halves, (rows[entries], columns[entries])), shape=scores.shape)
        unsorted = sparse.csr_array(canonical[:, ::-1])[:, ::-1]
        fitted = clone(STRATEGIES[name]).fit(canonical, Y)
        for other in (shuffled, unsorted, sparse.csc_array(canonical), sparse.csr_matrix(canonical)):
            assert_same(fitted, clone(STRATEGIES[name]).fit(other, sparse.csr_array(Y)), canonical, other)
        dense = clone(STRATEGIES[name]).fit(scores, Y)
        for other, labels in ((scores.tolist(), Y.tolist()), (np.asfortranarray(scores), sparse.coo_array(Y > 0))):
            assert_same(dense, clone(STRATEGIES[name]).fit(other, labels), scores, other)


@ALL
def test_float32_equals_the_same_values_in_float64(name):
    """Thresholds and predictions do not depend on the precision that the values are stored in."""
    for seed in range(8):
        scores, Y = problem(name, seed, ties=False)
        single = scores.astype(np.float32)
        for a, b in ((single, single.astype(np.float64)), (stored(single), stored(single.astype(np.float64)))):
            absent = -np.inf if sparse.issparse(a) else 0.0
            strategy = with_absent(name, absent)
            assert_same(clone(strategy).fit(a, Y), clone(strategy).fit(b, Y), a, b)


@pytest.mark.parametrize("store", [np.asarray, stored])
@ALL
def test_whole_weights_repeat_rows(name, store):
    """A row of weight 2 counts as two rows and one of weight 0 as none, infinite scores of such rows included."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        scores, Y = problem(name, seed)
        times = rng.integers(0, 4, len(Y))
        times[0] = 1
        if name == "fbr_auto":  # whose folds depend on the rows
            times = times.clip(max=1)
        scores[times == 0, :1] = 1.0 if name == "expected_f" else rng.choice([np.inf, 50.0, -50.0])
        given, rows = store(scores), np.repeat(np.arange(len(Y)), times)
        strategy = with_absent(name, -np.inf if store is stored else 0.0)
        if len(rows) >= 2:
            weighted = clone(strategy).fit(given, Y, times)
            assert_same(weighted, clone(strategy).fit(given[rows], Y[rows]), given)
            value = weighted.score(given, Y, times)
            assert value == pytest.approx(weighted.score(given[rows], Y[rows]), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("store", [np.asarray, stored])
@ALL
def test_fractional_weights(name, store):
    """Weights of any scale are as good as their multiples; those of 0.1 times whole numbers agree up to rounding."""
    rng = np.random.default_rng(1)
    for seed in range(8):
        scores, Y = problem(name, seed)
        scores = np.abs(scores)
        weights = rng.integers(1, 4, len(Y))
        strategies = [clone(STRATEGIES[name]).fit(store(scores), Y, weights * scale) for scale in (1, 0.5, 2.0**-30)]
        for other in strategies[1:]:
            assert_same(strategies[0], other, store(scores))
        tenths = clone(STRATEGIES[name]).fit(store(scores), Y, weights * 0.1)
        if hasattr(tenths, "objective_") and "fbr" not in name and "cyclic" not in name:
            assert tenths.objective_ == pytest.approx(strategies[0].objective_, abs=1e-9), seed
            assert tenths.score(store(scores), Y, weights) == pytest.approx(tenths.objective_, abs=1e-9), seed


@pytest.mark.parametrize("absent", [0.0, -np.inf])
@THRESHOLDS
def test_fractional_weights_of_full_columns(name, absent):
    """A column stored in full has no absent score, though the weights of its rows in another order add up otherwise."""
    rng = np.random.default_rng(2)
    for _ in range(8):
        scores, weights = rng.normal(-3, 1, (30, 4)), rng.random(30)
        Y = (rng.random(scores.shape) < 0.3).astype(int)
        dense = with_absent(name, absent).fit(scores, Y, weights)
        full = with_absent(name, absent).fit(sparse.csr_array(scores), Y, weights)
        assert_same(dense, full, scores, sparse.csr_array(scores))


@ALL
def test_the_order_of_rows(name):
    """Permuted rows give the same thresholds, and predictions in the new order."""
    for seed in range(8):
        scores, Y = problem(name, seed)
        order = np.random.default_rng(seed).permutation(len(Y))
        if name != "fbr_auto":  # consecutive folds
            assert_same(
                clone(STRATEGIES[name]).fit(scores, Y), clone(STRATEGIES[name]).fit(scores[order], Y[order]), scores
            )


@ALL
def test_the_order_of_labels(name):
    """Permuted labels permute thresholds and predictions, where no ties are broken by the index of the label."""
    for seed in range(8):
        scores, Y = problem(name, seed, ties=False)
        order = np.random.default_rng(seed).permutation(Y.shape[1])
        one = clone(STRATEGIES[name]).fit(scores, Y)
        other = clone(STRATEGIES[name]).fit(scores[:, order], Y[:, order])
        if not name.startswith("cyclic"):  # which moves the labels in their order
            assert (one.predict(scores)[:, order] == other.predict(scores[:, order])).all(), seed
        if name in BY_THRESHOLDS and not name.startswith("cyclic"):
            assert (one.thresholds_[order] == other.thresholds_).all(), seed


@ALL
def test_predicting_rows_one_by_one(name):
    """Each row is answered by itself."""
    scores, Y = problem(name, 4)
    for store in (np.asarray, lambda part: sparse.csr_array(np.abs(part))):
        strategy = clone(STRATEGIES[name]).fit(store(scores), Y)
        alone = [facts(strategy, store(scores[[row]]))[0][0] for row in range(len(Y))]
        assert facts(strategy, store(scores))[0] == alone


@ALL
def test_tiny_blocks(name, monkeypatch):
    """With a budget of one byte a block, rows and labels come one by one and the answer is the same."""
    row_blocks, uneven_blocks = blocks.row_blocks, blocks.uneven_blocks
    for seed in range(5):
        scores, Y = problem(name, seed)
        scores = np.abs(scores)
        for given in (scores, stored(scores)):
            whole = clone(STRATEGIES[name]).fit(given, Y)
            expected = facts(whole, given)
            with monkeypatch.context() as patched:
                for module in (_cuts, _mcut):
                    patched.setattr(module, "row_blocks", lambda n, size: row_blocks(n, size, 1))
                patched.setattr(_global, "uneven_blocks", lambda sizes: uneven_blocks(sizes, 1))
                patched.setattr(_expected, "BLOCK_BYTES", 1)
                assert facts(clone(STRATEGIES[name]).fit(given, Y), given) == expected


@ALL
def test_scikit_learn_life(name):
    """Cloned, pickled and refitted strategies behave as the first; a second fit forgets the first; inputs stay."""
    (scores, Y), (others, other_Y) = problem(name, 1), problem(name, 2)
    kept = scores.copy(), Y.copy()
    strategy = STRATEGIES[name]
    fitted = clone(strategy).fit(scores, Y)
    assert clone(strategy).get_params(deep=False).keys() == strategy.get_params(deep=False).keys()
    assert facts(pickle.loads(pickle.dumps(fitted)), scores) == facts(fitted, scores)
    again = clone(strategy).fit(others, other_Y).fit(scores, Y)
    assert facts(again, scores) == facts(fitted, scores)
    assert vars(again).keys() == vars(fitted).keys()
    assert np.array_equal(scores, kept[0])
    assert np.array_equal(Y, kept[1])
    in_csr = stored(np.abs(scores))
    data, indices = in_csr.data.copy(), in_csr.indices.copy()
    clone(strategy).fit(in_csr, sparse.csr_array(Y)).predict(in_csr)
    assert (in_csr.data == data).all()
    assert (in_csr.indices == indices).all()
    assert isinstance(strategy, ByThresholds) == (name in BY_THRESHOLDS)


def test_the_frontier_of_csr_scores():
    """Dense scores, those stored in CSR, and CSR label sets have the same frontier."""
    for seed in range(12):
        scores, Y = medium_problem(seed) if seed % 2 else small_problem(seed)
        for absent in (0.0, -np.inf):
            dense = micro_pr_frontier(np.where(scores < 0.3, absent, scores), Y)
            in_csr = micro_pr_frontier(
                stored(np.where(scores < 0.3, absent, scores), absent), sparse.csr_array(Y), absent=absent
            )
            for field in ("precision", "recall", "largest_beta", "n_chosen", "slopes"):
                assert (getattr(dense, field) == getattr(in_csr, field)).all(), seed
            for point in range(len(dense.recall)):
                assert (dense.thresholds(point) == in_csr.thresholds(point)).all(), seed
