"""Add training samples to a fitted model and remove them, also through pipelines and searches of parameters.

`model.partial_fit(X, y)`, `model.forget(rows)` and `model.retune()` are methods of the lazy classifiers, of
`TunedThresholdsClassifierCV` around one, and of a fitted `NeighborsClassifierCV`. scikit-learn's `Pipeline` and
`GridSearchCV` do not pass these calls on; the functions here do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.unwrapped import arriving, narrow_range
from nearlabel.utils.containers import check_row_names, checked_container, is_frame, require_dense
from nearlabel.utils.messages import first_of
from nearlabel.utils.one_step import same_state
from nearlabel.utils.tags import rows_mask, tag_matrix, tags_or_none
from nearlabel.utils.targets import LabelContainer, PartialLabels, Target, check_partial_target, remember_target
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

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
    `fit`. The classifier then equals a fit to all samples, as these steps transform them. Only the range of a
    `FeatureScaler` that does not scale grows, as by a fit to all samples.

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
    >>> from nearlabel.models import updates
    >>> from nearlabel.lazy import BRkNN
    >>> model = make_pipeline(MinMaxScaler(), BRkNN(n_neighbors=1)).fit([[0], [9]], [["sea"], ["hill"]])
    >>> updates.partial_fit(model, [[5]], [["lake"]]).predict([[4]])
    array([[0, 0, 1]])
    >>> updates.forget(model, [2]).predict([[4]])
    array([[0, 1, 0]])
    """
    X = checked_container("X", X)
    part = updated_part(model)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    by_votes = hasattr(lazy_part(model), "search_")  # the ranges of ML-MLM stay
    rows, changes = arriving(model, X, widen=by_votes)
    part.partial_fit(rows, y, classes=classes, **weights)
    for pipeline, steps in changes:
        pipeline.steps = steps
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
        do not change, except for the range of a `FeatureScaler` that does not scale.

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
    narrow_range(model, getattr(lazy_part(model), "search_", None))
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
    return hasattr(_last(model)[0], "forget")


def attribute_of_part(model: Any, name: str) -> Any:
    """Return a fitted attribute of the part that `updated_part` returns.

    AttributeError, for who asks whether there is one, if samples cannot be added: a notebook reads every attribute.
    """
    if not can_be_updated(model):
        raise AttributeError(f"{name} must be of a model that samples can be added to, got {type(model).__name__}.")
    return getattr(updated_part(model), name)


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
    last, _ = _last(model)
    check_is_fitted(last)
    if not hasattr(last, "forget"):
        raise TypeError(
            f"model must be a method by votes of neighbours, such as MLkNN, or MLMLM, to add or remove samples, got"
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
        It has `training_labels`; a method by votes has `search_` and `n_neighbors_stale_`, `MLMLM` `power_stale_`.

    Raises
    ------
    TypeError, sklearn.exceptions.NotFittedError
        As `updated_part`.
    """
    part = updated_part(model)
    for name in ("best_estimator_", "estimator_"):
        if hasattr(part, name):
            return lazy_part(getattr(part, name))
    return part


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
    other = same_state(model)
    if isinstance(model, Pipeline):
        other.steps = [*model.steps[:-1], (model.steps[-1][0], copy_to_update(model[-1]))]
    for name in ("best_estimator_", "estimator_"):
        if hasattr(model, name):
            setattr(other, name, copy_to_update(getattr(model, name)))
    return other


def _last(model: Any, X: MatrixLike = None) -> tuple[Any, MatrixLike]:
    """Return the deciding part of a model, and rows in the form that it gets."""
    if isinstance(model, Pipeline):
        return _last(model[-1], X if X is None or len(model) == 1 else model[:-1].transform(X))
    hands_on = hasattr(model, "best_estimator_") and not hasattr(model, "forget")
    return _last(model.best_estimator_, X) if hands_on else (model, X)


def with_added(around: Any, inner: str, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None) -> tuple[Any, int]:
    """Return a copy of a classifier around an inner one, which gets samples, and the number of new labels.

    The outer one knows the form of y and the names of the labels; the inner one was fitted to a matrix.
    """
    check_row_names(X=X, y=y)
    labels = lazy_part(getattr(around, inner))._labels[:0]
    known = Labelled(labels, around._container, around.label_names_)
    joined = known.joined(known.arriving(around, y), classes)
    _check_same_meaning(known.container.classes, joined.container.classes)
    updated = copy_to_update(around)
    partial_fit(getattr(updated, inner), X, PartialLabels(joined.labels, joined.unknown).with_nan())
    remember_target(updated, Target(joined.labels, joined.container, joined.names))
    return updated, len(joined.names) - len(known.names)


def _check_same_meaning(known: Any, joined: Any) -> None:
    """Raise ValueError if a new class sorts before the only known one, whose column would change its meaning."""
    if known is not None and len(known) == 1 and known[0] != joined[0]:
        raise ValueError(
            f"y must not bring a class before the only one of fit, {known.tolist()[0]!r}, got"
            f" {joined.tolist()[0]!r}."
            " Hint: fit the classifier again to all samples."
        )


class StaleThresholdsWarning(UserWarning):
    """Samples were added or removed since the thresholds were tuned."""


# Label sets that are added to existing ones, possibly with new labels.

_TAGS_HINT = " Hint: the tags of each sample are a list, also those of one sample: [['calm', 'wild']]."


class Labelled(NamedTuple):
    """Label sets (n_rows, n_labels), dense or CSR, the form of y, and the names of the labels.

    `unknown` is the mask of unknown cells in the same storage; None if all cells are known. `by_place`: columns match
    those of other label sets by their places, as in arrays, and not by their names.
    """

    labels: Matrix
    container: LabelContainer
    names: NDArray[Any]
    unknown: Matrix | None = None
    by_place: bool = False

    def arriving(self, estimator: object, y: MatrixLike) -> Labelled:
        """Check label sets that are added to these.

        In tags, None means that all labels of the sample are unknown, and [] that it has no labels; y may consist of
        these only.

        Raises
        ------
        ValueError
            If y is malformed.
        """
        may_be_tags = self.container.classes is None and not _are_numbers(self.names)
        tags = tags_or_none(y) if may_be_tags else None
        if tags is not None:
            return self._arriving_tags(tags)
        target, unknown = check_partial_target(estimator, y, dtype=np.int8, may_know_nothing=True)
        return Labelled(*target, unknown, by_place=not is_frame(y) and _are_numbers(target.names))

    def _arriving_tags(self, tags: list[Any]) -> Labelled:
        """Return tags as columns of all labels; for None, all labels are unknown."""
        hidden = np.array([row is None for row in tags])
        labels, names = tag_matrix([() if row is None else row for row in tags], np.int8)
        every = _union(self.names, names)
        labels = in_columns(labels, _places(names, every), len(every))
        unknown = rows_mask(hidden, labels) if hidden.any() else None
        return Labelled(labels, self.container, every, unknown)

    def joined(self, new: Labelled, classes: ArrayLike | None) -> Labelled:
        """Return these label sets with new ones appended, with columns matched by name; new labels come last.

        Parameters
        ----------
        new : Labelled
            The result of `arriving`.
        classes : array-like or None
            Additional names, or classes of a one-dimensional y.

        Returns
        -------
        Labelled
            The label sets, in the storage of the existing ones.

        Raises
        ------
        TypeError
            If the additional names are not a list.
        ValueError
            If the new label sets have another form, or lack labels.
        """
        if (self.container.classes is None) != (new.container.classes is None):
            hint = "" if _are_numbers(self.names) or self.container.classes is not None else _TAGS_HINT
            raise ValueError(f"y must be one-dimensional if y of fit was one-dimensional, and only then.{hint}")
        if self.container.classes is not None:
            return self._joined_classes(new, classes)
        names, places = self._columns(new)
        if classes is not None:
            names = _with_further(names, classes)
        labels, unknown = _below(self.labels, new.labels, places, len(names)), None
        if self.unknown is not None or new.unknown is not None:
            known_mask, new_mask = _mask(self.labels, self.unknown), _mask(new.labels, new.unknown)
            unknown = _below(_widened(known_mask, len(names)), new_mask, places, len(names))
        return Labelled(labels, self.container, names, unknown)

    def _columns(self, new: Labelled) -> tuple[NDArray[Any], IntArray]:
        """Return the names of all labels, and the column of each new one."""
        known, n_new = self.names, len(new.names)
        if new.by_place:
            numbered = _are_numbers(known)
            if n_new < len(known) or (n_new > len(known) and not numbered):
                least = "at least " * numbered
                hint = "" if numbered else " Hint: pass a data frame or tags, which name the labels."
                raise ValueError(f"y must have {least}{len(known)} columns, as in fit, got {n_new}.{hint}")
            return (np.arange(n_new) if n_new > len(known) else known), np.arange(n_new)
        if _are_numbers(known) and not _are_numbers(new.names):
            raise ValueError("y must be an array without names of labels, as in fit, got names.")
        there = set(new.names.tolist())
        missing = [name for name in known.tolist() if name not in there]
        if missing:
            raise ValueError(f"y must have a column for each label of fit, got none for {first_of(missing, 5)}.")
        names = _union(known, new.names)
        return names, _places(new.names, names)

    def _joined_classes(self, new: Labelled, classes: ArrayLike | None) -> Labelled:
        """Append to a single label with two classes, one of which may be new."""
        require_dense("classes", classes)
        mine: Any = self.container.classes
        its: Any = new.container.classes
        every = np.unique(np.concatenate([mine, its, mine[:0] if classes is None else np.asarray(classes)]))
        if len(every) > 2:
            raise ValueError(
                f"y must contain two classes if it is one-dimensional, got {len(every)}: {every.tolist()}."
            )

        def column(labels: Matrix, own: Any) -> Matrix:
            of_row = own.take(labels[:, 0], mode="clip")
            return ((of_row == every[-1]) & (len(every) == 2)).astype(labels.dtype)[:, np.newaxis]

        labels, unknown = np.vstack([column(self.labels, mine), column(new.labels, its)]), None
        if self.unknown is not None or new.unknown is not None:
            unknown = np.vstack([_mask(self.labels, self.unknown), _mask(new.labels, new.unknown)])
            labels[unknown] = 0
        return Labelled(labels, replace(self.container, classes=every), self.names, unknown)


def _with_further(known: NDArray[Any], classes: ArrayLike) -> NDArray[Any]:
    """Return names with those of additional labels; the next numbers if the labels have no names."""
    require_dense("classes", classes)
    further = np.asarray(classes)
    if isinstance(classes, str) or further.ndim != 1:
        raise TypeError(f"classes must be a list of label names, got {classes!r}.")
    names = _union(known, further)
    if _are_numbers(known) and not _are_numbers(names):
        raise ValueError(
            f"classes must be the next column numbers, since y of fit had no names, got {further.tolist()}."
        )
    return names


def in_columns(labels: Matrix, places: IntArray, n_labels: int) -> Matrix:
    """Return label sets with labels moved to other columns of n_labels; the remaining columns are 0."""
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


def _below(known: Matrix, new: Matrix, places: IntArray, n_labels: int) -> Matrix:
    """Return cells with new ones appended in the columns `places` of n_labels, in the storage of the existing ones."""
    known = in_columns(known, np.arange(known.shape[1]), n_labels)
    new = in_columns(sparse.csr_array(new) if sparse.issparse(known) else as_dense(new), places, n_labels)
    if sparse.issparse(known):
        return sparse.vstack([known, new], format="csr", dtype=known.dtype)
    return np.vstack([known, new.astype(known.dtype, copy=False)])


def _mask(labels: Matrix, unknown: Matrix | None) -> Matrix:
    """Return the mask of unknown cells in the storage of the label sets; an empty mask if all are known."""
    if unknown is not None:
        return unknown
    return (
        sparse.csr_array(labels.shape, dtype=np.bool_) if sparse.issparse(labels) else np.zeros(labels.shape, np.bool_)
    )


def _widened(mask: Matrix, n_labels: int) -> Matrix:
    """Return a mask with columns for new labels, which are unknown in rows without known labels."""
    n_new = n_labels - mask.shape[1]
    full = np.asarray(mask.sum(axis=1) == mask.shape[1])[:, np.newaxis]
    if not sparse.issparse(mask):
        return np.hstack([mask, np.repeat(full, n_new, axis=1)])
    return sparse.hstack([mask, *[sparse.csr_array(full)] * n_new], format="csr", dtype=np.bool_)


def _are_numbers(names: NDArray[Any]) -> bool:
    """Return whether labels have column numbers instead of names."""
    return names.dtype.kind in "iu" and bool((names == np.arange(len(names))).all())


def _places(names: NDArray[Any], among: NDArray[Any]) -> IntArray:
    """Return the position of each name among others."""
    place = {name: number for number, name in enumerate(among.tolist())}
    return np.array([place[name] for name in names.tolist()], dtype=np.intp)


def _union(known: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
    """Return the existing names, followed by the new ones."""
    seen = set(known.tolist())
    more = [name for name in dict.fromkeys(new.tolist()) if name not in seen]
    if not more:
        return known
    return np.array([*known.tolist(), *more], dtype=None if known.dtype.kind in "iu" else object)
