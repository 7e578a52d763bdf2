"""Label sets that arrive after others: their columns, which may be new, beside those that are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from nearlabel.utils.containers import is_frame
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import LabelContainer, Target, tags_of


class Labelled(NamedTuple):
    """Label sets of rows (n_rows, n_labels), dense or CSR, the form of y, and the names of the labels."""

    labels: Matrix
    container: LabelContainer
    names: NDArray[Any]

    def joined(self, y: MatrixLike, new: Target, classes: ArrayLike | None) -> Labelled:
        """Return these label sets with new ones below, in columns of the same names; new names come last.

        Parameters
        ----------
        y : indicator matrix, tags or one-dimensional array
            What the new label sets were given as.
        new : Target
            These label sets, checked.
        classes : array-like or None
            Further names, or classes of a one-dimensional y.

        Returns
        -------
        Labelled
            Stored as the known ones.

        Raises
        ------
        ValueError
            If the new label sets are of another form, or lack labels.
        """
        if (self.container.classes is None) != (new.container.classes is None):
            raise ValueError("y must be one-dimensional if that of fit was, and only then.")
        if self.container.classes is not None:
            return self._joined_classes(new, classes)
        names, places = self._columns(new, is_tags=tags_of(y) is not None, is_frame=is_frame(y))
        if classes is not None:
            names = _union(names, np.asarray(classes))
        n_labels = len(names)
        known = in_columns(self.labels, np.arange(len(self.names)), n_labels)
        return Labelled(_below(known, in_columns(_alike(new.labels, known), places, n_labels)), self.container, names)

    def _columns(self, new: Target, *, is_tags: bool, is_frame: bool) -> tuple[NDArray[Any], IntArray]:
        """Return the names of all labels, and the column of each new one."""
        known, n_new = self.names, len(new.names)
        if not is_tags and not is_frame:
            numbered = _are_numbers(known)
            if n_new < len(known) or (n_new > len(known) and not numbered):
                least = "at least " * numbered
                hint = "" if numbered else " Hint: a data frame, or tags, name the labels."
                raise ValueError(f"y must have {least}{len(known)} columns, as in fit, got {n_new}.{hint}")
            return (np.arange(n_new) if n_new > len(known) else known), np.arange(n_new)
        if _are_numbers(known) and not _are_numbers(new.names):
            raise ValueError("y must be an array without names of labels, as in fit, got names.")
        missing = [name for name in known.tolist() if is_frame and name not in new.names.tolist()]
        if missing:
            raise ValueError(f"y must have a column for each label of fit, got none for {missing[0]!r}.")
        names = _union(known, new.names)
        place = {name: number for number, name in enumerate(names.tolist())}
        return names, np.array([place[name] for name in new.names.tolist()], dtype=np.intp)

    def _joined_classes(self, new: Target, classes: ArrayLike | None) -> Labelled:
        """Join one label of two classes, of which one may be new."""
        mine: Any = self.container.classes
        its: Any = new.container.classes
        every = np.unique(np.concatenate([mine, its, mine[:0] if classes is None else np.asarray(classes)]))
        if len(every) > 2:
            raise ValueError(f"y must hold two classes if it is one-dimensional, got {len(every)}: {every.tolist()}.")

        def column(labels: Matrix, own: Any) -> Matrix:
            of_row = own.take(labels[:, 0], mode="clip")
            return ((of_row == every[-1]) & (len(every) == 2)).astype(labels.dtype)[:, np.newaxis]

        labels = np.vstack([column(self.labels, mine), column(new.labels, its)])
        return Labelled(labels, replace(self.container, classes=every), self.names)


def in_columns(labels: Matrix, places: IntArray, n_labels: int) -> Matrix:
    """Return label sets with each label in another column of n_labels; all others are 0."""
    if len(places) == n_labels and (places == np.arange(n_labels)).all():
        return labels
    if sparse.issparse(labels):
        moved = sparse.csr_array(
            (labels.data, places[labels.indices], labels.indptr), shape=(labels.shape[0], n_labels)
        )
        moved.sort_indices()
        return moved
    wide = np.zeros((labels.shape[0], n_labels), dtype=labels.dtype)
    wide[:, places] = labels
    return wide


def _alike(labels: Matrix, known: Matrix) -> Matrix:
    """Return label sets stored as those that are known."""
    if sparse.issparse(labels) == sparse.issparse(known):
        return labels
    return sparse.csr_array(labels) if sparse.issparse(known) else labels.toarray()


def _below(known: Matrix, new: Matrix) -> Matrix:
    if sparse.issparse(known):
        return sparse.vstack([known, new], format="csr", dtype=known.dtype)
    return np.vstack([known, new.astype(known.dtype, copy=False)])


def _are_numbers(names: NDArray[Any]) -> bool:
    """Return whether labels have no names but their columns."""
    return names.dtype.kind in "iu" and bool((names == np.arange(len(names))).all())


def _union(known: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Return names with those that are new after those that are known."""
    seen = set(known.tolist())
    more = [name for name in dict.fromkeys(new.tolist()) if name not in seen]
    if not more:
        return known
    return np.array([*known.tolist(), *more], dtype=None if known.dtype.kind in "iu" else object)
