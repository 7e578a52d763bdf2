"""Metrics of scores by the ranking of the labels: rank 1 is the largest score.

Equal scores. The paper leaves them open but for ranking loss, where an equal pair is an error. ``ties`` decides:

- ``"pessimistic"`` (default): equal scores share their worst rank, so an irrelevant label beats every label it is equal
  to. Independent of the order of the labels; what scikit-learn does.
- ``"optimistic"``: of equal scores the relevant labels rank first. Independent of the order of the labels.
- ``"low"``: of equal scores the one with the lower label index ranks better. ``"index"`` is the former name of it.
- ``"high"``: of equal scores the one with the higher label index ranks better, as in Mulan and the authors' code.
- ``"average"``: the mean over all orders of equal scores, by closed forms [1]_. Independent of the order of the labels.

Trivial rows. A row without labels, or with all of them, has no pair of labels to put in order, so one-error, ranking
loss and average precision are undefined for it: ``trivial="drop"`` (default, the authors' code) leaves it out of the
mean, ``"keep"`` counts it with the value stated at each metric. For coverage only a row without labels is trivial. If
every row is dropped the result is nan, without a warning.

Where y_true has unknown cells (NaN, see `nearlabel.metrics`) the known labels of each row are ranked among themselves.
A row that has none is left out, also with ``trivial="keep"``.

References
----------
.. [1] McSherry, Najork: Computing information retrieval performance measures efficiently in the presence of tied
   scores. ECIR 2008.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from nearlabel.metrics import _ranks
from nearlabel.metrics.inputs import TieRule, TrivialRule
from nearlabel.utils.types import MatrixLike


def one_error(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of examples whose top-ranked label is not relevant.

    Equation 2 of [1]_, which averages over all examples; the authors' code leaves out the trivial ones, as is done here
    by default. scikit-learn has no such metric.

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
        Whether rows without labels (kept: 1, as in Mulan, since no top label can be right) and with all labels (kept:
        0) count.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every row is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or something that is no number, the weights are malformed, or an option is unknown.

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
    ``sklearn.metrics.coverage_error(y_true, y_score) - 1`` where no row is without labels.

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
        Whether rows without labels count (kept: 0, as in Mulan; the authors' code, and scikit-learn's number minus 1,
        make it -1). A row with all labels is not trivial: it has a last relevant label, at depth ``n_labels - 1``, and
        the paper and all peers average over it.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 to ``n_labels - 1``, smaller is better; nan if every row is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or something that is no number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.5, 0.5, 0.1], [0.2, 0.7, 0.1]])  # ranks 2 and 3: (1 + 2) / 2
    1.5
    """
    return _ranks.depth(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)


def ranking_loss(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean share of the pairs (relevant, irrelevant) in which the irrelevant label ranks above.

    Equation 4 of [1]_, where an equal pair is an error ("pessimistic"). The number of
    :func:`sklearn.metrics.label_ranking_loss` with ``trivial="keep"``.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        An equal pair is an error, is none, is one if the irrelevant label has the lower or the higher index, or is
        half an error.
    trivial : {"drop", "keep"}, default="drop"
        Whether rows without labels and rows with all labels count (kept: 0, as in Mulan and scikit-learn).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every row is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or something that is no number, the weights are malformed, or an option is unknown.

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


def average_precision(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over examples of the mean, over relevant labels, of the precision at the label's rank.

    Equation 5 of [1]_. The number of :func:`sklearn.metrics.label_ranking_average_precision_score` with
    ``trivial="keep"``; it has nothing to do with :func:`sklearn.metrics.average_precision_score`, the area under a
    label's precision-recall curve, which is `mean_average_precision` here.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Equal scores share their worst rank, rank with the relevant labels first, by rising or falling label index, or
        in all orders, whose mean is taken. "Pessimistic" is not the least value here: relevant labels that share a
        rank also count for each other, so that two of three equal labels give 2/3, while the order (irrelevant,
        relevant, relevant) gives (1/2 + 2/3) / 2.
    trivial : {"drop", "keep"}, default="drop"
        Whether rows without labels and rows with all labels count (kept: 1, as in scikit-learn; Mulan drops the
        former and keeps the latter).
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the examples, at least 0: one of weight 2 counts as two equal ones. None: 1 each.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every row is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or something that is no number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return _ranks.precision_of_ranks(_ranks.rank(y_true, y_score, ties, sample_weight), trivial)
