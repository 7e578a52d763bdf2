"""Imbalance of labels: ratios to the most frequent label, minority labels, and SCUMBLE."""

from __future__ import annotations

from math import fsum

import numpy as np

from nearlabel.labels import _label_sets as sets
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike


def describe(y: MatrixLike) -> dict[str, int | float]:
    """Return the usual statistics of label sets.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    dict
        ``instances``, ``labels``, ``cardinality``, ``density``, ``labelset_diversity``, ``labelset_proportion``,
        ``mean_imbalance_ratio``, ``rows_without_labels``, ``labels_without_rows``, ``max_labels`` (of a sample). If
        cells are unknown, also ``unknown_cells``, ``unknown_share`` (of all cells) and ``rows_without_known_labels``,
        samples that no method can use; then ``rows_without_labels`` counts the samples that are known to have no
        labels.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> describe([[1, 0], [0, 1], [1, 0]])["labelset_diversity"]
    2
    """
    parts = sets._parts(y)
    n_rows, n_labels = map(int, parts.labels.shape)
    sizes, n_unknown = np.asarray(parts.labels.sum(axis=1)), sets._unknown_of_rows(parts)
    n_whole, n_distinct = int((n_unknown == 0).sum()), sets._n_distinct(sets._whole_rows(parts))
    return {
        "instances": n_rows,
        "labels": n_labels,
        "cardinality": sets._cardinality(parts),
        "density": sets._cardinality(parts) / n_labels,
        "labelset_diversity": n_distinct,
        "labelset_proportion": n_distinct / n_whole if n_whole else float("nan"),
        "mean_imbalance_ratio": _mean_of_finite(_imbalance_ratios(parts)),
        "rows_without_labels": int(((sizes == 0) & (n_unknown == 0)).sum()),
        "labels_without_rows": int((sets._frequencies(parts) == 0).sum()),
        "max_labels": int(sizes.max()),
        **({} if parts.unknown is None else _unknown_figures(n_unknown, n_labels)),
    }


def _unknown_figures(n_unknown: IntArray, n_labels: int) -> dict[str, int | float]:
    """Return the statistics of unknown cells, from their number in each row (n_samples,)."""
    return {
        "unknown_cells": int(n_unknown.sum()),
        "unknown_share": float(n_unknown.mean() / n_labels),
        "rows_without_known_labels": int((n_unknown == n_labels).sum()),
    }


def imbalance_ratios(y: MatrixLike) -> FloatArray:
    """Return IRLbl: the frequency of the most frequent label divided by that of each label.

    If cells are unknown, the frequency is the share of positive samples among those in which the label is known.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_labels,)
        At least 1; infinite for a label that never occurs.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel classification: measures
    and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> imbalance_ratios([[1, 0, 1], [1, 0, 0]]).tolist()
    [1.0, inf, 2.0]
    """
    return _imbalance_ratios(sets._parts(y, None))


def mean_imbalance_ratio(y: MatrixLike) -> float:
    """Return MeanIR: the mean of `imbalance_ratios` over the labels that occur.

    Charte et al. average over all labels; a label that never occurs would make the mean infinite.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    float
        At least 1; NaN if no label occurs.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel classification: measures
    and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> mean_imbalance_ratio([[1, 0, 1], [1, 0, 0]])
    1.5
    """
    return _mean_of_finite(imbalance_ratios(y))


def minority_labels(y: MatrixLike) -> IntArray:
    """Return the columns of the minority labels: those whose imbalance ratio is above the mean.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of int64, shape (n_found,)
        In column order; empty if all labels that occur are equally frequent. A label that never occurs is not included:
        it has no samples to duplicate.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel classification: measures
    and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> minority_labels([[1, 0, 1], [1, 0, 0], [1, 1, 0], [1, 1, 0]]).tolist()
    [2]
    """
    ratios = imbalance_ratios(y)
    is_above = ratios > _mean_of_finite(ratios) * (1 + ROUNDING)
    return np.flatnonzero(is_above & np.isfinite(ratios))


def scumble_of_rows(y: MatrixLike) -> FloatArray:
    """Return SCUMBLE of each sample: the imbalance among the labels that it carries.

    1 minus the ratio of the geometric mean to the arithmetic mean of the imbalance ratios of the sample's labels. (The
    paper's formula uses the ratio 0 for labels that the sample does not carry; every sample that lacks a label would
    then have the value 1. The authors' programs compute the value defined here.)

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    ndarray of float64, shape (n_samples,)
        From 0 to below 1; exactly 0 if the labels are equally frequent or there are fewer than two. If cells are
        unknown, only labels that the sample is known to carry are used.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    See Also
    --------
    scumble : The mean over the samples.

    References
    ----------
    F. Charte, A. Rivera, M. J. del Jesus, F. Herrera. Concurrence among imbalanced labels and its influence on
    multilabel resampling algorithms. HAIS 2014.

    Examples
    --------
    >>> scumble_of_rows([[1, 1], [1, 0], [1, 0], [1, 0]]).round(3).tolist()
    [0.2, 0.0, 0.0, 0.0]
    """
    parts = sets._parts(y)
    ratios = _imbalance_ratios(parts)
    ratios[np.isinf(ratios)] = 1  # of labels without samples
    labels = parts.labels.astype(np.float64)
    sizes = np.maximum(np.asarray(labels.sum(axis=1)), 1)
    arithmetic, logarithm = (labels @ ratios) / sizes, (labels @ np.log(ratios)) / sizes
    values = 1 - np.exp(logarithm) / np.where(arithmetic > 0, arithmetic, 1)
    return np.where((values > ROUNDING) & (arithmetic > 0), values, 0.0)


def scumble(y: MatrixLike) -> float:
    """Return SCUMBLE, the mean of `scumble_of_rows`: how often rare labels occur together with frequent ones.

    If it is large, duplicating the samples with a rare label also duplicates frequent labels.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)

    Returns
    -------
    float
        From 0 to below 1. The authors call a data set with more than 0.1 difficult to resample.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    References
    ----------
    F. Charte, A. Rivera, M. J. del Jesus, F. Herrera. Concurrence among imbalanced labels and its influence on
    multilabel resampling algorithms. HAIS 2014.

    Examples
    --------
    >>> round(scumble([[1, 1], [1, 0], [1, 0], [1, 0]]), 3)
    0.05
    """
    of_rows = scumble_of_rows(y)
    return fsum(of_rows) / len(of_rows)  # the same for every order of the rows


def _imbalance_ratios(parts: PartialLabels) -> FloatArray:
    counts = sets._frequencies(parts) if parts.unknown is None else sets._shares(parts)
    ratios: FloatArray = np.full(counts.shape, np.inf)
    np.divide(counts.max(), counts, out=ratios, where=counts > 0)
    return ratios


def _mean_of_finite(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else float("nan")


# Comparison of imbalance ratios with their mean, up to rounding.

ROUNDING = 1e-12  # relative, of means of ratios and of their logarithms
