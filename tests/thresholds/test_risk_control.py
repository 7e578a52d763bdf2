"""Risk control: slow definitions over all candidate cuts, the promise on simulated draws, and refusals."""

import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit

from nearlabel.lazy import MLkNN
from nearlabel.thresholds import (
    RiskControl,
    ScoreShift,
    TunedThresholdsClassifierCV,
    quantile_grid,
    score_shift,
)

NEVER_WARNS = pytest.mark.filterwarnings("ignore:Too few samples with labels for the guarantee")


def draw(seed, n=None, n_labels=4, ties=True):
    """Return scores and label sets of exchangeable rows, some of them without labels; true labels score higher."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40)) if n is None else n
    Y = (rng.random((n, n_labels)) < 0.4).astype(int)
    Y[0, 0] = 1
    scores = 1 / (1 + np.exp(-rng.normal(size=(n, n_labels)) - Y))
    return (np.round(scores * 8) / 8 if ties else scores), Y


def loss_of_row(measure, scores, y, thresholds):
    """Return the loss of one row, by the definition; None for a row that the promise is not of."""
    chosen = [s >= t for s, t in zip(scores, thresholds, strict=True)]
    hits = sum(c and v == 1 for c, v in zip(chosen, y, strict=True))
    if measure == "precision":
        return 1 - hits / sum(chosen) if any(chosen) else 0.0
    if not sum(y):
        return None
    missed = sum(y) - hits
    return float(missed > 0) if measure == "all_labels" else missed / sum(y)


def losses(measure, scores, Y, thresholds):
    """Return the losses of all rows that the promise is of."""
    found = [loss_of_row(measure, *row, thresholds) for row in zip(scores, Y, strict=True)]
    return [loss for loss in found if loss is not None]


def allowed(lost, alpha, confidence):
    """Return whether losses keep the promise, by the definition."""
    n = len(lost)
    if confidence is None:
        return (sum(lost) + 1) / (n + 1) <= alpha * (1 + 1e-12)
    return sum(lost) / n + math.sqrt(math.log(1 / (1 - confidence)) / (2 * n)) <= alpha


def largest_by_trial(measure, scores, Y, level, confidence, offsets):
    """Return the largest cut of all relevant cells, or minus infinity, that keeps the promise."""
    exact = {float(cell) for cell in (scores - offsets)[Y == 1]}
    candidates = exact | {math.nextafter(cell, -math.inf) for cell in exact}  # where cut + offset is rounded up
    kept = [t for t in candidates if allowed(losses(measure, scores, Y, t + offsets), 1 - level, confidence)]
    return max(kept, default=-math.inf)


@NEVER_WARNS
@pytest.mark.parametrize("confidence", [None, 0.6])
@pytest.mark.parametrize("measure", ["recall", "all_labels"])
@pytest.mark.parametrize("level", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_largest_cut_that_keeps_the_promise(measure, level, confidence, shifted):
    """Of all cells' scores, by plain loops; with and without ties, offsets and rows without labels."""
    for seed in range(12):
        scores, Y = draw(seed, ties=seed % 2 == 0)
        offsets = np.array([0.0, 0.25, -0.5, 1.0]) if shifted else np.zeros(4)
        control = RiskControl(measure, level, confidence=confidence, offsets=offsets if shifted else None)
        control.fit(scores, sparse.csr_array(Y) if seed % 3 == 0 else Y)
        slow = largest_by_trial(measure, scores, Y, level, confidence, offsets)
        assert control.thresholds_ == pytest.approx(slow + offsets, abs=1e-15)
        lost = losses(measure, scores, Y, control.thresholds_)
        assert control.n_calibration_ == len(lost)
        assert control.risk_ == pytest.approx(np.mean(lost), abs=1e-12)
        assert control.score(scores, Y) == pytest.approx(1 - np.mean(lost), abs=1e-12)
        if np.isfinite(control.thresholds_).all():
            assert allowed(lost, 1 - level, confidence)
            assert control.bound_ <= (1 - level) * (1 + 1e-12)
            assert not allowed(losses(measure, scores, Y, control.thresholds_ + 1e-9), 1 - level, confidence)
        else:
            assert slow == -math.inf
            assert control.predict(scores).all()


def test_nine_rows_by_hand():
    """Of scores 1 to 9, level 0.8: one of the nine may be lost, (1 + 1) / 10 = 0.2, so the cut is at 2."""
    control = RiskControl(level=0.8).fit(np.arange(1, 10)[:, np.newaxis], np.ones((9, 1)))
    assert control.thresholds_.tolist() == [2.0]
    assert (control.n_calibration_, control.risk_, control.bound_) == (9, 1 / 9, 0.2)


def test_a_level_of_nearly_nothing():
    """The cut stays at a score, the highest: it is never above all."""
    assert RiskControl(level=1e-15).fit([[0.2], [0.7]], [[1], [1]]).thresholds_.tolist() == [0.7]


def test_equal_scores_stay_together():
    """A cut is at a score, which reaches it: of scores 1, 2, 2, 2, 5 ... one loss is allowed, not four."""
    scores = np.array([1, 2, 2, 2, 5, 6, 7, 8, 9])[:, np.newaxis]
    for level, cut in ((0.8, 2.0), (0.7, 2.0), (0.6, 2.0), (0.5, 5.0)):
        assert RiskControl(level=level).fit(scores, np.ones((9, 1))).thresholds_.tolist() == [cut]


@NEVER_WARNS
@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("measure", ["recall", "all_labels", "precision"])
def test_monotone_in_the_level(measure, confidence):
    """A higher level never raises the threshold of recall, nor lowers that of precision."""
    if measure == "precision" and confidence is None:
        return
    scores, Y = draw(0, 300)
    levels = np.linspace(0.05, 0.95, 19)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cuts = [RiskControl(measure, v, confidence=confidence).fit(scores, Y).thresholds_[0] for v in levels]
    cuts = np.array(cuts if measure == "precision" else cuts[::-1])
    assert (cuts[1:] >= cuts[:-1]).all()
    assert len(set(cuts)) > 3


def slow_p_value(losses_of_rows, alpha):
    """Return the p-value of Hoeffding and Bentkus, by its formula."""
    n, total = len(losses_of_rows), sum(losses_of_rows)
    a = min(total / n, alpha)
    h = (a * math.log(a / alpha) if a else 0.0) + (1 - a) * math.log((1 - a) / (1 - alpha))
    at_most = math.ceil(round(total, 9))
    bentkus = math.e * sum(binom.pmf(i, n, alpha) for i in range(at_most + 1))
    return min(math.exp(-n * h), bentkus)


@pytest.mark.parametrize("offsets", [None, [0.1, -0.2, 0.0, 0.3]])
@pytest.mark.parametrize("level", [0.3, 0.5, 0.7])
def test_precision_is_tested_from_strict_to_lax(level, offsets):
    """The last cut before the first that fails, by plain loops; where none passes nothing is predicted."""
    grid, ends = [0.2, 0.9, 0.5, 0.7, 0.3], set()
    for seed in range(15):
        scores, Y = draw(seed, 10 + 10 * seed)
        cut = math.inf
        for t in sorted(grid, reverse=True):
            if slow_p_value(losses("precision", scores, Y, t + np.asarray(offsets or [0.0] * 4)), 1 - level) > 0.2:
                break
            cut = t
        with warnings.catch_warnings():
            warnings.simplefilter("error" if cut < math.inf else "ignore")
            control = RiskControl("precision", level, confidence=0.8, grid=grid, offsets=offsets).fit(scores, Y)
        assert control.thresholds_.tolist() == (cut + np.asarray(offsets or [0.0] * 4)).tolist()
        ends.add(cut)
        lost = losses("precision", scores, Y, control.thresholds_)
        assert control.risk_ == pytest.approx(np.mean(lost))
        assert control.score(scores, Y) == pytest.approx(1 - np.mean(lost))
        if cut < math.inf:
            assert control.bound_ <= 1 - level
            assert slow_p_value(lost, control.bound_) == pytest.approx(0.2, rel=1e-2) or control.risk_ == 0
    assert len(ends) > 1


def test_what_comes_after_a_failure_is_not_tested():
    """Where the highest scores are wrong, a lower cut that would pass is not looked at."""
    scores, Y = np.tile([0.9] + [0.5] * 9, (50, 1)), np.tile([0] + [1] * 9, (50, 1))
    control = RiskControl("precision", 0.5, confidence=0.9, grid=[1.0, 0.9, 0.5]).fit(scores, Y)
    assert control.thresholds_.tolist() == [1.0] * 10
    assert RiskControl("precision", 0.5, confidence=0.9, grid=[1.0, 0.5]).fit(scores, Y).thresholds_[0] == 0.5


@NEVER_WARNS
def test_each_label_by_itself():
    """The cut of a label is that of its carriers as rows with one label; a label without any is always predicted."""
    for seed in range(6):
        scores, Y = draw(seed, 40)
        Y[:, 2] = 0
        control = RiskControl("recall", 0.8, per_label=True).fit(scores, sparse.csr_array(Y))
        for label in (0, 1, 3):
            carriers = Y[:, label] == 1
            alone = RiskControl("recall", 0.8).fit(scores[carriers][:, [label]], Y[carriers][:, [label]])
            assert control.thresholds_[label] == alone.thresholds_[0]
            assert control.n_calibration_[label] == carriers.sum()
        assert (control.thresholds_[2], control.n_calibration_[2]) == (-math.inf, 0)
        recall = [control.predict(scores)[Y[:, label] == 1, label].mean() for label in (0, 1, 3)]
        assert control.score(scores, Y) == pytest.approx(np.mean(recall))


@pytest.mark.parametrize("measure", ["recall", "all_labels"])
def test_the_promise_in_expectation(measure):
    """Over 400 draws of calibration and test rows the mean loss is at most alpha and near it."""
    found = []
    for seed in range(400):
        scores, Y = draw(seed, 130, ties=seed % 2 == 0)
        control = RiskControl(measure, 0.8).fit(scores[:30], Y[:30])
        found.append(1 - control.score(scores[30:], Y[30:]))
    assert np.mean(found) <= 0.2 + 3 * np.std(found) / 20
    assert np.mean(found) > 0.1


@pytest.mark.parametrize("measure", ["recall", "precision"])
def test_the_promise_with_confidence(measure):
    """Of 100 draws at most the share 1 - confidence misses the level on many new rows."""
    new_scores, new_Y = draw(10**6, 1000, ties=False)
    violated, predicted = 0, 0
    for seed in range(100):
        scores, Y = draw(seed, 150, ties=False)
        control = RiskControl(measure, 0.6, confidence=0.8).fit(scores, Y)
        violated += control.score(new_scores, new_Y) < 0.6
        predicted += control.predict(new_scores).sum()
    assert violated <= 0.2 * 100
    assert predicted > 0


@pytest.mark.parametrize("measure", ["recall", "all_labels"])
def test_too_few_rows(measure):
    """With n rows a level up to n / (n + 1) can be kept; above it everything is predicted, and a warning says so."""
    scores, Y = np.linspace(0.1, 0.9, 9)[:, np.newaxis], np.ones((9, 1))
    assert RiskControl(measure, 0.9).fit(scores, Y).thresholds_.tolist() == [0.1]
    with pytest.warns(UserWarning, match=r"Too few samples with labels for the guarantee of 0\.91, so every label"):
        control = RiskControl(measure, 0.91).fit(scores, Y)
    assert control.thresholds_.tolist() == [-math.inf]


def test_no_threshold_passes():
    """Too few rows for a precision: nothing is predicted, and a warning says so."""
    with pytest.warns(UserWarning, match=r"No threshold of the grid meets the guarantee on 3 samples, so no label is"):
        control = RiskControl("precision", 0.9, confidence=0.9).fit([[0.9], [0.8], [0.1]], [[1], [0], [0]])
    assert control.thresholds_.tolist() == [math.inf]


def test_infinite_scores_are_predicted_by_every_threshold():
    """So where no threshold passes, the risk is theirs, and the warning says what is predicted."""
    scores = np.column_stack([np.full(40, np.inf), np.zeros(40)])
    Y = np.column_stack([np.arange(40) % 4 == 0, np.ones(40)]).astype(int)
    control = RiskControl("precision", 0.9, confidence=0.9, grid=[1.0, 0.0])
    with pytest.warns(UserWarning, match=r"on 40 samples, so only labels of infinite score are predicted\."):
        control.fit(scores, Y)
    assert control.predict(scores).sum(axis=0).tolist() == [40, 0]
    assert control.risk_ == 1 - control.score(scores, Y) == 0.75
    assert control.bound_ > 0.75


def test_unknown_cells():
    """Rows with one are left out; by labels only the cell is; without a row known in full nothing can be said."""
    scores, Y = draw(3, 60)
    holes = np.where(np.random.default_rng(0).random(Y.shape) < 0.1, np.nan, Y)
    full = ~np.isnan(holes).any(axis=1)
    for store in (np.asarray, sparse.csr_array):
        for control in (RiskControl(level=0.7), RiskControl("precision", 0.3, confidence=0.8)):
            control.fit(scores, store(holes))
            alone = RiskControl(**control.get_params()).fit(scores[full], Y[full])
            assert control.thresholds_.tolist() == alone.thresholds_.tolist()
            assert control.n_calibration_ == alone.n_calibration_
            assert control.score(scores, store(holes)) == alone.score(scores[full], Y[full])
        by_label = RiskControl(level=0.7, per_label=True).fit(scores, store(holes))
        assert by_label.n_calibration_.tolist() == np.nansum(holes, axis=0).tolist()
    with pytest.raises(ValueError, match=r"y must have a sample all of whose labels are known, got none\. Hint: per_l"):
        RiskControl().fit([[0.1, 0.2]], [[1, np.nan]])


@pytest.mark.parametrize(
    "control",
    [
        RiskControl(level=0.7),
        RiskControl("all_labels", 0.7),
        RiskControl("precision", 0.3, confidence=0.8),
        RiskControl(level=0.7, per_label=True),
    ],
)
def test_the_score_of_weighted_rows(control):
    """A row of weight 2 counts as two; NaN where no row counts: no weight, no label, or none known in full."""
    scores, Y = draw(0, 40)
    control.fit(scores, Y)
    weights = np.arange(40) % 3
    doubled = np.repeat(np.arange(40), weights)
    assert control.score(scores, Y, weights) == pytest.approx(control.score(scores[doubled], Y[doubled]), rel=1e-12)
    holes = np.where(np.arange(4) == 0, np.nan, Y)
    nothing = [holes if not control.per_label else holes * 0]
    if control.measure != "precision":
        nothing.append(np.zeros_like(Y))
    for unjudged in nothing:
        assert math.isnan(control.score(scores, unjudged))


@pytest.mark.parametrize(
    ("control", "error", "message"),
    [
        (RiskControl("recal"), ValueError, r"measure must be one of .*, got 'recal'"),
        (RiskControl(level=1), ValueError, r"level must be between 0 and 1, got 1\."),
        (RiskControl(level="0.9"), TypeError, r"level must be a number, got '0.9' of type str\."),
        (RiskControl(confidence=0.0), ValueError, r"confidence must be between 0 and 1, got 0\.0\."),
        (RiskControl("precision"), ValueError, r"confidence must be a number for precision, got None\. Hint: conf"),
        (RiskControl("all_labels", per_label=True), ValueError, r"per_label must be False for all_labels, got True\."),
        (RiskControl(per_label=1), TypeError, r"per_label must be True or False, got 1 of type int\."),
        (RiskControl(grid=[0.5]), ValueError, r"grid must be None for recall, which tries every threshold, got"),
        (RiskControl("precision", confidence=0.9, grid=[[0.5]]), ValueError, r"grid must be numbers of shape \(n_cuts"),
        (RiskControl("precision", confidence=0.9, grid=[]), ValueError, r"grid must be numbers of shape \(n_cuts"),
        (RiskControl(offsets=[0.1]), ValueError, r"offsets must be 4 finite numbers, one for each label, got \[0\.1\]"),
        (RiskControl(offsets=[0, 0, 0, np.inf]), ValueError, r"offsets must be 4 finite numbers"),
        (RiskControl(offsets=["a"] * 4), ValueError, r"offsets must be 4 finite numbers, .* got \['a'"),
        (RiskControl("precision", confidence=0.9, grid=["a"]), ValueError, r"grid must be numbers .* got \['a'\]"),
    ],
)
def test_wrong_parameters(control, error, message):
    """Each is named, with what was expected."""
    with pytest.raises(error, match=message):
        control.fit(*draw(0))


@pytest.mark.parametrize("per_label", [False, True])
def test_what_cannot_be_promised(per_label):
    """Nothing of rows without labels; weights make rows unlike; scores beyond 0 and 1 need a grid of their own."""
    scores, Y = draw(0)
    with pytest.raises(ValueError, match=r"y must have a sample with labels, all of them known, got none: there is"):
        RiskControl(per_label=per_label).fit(scores, np.zeros_like(Y))
    with pytest.raises(ValueError, match=r"sample_weight must be None, got weights\. Hint: the guarantee needs"):
        RiskControl(per_label=per_label).fit(scores, Y, np.ones(len(Y)))
    with pytest.raises(ValueError, match=r"grid must be given for scores that are not probabilities, got None and "):
        RiskControl("precision", confidence=0.9).fit(scores + 1, Y)


def test_infinite_scores_and_offsets_of_any_size():
    """A cell on the cut stays predicted, however the sum of cut and offset is rounded."""
    rng = np.random.default_rng(0)
    for scale in (1e-12, 1.0, 1e12):
        scores = rng.normal(size=(50, 3))
        offsets = scale * rng.normal(size=3)
        control = RiskControl("all_labels", 0.5, offsets=offsets).fit(scores, np.ones((50, 3)))
        assert (scores >= control.thresholds_).all(axis=1).sum() >= 25
    scores = np.array([[np.inf], [-np.inf], [0.3]])
    assert RiskControl(level=0.5).fit(scores, [[1], [1], [1]]).thresholds_.tolist() == [0.3]


def test_the_grid_of_quantiles():
    """Descending scores of cells, from one label in a hundred rows to all labels."""
    scores = np.random.default_rng(0).random((500, 6))
    grid = quantile_grid(scores, 30)
    reach = [(scores >= t).sum() for t in grid]
    assert reach[0] == 5
    assert reach[-1] == scores.size
    assert (np.diff(grid) < 0).all()
    assert np.isin(grid, scores).all()
    with pytest.raises(ValueError, match=r"n_cuts must be at least 1, got 0\."):
        quantile_grid(scores, 0)
    with pytest.raises(ValueError, match=r"scores must have at least one row, got shape \(0, 6\)\."):
        quantile_grid(scores[:0])


def test_shifted_scores_are_told():
    """Those of other rows give a low p-value, those of the same a high one; equal scores the value by hand."""
    control = RiskControl(level=0.7).fit(*draw(0, 300))
    assert control.score_shift(draw(1, 300)[0]).p_value > 0.1
    assert control.score_shift(draw(1, 300)[0] + 0.3).p_value < 1e-6
    assert score_shift([0.1, 0.2], [0.2, 0.3]) == ScoreShift(0.5, 1.0)
    with pytest.raises(ValueError, match=r"scores must have the 4 labels seen in fit, got 2\."):
        control.score_shift(draw(1, 30)[0][:, :2])
    with pytest.raises(NotFittedError):
        RiskControl().score_shift([[0.1]])
    for bad in ([], [[0.1]], [np.nan]):
        with pytest.raises(ValueError, match=r"scores must be a score for each of some rows, none of them NaN"):
            score_shift([0.1], bad)


SENTENCE = (
    "On new samples like those of calibration that have labels, at least 80 % of the labels of a sample are predicted"
    " on average."
)


@pytest.mark.parametrize(
    ("how", "begin"),
    [
        ({"cv": "prefit"}, "On new"),
        ({"cv": ShuffleSplit(1, test_size=0.4, random_state=0), "refit": False}, "On new"),
        ({"cv": ShuffleSplit(1, test_size=0.4, random_state=0)}, "Approximately: on new"),
        ({"cv": "loo"}, "Approximately: on new"),
        ({"cv": 3}, "Approximately: on new"),
    ],
)
def test_only_rows_held_out_carry_the_theorem(how, begin):
    """Other ways to score the rows are called approximate."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), (rng.random((80, 3)) < 0.5).astype(int)
    model = MLkNN(5).fit(X[:40], Y[:40])
    promise = TunedThresholdsClassifierCV(model, RiskControl(level=0.8), **how).fit(X[40:], Y[40:]).promise_
    assert promise.startswith(begin)
    assert promise.endswith(SENTENCE[3:])


def test_rows_of_groups_and_rows_seen_do_not_carry_the_theorem():
    """Rows of one group are not drawn one by one, and a split may test rows that it trains on."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), (rng.random((80, 3)) < 0.5).astype(int)
    groups = np.arange(80) // 4
    fitted = TunedThresholdsClassifierCV(MLkNN(5).fit(X, Y), RiskControl(level=0.8), cv="prefit")
    assert fitted.fit(X, Y, groups=groups).promise_.startswith("Approximately")
    by_group = TunedThresholdsClassifierCV(MLkNN(5), RiskControl(level=0.8), cv=GroupShuffleSplit(1), refit=False)
    assert by_group.fit(X, Y, groups=groups).promise_.startswith("Approximately")
    seen = TunedThresholdsClassifierCV(MLkNN(5), RiskControl(level=0.8), cv=[(range(60), range(59, 80))], refit=False)
    assert seen.fit(X, Y).promise_.startswith("Approximately")


def test_what_is_promised_in_words():
    """Each measure, and the confidence, has its words; rows that come void a promise; other strategies make none."""
    assert RiskControl(level=0.8).promise == SENTENCE
    precision = RiskControl("precision", 0.75, confidence=0.95).promise
    assert precision.startswith("With 95 % confidence: on new samples like those of calibration, at least 75 % of the ")
    assert "all labels" in RiskControl("all_labels").promise
    assert "each label is predicted" in RiskControl(per_label=True).promise
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 3)), (rng.random((40, 3)) < 0.5).astype(int)
    tuned = TunedThresholdsClassifierCV(MLkNN(5), RiskControl(level=0.8), cv="loo").fit(X, Y)
    changed = tuned.partial_fit(X[:1], Y[:1]).promise_
    assert changed.startswith("No longer valid, because samples were added or removed: on new samples")
    assert TunedThresholdsClassifierCV(MLkNN(5), cv="loo").fit(X, Y).promise_ == ""


@pytest.mark.parametrize("bounds", [{"at_least": 1}, {"at_most": 2}])
def test_sizes_are_not_bounded(bounds):
    """Bounds on the sizes of label sets would change what was promised."""
    X, Y = draw(0)
    with pytest.raises(ValueError, match=r"at_least and at_most must be 0 and None with RiskControl, whose guarantee"):
        TunedThresholdsClassifierCV(MLkNN(2), RiskControl(level=0.5), cv="loo", **bounds).fit(X, Y)
