"""Thresholds with a guarantee: conformal risk control, risk-controlling prediction sets, learn then test."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from nearlabel.thresholds import _risk_bounds
from nearlabel.thresholds._strategy import ByThresholds, checked_scores
from nearlabel.utils.naming import registered
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_flag, check_integer, check_share, row_blocks

PROMISED_MEASURES = ("recall", "all_labels", "precision")
_N_CUTS = 100  # of a grid
_FEWEST_A_ROW = 0.01  # labels that the first threshold of a grid predicts for a sample
_BYTES_PER_CUT = 40  # of a sample, while its losses are counted
_BYTES_PER_CELL = 40


class RiskControl(ByThresholds):
    """Find thresholds with a guarantee on new samples: of recall, of complete label sets, or of precision.

    The guarantee is valid for any classifier and any scores, if the samples given to `fit` and the new samples are
    exchangeable (such as draws from one population) and the classifier was fitted to *other* samples. So hold out
    samples: ``TunedThresholdsClassifierCV(model, RiskControl(), cv="prefit").fit(X_held_out, y_held_out)``. With
    leave-one-out scores, or pooled scores of folds, the guarantee is approximate; see the notes.

    Parameters
    ----------
    measure : {"recall", "all_labels", "precision"}, default="recall"
        The metric of the guarantee. "recall": the share of a sample's labels that is predicted, averaged over samples
        with labels. "all_labels": the share of the samples with labels for which no label is missed. "precision": the
        share of a sample's predicted labels that is correct, averaged over samples, **where a sample without predicted
        labels counts as 1**.
    level : float, default=0.9
        The least value of the metric, between 0 and 1.
    confidence : float, default=None
        None: the guarantee is for the expectation, also over the draw of the calibration samples. A number between 0
        and 1: with at least this probability over the draw of the calibration samples, the metric on new samples is at
        least the level. "precision" needs a number, because it is not monotonic in the threshold.
    per_label : bool, default=False
        For "recall" only: whether each label gets its own threshold, so that the recall of each label is at least
        `level`. The confidence then applies to each label separately.
    offsets : array-like of shape (n_labels,), default=None
        The thresholds are these numbers plus one learnt number. They must not depend on the scores given to `fit`; the
        `thresholds_` of another strategy, fitted to other samples, are suitable. None: one threshold for all labels.
    grid : array-like of shape (n_cuts,), default=None
        For "precision" only: the thresholds (minus offsets) that are tested one after the other, from the highest,
        until one fails. They must not depend on the scores given to `fit`: `quantile_grid` computes them from the
        scores of other samples. None: 1, 0.99, ... 0, for scores that are probabilities.

    Attributes
    ----------
    thresholds_ : ndarray of shape (n_labels,)
        A label is predicted if its score is at least this. Minus infinity if only predicting all labels meets the
        guarantee, plus infinity if only predicting none does; `fit` then warns.
    n_calibration_ : int or ndarray of shape (n_labels,)
        Number of calibration samples; with `per_label`, for each label those that have it.
    risk_ : float or ndarray of shape (n_labels,)
        1 minus the metric that the thresholds reach on these samples; NaN for a label that no sample has.
    bound_ : float or ndarray of shape (n_labels,)
        The resulting bound of the risk on new samples; at most 1 - level unless `fit` warns. It is the risk with one
        more sample of loss 1, or with Hoeffding's margin; for "precision" the smallest risk that the test rejects.
    top_scores_ : ndarray of shape (n_samples,)
        The highest score of each sample given to `fit`, sorted; `score_shift` compares them with new samples.
    n_labels_ : int
        Number of labels.

    Notes
    -----
    *Recall in expectation* (conformal risk control): the loss of a sample is the share of its labels below the
    threshold. The threshold is the largest at which (sum of losses + 1) / (n + 1) is at most 1 - level. Only scores of
    true labels matter; all are tried. Samples without labels have no recall: they are left out, and the guarantee is
    for samples with labels. With fewer than level / (1 - level) samples, only predicting every label meets the
    guarantee.

    *With confidence*: the mean loss plus Hoeffding's √(ln(1 / (1 - confidence)) / 2n) is at most 1 - level.

    *Precision* (learn then test): thresholds of the grid are tested from high to low by the p-value of Hoeffding and
    Bentkus, each at the full level 1 - confidence because their order is fixed. The last threshold before the first
    failure is used.

    *Unknown cells*: a sample with an unknown cell is left out, because its loss is unknown, and the guarantee is for
    samples like the fully known ones; with `per_label`, all known cells of a label are used. If cells are unknown
    independently of labels and features, the known samples represent all samples. *Weights* are refused, because
    weighted samples are not exchangeable.

    *Leave-one-out scores* come from models with one sample fewer than the model that predicts new samples, and each
    sample is in the models of the others: without further assumptions no theorem applies. Neighbours are stable, and in
    ``benchmarks/risk_control.py`` the losses stay near their level; call the guarantee "approximate", as
    `TunedThresholdsClassifierCV.promise_` does. *Other data* than those of calibration invalidate every guarantee:
    `score_shift` compares the scores.

    References
    ----------
    A. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster: Conformal risk control. ICLR 2024.
    S. Bates, A. Angelopoulos, L. Lei, J. Malik, M. Jordan: Distribution-free, risk-controlling prediction sets.
    Journal of the ACM 68(6), 2021.
    A. Angelopoulos, S. Bates, E. Candès, M. Jordan, L. Lei: Learn then test: calibrating predictive algorithms to
    achieve risk control. arXiv 2110.01052, 2021.

    See Also
    --------
    nearlabel.neighbors.NoveltyDetector : Detects samples that are unlike all training samples.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.thresholds import RiskControl, TunedThresholdsClassifierCV
    >>> digits = load_multidigits()
    >>> X, y = digits.X, digits.Y
    >>> model = MLkNN().fit(X[:1000], y[:1000])
    >>> safe = TunedThresholdsClassifierCV(model, RiskControl("recall", 0.9), cv="prefit")
    >>> safe = safe.fit(X[1000:1400], y[1000:1400])
    >>> safe.promise_.split(", ")[1]
    'at least 90 % of the labels of a sample are predicted on average.'
    >>> round(safe.strategy_.score(safe.predict_proba(X[1400:]), y[1400:]), 3)
    0.932
    """

    n_calibration_: int | IntArray
    risk_: float | FloatArray
    bound_: float | FloatArray

    def __init__(
        self,
        measure: str = "recall",
        level: float = 0.9,
        *,
        confidence: float | None = None,
        per_label: bool = False,
        offsets: ArrayLike | None = None,
        grid: ArrayLike | None = None,
    ) -> None:
        self.measure = measure
        self.level = level
        self.confidence = confidence
        self.per_label = per_label
        self.offsets = offsets
        self.grid = grid

    @property
    def promise(self) -> str:
        """The guarantee of the thresholds, as a sentence."""
        sentence = _SENTENCES[self.measure, self.per_label].format(f"{100 * self.level:g} %")
        if self.confidence is None:
            return sentence
        return f"With {100 * self.confidence:g} % confidence: {lower_first(sentence)}"

    def score_shift(self, scores: MatrixLike) -> _risk_bounds.ScoreShift:
        """Compare the scores of new samples with those of calibration: other data invalidate the guarantee.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_queries, n_labels)
            Scores of new samples.

        Returns
        -------
        _risk_bounds.ScoreShift
            The result of `nearlabel.thresholds.score_shift` for the highest scores of the samples.

        Raises
        ------
        ValueError
            If the scores are malformed, have no rows, or have another number of labels than in `fit`.
        """
        matrix = self._checked_like_fit(scores)
        return _risk_bounds.score_shift(self.top_scores_, matrix.max(axis=1))

    def _check_parameters(self) -> None:
        check_choice("measure", self.measure, PROMISED_MEASURES)
        check_share("level", self.level)
        check_flag("per_label", self.per_label)
        if self.confidence is not None:
            check_share("confidence", self.confidence)
        elif self.measure == "precision":
            raise ValueError("confidence must be a number for precision, got None. Hint: confidence=0.9.")
        if self.per_label and self.measure != "recall":
            raise ValueError(f"per_label must be False for {self.measure}, got True.")
        if self.grid is not None and self.measure != "precision":
            raise ValueError(f"grid must be None for {self.measure}, which tries every threshold, got {self.grid!r}.")

    def _learn(self, scores: NDArray[Any], truth: PartialLabels, weights: Any) -> None:
        if weights is not None:
            raise ValueError(
                "sample_weight must be None, got weights. Hint: the guarantee needs samples of equal weight."
            )
        if not self.per_label and not len(_rows_known_in_full(truth)):
            hint = " Hint: per_label=True." if self.measure == "recall" else ""
            raise ValueError(f"y must have a sample all of whose labels are known, got none.{hint}")
        offsets = self._checked_offsets(scores.shape[1])
        self.top_scores_ = np.sort(scores.max(axis=1).astype(np.float64))
        if self.measure == "precision":
            self._test_precision(scores, truth, offsets)
        elif self.per_label:
            self._control_each_label(scores, truth.labels, offsets)
        else:
            cut = self._controlled(_misses(scores, _known_in_full(truth), offsets, self.measure))
            self._warn_unless_kept(cut.bound, "every label is predicted for every sample")
            self.thresholds_ = cut.at + offsets
            self.n_calibration_, self.risk_, self.bound_ = cut.n_rows, cut.risk, cut.bound

    def _control_each_label(self, scores: NDArray[Any], labels: Matrix, offsets: FloatArray) -> None:
        """Find a threshold for each label that limits the share of its samples that are missed."""
        by_label = sparse.csc_array(labels)
        carriers = np.split(by_label.indices, by_label.indptr[1:-1])
        if not by_label.nnz:
            raise _no_labels()
        cuts = []
        for label, rows in enumerate(carriers):
            places = _cuts_reached(scores[rows, label], offsets[label])
            cuts.append(self._controlled(_Misses(places, np.ones(len(rows)), len(rows))))
        at, self.risk_, self.bound_, self.n_calibration_ = map(np.array, zip(*cuts, strict=True))
        self._warn_unless_kept(self.bound_, "some labels are predicted for every sample")
        self.thresholds_ = at + offsets

    def _controlled(self, misses: _Misses) -> _Cut:
        """Return the largest threshold that satisfies the guarantee; the loss grows with the threshold."""
        alpha, n = 1 - self.level, misses.n_rows
        if n == 0:
            return _Cut(-np.inf, np.nan, np.nan, 0)
        if self.confidence is None:
            allowed = _risk_bounds.allowed_in_expectation(n, alpha)
            at, lost = _risk_bounds.largest_cut(misses.passed, misses.weights, allowed)
            return _Cut(at, lost / n, (lost + 1) / (n + 1), n)
        width = _risk_bounds.hoeffding_width(n, 1 - self.confidence)
        at, lost = _risk_bounds.largest_cut(misses.passed, misses.weights, n * (alpha - width))
        return _Cut(at, lost / n, lost / n + width, n)

    def _test_precision(self, scores: NDArray[Any], truth: PartialLabels, offsets: FloatArray) -> None:
        """Test the thresholds of the grid in turn, and use the last one that passes."""
        assert self.confidence is not None  # checked
        cuts = np.append(np.inf, self._checked_grid(scores))  # the first is taken if none passes
        rows = _rows_known_in_full(truth)
        losses = _wrong_shares(scores, truth.labels, rows, cuts[:, np.newaxis] + offsets)
        p_values = _risk_bounds.hoeffding_bentkus(losses[1:], len(rows), 1 - self.level)
        n_passed = _risk_bounds.n_accepted(p_values, 1 - self.confidence)
        lost = float(losses[n_passed])
        self.thresholds_ = cuts[n_passed] + offsets
        predicts = bool((scores >= self.thresholds_).any())
        self.n_calibration_, self.risk_ = len(rows), lost / len(rows)
        self.bound_ = _risk_bounds.risk_at_most(lost, len(rows), 1 - self.confidence) if n_passed or predicts else 0.0
        if n_passed == 0:
            warnings.warn(
                f"No threshold of the grid meets the guarantee on {len(rows)} samples, so"
                f" {'only labels of infinite score are' if predicts else 'no label is'} predicted."
                " Hint: more samples, a lower level or confidence, or a grid that begins higher.",
                stacklevel=6,
            )

    def _warn_unless_kept(self, bounds: ArrayLike, consequence: str) -> None:
        if not (np.asarray(bounds) <= (1 - self.level) * (1 + _risk_bounds.EQUAL)).all():
            warnings.warn(
                f"Too few samples with labels for the guarantee of {self.level:g}, so {consequence}."
                " Hint: more samples, or a lower level.",
                stacklevel=6,
            )

    def _checked_offsets(self, n_labels: int) -> FloatArray:
        if self.offsets is None:
            return np.zeros(n_labels)
        offsets = _numbers(self.offsets)
        if offsets.shape != (n_labels,) or not np.isfinite(offsets).all():
            raise ValueError(f"offsets must be {n_labels} finite numbers, one for each label, got {self.offsets!r}.")
        return offsets

    def _checked_grid(self, scores: NDArray[Any]) -> FloatArray:
        """Return the thresholds to test, from the highest to the lowest."""
        if self.grid is None:
            if scores.min() < 0 or scores.max() > 1:
                raise ValueError(
                    f"grid must be given for scores that are not probabilities, got None and {scores.min():g} to"
                    f" {scores.max():g}. Hint: quantile_grid(scores of training samples)."
                )
            return np.arange(_N_CUTS, -1, -1) / _N_CUTS
        grid = _numbers(self.grid)
        if grid.ndim != 1 or not len(grid) or np.isnan(grid).any():
            raise ValueError(f"grid must be numbers of shape (n_cuts,) that are not NaN, got {self.grid!r}.")
        return np.unique(grid)[::-1]

    def _reached(self, truth: PartialLabels, predicted: NDArray[Any], weights: Any) -> float:
        """Return the controlled metric on other samples; with `per_label`, the mean over labels."""
        weights = np.ones(len(predicted)) if weights is None else weights
        if self.per_label:
            labels = sparse.csr_array(truth.labels)
            positives, hits = labels.T @ weights, labels.multiply(predicted).T @ weights
            return float((hits[positives > 0] / positives[positives > 0]).mean()) if positives.any() else np.nan
        rows = _rows_known_in_full(truth)
        labels, chosen = as_dense(truth.labels[rows]), predicted[rows]
        of = chosen if self.measure == "precision" else labels
        sizes, hits = of.sum(axis=1), (labels * chosen).sum(axis=1)
        values = hits == sizes if self.measure == "all_labels" else hits / np.maximum(sizes, 1)
        if self.measure == "precision":
            values[sizes == 0] = 1
            sizes = np.ones(len(rows))
        counted = weights[rows] * (sizes > 0)
        return float(values @ counted / counted.sum()) if counted.any() else np.nan


@registered("thresholds", "risk")
def _from_text(measure: str = "recall", level: float = 0.9, confidence: float | None = None) -> RiskControl:
    """Return the strategy with options from text; on leave-one-out scores its guarantee is approximate."""
    return RiskControl(measure, level, confidence=confidence)


def quantile_grid(scores: MatrixLike, n_cuts: int = _N_CUTS) -> FloatArray:
    """Return thresholds for `RiskControl` to test, from strict to lax, from the scores of other samples.

    They are evenly spaced in the logarithm of the number of labels that they predict: from one label in a hundred
    samples to all labels of all samples. The samples must not be those of calibration; the classifier's training
    samples are suitable.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_samples, n_labels)
        Scores.
    n_cuts : int, default=100
        Largest number of thresholds; equal ones are listed once.

    Returns
    -------
    grid : ndarray of shape (n_distinct,)
        Thresholds in descending order.

    Raises
    ------
    ValueError
        If the scores are malformed, or n_cuts is below 1.
    TypeError
        If n_cuts is no integer, or scores are in a sparse container.

    Examples
    --------
    >>> from nearlabel.thresholds import quantile_grid
    >>> quantile_grid([[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]], 10).tolist()
    [0.9, 0.8, 0.3, 0.1]
    """
    check_integer("n_cuts", n_cuts, low=1)
    matrix = checked_scores(scores)
    n_rows, n_labels = matrix.shape
    if matrix.size == 0:
        raise ValueError(f"scores must have at least one row, got shape {matrix.shape}.")
    reach = np.rint(n_rows * np.geomspace(_FEWEST_A_ROW, n_labels, n_cuts)).astype(np.intp)
    ordered = np.sort(matrix, axis=None)[::-1].astype(np.float64)
    return np.unique(ordered[np.clip(reach, 1, matrix.size) - 1])[::-1]


class _Misses(NamedTuple):
    """The loss as a function of the threshold: each cell below the threshold adds its weight."""

    passed: FloatArray  # (n_cells,) thresholds above this miss the cell
    weights: FloatArray
    n_rows: int


class _Cut(NamedTuple):
    """A threshold and its results."""

    at: float
    risk: float
    bound: float
    n_rows: int


def _misses(
    scores: NDArray[Any], rows_and_labels: tuple[IntArray, IntArray], offsets: FloatArray, measure: str
) -> _Misses:
    """Return the possible misses: each label with its share of the sample, or each sample's label of lowest score."""
    rows, labels = rows_and_labels
    sizes = np.bincount(rows, minlength=len(scores))
    n_rows = int((sizes > 0).sum())
    if n_rows == 0:
        raise _no_labels()
    places = _cuts_reached(scores[rows, labels], offsets[labels])
    if measure == "recall":
        return _Misses(places, 1 / sizes[rows], n_rows)
    lowest = np.full(len(scores), np.inf)
    np.minimum.at(lowest, rows, places)
    return _Misses(lowest[sizes > 0], np.ones(n_rows), n_rows)


def _no_labels() -> ValueError:
    return ValueError("y must have a sample with labels, all of them known, got none: there is nothing to guarantee.")


def _known_in_full(truth: PartialLabels) -> tuple[IntArray, IntArray]:
    """Return rows and labels of the relevant cells of the rows without an unknown cell."""
    rows, labels = truth.labels.nonzero()
    if truth.unknown is None:
        return rows, labels
    full = np.isin(rows, _rows_known_in_full(truth))
    return rows[full], labels[full]


def _rows_known_in_full(truth: PartialLabels) -> IntArray:
    if truth.unknown is None:
        return np.arange(truth.labels.shape[0])
    return np.flatnonzero(np.asarray(truth.unknown.sum(axis=1)).ravel() == 0)


def _cuts_reached(scores: NDArray[Any], offsets: Any) -> FloatArray:
    """Return, for each score, a number that it reaches: number + offset, after rounding, is at most the score."""
    wanted = scores.astype(np.float64)
    with np.errstate(over="ignore"):
        cuts: FloatArray = wanted - offsets
        while (above := cuts + offsets > wanted).any():
            cuts = np.where(above, np.nextafter(cuts, -np.inf), cuts)
    return cuts


def _wrong_shares(scores: NDArray[Any], labels: Matrix, rows: IntArray, thresholds: FloatArray) -> FloatArray:
    """Return, for descending thresholds (n_cuts, n_labels), the sum over samples of the shares of wrong labels.

    The share is 0 if no label is predicted.
    """
    n_cuts, n_labels = thresholds.shape
    total = np.zeros(n_cuts)
    for block in row_blocks(len(rows), _BYTES_PER_CUT * n_cuts + _BYTES_PER_CELL * n_labels):
        some = rows[block]
        wrong = 1 - as_dense(labels[some])
        predicted, mistakes = np.zeros((2, len(some), n_cuts + 1), dtype=np.int64)
        at = np.arange(len(some))
        for label in range(n_labels):
            # The first threshold that the score reaches; beyond the last, none.
            first = n_cuts - np.searchsorted(thresholds[::-1, label], scores[some, label], side="right")
            predicted[at, first] += 1
            mistakes[at, first] += wrong[:, label]
        sizes = predicted.cumsum(axis=1)[:, :-1]
        total += (mistakes.cumsum(axis=1)[:, :-1] / np.maximum(sizes, 1)).sum(axis=0)
    return total


def _numbers(values: ArrayLike) -> FloatArray:
    """Return an array of numbers, with NaN for anything else, which later checks reject."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)


def lower_first(sentence: str) -> str:
    """Return a sentence in the form it has after a colon."""
    return sentence[:1].lower() + sentence[1:]


_LIKE = "new samples like those of calibration"
_SENTENCES = {
    ("recall", False): f"On {_LIKE} that have labels, at least {{}} of the labels of a sample are predicted on"
    " average.",
    ("all_labels", False): f"On at least {{}} of {_LIKE}, all labels of the sample are predicted.",
    ("precision", False): f"On {_LIKE}, at least {{}} of the labels predicted for a sample are correct on average,"
    " where a sample without predicted labels counts as correct.",
    ("recall", True): f"On {_LIKE}, each label is predicted for at least {{}} of the samples that have it.",
}
