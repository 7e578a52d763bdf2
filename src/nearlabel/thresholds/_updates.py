"""Add and remove samples of a classifier with tuned thresholds, which are stale until they are tuned again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.models import updates
from nearlabel.models.out_of_sample import Needs, left_out_answer
from nearlabel.models.updates import Labelled, StaleThresholdsWarning
from nearlabel.thresholds._cross_val import OneClass
from nearlabel.thresholds._strategy import ThresholdStrategy
from nearlabel.utils.estimators import refusing_others
from nearlabel.utils.one_step import all_or_nothing, take_over
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_score_matrix


def can_be_updated(classifier: Any) -> bool:
    """Return whether samples can be added and removed: if the inner classifier supports it and cv is "loo"."""
    inner = getattr(classifier, "estimator_", classifier.estimator)
    by_votes = updates.can_be_updated(inner) and not hasattr(inner, "thresholds_stale_")
    if by_votes and isinstance(classifier.cv, str) and classifier.cv == "loo":
        return True
    raise AttributeError(
        f"estimator must be a method by votes of neighbours or MLMLM, and cv 'loo', got {type(inner).__name__} and"
        f" cv={classifier.cv!r}. Hint: fit the classifier again to all samples."
    )


@refusing_others
@all_or_nothing
def partial_fit(self: Any, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None = None) -> Any:
    """Add training samples to the inner classifier; the thresholds are stale until `retune`.

    If there are new labels, which have no thresholds yet, the thresholds of all labels are tuned immediately.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_added, n_features)
        New training samples, as `predict` takes them. The steps of an inner pipeline are not refitted.
    y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
        Their label sets; see `nearlabel.lazy.MLkNN.partial_fit`.
    classes : array-like, default=None
        Names of labels that may occur later; see there.

    Returns
    -------
    self
        The classifier with these samples.

    Raises
    ------
    ValueError
        If X or y is malformed or does not match the earlier samples and labels, or there are new labels and the
        thresholds cannot be tuned again (`retune`). The classifier is then unchanged.
    """
    if not hasattr(self, "estimator_"):
        self.fit(X, y)
        return self if classes is None else _check_known(self, classes)
    updated, n_new = updates.with_added(self, "estimator_", X, y, classes)
    if updated._ranks is not None:  # the added samples come after all others
        n_added = updates.lazy_part(updated.estimator_)._labels.shape[0] - len(updated._ranks)
        updated._ranks = np.append(updated._ranks, np.repeat(updated._ranks.max() + 1, n_added))
    _grow_stale(updated)
    if n_new:
        retune(updated)
    return take_over(self, updated)


def forget(self: Any, rows: ArrayLike) -> Any:
    """Remove training samples from the inner classifier; the thresholds are stale until `retune`.

    Parameters
    ----------
    rows : array-like of shape (n_removed,)
        Row numbers of training samples, each once.

    Returns
    -------
    self
        The classifier without these samples.

    Raises
    ------
    ValueError
        If a row is unknown or given twice, or too few samples would remain. The classifier is then unchanged.
    """
    updated = updates.copy_to_update(self)
    updates.forget(updated.estimator_, rows)
    if updated._ranks is not None:
        updated._ranks = np.delete(updated._ranks, np.asarray(rows, dtype=np.intp))
    if updated.changes_ != self.changes_:
        _grow_stale(updated)
    return take_over(self, updated)


def retune(self: Any) -> Any:
    """Tune the thresholds again, and the number of neighbours if it is selected with them; learn the map again.

    The result is identical to refitting with the present samples. Tuning uses leave-one-out scores. If
    `NeighborsClassifierCV` fitted the classifier with an order, added samples come after all others.

    Returns
    -------
    self
        The classifier with these thresholds; `cv_results_` is empty, as with ``cv="loo"``.

    Raises
    ------
    ValueError
        If the thresholds were tuned with groups or weights.
    """
    _check_can_be_tuned(self)
    updated = updates.copy_to_update(self)
    part = updates.updated_part(updated.estimator_)
    strategy = self._new_strategy()
    chooses_again = getattr(part, "n_neighbors_stale_", False)
    if chooses_again and part.n_neighbors == AUTO and strategy._objective() is not None:
        part.set_params(n_neighbors=ReachedWith(strategy))
    part.retune()
    as_given(updated.estimator_)
    needs = Needs(labels=False, sparse=strategy._takes_stored)
    scores = left_out_answer(updated.estimator_, len(self.label_names_), needs).scores
    y = part.training_labels()
    updated._tune_again(scores, y)
    updated._one_class, updated.cv_results_ = OneClass.of(y), {}
    if self.map_scores:
        updated._learn_map(scores, PartialLabels.of(y))
    updated._told = False
    return take_over(self, updated)


def warn_if_stale(classifier: Any) -> None:
    """Warn, once, that samples were added or removed since the thresholds were tuned."""
    if classifier.thresholds_stale_ and not classifier._told:
        classifier._told = True
        way = (
            "retune() tunes them on the present samples; for a model in a file, nearlabel update MODEL --retune."
            if classifier._tuned_on_rows_alone
            else "fit the classifier again to all samples."
        )
        warnings.warn(
            f"thresholds_ were tuned before samples were added or removed. Hint: {way}",
            StaleThresholdsWarning,
            stacklevel=6,  # where predict was called
        )


def _check_known(classifier: Any, classes: ArrayLike) -> Any:
    """Return a classifier that was just fitted; raise if a later label would have no threshold."""
    labels = updates.lazy_part(classifier.estimator_)._labels[:0]
    known = Labelled(labels, classifier._container, classifier.label_names_)
    names = known.joined(known, classes).names
    if len(names) > len(known.names):
        raise ValueError(f"classes must be labels of y in the first call, got {names[len(known.names)]!r}.")
    return classifier


def _grow_stale(classifier: Any) -> None:
    classifier.thresholds_stale_, classifier._told = True, False


def _check_can_be_tuned(classifier: Any) -> None:
    if not classifier._tuned_on_rows_alone:
        raise ValueError(
            "thresholds must be tuned without groups and weights to be tuned again, got some in fit."
            " Hint: fit the classifier again to all samples."
        )


# A number of neighbours that is chosen together with the thresholds.

AUTO = "auto"


class ReachedWith:
    """The quality of scores: the metric that the best thresholds reach with them; larger is better."""

    def __init__(self, strategy: ThresholdStrategy) -> None:
        self.strategy = strategy

    def __call__(self, labels: Matrix, scores: FloatArray) -> float:
        """Return the value for true label sets and scores (n_samples, n_labels)."""
        strategy: Any = clone(self.strategy)
        if strategy._is_ours and labels.dtype.kind in "iu":  # no cell is unknown
            strategy._check_parameters()
            strategy._fit_checked(as_score_matrix(scores), PartialLabels(labels, None), None)
        else:
            strategy.fit(scores, labels)
        return float(strategy._objective().sign * strategy.objective_)


def choosing_together(estimator: Any, strategy: ThresholdStrategy) -> Any:
    """Return a clone; if its last step has ``n_neighbors="auto"``, it selects the number together with the thresholds.

    A strategy that optimises no metric leaves the choice to the step.
    """
    if strategy._objective() is None or not _is_auto(last_step(estimator)):
        return estimator
    together = clone(estimator)
    last_step(together).set_params(n_neighbors=ReachedWith(strategy))
    return together


def as_given(fitted: Any) -> None:
    """Give a fitted estimator back the parameter that the user gave it."""
    if isinstance(getattr(last_step(fitted), "n_neighbors", None), ReachedWith):
        last_step(fitted).set_params(n_neighbors=AUTO)


def last_step(estimator: Any) -> Any:
    """Return the classifier at the end of a pipeline, or the estimator itself."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _is_auto(estimator: Any) -> bool:
    return isinstance(getattr(estimator, "n_neighbors", None), str) and hasattr(estimator, "loo_predict_proba")
