"""Rows come and go in a classifier with tuned thresholds: these stay, and are stale, until they are tuned anew."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearlabel import updates
from nearlabel.out_of_sample import Needs, left_out_answer
from nearlabel.thresholds._cross_val import OneClass
from nearlabel.thresholds._together import AUTO, ReachedWith, as_given
from nearlabel.utils.arriving_labels import Labelled
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import Target, check_target, remember_target


class StaleThresholdsWarning(UserWarning):
    """Rows came or went since the thresholds were tuned."""


def can_be_updated(classifier: Any) -> bool:
    """Return whether rows can be added to the inner classifier, which is not the user's own."""
    inner = getattr(classifier, "estimator_", classifier.estimator)
    by_votes = updates.can_be_updated(inner) and not hasattr(inner, "thresholds_stale_")
    if by_votes and not (isinstance(classifier.cv, str) and classifier.cv == "prefit"):
        return True
    raise AttributeError(
        f"estimator must be a method by votes of neighbours, and cv not 'prefit', got {type(inner).__name__} and"
        f" cv={classifier.cv!r}."
    )


def partial_fit(self: Any, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None = None) -> Any:
    """Append training rows to the inner classifier; the thresholds stay until `retune`, and are stale.

    If new labels come, which have no thresholds yet, those of all labels are tuned at once.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_added, n_features)
        New training rows, as `predict` takes them. Steps of a pipeline inside stay as they were fitted.
    y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
        Their label sets; see `nearlabel.lazy.MLkNN.partial_fit`.
    classes : array-like, default=None
        Names of labels that may come; see there.

    Returns
    -------
    self
        The classifier with these rows.

    Raises
    ------
    ValueError
        If X or y is malformed or does not fit the rows and labels before, or new labels come and the thresholds cannot
        be tuned anew (`retune`). Then nothing has changed.
    """
    if not hasattr(self, "estimator_"):
        self.fit(X, y)
        return self
    target, part = check_target(self, y, dtype=np.int8), updates.updated_part(self.estimator_)
    known = Labelled(part._labels[:0], self._container, self.label_names_)
    joined = known.joined(y, target, classes)
    _check_same_meaning(self._container.classes, joined.container.classes)
    has_new = len(joined.names) > len(known.names)
    if has_new:
        _check_can_be_tuned(self)
    updates.partial_fit(self.estimator_, X, joined.labels)
    remember_target(self, Target(*joined))
    _grow_stale(self)
    return self.retune() if has_new else self


def forget(self: Any, rows: ArrayLike) -> Any:
    """Remove training rows from the inner classifier; the thresholds stay until `retune`, and are stale.

    Parameters
    ----------
    rows : array-like of shape (n_removed,)
        Numbers of training rows, each once.

    Returns
    -------
    self
        The classifier without these rows.

    Raises
    ------
    ValueError
        If a row is unknown or comes twice, or too few rows would be left. Then nothing has changed.
    """
    updates.forget(self.estimator_, rows)
    _grow_stale(self)
    return self


def retune(self: Any) -> Any:
    """Tune the thresholds, and a number of neighbours that is chosen with them, on the scores of the present rows.

    The classifier is then what a fit of the present rows makes it. Each row is left out of its own score.

    Returns
    -------
    self
        The classifier with these thresholds; `cv_results_` is empty, as with ``cv="loo"``.

    Raises
    ------
    ValueError
        If the thresholds were not tuned by leaving one out (``cv="loo"``), or with groups or weights.
    """
    _check_can_be_tuned(self)
    part = updates.updated_part(self.estimator_)
    strategy = self._new_strategy()
    if part.n_neighbors_stale_ and part.n_neighbors == AUTO and strategy._objective() is not None:
        part.set_params(n_neighbors=ReachedWith(strategy))
    part.retune()
    as_given(self.estimator_)
    scores = left_out_answer(self.estimator_, len(self.label_names_), Needs(labels=False)).scores
    self.strategy_ = strategy.fit(scores, part._labels)
    self._take_from(self.strategy_, "thresholds_", "objective_")
    self._one_class, self.cv_results_ = OneClass.of(part._labels), {}
    self.thresholds_stale_ = self._told = False
    return self


def warn_if_stale(classifier: Any) -> None:
    """Warn, once, that rows came or went since the thresholds were tuned."""
    if classifier.thresholds_stale_ and not classifier._told:
        classifier._told = True
        warnings.warn(
            "thresholds_ were tuned before rows came or went. Hint: retune() tunes them on the present rows; of a model"
            " in a file, nearlabel update MODEL --retune.",
            StaleThresholdsWarning,
            stacklevel=3,
        )


def _check_same_meaning(known: Any, joined: Any) -> None:
    """Raise ValueError if a class arrives that makes the only known one the label that all former rows have."""
    if known is not None and len(known) == 1 and known[0] != joined[0]:
        raise ValueError(
            f"y must not bring a class before the only one of fit, {known.tolist()[0]!r}, got"
            f" {joined.tolist()[0]!r}."
            " Hint: fit the classifier again to all rows."
        )


def _grow_stale(classifier: Any) -> None:
    classifier.thresholds_stale_, classifier._told = True, False


def _check_can_be_tuned(classifier: Any) -> None:
    if not (isinstance(classifier.cv, str) and classifier.cv == "loo" and classifier._tuned_on_rows_alone):
        raise ValueError(
            f"cv must be 'loo', without groups and weights, for thresholds to be tuned anew, got {classifier.cv!r}."
            " Hint: fit the classifier again to all rows."
        )
