"""Metrics of predictions from the counts of labels: micro sums the counts, macro averages the labels' ratios.

``zero_division`` is the value of 0/0: 0, 1, or nan. For micro it is the value of the metric; for macro it is the value
of one label, and nan leaves that label out of the mean. It is usually needed for a label that is neither true nor
predicted in a test fold: Mulan used 0 in 2008, which is the default here, and uses 1 today. scikit-learn's default is 0
with a warning; nearlabel never warns.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), micro counts the known cells. Macro evaluates each label on
the samples in which it is known, and leaves out a label that is unknown in all samples, for every `zero_division`;
`label_table` shows such labels.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from nearlabel.metrics.counts import MEAN_RATIOS, MeanRatio, compare, fbeta
from nearlabel.metrics.inputs import declared
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_positive


@declared("micro precision")
def micro_precision(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return ``hits / predicted`` with the counts of all cells of the matrix.

    Equal to :func:`sklearn.metrics.precision_score` with ``average="micro"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value for matrices without predicted labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best), or `zero_division`.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> micro_precision([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # 2 of 3 predicted cells are true
    0.6666666666666666
    """
    return MEAN_RATIOS["micro_precision"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("micro recall")
def micro_recall(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return ``hits / true`` with the counts of all cells of the matrix.

    Equal to :func:`sklearn.metrics.recall_score` with ``average="micro"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value for matrices without true labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best), or `zero_division`.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> micro_recall([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # 2 of 3 true cells are predicted
    0.6666666666666666
    """
    return MEAN_RATIOS["micro_recall"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("micro F1")
def micro_f1(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return ``2 hits / (true + predicted)`` with the counts of all cells of the matrix.

    Equal to :func:`sklearn.metrics.f1_score` with ``average="micro"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value for matrices without true and without predicted labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best), or `zero_division`.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> micro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # 2 * 2 / (3 + 3)
    0.6666666666666666
    """
    return MEAN_RATIOS["micro_f1"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("micro F{beta}", on_request=True)
def micro_fbeta(
    y_true: MatrixLike,
    y_pred: MatrixLike,
    *,
    beta: float,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return ``(1 + b²) hits / (b² true + predicted)`` with the counts of all cells of the matrix.

    Equal to :func:`sklearn.metrics.fbeta_score` with ``average="micro"``, for a finite `beta` above 0.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    beta : float
        Weight of recall relative to precision, above 0; 1 gives :func:`micro_f1`.
    zero_division : {0.0, 1.0, nan}, default=0.0
        The value for matrices without true and without predicted labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best), or `zero_division`.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, `beta` is not above 0, or `zero_division` is another number.
    TypeError
        If `beta` is not a number.

    Examples
    --------
    >>> micro_fbeta([[1, 1, 0]], [[1, 0, 0]], beta=2)  # (1 + 4) * 1 / (4 * 2 + 1)
    0.5555555555555556
    """
    metric = MeanRatio("in_total", (fbeta(check_positive("beta", beta)),))
    return metric.of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("macro precision")
def macro_precision(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over labels of ``hits / predicted``.

    Equal to :func:`sklearn.metrics.precision_score` with ``average="macro"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a label that is predicted for no sample; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every label is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> macro_precision([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # (1/1 + 1/1 + 0/1) / 3
    0.6666666666666666
    """
    return MEAN_RATIOS["macro_precision"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("macro recall")
def macro_recall(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over labels of ``hits / true``.

    Equal to :func:`sklearn.metrics.recall_score` with ``average="macro"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a label without positive samples; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every label is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> macro_recall([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # (1/1 + 1/2 + 0/0) / 3, with 0/0 as 0
    0.5
    """
    return MEAN_RATIOS["macro_recall"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("macro F1")
def macro_f1(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over labels of ``2 hits / (true + predicted)``.

    Equal to :func:`sklearn.metrics.f1_score` with ``average="macro"``. This is the mean of the labels' F, not the F of
    macro precision and macro recall.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a label that is neither true nor predicted in any sample; nan leaves it out of the mean. Mulan used 0
        in 2008 and uses 1 today.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every label is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> macro_f1([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])  # (2/2 + 2/3 + 0/0) / 3, with 0/0 as 0
    0.5555555555555555
    """
    return MEAN_RATIOS["macro_f1"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("macro F{beta}", on_request=True)
def macro_fbeta(
    y_true: MatrixLike,
    y_pred: MatrixLike,
    *,
    beta: float,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over labels of ``(1 + b²) hits / (b² true + predicted)``.

    Equal to :func:`sklearn.metrics.fbeta_score` with ``average="macro"``, for a finite `beta` above 0.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    beta : float
        Weight of recall relative to precision, above 0; 1 gives :func:`macro_f1`.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a label that is neither true nor predicted in any sample; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every label is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, `beta` is not above 0, or `zero_division` is another number.
    TypeError
        If `beta` is not a number.

    Examples
    --------
    >>> macro_fbeta([[1, 1], [0, 1]], [[1, 0], [0, 1]], beta=2)  # (1 + 5 * 1 / (4 * 2 + 1)) / 2
    0.7777777777777778
    """
    metric = MeanRatio("per_label", (fbeta(check_positive("beta", beta)),))
    return metric.of(compare(y_true, y_pred, sample_weight), zero_division)
