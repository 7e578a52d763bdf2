"""What holds for every strategy: how problems are stored, ordered, counted and cut into blocks decides nothing."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.metadata_routing import get_routing_for_object

from _strategies import BY_THRESHOLDS, STRATEGIES, WITHOUT_WEIGHTS, medium_problem
from nearlabel.models.decision import SparseScores
from nearlabel.thresholds import ByThresholds, _cuts, _expected_f, _global, _simple_cuts
from nearlabel.utils import validation
from nearlabel.utils.targets import PartialLabels

ALL = pytest.mark.parametrize("name", STRATEGIES)
WEIGHTED = pytest.mark.parametrize("name", [name for name in STRATEGIES if name not in WITHOUT_WEIGHTS])


def problem(name, seed, ties=True):
    """Return a problem that the strategy takes: probabilities for ExpectedF."""
    scores, Y = medium_problem(seed, ties)
    return (np.clip(scores / 4, 0, 1) if name == "expected_f" else scores), Y


def facts(strategy, scores):
    """Return what was learnt and predicted as lists that can be compared."""
    return [strategy.predict(scores).tolist(), getattr(strategy, "thresholds_", np.zeros(0)).tolist()]


def assert_same(one, other, scores, other_scores=None):
    """Assert equal predictions and thresholds, and equal values up to rounding."""
    assert facts(one, scores) == facts(other, scores if other_scores is None else other_scores)
    assert getattr(one, "objective_", 0.0) == pytest.approx(getattr(other, "objective_", 0.0), abs=1e-12)


@ALL
def test_containers_of_scores_and_labels(name):
    """Lists, Fortran order and CSR, CSC, COO or boolean label sets make no difference."""
    for seed in range(4):
        scores, Y = problem(name, seed)
        dense = clone(STRATEGIES[name]).fit(scores, Y)
        for other, labels in (
            (scores.tolist(), Y.tolist()),
            (scores, sparse.csr_array(Y)),
            (np.asfortranarray(scores), sparse.coo_array(Y > 0)),
            (scores, sparse.csc_matrix(Y)),
        ):
            assert_same(dense, clone(STRATEGIES[name]).fit(other, labels), scores, other)


@ALL
def test_float32_equals_the_same_values_in_float64(name):
    """Thresholds and predictions do not depend on the precision that the values are stored in."""
    for seed in range(8):
        scores, Y = problem(name, seed, ties=False)
        single = scores.astype(np.float32)
        double = single.astype(np.float64)
        assert_same(clone(STRATEGIES[name]).fit(single, Y), clone(STRATEGIES[name]).fit(double, Y), single, double)


@WEIGHTED
def test_whole_weights_repeat_rows(name):
    """A row of weight 2 counts as two rows and one of weight 0 as none, infinite scores of such rows included."""
    rng = np.random.default_rng(0)
    for seed in range(8):
        scores, Y = problem(name, seed)
        times = rng.integers(0, 4, len(Y))
        times[0] = 1
        if name == "fbr_auto":  # whose folds depend on the rows
            times = times.clip(max=1)
        scores[times == 0, :1] = 1.0 if name == "expected_f" else rng.choice([np.inf, 50.0, -50.0])
        rows = np.repeat(np.arange(len(Y)), times)
        if len(rows) >= 2:
            weighted = clone(STRATEGIES[name]).fit(scores, Y, times)
            assert_same(weighted, clone(STRATEGIES[name]).fit(scores[rows], Y[rows]), scores)
            value = weighted.score(scores, Y, times)
            assert value == pytest.approx(weighted.score(scores[rows], Y[rows]), abs=1e-12, nan_ok=True)


@WEIGHTED
def test_fractional_weights(name):
    """Weights of any scale are as good as their multiples; those of 0.1 times whole numbers agree up to rounding."""
    rng = np.random.default_rng(1)
    for seed in range(8):
        scores, Y = problem(name, seed)
        weights = rng.integers(1, 4, len(Y))
        strategies = [clone(STRATEGIES[name]).fit(scores, Y, weights * scale) for scale in (1, 0.5, 2.0**-30)]
        for other in strategies[1:]:
            assert_same(strategies[0], other, scores)
        tenths = clone(STRATEGIES[name]).fit(scores, Y, weights * 0.1)
        if hasattr(tenths, "objective_") and "fbr" not in name and "cyclic" not in name:
            assert tenths.objective_ == pytest.approx(strategies[0].objective_, abs=1e-9), seed
            assert tenths.score(scores, Y, weights) == pytest.approx(tenths.objective_, abs=1e-9), seed


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
    strategy = clone(STRATEGIES[name]).fit(scores, Y)
    assert strategy.predict(scores).tolist() == [strategy.predict(row[np.newaxis])[0].tolist() for row in scores]


@ALL
def test_tiny_blocks(name, monkeypatch):
    """With a budget of one byte a block, rows and labels come one by one and the answer is the same."""
    row_blocks = validation.row_blocks
    for seed in range(5):
        scores, Y = problem(name, seed)
        expected = facts(clone(STRATEGIES[name]).fit(scores, Y), scores)
        with monkeypatch.context() as patched:
            for module in (_cuts, _simple_cuts, _global):
                patched.setattr(module, "row_blocks", lambda n, size: row_blocks(n, size, 1))
            patched.setattr(_expected_f, "BLOCK_BYTES", 1)
            assert facts(clone(STRATEGIES[name]).fit(scores, Y), scores) == expected


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
    assert isinstance(strategy, ByThresholds) == (name in BY_THRESHOLDS)


@ALL
def test_scores_are_no_metadata(name):
    """scikit-learn's metadata routing asks for weights only; scores take the place of X."""
    for strategy in (STRATEGIES[name], clone(STRATEGIES[name]).fit(*problem(name, 1))):
        requested = get_routing_for_object(strategy)
        requests = getattr(requested, "_self_request", None) or requested
        for method in ("fit", "score"):
            assert list(getattr(requests, method).requests) == ["sample_weight"], method
        assert not requests.predict.requests


@pytest.mark.parametrize("name", [name for name, strategy in STRATEGIES.items() if strategy._learns_from_stored])
@pytest.mark.parametrize("seed", range(40))
def test_stored_scores(name, seed):
    """Scores of which most are the same for each label give the same as all of them, one by one."""
    rng = np.random.default_rng(seed)
    n_samples, n_labels = rng.integers(1, 30), rng.integers(1, 8)
    stored = sparse.csr_array(
        np.where(rng.random((n_samples, n_labels)) < rng.random(), rng.random((n_samples, n_labels)), 0.0)
    )
    stored.data, unvoted = stored.data.round(1), (rng.random(n_labels) * (seed % 2) / 2).round(1)
    Y = (rng.random((n_samples, n_labels)) < rng.random()).astype(int)
    Y[:, 0] = seed % 3 % 2  # of one class
    few = SparseScores(stored, unvoted)
    ours, expected = clone(STRATEGIES[name]), clone(STRATEGIES[name]).fit(few.toarray(), Y)
    ours._fit_checked(few, PartialLabels(sparse.csr_array(Y), None), None)
    assert ours.thresholds_.tolist() == expected.thresholds_.tolist()
    assert ours.objective_ == expected.objective_
    assert ours._decide(few).toarray().tolist() == expected.predict(few.toarray()).tolist()
    some = rng.permutation(n_samples)[: n_samples // 2 + 1]
    assert few[some].toarray().tolist() == few.toarray()[some].tolist()


@pytest.mark.parametrize("every", [False, True])
def test_cuts_of_stored_scores(every):
    """The candidates are those of the same scores in an array, with the same counts of the same types."""
    rng = np.random.default_rng(0)
    stored = sparse.csr_array(np.where(rng.random((60, 20)) < 0.3, rng.random((60, 20)), 0.0))
    few, Y = SparseScores(stored, np.linspace(0, 0.5, 20)), rng.integers(0, 2, (60, 20))
    ours = _cuts.Cuts.of(few, PartialLabels(sparse.csr_array(Y), None), every=every)
    expected = _cuts.Cuts.of(few.toarray(), PartialLabels(Y, None), every=every)
    for one, other in zip(vars(ours).values(), vars(expected).values(), strict=True):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()
