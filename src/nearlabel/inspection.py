"""What a fitted model says, in names: label sets and their reasons, also through pipelines and searches.

`model.explain(X)` and `model.predict_labels(X)` are methods of the classifiers of this library. scikit-learn's
`Pipeline` and `GridSearchCV` do not hand them on; the functions here do.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from nearlabel.calibration import CalibratedLabels
from nearlabel.lazy import MLMLM, Explanation
from nearlabel.neighbors import ExactNeighbors, NoveltyDetector
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV
from nearlabel.utils.tables import column_of
from nearlabel.utils.types import MatrixLike

__all__ = ["explain", "explains", "novelty_detector", "predict_labels"]

_AROUND = (CalibratedLabels, FixedThresholdsClassifier, TunedThresholdsClassifierCV)
_N_NEIGHBORS = 10  # of novelty, where the method has no number
_HINTS = {
    "explain": "take a method of nearlabel.lazy, such as MLkNN",
    "predict_labels": "take a classifier of nearlabel; BinaryRelevance is one around any binary classifier",
}


def explain(model: Any, X: MatrixLike, *, label_names: Sequence[Any] | None = None) -> list[Explanation]:
    """Explain what a fitted model predicts for each sample.

    A pipeline is explained by its last step, of the samples as that step sees them; a search of parameters, such as
    scikit-learn's `GridSearchCV`, by its best model; a classifier with thresholds or calibrated probabilities by
    these, whatever is inside it.

    Parameters
    ----------
    model : fitted estimator
        One with `explain`, as all of `nearlabel.lazy` have it; a `Pipeline` that ends in one; an estimator with
        `best_estimator_`, a `FrozenEstimator`, a classifier of `nearlabel.thresholds` or `CalibratedLabels` around one;
        or any nesting of these.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples as `model.predict` takes them.
    label_names : sequence of length n_labels, default=None
        Names of the labels, for a model that was fitted to arrays without names. None: those that the model knows.

    Returns
    -------
    list of Explanation
        One for each sample. Features have the names that the steps of a pipeline give them; neighbours are numbers of
        training samples, which `Explanation.with_kept` names.

    Raises
    ------
    TypeError
        If no part of the model explains itself.
    ValueError
        If X does not fit the model, or the names are not one for each label.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    nearlabel.plots.ExplanationDisplay : The same as a picture.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from nearlabel.inspection import explain
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
        Whether a part of it explains itself.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the model is not fitted, and so its part is not known.

    Examples
    --------
    >>> from nearlabel.ensemble import RandomForestPCT
    >>> from nearlabel.inspection import explains
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
        A classifier of this library, or a pipeline, search or thresholds around one, as `explain` takes them;
        thresholds also around any other classifier.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples as `model.predict` takes them.
    label_names : sequence of length n_labels, default=None
        As in `explain`, for instance those on the card of a model that `nearlabel fit` has made.

    Returns
    -------
    labels : list of tuple, of length n_samples
        Names in the order of the model's labels: tags, column names of a data frame, or column numbers. For a
        one-dimensional y, the predicted class.

    Raises
    ------
    TypeError
        If the model ends in no classifier of this library.
    ValueError
        If X does not fit the model, or the names are not one for each label.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from nearlabel.inspection import predict_labels
    >>> from nearlabel.transformation import BinaryRelevance
    >>> X, y = [[0], [1], [8], [9]], [["beach"], ["beach", "sea"], ["sea"], ["sea"]]
    >>> predict_labels(make_pipeline(StandardScaler(), BinaryRelevance()).fit(X, y), [[0], [9]])
    [('beach',), ('sea',)]
    """
    found = _that_can(model, "predict_labels", "knows the names of labels")
    names: list[tuple[Any, ...]] = found.named(label_names).predict_labels(found.transformed(X))
    return names


def novelty_detector(model: Any, level: float = 0.01) -> Any:
    """Return what tells rows that are unlike all training samples of a fitted model by neighbours.

    Parameters
    ----------
    model : fitted estimator
        A method of `nearlabel.lazy` that has `n_neighbors`, whose number and search are taken, or `MLMLM`, for which 10
        neighbours are searched; or a pipeline, search of parameters or thresholds around one, as `explain` takes them.
    level : float, default=0.01
        The largest share of rows like the training samples that is called novel; see
        `nearlabel.neighbors.NoveltyDetector`.

    Returns
    -------
    NoveltyDetector or Pipeline
        With `predict`, which gives -1 for a novel row and else 1, for samples as the model takes them. It is behind the
        steps of a pipeline if the model has some.

    Raises
    ------
    TypeError
        If no part of the model asks a search for so many neighbours, or `level` is no number.
    ValueError
        If `level` is not between 0 and 1.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.inspection import novelty_detector
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
    """Return the detector of a classifier's training samples, behind what the classifier does to features."""
    if isinstance(classifier, MLMLM):
        search = ExactNeighbors(classifier.metric, metric_params=classifier.metric_params)
        n_neighbors = max(1, min(_N_NEIGHBORS, classifier._rows.shape[0] - 1))
        detector = NoveltyDetector(n_neighbors, level, search=search).fit(classifier._rows)
        return [FunctionTransformer(classifier._scaled), detector]
    if hasattr(classifier, "search_") and hasattr(classifier, "n_neighbors_"):
        known = getattr(classifier, "_training_distances", None)
        return [NoveltyDetector.around(classifier, level, known)]
    raise TypeError(
        "model must ask for a number of neighbours, as MLkNN does, or be an MLMLM, or a pipeline or thresholds around"
        f" one, got {type(classifier).__name__}. Hint: nearlabel.neighbors.NoveltyDetector serves any rows."
    )


class Unwrapped(NamedTuple):
    """What decides in a model: a classifier, what is around it, outermost first, and pipelines that samples go through.

    Copies of them learn names, so that the model does not change.
    """

    classifier: Any
    around: tuple[Any, ...] = ()  # thresholds and calibration
    before: tuple[Pipeline, ...] = ()

    @property
    def decides(self) -> Any:
        """The outermost of what is around the classifier, or the classifier: what knows the names of the labels."""
        return self.around[0] if self.around else self.classifier

    def can(self, method: str) -> bool:
        """Return whether it can answer; thresholds and calibration name labels whatever is inside."""
        return hasattr(self.classifier, method) or (method == "predict_labels" and bool(self.around))

    def named(self, label_names: Sequence[Any] | None) -> Any:
        """Return the classifier and what is around it, for samples as it sees them, which knows the names."""
        decides = copy(self.classifier)
        decides._feature_names = self._feature_names()
        for outer in map(copy, reversed(self.around)):
            outer.estimator = outer.estimator_ = decides
            decides = outer
        if label_names is not None:
            check_is_fitted(decides)
            decides.label_names_ = _as_names(label_names, len(decides.label_names_))
        return decides

    def transformed(self, X: MatrixLike) -> MatrixLike:
        """Return samples as the classifier sees them."""
        for steps in self.before:
            X = steps.transform(X)
        return X

    def _feature_names(self) -> NDArray[Any] | None:
        names = None
        for steps in self.before:
            try:
                names = steps.get_feature_names_out(names)
            except (AttributeError, ValueError):  # a step gives no names
                return None
        return names


def unwrapped(model: Any) -> Unwrapped:
    """Return what decides in a fitted model: for other rooms, not for users."""
    if isinstance(model, FrozenEstimator):
        return unwrapped(model.estimator)
    if isinstance(model, Pipeline):
        last = unwrapped(model[-1])
        return last._replace(before=(model[:-1], *last.before)) if len(model) > 1 else last
    if hasattr(model, "best_estimator_") and not hasattr(model, "predict_labels"):  # a search that is none of ours
        return unwrapped(model.best_estimator_)
    if isinstance(model, _AROUND):
        check_is_fitted(model)
        inner = unwrapped(model.estimator_)
        return inner._replace(around=(model, *inner.around))
    return Unwrapped(model)


def _that_can(model: Any, method: str, does: str) -> Unwrapped:
    """Return what decides in a fitted model; raise TypeError unless it has the method."""
    found = unwrapped(model)
    if found.can(method):
        return found
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    got, inner = type(model).__name__, type(found.classifier).__name__
    hint = "refit=True keeps the best model of a search" if hasattr(found.classifier, "cv_results_") else _HINTS[method]
    raise TypeError(
        f"model must be a classifier that {does}, or a pipeline, a search of parameters or thresholds around one,"
        f" got {got if got == inner else f'{got} around {inner}'}. Hint: {hint}."
    )


def _as_names(names: Sequence[Any], n_labels: int) -> NDArray[Any]:
    if len(names) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(names)}.")
    return column_of(list(names))
