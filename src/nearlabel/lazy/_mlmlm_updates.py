"""Add and remove samples of ML-MLM: its sums follow the rows, and its equations are solved again.

Landmarks, scaling and ridge stay, as far as the rows of landmarks do. The sums over the rows follow the rows; the
equations are solved again with each batch. So rounding errors gather in the sums only, not in a factor: the sums are
computed again from all rows after 1,000 changed rows, or if the rows that went had most of them.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.labels import distinct_labelsets
from nearlabel.lazy._distance_regression import Equations
from nearlabel.lazy._updates import appended, labelled, numbers_of, take_target
from nearlabel.models.updates import Labelled, StaleThresholdsWarning, copy_to_update
from nearlabel.neighbors.exact.all_pairs import equal_rows, stored_alike
from nearlabel.utils.containers import check_row_names
from nearlabel.utils.estimators import refusing_others
from nearlabel.utils.one_step import all_or_nothing, take_over
from nearlabel.utils.targets import refusal_of_unknown
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_row_numbers, check_rows, row_names, stacked

_MOST_CHANGED = 1000  # rows that came or went, before the sums are computed again from all rows


@refusing_others
@all_or_nothing
def partial_fit(self: Any, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None = None) -> Any:
    """Add training samples.

    The scores equal those of a fit to all samples with the present landmarks, scaling and ridge, to about 1e-8. New
    samples do not become landmarks, even if all earlier ones are landmarks: fit again when many have come. Before the
    first `fit`, this is a fit to these samples.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_added, n_features)
        New training samples.
    y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
        Their label sets, in the form that `fit` got, without unknown cells. New label sets are candidates at once. They
        may have new labels; see `MLkNN.partial_fit`.
    classes : array-like, default=None
        Names of labels that may occur later; see `MLkNN.partial_fit`.

    Returns
    -------
    self
        The classifier with these samples.

    Raises
    ------
    ValueError
        If X or y is malformed, does not match the earlier samples and labels, or has unknown cells; or if the new
        samples are so far away that the ridge is lost in rounding (fit again then). The classifier is then unchanged.

    Notes
    -----
    The power and the threshold, and so leave-one-out label sets, are those of the earlier samples until `retune`
    selects them again. Variances that a metric learns from the samples of `fit` stay, too.

    Examples
    --------
    >>> from nearlabel.lazy import MLMLM
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], [["calm"], ["calm"], ["sad"], ["sad"]]
    >>> model = MLMLM().fit(X, y).partial_fit([[8.0], [8.5]], [["sad", "loud"], ["loud"]])
    >>> model.changes_
    {'added': 2, 'forgotten': 0, 'new_labels': ['loud']}
    >>> model.retune().power_stale_
    False
    """
    if not hasattr(self, "changes_"):
        self.fit(X, y)
        return self if classes is None else _with_classes(self, classes)
    check_is_fitted(self)
    self._check_parameters()
    check_row_names(X=X, y=y)
    rows = check_rows(self, X, reset=False)
    known = labelled(self)
    new = known.arriving(self, y)
    if new.unknown is not None:
        raise refusal_of_unknown(self, int(new.unknown.sum()))
    check_consistent_length(rows, new.labels)
    n_old, n_added = self._rows.shape[0], rows.shape[0]
    joined, updated = known.joined(new, classes), copy_to_update(self)
    updated._row_names = appended(self._row_names, row_names(X), n_old, n_added, "")
    take_target(updated, joined, added=n_added)
    return _finish(self, updated, np.arange(n_old), self._scaling(rows), joined.labels)


def forget(self: Any, rows: ArrayLike) -> Any:
    """Remove training samples.

    The scores equal those of a fit to the other samples with the present landmarks, scaling and ridge, to about 1e-8.
    If a removed sample is a landmark, a sample with equal features takes its place, else the next one in the order in
    which landmarks were drawn; if all distinct samples are landmarks, there is one landmark fewer.

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
        If a row is unknown or given twice, or no sample would remain. The classifier is then unchanged.

    Notes
    -----
    Labels stay, even if no sample has them any more; a label set that no sample has is no candidate. The ranges by
    which features are divided stay, and so do power and threshold until `retune`. A pickle or a file of the classifier
    contains nothing else of the removed samples.

    Examples
    --------
    >>> from nearlabel.lazy import MLMLM
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> MLMLM().fit(X, y).forget([0, 1]).retune().predict([[0.0]])
    array([[0, 1]])
    """
    check_is_fitted(self)
    self._check_parameters()
    n_samples = self._rows.shape[0]
    gone = check_row_numbers("rows", numbers_of(self, rows), n_samples)
    if not len(gone):
        return self
    if len(gone) == n_samples:
        raise ValueError(f"rows must leave at least 1 training sample, got {len(gone)} of {n_samples}.")
    left = np.delete(np.arange(n_samples), gone)
    known, updated = labelled(self), copy_to_update(self)
    updated._row_names = None if self._row_names is None else self._row_names[left]
    take_target(updated, known._replace(labels=known.labels[left]), forgotten=len(gone))
    return _finish(self, updated, left, self._rows[:0], known.labels[left])


def retune(self: Any) -> Any:
    """Select the power and the threshold again.

    Use it after `partial_fit` or `forget`. They are those of a fit to the present samples with the present landmarks,
    scaling and ridge. It computes leave-one-out scores.

    Returns
    -------
    self
        The classifier with this power and threshold, `power_` and `threshold_`.
    """
    check_is_fitted(self)
    if self.power_stale_:
        updated = copy_to_update(self)
        without = self._regression.left_out(self._equations())
        updated._choose_power(self._labels, check_random_state(self.random_state), without)
        take_over(self, updated)
    return self


def warn_if_stale(classifier: Any) -> None:
    """Warn, once, that samples were added or removed since power and threshold were selected."""
    if classifier.power_stale_ and not classifier._told:
        classifier._told = True
        warnings.warn(
            "power_ and threshold_ were selected before samples were added or removed. Hint: retune() selects them on"
            " the present samples; for a model in a file, nearlabel update MODEL --retune.",
            StaleThresholdsWarning,
            stacklevel=5,  # where predict was called
        )


def _with_classes(classifier: Any, classes: ArrayLike) -> Any:
    """Return a classifier that was just fitted, with labels that no row has yet."""
    updated, known = copy_to_update(classifier), labelled(classifier)
    joined = known.joined(Labelled(known.labels[:0], known.container, known.names), classes)
    take_target(updated, joined)
    updated.changes_ = classifier.changes_
    _finish(classifier, updated, np.arange(known.labels.shape[0]), classifier._rows[:0], joined.labels)
    classifier.power_stale_ = False
    return classifier


def _finish(classifier: Any, updated: Any, kept: IntArray, added: Matrix, labels: Matrix) -> Any:
    """Learn from the rows that stay and those that come, and make the copy's state that of the classifier."""
    own = stored_alike(added, as_sparse=not isinstance(classifier._rows, np.ndarray))
    updated._rows = stacked([classifier._rows[kept], own]) if own.shape[0] else classifier._rows[kept]
    updated.labelsets_, updated._labelset_of, updated._frequency = distinct_labelsets(labels)
    frequencies = np.asarray(labels.sum(axis=0)).reshape(-1)
    updated._varying = np.arange(labels.shape[1])
    updated._carried_by_all = (frequencies == labels.shape[0]).astype(np.int64)
    updated._distances = classifier._distances.refitted(updated._rows)
    landmarks = _Landmarks.after(classifier, updated._rows, kept)
    updated.landmarks_, updated._landmark_of, updated._turn = landmarks[:3]
    if not np.array_equal(landmarks.former, np.arange(len(classifier.landmarks_))):
        updated._usual = nearest_other(updated._to_landmarks(updated._rows[updated.landmarks_]))
    equations = _equations_after(classifier, updated, kept, landmarks.former)
    updated._regress(updated._summed() if equations is None else equations)
    updated.power_stale_, updated._told = True, False
    return take_over(classifier, updated)


def nearest_other(among: FloatArray) -> FloatArray:
    """Return the distance of each landmark to the nearest other one, from those of all pairs, which it overwrites."""
    np.fill_diagonal(among, np.inf)
    return np.asarray(among.min(axis=1))


class _Landmarks(NamedTuple):
    """The landmarks after an update.

    Parameters
    ----------
    rows : ndarray of shape (n_landmarks,)
        Their row numbers, ascending.
    landmark_of, turn : ndarray of shape (n_samples,)
        For each row the number of the landmark that it equals, or -1, and its place in the order of the selection.
    former : ndarray of shape (n_landmarks,)
        Their former numbers, -1 for a row that became a landmark.
    """

    rows: IntArray
    landmark_of: IntArray
    turn: IntArray
    former: IntArray

    @classmethod
    def after(cls, before: Any, rows: Matrix, kept: IntArray) -> _Landmarks:
        """Return the landmarks among present rows, the first of which are those that stayed."""
        equal, n_added = equal_rows(rows), rows.shape[0] - len(kept)
        turn = before._turn[kept]
        turn = np.append(turn, turn.max() + 1 + np.arange(n_added))
        number, stay = before._landmark_of[kept], np.flatnonzero(before._landmark_of[kept] >= 0)
        former = np.full(len(equal.first), -1)  # of each group of equal rows
        former[equal.group_of[stay]] = number[stay]
        chosen, free = former >= 0, np.flatnonzero(former < 0)
        n_gone = max(0, len(before.landmarks_) - int(chosen.sum()))
        chosen[free[np.argsort(turn[equal.first[free]], kind="stable")[:n_gone]]] = True
        groups = np.flatnonzero(chosen)
        place = np.full(len(equal.first), -1)
        place[groups] = np.arange(len(groups))
        return cls(equal.first[groups], place[equal.group_of], turn, former[groups])


def _equations_after(before: Any, updated: Any, kept: IntArray, former: IntArray) -> Equations | None:
    """Return the sums over the present rows, from those before; None if these must be computed again from all rows."""
    known: Equations | None = before._regression.equations
    n_rows = updated._rows.shape[0]
    gone = np.delete(np.arange(before._rows.shape[0]), kept)
    added, n_changed = np.arange(len(kept), n_rows), len(gone) + n_rows - len(kept)
    if known is None or known.n_changed + n_changed > _MOST_CHANGED or 2 * n_changed > n_rows:
        return None
    now = np.full(len(before._frequency), -1)  # the present number of each former label set
    now[before._labelset_of[kept]] = updated._labelset_of[: len(kept)]
    former_sets = np.full(len(updated._frequency), -1)
    former_sets[now[now >= 0]] = np.flatnonzero(now >= 0)
    equations = known.moved(former, former_sets)
    if len(gone):
        distances = updated._to_landmarks(before._rows[gone])
        equations = equations.add(distances, now[before._labelset_of[gone]], -1)
    if len(added):
        distances = updated._to_landmarks(updated._rows[added])
        equations = equations.add(distances, updated._labelset_of[added], 1)
    entered = np.flatnonzero(former < 0)
    if len(entered):
        equations.set_new(entered, updated._blocks(), updated.ridge_)
    return equations if equations.are_precise else None
