"""Metrics of predictions averaged over samples; the papers call the Jaccard index accuracy.

``zero_division`` is the value of a sample whose ratio is 0/0: 0, 1, or nan to leave it out of the mean. These are
samples without predicted labels for precision, without true labels for recall, and without either for the Jaccard index
and F. scikit-learn's default is 0 with a warning; nearlabel never warns.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), only the known cells of a sample count, and a sample without
any is left out. The Hamming loss is the share of all known cells that are wrong.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from nearlabel.metrics.counts import MEAN_RATIOS, MeanRatio, compare, fbeta
from nearlabel.metrics.inputs import declared
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_positive


@declared("Hamming loss", greater_is_better=False)
def hamming_loss(y_true: MatrixLike, y_pred: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of (sample, label) pairs in which prediction and truth differ.

    Equation 1 of [1]_; equal to :func:`sklearn.metrics.hamming_loss`.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, or the weights
        are malformed.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> hamming_loss([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # 2 of 6
    0.3333333333333333
    """
    return MEAN_RATIOS["hamming_loss"].of(compare(y_true, y_pred, sample_weight))


@declared("subset accuracy")
def subset_accuracy(y_true: MatrixLike, y_pred: MatrixLike, *, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of samples whose label set is predicted exactly.

    Also called exact match; equal to :func:`sklearn.metrics.accuracy_score` for indicator matrices.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best).

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, or the weights
        are malformed.

    Examples
    --------
    >>> subset_accuracy([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])
    0.5
    """
    return MEAN_RATIOS["subset_accuracy"].of(compare(y_true, y_pred, sample_weight))


@declared("accuracy (Jaccard)")
def jaccard_examples(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over samples of ``|true & predicted| / |true | predicted|``.

    The papers' "accuracy" [1]_; equal to :func:`sklearn.metrics.jaccard_score` with ``average="samples"``.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without true and without predicted labels; nan leaves it out of the mean. Mulan uses 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    References
    ----------
    .. [1] Godbole, Sarawagi: Discriminative methods for multi-labeled classification. PAKDD 2004.

    Examples
    --------
    >>> jaccard_examples([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])  # (1/2 + 1/1) / 2
    0.75
    """
    return MEAN_RATIOS["jaccard_examples"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("precision")
def precision_examples(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over samples of ``|true & predicted| / |predicted|``.

    Equal to :func:`sklearn.metrics.precision_score` with ``average="samples"`` [1]_.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without predicted labels; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    References
    ----------
    .. [1] Godbole, Sarawagi: Discriminative methods for multi-labeled classification. PAKDD 2004.

    Examples
    --------
    >>> precision_examples([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # (1/1 + 1/2) / 2
    0.75
    """
    return MEAN_RATIOS["precision_examples"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("recall")
def recall_examples(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over samples of ``|true & predicted| / |true|``.

    Equal to :func:`sklearn.metrics.recall_score` with ``average="samples"`` [1]_.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without true labels; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    References
    ----------
    .. [1] Godbole, Sarawagi: Discriminative methods for multi-labeled classification. PAKDD 2004.

    Examples
    --------
    >>> recall_examples([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # (1/2 + 1/1) / 2
    0.75
    """
    return MEAN_RATIOS["recall_examples"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("F1 (mean over examples)")
def f1_examples(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean over samples of ``2 |true & predicted| / (|true| + |predicted|)``.

    Equal to :func:`sklearn.metrics.f1_score` with ``average="samples"``. This is the mean of the samples' F, not the F
    of the means that Spyromitros et al. (2008) reported; see :func:`f1_of_means`.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without true and without predicted labels; nan leaves it out of the mean. Mulan uses 1.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    Examples
    --------
    >>> f1_examples([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 0]])  # (2/3 + 2/2) / 2
    0.8333333333333333
    """
    return MEAN_RATIOS["f1_examples"].of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("F{beta} (mean over examples)", on_request=True)
def fbeta_examples(
    y_true: MatrixLike,
    y_pred: MatrixLike,
    *,
    beta: float,
    zero_division: float = 0.0,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over samples of ``(1 + b²) |true & predicted| / (b² |true| + |predicted|)``.

    Equal to :func:`sklearn.metrics.fbeta_score` with ``average="samples"``, for a finite `beta` above 0.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    beta : float
        Weight of recall relative to precision, above 0; 1 gives :func:`f1_examples`.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without true and without predicted labels; nan leaves it out of the mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, `beta` is not above 0, or `zero_division` is another number.
    TypeError
        If `beta` is not a number.

    Examples
    --------
    >>> fbeta_examples([[1, 1, 0]], [[1, 0, 0]], beta=2)  # (1 + 4) * 1 / (4 * 2 + 1)
    0.5555555555555556
    """
    metric = MeanRatio("per_example", (fbeta(check_positive("beta", beta)),))
    return metric.of(compare(y_true, y_pred, sample_weight), zero_division)


@declared("F1 (of mean precision and recall)")
def f1_of_means(
    y_true: MatrixLike, y_pred: MatrixLike, *, zero_division: float = 0.0, sample_weight: ArrayLike | None = None
) -> float:
    """Return the harmonic mean of the samples' mean precision and mean recall.

    The "F-measure" of Mulan in 2008 and of the tables of Spyromitros et al. [1]_, which do not define it (with
    precision 0 for an empty prediction, it reproduces their scene and emotions columns). It is usually 0.01 to 0.03
    above :func:`f1_examples`; scikit-learn has no such metric.

    Parameters
    ----------
    y_true, y_pred : array-like, data frame or sparse container of shape (n_samples, n_labels), or tags
        Indicator matrices of the true and the predicted label sets; the containers may differ. Or the tags of each
        sample, true and predicted: the labels are the tags of both.
    zero_division : {0.0, 1.0, nan}, default=0.0
        Value of a sample without predicted labels in the mean precision, and of a sample without true labels in the
        mean recall; nan leaves it out of that mean. If both means are 0, the result is 0 in any case.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is left out of one of the means.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional, is empty, contains anything but 0 and 1, the shapes differ, the
        weights are malformed, or `zero_division` is another number.

    References
    ----------
    .. [1] Spyromitros, Tsoumakas, Vlahavas: An empirical study of lazy multilabel classification algorithms.
       SETN 2008.

    Examples
    --------
    >>> f1_of_means([[1, 1, 0], [0, 1, 0]], [[1, 0, 0], [0, 1, 1]])  # both means are 3/4, the mean F is 2/3
    0.75
    """
    return MEAN_RATIOS["f1_of_means"].of(compare(y_true, y_pred, sample_weight), zero_division)
