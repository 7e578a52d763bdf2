"""Add and remove samples: `partial_fit` and `forget` of the lazy classifiers.

An update brings the search, the lists of neighbours and the counts to the state that a fit to the present samples
gives: changed rows are subtracted from the counts in their old state, and added in their new state. All counts are
integers, and the last step, from counts to probabilities, is that of `fit`. So the results are equal bit for bit.

An update is made on a copy, whose state replaces the classifier's at the end: after an error nothing has changed.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length, check_is_fitted, has_fit_parameter

from nearlabel.lazy._counts import count_few, count_rows
from nearlabel.lazy._unknown import KnownCells
from nearlabel.models.updates import Labelled, copy_to_update
from nearlabel.neighbors import TrainingLists, usual
from nearlabel.utils.containers import check_row_names, require_dense
from nearlabel.utils.estimators import refusal_of_weights, without_zero_weights
from nearlabel.utils.one_step import all_or_nothing, take_over
from nearlabel.utils.targets import Target, refusal_of_unknown, remember_target
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_row_numbers, check_rows, row_names

_OF_COUNTS = ("_lists", "_counts", "_training_distances")
_COUNTED_ANEW = 4  # if the lists of one row in this many changed, all rows are counted again


@all_or_nothing
def partial_fit(
    self: Any,
    X: MatrixLike,
    y: MatrixLike,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Add training samples, at about the cost of searching for their neighbours.

    The result is identical to refitting with the new samples last: scores, leave-one-out predictions and label sets are
    equal bit for bit. Before the first `fit`, this is a fit to these samples.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_added, n_features)
        New training samples.
    y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
        Their label sets, in the form that `fit` got. They may have new labels: additional last columns of an array,
        data frame columns with other names, or new tags. New labels come after the known labels, and no earlier sample
        has them (if all labels of a sample are unknown, so are the new ones). A data frame needs a column for each
        known label.
    classes : array-like, default=None
        Names of labels, or classes of a one-dimensional y, that may occur later. Those that are not known yet are added
        as labels that no sample has.
    sample_weight : array-like of shape (n_added,), default=None
        Weights, for a method whose `fit` takes them. None: all weights are 1.

    Returns
    -------
    self
        The classifier with these samples.

    Raises
    ------
    ValueError
        If X or y is malformed or does not match the earlier samples and labels. The classifier is then unchanged.
    TypeError
        If the search cannot be updated: it must have `add` and `remove`, as `ExactNeighbors` has. Or if weights are
        passed to a method that takes none.

    Notes
    -----
    With ``n_neighbors="auto"``, or a function, the number of neighbours stays the same until `retune` selects it again.
    Attributes that depend on all samples are computed again from the lists of neighbours: similarities of `CMLkNN`,
    vectors of votes of `DMLkNN`, label sets of `LPkNN`. If cells are unknown, an update of `MLkNN` takes as long as a
    fit.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], [["calm"], ["calm"], ["sad"], ["sad"]]
    >>> brknn = BRkNN(n_neighbors=1).fit(X, y)
    >>> brknn.partial_fit([[8.0], [8.5]], [["sad", "loud"], ["loud"]]).predict_labels([[8.4]])
    [('loud',)]
    >>> brknn.changes_
    {'added': 2, 'forgotten': 0, 'new_labels': ['loud']}
    """
    if sample_weight is not None and not has_fit_parameter(self, "sample_weight"):
        raise refusal_of_weights(self, "partial_fit")
    if not hasattr(self, "changes_"):
        self.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        return self if classes is None else _with_classes(self, classes)
    _check_updatable(self)
    check_row_names(X=X, y=y, sample_weight=sample_weight)
    rows = check_rows(self, X, reset=False, takes_dask=self._takes_dask)
    known = labelled(self)
    new = known.arriving(self, y)
    if new.unknown is not None and not self._takes_unknown:
        raise refusal_of_unknown(self, int(new.unknown.sum()))
    check_consistent_length(rows, new.labels)
    params = {"sample_weight": sample_weight, "names": row_names(X), "unknown": new.unknown}
    rows, labels, params = without_zero_weights(rows, new.labels, params)
    n_old, n_added = self._n_samples, rows.shape[0]
    joined = known.joined(new._replace(labels=labels, unknown=params["unknown"]), classes)
    updated = _copied(self)
    updated.search_.add(rows)
    usual.follow(self.search_, updated.search_)
    updated._sample_weight = appended(self._sample_weight, params.get("sample_weight"), n_old, n_added, 1.0)
    _take_labels(updated, joined, added=n_added)
    updated._row_names = appended(self._row_names, params["names"], n_old, n_added, "")

    def follow() -> None:
        lists, changed = self._lists.with_added(updated.search_)
        _follow(updated, self, lists, changed, np.arange(n_old), changed[changed < n_old])

    return _finish(self, updated, joined.unknown, follow)


def forget(self: Any, rows: ArrayLike) -> Any:
    """Remove training samples, at almost no cost.

    The result is identical, bit for bit, to refitting with the other samples in their order.

    Parameters
    ----------
    rows : array-like of shape (n_removed,)
        Row numbers of training samples, each once; or names, if `fit` got a pandas data frame X whose index contains
        strings: all samples with these names are removed. The other samples are renumbered from 0.

    Returns
    -------
    self
        The classifier without these samples.

    Raises
    ------
    ValueError
        If a row is unknown or given twice, or too few samples would remain for `n_neighbors`. The classifier is then
        unchanged.
    TypeError
        If the search cannot be updated: it must have `add` and `remove`, as `ExactNeighbors` has.

    Notes
    -----
    Labels stay, even if no sample has them any more. A pickle or a file of the classifier contains nothing of the
    removed samples. In memory, the search may store them, unused, until there are many.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> BRkNN(n_neighbors=1).fit(X, y).forget([0, 1]).predict([[0.0]])
    array([[0, 1]])
    """
    _check_updatable(self)
    gone = check_row_numbers("rows", numbers_of(self, rows), self._n_samples)
    if not len(gone):
        return self
    left = np.delete(np.arange(self._n_samples), gone)
    least = self.n_neighbors_ + int(self._asks_for_training_rows)
    if len(left) < least:
        raise ValueError(
            f"rows must leave at least {least} training samples for n_neighbors={self.n_neighbors_}, got {len(gone)} of"
            f" {self._n_samples}."
        )
    updated = _copied(self)
    updated.search_.remove(gone)
    usual.follow(self.search_, updated.search_, gone)
    known = labelled(self)
    updated._sample_weight = None if self._sample_weight is None else self._sample_weight[left]
    _take_labels(updated, known._replace(labels=known.labels[left]), forgotten=len(gone))
    updated._row_names = None if self._row_names is None else self._row_names[left]

    def follow() -> None:
        lists, changed = self._lists.without(updated.search_, gone)
        _follow(updated, self, lists, changed, left, np.append(left[changed], gone))

    return _finish(self, updated, None if known.unknown is None else known.unknown[left], follow)


def retune(self: Any) -> Any:
    """Select the number of neighbours again, if `n_neighbors` is "auto" or a function.

    Use it after `partial_fit` or `forget`. The result is identical to refitting with the present samples. It searches
    for the neighbours of all training samples, which is most of the time of a fit.

    Returns
    -------
    self
        The classifier with that number of neighbours, `n_neighbors_`.
    """
    check_is_fitted(self)
    if self.n_neighbors_stale_:
        updated = _copied(self)
        updated._choose_n_neighbors(None, updated._labels)
        updated.n_neighbors_stale_ = False
        take_over(self, updated)
    return self


def _check_updatable(classifier: Any) -> None:
    check_is_fitted(classifier)
    classifier._check_parameters()
    if not hasattr(classifier.search_, "add") or not hasattr(classifier.search_, "remove"):
        raise TypeError(
            "search must have the methods add and remove to update the classifier, as ExactNeighbors has, got"
            f" {type(classifier.search_).__name__}."
        )
    lists, weights = getattr(classifier, "_lists", None), classifier.weights
    weighs = callable(weights) or weights != "uniform"
    if lists is not None and weighs != (lists.distances is not None):
        raise ValueError(f"weights must be those of fit, got {weights!r}. Hint: fit again.")


def numbers_of(classifier: Any, rows: ArrayLike) -> Any:
    """Return the numbers of rows that may be given by their names."""
    require_dense("rows", rows)
    asked = np.asarray(rows)
    if asked.dtype.kind not in "UO" or not all(isinstance(name, str) for name in asked.tolist()):
        return asked
    known = classifier._row_names
    if known is None:
        raise ValueError("rows must be numbers; names need a pandas data frame X with an index of strings in fit.")
    unknown = sorted({name for name in asked.tolist() if name not in known or name == ""})
    if unknown:
        raise ValueError(f"rows must be names in the index of X, got {unknown[0]!r}, which is not in it.")
    return np.flatnonzero(np.isin(known, asked.astype(str)))


def _copied(classifier: Any) -> Any:
    """Return a copy whose state, and whose search's, can be replaced without touching the classifier's."""
    updated = copy_to_update(classifier)
    updated.search_, updated._cells = copy_to_update(classifier.search_), copy(classifier._cells)
    return updated


def _finish(classifier: Any, updated: Any, unknown: Matrix | None, follow: Callable[[], None]) -> Any:
    """Learn from the present rows and labels, and make the copy's state that of the classifier.

    With unknown cells everything is learnt again; otherwise `follow` learns from the lists of a rule that counts rows.
    """
    if unknown is not None:
        _learn_known_cells(updated, unknown)
    else:
        X = updated.search_.take(np.arange(updated._n_samples)) if updated._learns_from_rows else None
        updated._learn_rows(X, updated._labels)
        if updated._asks_for_training_rows:
            follow()
    return take_over(classifier, updated)


def _with_classes(classifier: Any, classes: ArrayLike) -> Any:
    """Return a classifier that was just fitted, with labels that no row has yet."""
    updated, known = _copied(classifier), labelled(classifier)
    joined = known.joined(Labelled(known.labels[:0], known.container, known.names), classes)
    _take_labels(updated, joined)
    updated.changes_, updated.n_neighbors_stale_ = classifier.changes_, False
    return _finish(classifier, updated, joined.unknown, lambda: _count_all(updated))


def labelled(classifier: Any) -> Labelled:
    """Return the label sets of the training samples with everything that belongs to them."""
    unknown = None if classifier._cells is None else classifier._cells.unknown(classifier._labels)
    return Labelled(classifier._labels, classifier._container, classifier.label_names_, unknown)


def _take_labels(updated: Any, joined: Labelled, added: int = 0, forgotten: int = 0) -> None:
    """Set label sets, the form of y and the names of the labels; record how many rows were added or removed."""
    take_target(updated, joined, added, forgotten)
    updated._remember_labels(joined.labels)
    updated.n_neighbors_stale_ = not isinstance(updated.n_neighbors, numbers.Integral)


def take_target(updated: Any, joined: Labelled, added: int = 0, forgotten: int = 0) -> None:
    """Set the form of y and the names of the labels; record how many rows were added or removed."""
    known, new = updated.changes_, joined.names[len(updated.label_names_) :].tolist()
    remember_target(updated, Target(joined.labels, joined.container, joined.names))
    updated.changes_ = {
        "added": known["added"] + added,
        "forgotten": known["forgotten"] + forgotten,
        "new_labels": [*known["new_labels"], *new],
    }


def appended(known: Any, new: Any, n_old: int, n_added: int, usual: Any) -> Any:
    """Return values of the earlier and of the added rows; None if neither has any."""
    if known is None and new is None:
        return None
    parts = [np.full(n_rows, usual) if some is None else some for some, n_rows in ((known, n_old), (new, n_added))]
    return np.concatenate(parts)


def _learn_known_cells(updated: Any, unknown: Matrix) -> None:
    """Learn again, with a search for the training samples: lists of neighbours that know a label are not stored."""
    for name in _OF_COUNTS:
        vars(updated).pop(name, None)
    X = updated.search_.take(np.arange(updated._n_samples))
    updated._learn_rows(X, updated._labels)
    if unknown.sum():
        updated._cells = KnownCells(X, unknown)
        updated._cells.use(updated, updated.n_neighbors_)
    else:
        updated._cells = None
        updated._use_neighbors(updated.n_neighbors_, X)


def _follow(
    updated: Any, before: Any, lists: TrainingLists, changed: IntArray, kept: IntArray, former: IntArray
) -> None:
    """Learn from updated lists of neighbours.

    The lists of the rows `changed` are new; `kept` are the former numbers of the rows that existed before, which are
    the first ones now, and `former` the former numbers of rows that changed their lists or were removed.
    """
    k = updated.n_neighbors_
    updated._lists = lists
    known = before._training_distances[kept]
    updated._training_distances = usual.means_after(updated.search_, k, lists, known, changed)
    first_weights = before._sample_weight is None and updated._sample_weight is not None  # other units
    if not updated.counts_follow_rows or first_weights or len(changed) * _COUNTED_ANEW > len(lists):
        _count_all(updated)
        return
    n_labels = updated._labels.shape[1]
    gone = _with_new_labels(_count(before, former), n_labels)
    updated._take_counts(_with_new_labels(before._counts, n_labels) - gone + _count(updated, changed))


def _count_all(updated: Any) -> None:
    k = updated.n_neighbors_
    updated._take_counts(count_rows(updated._units(), updated._training_lists().nearest(k)))


def _count(classifier: Any, rows: IntArray) -> IntArray:
    """Count some training samples as `count_rows` does all."""
    lists = classifier._training_lists().nearest(classifier.n_neighbors_)
    return count_few(classifier._units_of, classifier._labels, classifier._sample_weight, lists[rows], rows)


def _with_new_labels(counts: IntArray, n_labels: int) -> IntArray:
    """Return counts (2, n_known, n_counts) with those of labels that none of the rows has, and so no neighbour."""
    wide = np.zeros((2, n_labels, counts.shape[2]), dtype=np.int64)
    wide[0, :, 0] = counts[:, 0].sum()  # of all rows
    wide[:, : counts.shape[1]] = counts
    return wide
