"""Degenerate problems and wrong arguments, for every strategy."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from _strategies import BY_THRESHOLDS, STRATEGIES, WITHOUT_WEIGHTS
from nearlabel.thresholds import (
    CyclicAscent,
    ExpectedF,
    GlobalCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    SCut,
    micro_pr_frontier,
)

ALL = pytest.mark.parametrize("name", STRATEGIES)
THRESHOLDS = pytest.mark.parametrize("name", BY_THRESHOLDS)
SCORES = np.array([[0.9, 0.2, 0.5], [0.8, 0.1, 0.5], [0.3, 0.4, 0.5], [0.1, 0.3, 0.5]])
OF_OTHER_SIZES = ("pcut", "pcut_all", "global_precision", "rcut_2", "mcut", "expected_f", "fbr_auto", *WITHOUT_WEIGHTS)


def fit(name, scores, Y, **data):
    """Return the strategy of that name, fitted."""
    return clone(STRATEGIES[name]).fit(scores, Y, **data)


@pytest.mark.parametrize("name", [name for name in BY_THRESHOLDS if name not in WITHOUT_WEIGHTS])
def test_without_positives_nothing_is_chosen(name):
    """Without a single positive all thresholds are infinite, for rows to come too; only empty sets that agree count."""
    strategy = fit(name, SCORES, np.zeros((4, 3), dtype=int))
    assert strategy.thresholds_.tolist() == [math.inf] * 3
    assert strategy.predict(SCORES + 1e6).sum() == 0
    assert getattr(strategy, "objective_", 0.0) == (1.0 if name == "cyclic_subset" else 0.0)


@pytest.mark.parametrize("name", ["micro_f", "pillai", "scut", "scut_hamming", "pcut", "fbr"])
def test_one_label_without_positives_is_never_chosen(name):
    """Its threshold is infinity; others keep theirs."""
    Y = np.array([[1, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]])
    assert fit(name, SCORES, Y).thresholds_[1] == math.inf
    assert np.isfinite(fit(name, SCORES, Y).thresholds_[0])


@pytest.mark.parametrize("name", ["micro_f", "pillai", "scut", "scut_hamming", "global_micro", "cyclic", "pcut", "fbr"])
def test_with_positives_only_all_is_chosen(name):
    """Thresholds are minus infinity, so that rows to come are chosen too whatever their scores."""
    strategy = fit(name, SCORES, np.ones((4, 3), dtype=int))
    assert strategy.thresholds_.tolist() == [-math.inf] * 3
    assert strategy.predict(SCORES - 1e6).all()
    assert getattr(strategy, "objective_", 1.0) == pytest.approx(0.0 if name == "scut_hamming" else 1.0)


@ALL
def test_constant_scores(name):
    """A column of equal scores is chosen in all rows or in none; the middle of equal scores is no place to cut."""
    strategy = fit(name, np.full((4, 3), 0.5), [[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 0, 0]])
    labels = strategy.predict(np.full((4, 3), 0.5))
    assert (labels == labels[0]).all()
    if name in ("micro_f", "scut", "scut_hamming"):
        assert labels[0].tolist() == [1, int(name == "scut"), 0]


@ALL
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1)])
def test_one_row_or_label(name, store, shape):
    """One row and one label suffice (but for folds); true labels with the highest scores are found."""
    scores = np.linspace(0.9, 0.2, math.prod(shape)).reshape(shape)
    Y = (scores >= 0.6).astype(int)
    if name == "fbr_auto" and shape[0] == 1:
        with pytest.raises(ValueError, match=r"cv must be at most the 1 rows, got 2\."):
            fit(name, scores, store(Y))
        return
    labels = fit(name, scores, store(Y)).predict(scores)
    assert labels.shape == shape
    if name not in OF_OTHER_SIZES and not (name == "rcut" and shape[1] == 1):
        assert np.array_equal(labels, Y)


@THRESHOLDS
def test_infinite_scores(name):
    """Plus infinity reaches every threshold, minus infinity only that which all reach; nothing else is disturbed."""
    scores = np.array([[np.inf, -np.inf], [np.inf, 0.3], [-np.inf, 0.2], [0.5, -np.inf], [0.1, np.inf]])
    strategy = fit(name, scores, [[1, 0], [1, 1], [0, 0], [1, 0], [0, 1]])
    labels = strategy.predict(scores)
    assert not np.isnan(strategy.thresholds_).any()
    assert labels[:2, 0].all()
    assert labels[4, 1]
    assert labels[:, 0].tolist() == (scores[:, 0] >= strategy.thresholds_[0]).astype(int).tolist()
    if name in ("micro_f", "pillai", "scut", "scut_hamming"):
        assert labels.tolist() == [[1, 0], [1, 1], [0, 0], [1, 0], [0, 1]]


@ALL
def test_data_frames_and_whole_numbers(name):
    """Data frames, lists and integer scores are taken as they are."""
    scores, Y = np.array([[1, 0], [0, 1], [0, 0], [1, 1]]), np.array([[1, 0], [0, 1], [0, 1], [1, 0]])
    expected = fit(name, scores.astype(float), Y).predict(scores.astype(float))
    frame = pd.DataFrame(scores, columns=["a", "b"])
    strategy = fit(name, frame, pd.DataFrame(Y, columns=["a", "b"]))
    assert np.array_equal(strategy.predict(frame), expected)
    assert np.array_equal(strategy.predict(scores.tolist()), expected)


@ALL
def test_sparse_scores_are_refused(name):
    """No classifier gives sparse scores; label sets may be sparse."""
    fitted = fit(name, SCORES, sparse.csr_array(SCORES > 0.4))
    for call in (fitted.predict, lambda scores: fit(name, scores, SCORES > 0.4)):
        with pytest.raises(TypeError, match=r"scores must be a dense array, got csr_matrix\. Hint: scores\.toarray"):
            call(sparse.csr_matrix(SCORES))


@ALL
def test_before_fit(name):
    """`predict` and `score` say that `fit` comes first."""
    for call in (lambda s: s.predict(SCORES), lambda s: s.score(SCORES, SCORES > 0.4)):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            call(clone(STRATEGIES[name]))


@ALL
def test_nan_is_named_by_its_column(name):
    """NaN in `fit` and `predict` is refused with the column."""
    bad = SCORES.copy()
    bad[2, 1] = np.nan
    fitted = fit(name, SCORES, SCORES > 0.4)
    for call in (lambda: fit(name, bad, SCORES > 0.4), lambda: fitted.predict(bad)):
        with pytest.raises(ValueError, match=r"scores must not contain NaN, got NaN in column 1\."):
            call()


@ALL
@pytest.mark.parametrize(
    ("scores", "Y", "message"),
    [
        (SCORES, np.eye(3), r"scores and y must be of one shape .* at least one row, got \(4, 3\) and \(3, 3\)\."),
        (SCORES[:, :2], SCORES > 0, r"scores and y must be of one shape .* got \(4, 2\) and \(4, 3\)\."),
        (SCORES[:0], SCORES[:0] > 0, r"scores and y must be of one shape .* at least one row, got \(0, 3\)"),
        (SCORES[0], SCORES > 0, r"scores must be of shape \(n_samples, n_labels\), got shape \(3,\)\. Hint: .*reshape"),
        (SCORES, SCORES[:, 0] > 0, r"y must be an indicator matrix of shape \(n_samples, n_labels\), got shape \(4,\)"),
        (SCORES, 2 * np.ones((4, 3)), r"y must contain 0 and 1 only, got 2\."),
        ([["a"]], [[1]], r"scores must contain numbers, got values of type <U1\."),
        ([SCORES, SCORES], SCORES > 0, r"scores must be one array .* got a list of 2 arrays\. Hint: np\.column_stack"),
    ],
)
def test_wrong_data(name, scores, Y, message):
    """Shapes and values are checked together, with what was expected and what was given."""
    with pytest.raises(ValueError, match=message):
        fit(name, scores, Y)


@ALL
def test_wrong_number_of_labels_in_predict(name):
    """The number of labels of `fit` binds `predict`."""
    with pytest.raises(ValueError, match=r"scores must have the 3 labels seen in fit, got 2\."):
        fit(name, SCORES, SCORES > 0.4).predict(SCORES[:, :2])


@ALL
@pytest.mark.parametrize("weights", [[1, 1, 1, -1], [0, 0, 0, 0], [1, 1, 1, np.nan], [1, 1, 1, np.inf], [[1]] * 4])
def test_wrong_weights(name, weights):
    """Negative, infinite, missing weights and those that are all 0 are refused."""
    with pytest.raises(ValueError, match=r"sample_weight must be finite numbers of at least 0, one for each row, not"):
        fit(name, SCORES, SCORES > 0.4, sample_weight=weights)


@ALL
def test_too_few_weights(name):
    """There is one weight for each row."""
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(name, SCORES, SCORES > 0.4, sample_weight=[1, 2])


@pytest.mark.parametrize(
    ("strategy", "error", "message"),
    [
        (MicroFOptimum(0), ValueError, r"beta must be a finite number above 0, got 0\."),
        (MicroFOptimum("1"), TypeError, r"beta must be a number, got '1' of type str\."),
        (PillaiAscent(np.inf), ValueError, r"beta must be a finite number above 0, got inf\."),
        (PillaiAscent(max_scans=0), ValueError, r"max_scans must be at least 1, got 0\."),
        (PillaiAscent(max_scans=1.0), TypeError, r"max_scans must be an integer, got 1\.0 of type float\."),
        (PillaiAscent(tol=-1), ValueError, r"tol must be a finite number above 0, got -1\."),
        (PillaiAscent(tol="0"), TypeError, r"tol must be a number, got '0' of type str\."),
        (SCut("micro_f1"), ValueError, r"metric must be one of hamming_loss, .*, got 'micro_f1'\. Hint: MicroFOptimum"),
        (SCut("f1_examples"), ValueError, r"got 'f1_examples'\. Hint: .* CyclicAscent serve metrics of examples"),
        (SCut("macro_f"), ValueError, r"got 'macro_f'\. Did you mean 'macro_f1'\?"),
        (
            SCut(None),
            TypeError,
            r"metric must be a name of the catalogue, a Metric or a function, got None of type None",
        ),
        (
            SCut(beta=2),
            ValueError,
            r"beta must be 1 unless metric is one of fbeta_examples, macro_fbeta, micro_fbeta, g",
        ),
        (GlobalCut("one_error"), ValueError, r"metric must be one of .*, got 'one_error'\."),
        (GlobalCut("macro_fbeta", beta=-1), ValueError, r"beta must be a finite number above 0, got -1\."),
        (CyclicAscent("micro_f1"), ValueError, r"metric must be one of .*, got 'micro_f1'\. Hint: MicroFOptimum finds"),
        (CyclicAscent("macro_f1"), ValueError, r"got 'macro_f1'\. Hint: .* SCut the best of metrics that are means"),
        (CyclicAscent(max_scans=True), TypeError, r"max_scans must be an integer, got True of type bool\."),
        (RCut(-1), ValueError, r"n_labels must be at least 0, got -1\."),
        (RCut("all"), TypeError, r"n_labels must be an integer, got 'all' of type str\."),
        (RCut(metric="f1"), ValueError, r"metric must be one of .*, got 'f1'\."),
        (PCut(factor=0), ValueError, r"factor must be a finite number above 0, got 0\."),
        (PCut(per_label="no"), TypeError, r"per_label must be True or False, got 'no'\."),
    ],
)
def test_wrong_parameters(strategy, error, message):
    """Every parameter is checked in `fit`: type and value, with a hint where there is one."""
    with pytest.raises(error, match=message):
        strategy.fit(SCORES, SCORES > 0.4)


def test_the_frontier_of_degenerate_problems():
    """One row, labels with positives only, infinite scores."""
    frontier = micro_pr_frontier([[0.5]], [[1]])
    assert (frontier.precision.tolist(), frontier.recall.tolist()) == ([1.0], [1.0])
    assert frontier.thresholds(0).tolist() == [-math.inf]
    frontier = micro_pr_frontier([[np.inf, 0.3], [np.inf, 0.2], [-np.inf, 0.1]], [[1, 0], [0, 1], [1, 0]])
    assert frontier.recall.tolist() == pytest.approx([2 / 3, 1.0])  # 1/3 with precision 1/2 is best for no beta
    assert frontier.precision.tolist() == pytest.approx([2 / 3, 3 / 5])


@pytest.mark.parametrize("strategy", [MicroFOptimum(0.999), PillaiAscent(0.999), SCut("macro_fbeta", beta=0.999)])
@pytest.mark.parametrize("scale", [1e9, 2e9, 1e-300, 1e300])
def test_weights_of_any_size(strategy, scale):
    """Huge or tiny weights, equal in all rows, change nothing: no overflow, no underflow."""
    rng = np.random.default_rng(0)
    scores, Y = rng.random((400, 3)), (rng.random((400, 3)) < 0.3).astype(int)
    expected = clone(strategy).fit(scores, Y)
    fitted = clone(strategy).fit(scores, Y, np.full(400, scale))
    assert fitted.objective_ == pytest.approx(expected.objective_, rel=1e-12)


@pytest.mark.parametrize("beta", [1e-200, 1e-5, 1e5, 1e200])
@pytest.mark.parametrize("strategy", [MicroFOptimum, PillaiAscent, ExpectedF])
def test_beta_beyond_sense(strategy, beta):
    """A beta that makes F precision or recall is refused."""
    with pytest.raises(ValueError, match=r"beta must be from 0.0001 to 10000"):
        strategy(beta).fit([[0.5]], [[1]])


def test_the_largest_float():
    """Above the largest float there is only infinity, without a warning."""
    scores, Y = [[np.finfo(float).max], [0.0]], [[0], [1]]
    for strategy in (MicroFOptimum(), SCut("macro_precision"), GlobalCut(), CyclicAscent()):
        assert np.isfinite(strategy.fit(scores, Y).objective_)


@pytest.mark.parametrize("strategy", [MicroFOptimum(), PillaiAscent(), SCut(), GlobalCut()], ids=repr)
def test_adjacent_floats_are_told_apart(strategy):
    """No float lies between two neighbours, and half their sum may round down: the threshold is the upper one."""
    lower = 0.1
    for _ in range(8):
        upper = math.nextafter(lower, 1)
        scores = np.array([[lower], [upper]])
        assert clone(strategy).fit(scores, [[0], [1]]).predict(scores).tolist() == [[0], [1]]
        lower = upper
