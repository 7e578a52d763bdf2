"""Metrics of the ranking of labels by their scores: rank 1 is the largest score.

Equal scores. The paper defines them for ranking loss only, where an equal pair is an error. ``ties`` selects the rule:

- ``"pessimistic"`` (default): equal scores share their worst rank, so an irrelevant label ranks above every label with
  the same score. Independent of the order of the labels; scikit-learn's rule.
- ``"optimistic"``: relevant labels rank first among equal scores. Independent of the order of the labels.
- ``"low"``: the lower label index ranks better among equal scores. ``"index"`` is the former name of this rule.
- ``"high"``: the higher label index ranks better among equal scores, as in Mulan and the authors' code.
- ``"average"``: the mean over all orders of equal scores, by closed forms [1]_. Independent of the order of the labels.

Trivial samples. A sample without labels, or with all of them, has no pair of labels to rank, so one-error, ranking loss
and average precision are undefined for it. ``trivial="drop"`` (default, as in the authors' code) leaves it out of the
mean; ``"keep"`` counts it with the value stated for each metric. For coverage only a sample without labels is trivial.
If every sample is dropped, the result is nan, without a warning.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), only the known labels of each sample are ranked. A sample
without known labels is left out, even with ``trivial="keep"``.

References
----------
.. [1] McSherry, Najork: Computing information retrieval performance measures efficiently in the presence of tied
   scores. ECIR 2008.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from nearlabel.metrics import _ranks
from nearlabel.metrics.inputs import TieRule, TrivialRule, declared
from nearlabel.utils.types import MatrixLike


@declared("one-error", greater_is_better=False)
def one_error(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of samples whose top-ranked label is not relevant.

    Equation 2 of [1]_, which averages over all samples; the authors' code leaves out the trivial ones, which is the
    default here. scikit-learn has no such metric.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Several labels on top are an error unless all of them are relevant ("pessimistic"), one of them is
        ("optimistic", the authors' code), or the first or last one is ("low", "high"); or the share of the irrelevant
        ones among them is counted ("average").
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept: the former with the value 1, as
        in Mulan, since no top label can be relevant, the latter with 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> y_true, y_score = [[1, 0, 0], [0, 1, 0]], [[0.5, 0.5, 0.1], [0.2, 0.7, 0.1]]
    >>> one_error(y_true, y_score)
    0.5
    >>> one_error(y_true, y_score, ties="optimistic")
    0.0
    """
    return _ranks.top_is_wrong(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)


@declared("coverage", greater_is_better=False)
def coverage(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean number of steps down the ranking to the last relevant label.

    Equation 3 of [1]_: the mean of the worst rank of a relevant label, minus 1. So it is
    ``sklearn.metrics.coverage_error(y_true, y_score) - 1`` if every sample has a label.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores: relevant labels last, relevant labels first, lower label index first, higher label
        index first, or the mean over all orders.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels are dropped, or kept with the value 0, as in Mulan; the authors' code, and
        scikit-learn's value minus 1, give -1. A sample with all labels is not trivial: its last relevant label has
        depth ``n_labels - 1``, and the paper and all other libraries include it.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to ``n_labels - 1``, smaller is better; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.5, 0.5, 0.1], [0.2, 0.7, 0.1]])  # ranks 2 and 3: (1 + 2) / 2
    1.5
    """
    return _ranks.depth(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)


@declared("ranking loss", greater_is_better=False)
def ranking_loss(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean share of the pairs (relevant, irrelevant) in which the irrelevant label ranks above.

    Equation 4 of [1]_, where an equal pair is an error ("pessimistic"). With ``trivial="keep"`` it equals
    :func:`sklearn.metrics.label_ranking_loss`.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        An equal pair is an error, not an error, an error if the irrelevant label has the lower or the higher index, or
        half an error.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept with the value 0, as in Mulan
        and scikit-learn.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]])  # 1 of 2 pairs
    0.5
    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]], ties="low")
    0.0
    """
    return _ranks.reversed_share(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)


@declared("average precision")
def average_precision(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over samples of the mean precision at the ranks of the relevant labels.

    Equation 5 of [1]_. With ``trivial="keep"`` it equals :func:`sklearn.metrics.label_ranking_average_precision_score`.
    It is not :func:`sklearn.metrics.average_precision_score`, the area under a label's precision-recall curve, which is
    `mean_average_precision` here.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Equal scores all get their worst rank, or are ranked with the relevant labels first, by rising or falling label
        index, or in all orders, over which the mean is taken. "pessimistic" is not the smallest possible value here:
        relevant labels that share a rank also count for each other, so that two relevant labels among three equal ones
        give 2/3, while the order (irrelevant, relevant, relevant) gives (1/2 + 2/3) / 2.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept with the value 1, as in
        scikit-learn. Mulan drops the former and keeps the latter.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return _ranks.precision_of_ranks(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)
