"""Add training samples to a fitted model and remove them, also through pipelines and searches of parameters.

`model.partial_fit(X, y)`, `model.forget(rows)` and `model.retune()` are methods of the lazy classifiers and of
`TunedThresholdsClassifierCV` around one. scikit-learn's `Pipeline` and `GridSearchCV` do not pass these calls on; the
functions here do.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.utils.types import MatrixLike

__all__ = ["can_be_updated", "copy_to_update", "forget", "lazy_part", "partial_fit", "retune", "updated_part"]


def partial_fit(
    model: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Append training samples to a fitted model.

    The steps of a pipeline before the classifier do not change: scalings, vocabularies and selections remain those of
    `fit`. The classifier then equals a fit to all samples, as these steps transform them.

    Parameters
    ----------
    model : fitted estimator
        A method of `nearlabel.lazy` that has `partial_fit`, thresholds tuned for one (``cv="loo"``), a `Pipeline` that
        ends in one of these, or an estimator with such a `best_estimator_`. It is changed.
    X : array-like, data frame or sparse container of shape (n_added, n_features)
        Added samples, as for `model.predict`.
    y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
        Their label sets; see `nearlabel.lazy.MLkNN.partial_fit`.
    classes : array-like, default=None
        Names of labels that may appear later; see `nearlabel.lazy.MLkNN.partial_fit`.
    sample_weight : array-like of shape (n_added,), default=None
        Weights, for a method whose `fit` takes them.

    Returns
    -------
    model
        The same object.

    Raises
    ------
    TypeError
        If no part of the model can add samples, or its search cannot be updated.
    ValueError
        If X or y is malformed or does not fit the earlier samples and labels. Then nothing has changed.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from nearlabel import updates
    >>> from nearlabel.lazy import BRkNN
    >>> model = make_pipeline(MinMaxScaler(), BRkNN(n_neighbors=1)).fit([[0], [9]], [["sea"], ["hill"]])
    >>> updates.partial_fit(model, [[5]], [["lake"]]).predict([[4]])
    array([[0, 0, 1]])
    >>> updates.forget(model, [2]).predict([[4]])
    array([[0, 1, 0]])
    """
    part = updated_part(model)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    part.partial_fit(_transformed(model, X), y, classes=classes, **weights)
    return model


def forget(model: Any, rows: ArrayLike) -> Any:
    """Remove training samples from a fitted model.

    Parameters
    ----------
    model : fitted estimator
        As for `partial_fit`. It is changed.
    rows : array-like of shape (n_removed,)
        Numbers of training samples, each once.

    Returns
    -------
    model
        The same object, equal to a fit to the other samples in their order; steps of a pipeline before the classifier
        do not change.

    Raises
    ------
    TypeError
        If no part of the model can remove samples, or its search cannot be updated.
    ValueError
        If a number is unknown or comes twice, or too few samples would be left. Then nothing has changed.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    """
    updated_part(model).forget(rows)
    return model


def retune(model: Any) -> Any:
    """Choose again the thresholds or the number of neighbours, which `partial_fit` and `forget` do not change.

    Parameters
    ----------
    model : fitted estimator
        As for `partial_fit`. It is changed.

    Returns
    -------
    model
        The same object.

    Raises
    ------
    TypeError
        If no part of the model can be updated.
    ValueError
        If thresholds were not tuned by leaving one out.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.
    """
    updated_part(model).retune()
    return model


def can_be_updated(model: Any) -> bool:
    """Return whether training samples can be added to a model and removed from it.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    bool
    """
    return hasattr(_last(model), "forget")


def updated_part(model: Any) -> Any:
    """Return the part of a fitted model that samples are added to and removed from.

    Parameters
    ----------
    model : fitted estimator
        As for `partial_fit`.

    Returns
    -------
    classifier
        The model itself, the last step of a pipeline, or that of the best model of a search; it has `changes_`.

    Raises
    ------
    TypeError
        If samples cannot be added to it.
    sklearn.exceptions.NotFittedError
        If it is not fitted.
    """
    last = _last(model)
    check_is_fitted(last)
    if not hasattr(last, "forget"):
        raise TypeError(
            f"model must be a method by votes of neighbours, such as MLkNN, to add or remove samples, got"
            f" {type(last).__name__}. Hint: fit it again to all rows."
        )
    return last


def lazy_part(model: Any) -> Any:
    """Return the lazy classifier that is updated in a fitted model, also inside thresholds.

    Parameters
    ----------
    model : fitted estimator
        As for `partial_fit`.

    Returns
    -------
    classifier
        It has `search_` and `n_neighbors_stale_`.

    Raises
    ------
    TypeError, sklearn.exceptions.NotFittedError
        As `updated_part`.
    """
    part = updated_part(model)
    return lazy_part(part.estimator_) if hasattr(part, "thresholds_stale_") else part


def copy_to_update(model: Any) -> Any:
    """Return a copy of a fitted model whose updated part can change without changing the model.

    Parameters
    ----------
    model : fitted estimator
        As for `partial_fit`.

    Returns
    -------
    estimator
        A copy that shares everything that an update does not change.
    """
    other = object.__new__(type(model))  # `copy.copy` would use the state of a pickle
    vars(other).update(vars(model))
    if isinstance(model, Pipeline):
        other.steps = [*model.steps[:-1], (model.steps[-1][0], copy_to_update(model[-1]))]
    for name in ("best_estimator_", "estimator_"):
        if hasattr(model, name):
            setattr(other, name, copy_to_update(getattr(model, name)))
    return other


def _last(model: Any) -> Any:
    """Return the deciding part of a model."""
    if isinstance(model, Pipeline):
        return _last(model[-1])
    return _last(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def _transformed(model: Any, X: MatrixLike) -> MatrixLike:
    """Return rows in the form that the last step gets."""
    if isinstance(model, Pipeline):
        return _transformed(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    return _transformed(model.best_estimator_, X) if hasattr(model, "best_estimator_") else X
