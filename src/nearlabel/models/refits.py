"""How models can be updated, and the refit of those that contain their samples but cannot change with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.updates import Labelled, _last, lazy_part, updated_part
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.one_step import take_over
from nearlabel.utils.targets import PartialLabels, Target, remember_target
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_row_numbers, check_rows, stacked

__all__ = ["BY_REFIT", "NO", "WAYS", "YES", "parts_with_samples", "refit", "relabel", "way_to_update"]

WAYS = YES, BY_REFIT, NO = "yes", "by refit", "no"


def way_to_update(model: Any) -> str:
    """Return how training samples can be added to a model and removed from it.

    Parameters
    ----------
    model : estimator
        A model, fitted or not.

    Returns
    -------
    {"yes", "by refit", "no"}
        "yes": by `partial_fit` and `forget`. "by refit": it contains its training samples, so that `refit` can fit it
        to others. "no": it contains no samples, or not in the form in which it got them.

    Examples
    --------
    >>> from nearlabel.lazy import IBLR, MLkNN
    >>> from nearlabel.models import refits
    >>> from nearlabel.rivals import BinaryRelevance
    >>> [refits.way_to_update(model) for model in (MLkNN(), IBLR(), BinaryRelevance())]
    ['yes', 'by refit', 'no']
    """
    last, _ = _last(model)
    search = _search(_inside(last)[-1])
    if hasattr(last, "forget") and hasattr(search, "add") and hasattr(search, "remove"):
        return YES
    return NO if _holder(last) is None else BY_REFIT


def refit(model: Any, X: MatrixLike | None = None, y: MatrixLike | None = None, *, forgotten: ArrayLike = ()) -> Any:
    """Fit a model to the training samples that it contains, without some of them, and with further ones.

    Parameters
    ----------
    model : fitted estimator
        A model whose `way_to_update` is "by refit". It is changed; steps of a pipeline before the classifier are not.
    X, y
        Samples to add, and their label sets, as for `partial_fit`. None: none.
    forgotten : array-like of int, default=()
        Numbers of training samples to leave out, each once.

    Returns
    -------
    model
        The same object, as if its classifier had been fitted to these samples, the added ones last.

    Raises
    ------
    ValueError
        If X, y or a number is invalid, or the classifier cannot be fitted to these samples. Then nothing has changed.
    """
    last, holder = parts_with_samples(model)
    n_samples, truth = holder.search_.n_samples_fit_, PartialLabels.of(holder.training_labels())
    left = np.delete(np.arange(n_samples), check_row_numbers("forgotten", forgotten, n_samples))
    rows, unknown = holder.search_.take(left), None if truth.unknown is None else truth.unknown[left]
    sets = Labelled(truth.labels[left], last._container, last.label_names_, unknown)
    if X is not None:
        check_row_names(X=X, y=y)
        new = check_rows(holder, _last(model, checked_container("X", X))[1], reset=False)
        rows, sets = stacked([rows, new]), sets.joined(sets.arriving(last, y), None)
    fresh = clone(last).fit(rows, PartialLabels(sets.labels, sets.unknown).with_nan())
    remember_target(fresh, Target(sets.labels, sets.container, sets.names))
    for old, part in zip(_inside(last), _inside(fresh), strict=True):
        if hasattr(old, "feature_names_in_"):  # the samples are arrays now
            part.feature_names_in_ = old.feature_names_in_
    take_over(last, fresh)
    return model


def relabel(model: Any, row: int, cells: Mapping[int, bool]) -> Any:
    """Change labels of a training sample, which becomes the last one; its features stay as they were encoded.

    Parameters
    ----------
    model : fitted estimator
        A model whose `way_to_update` is "yes". It is changed.
    row : int
        Number of the training sample.
    cells : mapping of int to bool
        Whether labels apply, by their column numbers; the others stay.

    Returns
    -------
    model
        The same object, equal to one that forgot the sample and then got it again with these labels.

    Raises
    ------
    TypeError
        If the model does not have its samples in the form in which it gets them.
    """
    part, method = parts_with_samples(model)
    has_them = hasattr(part, "forget") and hasattr(getattr(method, "search_", None), "take")
    if not has_them or any(isinstance(one, Pipeline) for one in _inside(part)):
        raise TypeError(
            f"model must contain its samples as it gets them to change their labels, got {type(part).__name__}. Hint:"
            " correct the table, and fit the model again."
        )
    labels = method.training_labels()[[row]]
    labels = labels.toarray() if sparse.issparse(labels) else labels.copy()
    for label, applies in cells.items():
        labels[0, label] = applies
    part.partial_fit(method.search_.take([row]), labels)
    part.forget([row])
    return model


def parts_with_samples(model: Any) -> tuple[Any, Any]:
    """Return the part of a fitted model that changes with its samples, and the method by neighbours in it.

    Parameters
    ----------
    model : fitted estimator
        A model whose `way_to_update` is "yes" or "by refit".

    Returns
    -------
    part : classifier
        The model, or the last step of a pipeline or of the best model of a search.
    method : classifier
        The method by neighbours, which has the samples.

    Raises
    ------
    TypeError, sklearn.exceptions.NotFittedError
        As `updated_part`.
    """
    last, _ = _last(model)
    check_is_fitted(last)
    holder = None if hasattr(last, "forget") else _holder(last)
    return (updated_part(model), lazy_part(model)) if holder is None else (last, holder)


def _holder(part: Any) -> Any:
    """Return the method inside thresholds and calibrations that has their training samples as they got them, or None.

    None too if some were fitted with weights, groups or other metadata, which are not stored.
    """
    *around, method = parts = _inside(part)
    if any(isinstance(one, FrozenEstimator) for one in parts):  # fitted to other samples
        return None
    fits_all = all(getattr(one, "_keeps_rows_inside", False) for one in around)
    has_rows = hasattr(method, "training_labels") and hasattr(method, "search") and hasattr(_search(method), "take")
    return method if fits_all and has_rows and getattr(method, "_sample_weight", None) is None else None


def _inside(part: Any) -> list[Any]:
    """Return a classifier, and those inside it, from the outermost to the method."""
    parts = [part]
    while hasattr(parts[-1], "_is_around_another") or isinstance(parts[-1], Pipeline):
        inner = parts[-1]
        parts.append(inner[-1] if isinstance(inner, Pipeline) else getattr(inner, "estimator_", inner.estimator))
    return parts


def _search(method: Any) -> Any:
    """Return the search of a method, fitted or not; the default search for None."""
    return getattr(method, "search_", getattr(method, "search", None) or ExactNeighbors())
