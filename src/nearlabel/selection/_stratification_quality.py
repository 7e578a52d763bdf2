"""How similar folds are: the metrics of Sechidis et al., and of Szymański and Kajdanowicz for pairs of labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.labels import distinct_labelsets
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import cells_of


@dataclass(frozen=True, repr=False)
class StratificationQuality:
    """Distances between the test parts of folds and the whole data; 0 is best for all.

    Parameters
    ----------
    label_distribution : float
        LD: how much the odds of a label, samples with it to samples without it, differ between a fold and all samples;
        mean over folds and labels. NaN if no label has two classes.
    label_pair_distribution : float
        LPD: the same for the pairs of labels that occur. NaN if there are none.
    examples_distribution : float
        ED: by how many samples a fold differs from n_samples / n_folds, mean over the folds.
    folds_missing_labels : int
        FZ: folds without a sample of some label.
    missing_labels : int
        FLZ: pairs of a fold and a label without a sample in it.
    """

    label_distribution: float
    label_pair_distribution: float
    examples_distribution: float
    folds_missing_labels: int
    missing_labels: int

    def __repr__(self) -> str:
        distances = {
            "LD": self.label_distribution,
            "LPD": self.label_pair_distribution,
            "ED": self.examples_distribution,
        }
        figures = ", ".join(f"{name}={value:.3g}" for name, value in distances.items())
        return f"{type(self).__name__}({figures}, FZ={self.folds_missing_labels}, FLZ={self.missing_labels})"


def stratification_quality(y: MatrixLike, folds: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> StratificationQuality:
    """Compute how well folds are stratified.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1, with NaN where a cell is unknown.
    folds : iterable of (training, test)
        Sample numbers, as the `split` of a splitter gives them; each sample is in one test part.

    Returns
    -------
    StratificationQuality
        The five metrics; printed as one line.

    Raises
    ------
    ValueError
        If y is no indicator matrix, or `folds` are no pairs or do not have each sample in one test part.

    Notes
    -----
    Labels that no sample carries are left out: no split could improve them, and each would add n_folds to FLZ. Labels
    that all samples carry are left out of LD and LPD, as their odds are infinite. If all samples of a fold carry a
    label that others lack, LD is infinite.

    Samples with an unknown cell are left out of the odds of that label; a fold without a known cell is left out of its
    mean.

    References
    ----------
    K. Sechidis, G. Tsoumakas, I. Vlahavas. On the stratification of multi-label data. ECML PKDD, 2011.

    P. Szymański, T. Kajdanowicz. A network perspective on stratification of multi-label data. LIDTA, Proceedings of
    Machine Learning Research 74, 2017.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.selection import IterativeStratifiedKFold, stratification_quality
    >>> data = load_multidigits()
    >>> for splitter in KFold, IterativeStratifiedKFold:
    ...     folds = splitter(10, shuffle=True, random_state=0).split(data.X, data.Y)
    ...     print(stratification_quality(data.Y, folds))
    StratificationQuality(LD=0.0319, LPD=0.0083, ED=0, FZ=0, FLZ=0)
    StratificationQuality(LD=0.00421, LPD=0.00329, ED=0, FZ=0, FLZ=0)
    """
    labels, possible, kinds = _distinct(y)
    fold_of_rows, n_folds = _folds_of_rows(folds, len(kinds))
    n_kinds = labels.shape[0]
    spread = np.bincount(fold_of_rows * n_kinds + kinds, minlength=n_folds * n_kinds).reshape(n_folds, n_kinds)
    sizes = spread.sum(axis=1)
    occurring = np.flatnonzero(labels.sum(axis=0))
    held, may_hold = (_held(spread, some[:, occurring]) for some in (labels, possible))
    pairs = _held(spread, label_pairs(labels))
    return StratificationQuality(
        label_distribution=_distance(held, may_hold, sizes),
        label_pair_distribution=_distance(
            pairs, pairs if possible is labels else _possible_pairs(spread, labels, possible), sizes
        ),
        examples_distribution=float(np.abs(sizes - sizes.mean()).mean()),
        folds_missing_labels=int((held == 0).any(axis=1).sum()),
        missing_labels=int((held == 0).sum()),
    )


def _distinct(y: MatrixLike) -> tuple[CSR, CSR, IntArray]:
    """Return the distinct label sets, their possible labels (these and the unknown ones), and which each sample has.

    Label sets with different unknown cells are distinct, too.
    """
    labels, unknown = PartialLabels.of(y)
    n_labels = labels.shape[1]
    if unknown is not None:
        labels = sparse.csr_array(sparse.hstack([sparse.csr_array(labels), sparse.csr_array(unknown)], dtype=np.int64))
    labelsets, kinds, _ = distinct_labelsets(labels)
    rows = sparse.csr_array(labelsets)
    carried = rows[:, :n_labels]
    return carried, carried if unknown is None else carried + rows[:, n_labels:], kinds


def _folds_of_rows(folds: Iterable[tuple[NDArray[Any], NDArray[Any]]], n_rows: int) -> tuple[IntArray, int]:
    """Return the number of the fold that tests each row, and the number of folds."""
    try:
        tests = [np.asarray(test) for _, test in folds]
    except (TypeError, ValueError) as error:
        raise ValueError(f"folds must be pairs (training, test) of row numbers, got {folds!r:.60}.") from error
    rows = np.concatenate([np.empty(0, dtype=np.intp), *(test.reshape(-1) for test in tests if test.size)])
    if rows.dtype.kind not in "iu" or not np.array_equal(np.sort(rows), np.arange(n_rows)):
        raise ValueError(
            f"folds must have each of the {n_rows} rows in one test part, got {len(np.unique(rows))} rows"
            f" in {len(rows)} places. Hint: folds are row numbers, of all the rows of y."
        )
    fold_of_rows: IntArray = np.empty(n_rows, dtype=np.intp)
    fold_of_rows[rows] = np.repeat(np.arange(len(tests)), [test.size for test in tests])
    return fold_of_rows, len(tests)


def _held(spread: NDArray[np.int64], strata: CSR) -> NDArray[np.int64]:
    """Return how many rows of each stratum each fold has (n_folds, n_strata)."""
    held: NDArray[np.int64] = (strata.T @ spread.T).T
    return held


def _possible_pairs(spread: NDArray[np.int64], labels: CSR, possible: CSR) -> NDArray[np.int64]:
    """Return how many rows of each fold may have each pair of labels that occurs (n_folds, n_pairs).

    All pairs that are possible would be too many for `label_pairs`.
    """
    occurring = sparse.csr_array(sparse.triu(labels.T @ labels, k=1)).sorted_indices()
    together = (possible.T @ sparse.csr_array(possible * of_fold[:, np.newaxis]) for of_fold in spread)
    return np.stack([cells_of(of_fold, *occurring.nonzero()) for of_fold in together])


def _distance(held: NDArray[np.int64], may_hold: NDArray[np.int64], sizes: NDArray[np.int64]) -> float:
    """Return the mean difference between the odds in a fold and in all rows, over strata that some rows lack."""
    lacking = sizes[:, np.newaxis] - may_hold
    some_lack = lacking.sum(axis=0) > 0
    held, lacking = held[:, some_lack], lacking[:, some_lack]
    known = (held + lacking > 0) | (sizes == 0)[:, np.newaxis]
    if not known.any():
        return float("nan")
    return float(np.abs(_odds(held, lacking) - _odds(held.sum(axis=0), lacking.sum(axis=0)))[known].mean())


def _odds(held: NDArray[np.int64], lacking: NDArray[np.int64]) -> FloatArray:
    odds = np.full(held.shape, np.inf)
    np.divide(held, lacking, out=odds, where=lacking > 0)
    return odds


# Pairs of labels as columns of an indicator matrix: a sample carries a pair if it carries both.


def label_pairs(labels: CSR) -> CSR:
    """Return an indicator matrix (n_samples, n_pairs) of the pairs that occur, ordered by first, then second label.

    `labels` (n_samples, n_labels) is a canonical CSR array of ones.
    """
    n_labels_of = np.diff(labels.indptr)
    rows = np.repeat(np.arange(labels.shape[0]), n_labels_of)
    n_behind = np.repeat(labels.indptr[1:], n_labels_of) - 1 - np.arange(labels.nnz)
    rows_of_pairs, pairs = [rows[:0]], [labels.indices[:0].astype(np.int64)]
    for offset in range(1, int(n_labels_of.max(initial=1))):
        first = np.flatnonzero(n_behind >= offset)
        rows_of_pairs.append(rows[first])
        pairs.append(labels.indices[first].astype(np.int64) * labels.shape[1] + labels.indices[first + offset])
    occurring, columns = np.unique(np.concatenate(pairs), return_inverse=True)
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(rows_of_pairs), columns)), shape=(labels.shape[0], len(occurring)))
