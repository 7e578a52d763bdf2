"""Inspect fitted models, also inside pipelines and parameter searches: explanations and predicted label names.

`model.explain(X)` and `model.predict_labels(X)` are methods of nearlabel's classifiers. scikit-learn's `Pipeline` and
`GridSearchCV` do not forward them; the functions in this module do.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.explanation import Explanation
from nearlabel.neighbors import NoveltyDetector
from nearlabel.utils.containers import checked_container
from nearlabel.utils.tables import column_of
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import row_blocks

__all__ = ["explain", "explains", "novelty_detector", "predict_labels"]

_HINTS = {
    "explain": "use a method of nearlabel.lazy, such as MLkNN",
    "predict_labels": "use a classifier of nearlabel; BinaryRelevance wraps any binary classifier",
}


def explain(model: Any, X: MatrixLike, *, label_names: Sequence[Any] | None = None) -> list[Explanation]:
    """Explain the prediction of a fitted model for each sample.

    For a pipeline, the last step explains its transformed samples. For a parameter search, such as scikit-learn's
    `GridSearchCV`, the best model explains. For a classifier with thresholds or calibrated probabilities, the
    explanation uses these.

    Parameters
    ----------
    model : fitted estimator
        An estimator with `explain`, such as all classifiers of `nearlabel.lazy`; a `Pipeline` that ends in one; an
        estimator with `best_estimator_`, a `FrozenEstimator`, a classifier of `nearlabel.thresholds` or
        `CalibratedLabels` around one; or any nesting of these.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples in the form that `model.predict` accepts.
    label_names : sequence of length n_labels, default=None
        Names of the labels, for a model that was fitted to arrays without names. None: the names stored in the model.

    Returns
    -------
    list of Explanation
        One for each sample. Features have the names from the steps of a pipeline; neighbours are indices of training
        samples, which `Explanation.with_kept` replaces by names.

    Raises
    ------
    TypeError
        If no part of the model has `explain`.
    ValueError
        If X does not match the model, or the number of names is not the number of labels.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    nearlabel.plots.ExplanationDisplay : The same as a plot.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from nearlabel.models import explain
    >>> from nearlabel.lazy import MLkNN
    >>> X, y = [[0], [1], [2], [9]], [["beach"], ["beach", "sea"], ["sea"], []]
    >>> model = make_pipeline(MinMaxScaler(), MLkNN(n_neighbors=2)).fit(X, y)
    >>> (explanation,) = explain(model, [[1]])
    >>> explanation.predicted
    ['sea']
    """
    found = _that_can(model, "explain", "explains itself")
    explanations: list[Explanation] = found.named(label_names).explain(found.transformed(X))
    return explanations


def explains(model: Any) -> bool:
    """Return whether `explain` can explain a model.

    Parameters
    ----------
    model : fitted estimator

    Returns
    -------
    bool
        Whether a part of the model has `explain`.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted, so that its parts are unknown.

    Examples
    --------
    >>> from nearlabel.rivals import RandomForestPCT
    >>> from nearlabel.models import explains
    >>> from nearlabel.lazy import MLkNN
    >>> explains(MLkNN()), explains(RandomForestPCT())
    (True, False)
    """
    return unwrapped(model).can("explain")


def predict_labels(model: Any, X: MatrixLike, *, label_names: Sequence[Any] | None = None) -> list[tuple[Any, ...]]:
    """Return the names of the labels that a fitted model predicts for each sample.

    Parameters
    ----------
    model : fitted estimator
        A classifier of nearlabel, or a pipeline, parameter search or threshold classifier around one, as `explain`
        accepts them; thresholds may also be around any other classifier.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples in the form that `model.predict` accepts.
    label_names : sequence of length n_labels, default=None
        As in `explain`, for instance the names on the card of a model that `nearlabel fit` saved.

    Returns
    -------
    labels : list of tuple, of length n_samples
        Names in the order of the model's labels: tags, column names of a data frame, or column numbers. For a
        one-dimensional y, the predicted class.

    Raises
    ------
    TypeError
        If the model does not end in a classifier of nearlabel.
    ValueError
        If X does not match the model, or the number of names is not the number of labels.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nearlabel.models import predict_labels
    >>> from nearlabel.rivals import BinaryRelevance
    >>> X, y = [[0], [1], [8], [9]], [["beach"], ["beach", "sea"], ["sea"], ["sea"]]
    >>> predict_labels(make_pipeline(StandardScaler(), BinaryRelevance()).fit(X, y), [[0], [9]])
    [('beach',), ('sea',)]
    """
    found = _that_can(model, "predict_labels", "knows the names of labels")
    names: list[tuple[Any, ...]] = found.named(label_names).predict_labels(found.transformed(X))
    return names


def novelty_detector(model: Any, level: float = 0.01) -> Any:
    """Return a detector of samples that are unlike all training samples of a fitted neighbour-based model.

    Parameters
    ----------
    model : fitted estimator
        A method of `nearlabel.lazy` with `n_neighbors`, whose number and search are used, or `MLMLM`, for which 10
        neighbours are searched; or a pipeline, parameter search or threshold classifier around one, as `explain`
        accepts them.
    level : float, default=0.01
        Maximum share of samples like the training samples that are classified as novel; see
        `nearlabel.neighbors.NoveltyDetector`.

    Returns
    -------
    NoveltyDetector or Pipeline
        Its `predict` returns -1 for a novel sample and 1 otherwise, for samples in the form that the model accepts. If
        the model is a pipeline, the detector follows its steps.

    Raises
    ------
    TypeError
        If no part of the model searches a number of neighbours, or `level` is not a number.
    ValueError
        If `level` is not between 0 and 1.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.models import novelty_detector
    >>> from nearlabel.lazy import MLkNN
    >>> rng = np.random.default_rng(0)
    >>> model = MLkNN().fit(rng.normal(size=(200, 2)), rng.random((200, 3)) < 0.5)
    >>> novelty_detector(model, 0.05).predict([[0.0, 0.0], [8.0, 8.0]])
    array([ 1, -1])
    """
    found = unwrapped(model)
    check_is_fitted(found.classifier)
    steps = [*found.before, *_novelty_steps(found.classifier, level)]
    return make_pipeline(*steps) if len(steps) > 1 else steps[0]


def _novelty_steps(classifier: Any, level: float) -> list[Any]:
    """Return the detector for a classifier's training samples, after the classifier's transformation of features."""
    if hasattr(classifier, "_novelty_steps"):
        steps: list[Any] = classifier._novelty_steps(level)
        return steps
    if hasattr(classifier, "search_") and hasattr(classifier, "n_neighbors_"):
        known = getattr(classifier, "_training_distances", None)
        return [NoveltyDetector.around(classifier, level, known)]
    raise TypeError(
        "model must search a number of neighbours, as MLkNN does, or be an MLMLM, or a pipeline or thresholds around"
        f" one, got {type(classifier).__name__}. Hint: nearlabel.neighbors.NoveltyDetector accepts any samples."
    )


class Unwrapped(NamedTuple):
    """The parts of a model: a classifier, its wrappers, outermost first, and the pipelines that transform samples.

    Names are set on copies, so that the model does not change.
    """

    classifier: Any
    around: tuple[Any, ...] = ()  # thresholds and calibration
    before: tuple[Pipeline, ...] = ()

    @property
    def decides(self) -> Any:
        """The outermost wrapper, or the classifier itself, which has the names of the labels."""
        return self.around[0] if self.around else self.classifier

    def can(self, method: str) -> bool:
        """Return whether the model has a method; thresholds and calibration have label names for any classifier."""
        return hasattr(self.classifier, method) or (method == "predict_labels" and bool(self.around))

    def named(self, label_names: Sequence[Any] | None) -> Any:
        """Return a copy of the classifier with its wrappers, for transformed samples, with the names set."""
        decides = copy(self.classifier)
        decides._feature_names = self.feature_names  # called by methods that show features: texts have many
        for outer in map(copy, reversed(self.around)):
            outer.estimator = outer.estimator_ = decides
            decides = outer
        if label_names is not None:
            check_is_fitted(decides)
            decides.label_names_ = _as_names(label_names, len(decides.label_names_))
        return decides

    def transformed(self, X: MatrixLike) -> MatrixLike:
        """Return the samples after the transformations of the pipelines."""
        X = checked_container("X", X)
        for steps in self.before:
            X = steps.transform(X)
        return X

    def feature_names(self) -> NDArray[Any] | None:
        """Return the names of the features after the transformations; None if a step has none."""
        names = None
        for steps in self.before:
            try:
                names = steps.get_feature_names_out(names)
            except (AttributeError, ValueError):  # a step without names
                return None
        return names


def unwrapped(model: Any) -> Unwrapped:
    """Return the parts of a fitted model, for other modules."""
    if isinstance(model, FrozenEstimator):
        return unwrapped(model.estimator)
    if isinstance(model, Pipeline):
        last = unwrapped(model[-1])
        return last._replace(before=(model[:-1], *last.before)) if len(model) > 1 else last
    if _is_others_search(model):
        return unwrapped(model.best_estimator_)
    if hasattr(model, "_is_around_another"):  # thresholds or calibration
        check_is_fitted(model)
        inner = unwrapped(model.estimator_)
        return inner._replace(around=(model, *inner.around))
    return Unwrapped(model)


def _is_others_search(model: Any) -> bool:
    """Return whether a model is a parameter search of another library; ours take samples as they come themselves."""
    return hasattr(model, "best_estimator_") and not hasattr(model, "predict_labels")


def inmost(model: Any, *tables: MatrixLike) -> tuple[Any, list[MatrixLike]]:
    """Return the part of a fitted model that scores samples, and tables of samples as it gets them.

    Thresholds and calibration, which change scores or decide by them, are passed over, and so are searches.
    """
    found = unwrapped(model)
    classifier, inner = found.classifier, [found.transformed(X) for X in tables]
    if hasattr(classifier, "best_estimator_"):  # `NeighborsClassifierCV`
        return inmost(classifier.best_estimator_, *map(classifier._queries, inner))
    return classifier, inner


def _that_can(model: Any, method: str, does: str) -> Unwrapped:
    """Return the parts of a fitted model; raise TypeError unless it has the method."""
    found = unwrapped(model)
    if found.can(method):
        return found
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    got, inner = type(model).__name__, type(found.classifier).__name__
    hint = "refit=True keeps the best model of a search" if hasattr(found.classifier, "cv_results_") else _HINTS[method]
    raise TypeError(
        f"model must be a classifier that {does}, or a pipeline, parameter search or threshold classifier around one,"
        f" got {got if got == inner else f'{got} around {inner}'}. Hint: {hint}."
    )


def _as_names(names: Sequence[Any], n_labels: int) -> NDArray[Any]:
    if len(names) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(names)}.")
    return column_of(list(names))


# Steps before a classifier whose range follows the samples: they change when samples come and go.

_BLOCK_BYTES = 2**24


def arriving(model: Any, X: MatrixLike, *, widen: bool) -> tuple[MatrixLike, list[tuple[Pipeline, list[Any]]]]:
    """Return added samples in the form that the deciding part gets, and the steps of pipelines after they are added.

    With `widen`, the range of a scaler that follows the samples then contains them.
    """
    if _is_others_search(model):
        return arriving(model.best_estimator_, X, widen=widen)
    if not isinstance(model, Pipeline):
        return X, []
    steps = list(model.steps)
    for place, (name, step) in enumerate(steps[:-1]):
        if widen and getattr(step, "follows_samples", False):
            steps[place] = name, step.with_range_of(_before(steps, place, X), widen=True)
    rows, changes = arriving(model[-1], _before(steps, len(steps) - 1, X), widen=widen)
    return rows, [*changes, (model, steps)]


def _before(steps: list[Any], place: int, X: MatrixLike) -> MatrixLike:
    """Return rows as the first steps of a pipeline transform them."""
    return Pipeline(steps[:place]).transform(X) if place else X


def narrow_range(model: Any, search: Any) -> None:
    """Fit the range of a scaler that leaves features unchanged to the samples that the search after it has left."""
    pipeline = getattr(model, "best_estimator_", model)
    if not isinstance(pipeline, Pipeline) or len(pipeline) == 1 or search is None:
        return
    name, step = pipeline.steps[-2]
    if getattr(step, "follows_samples", False) and step.n_features_in_ == search.n_features_in_:
        for block in row_blocks(search.n_samples_fit_, 8 * search.n_features_in_, _BLOCK_BYTES):
            rows = search.take(np.arange(block.start, block.stop))
            step = step.with_range_of(rows, widen=block.start > 0)
        pipeline.steps[-2] = name, step
