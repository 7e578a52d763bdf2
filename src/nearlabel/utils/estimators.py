"""The estimators that users pass: checks, metadata of `fit`, scores in one shape, and methods under a condition."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce, wraps
from inspect import signature
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.metrics import accuracy_score
from sklearn.utils import _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _num_samples, check_consistent_length, check_is_fitted, has_fit_parameter

from nearlabel.utils.containers import (
    check_row_names,
    checked_container,
    in_columns,
    missing,
    without_sparse_frame,
)
from nearlabel.utils.frames import plain, plain_labels
from nearlabel.utils.tags import is_tag, objects_of, tags_in_columns, tags_of
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_sample_weight

# Messages of scikit-learn, and of libraries that follow it, about a y that must not be an indicator matrix.
_ONE_LABEL_ONLY = re.compile(r"\b1-?d\b|label type|multi-?label|multi-?output|bad input shape", re.IGNORECASE)


@contextmanager
def requiring_multilabel(estimator: Any, *, name: str = "estimator") -> Iterator[None]:
    """Explain the error of a single-label classifier that is fitted to several labels: use around `fit`.

    scikit-learn's tags are not sufficient for a check before `fit`: pipelines and classifiers of other libraries may
    lack them although they support several labels. So every classifier is tried, and none that works is rejected.

    Parameters
    ----------
    estimator : classifier
        The user's estimator, for the message.
    name : str, default="estimator"
        Name of the parameter, for the message.

    Raises
    ------
    ValueError
        In place of a ValueError or TypeError about the shape or the type of y.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> with requiring_multilabel(LogisticRegression()):
    ...     LogisticRegression().fit([[0], [1]], [[0, 1], [1, 0]])
    Traceback (most recent call last):
    ValueError: estimator must be a multi-label classifier, got LogisticRegression, which does not support y ...
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        explained_further_in = "must be a multi-label classifier" in str(error)
        if explained_further_in or not _ONE_LABEL_ONLY.search(str(error)):
            raise
        raise ValueError(
            f"{name} must be a multi-label classifier, got {type(estimator).__name__}, which does not support y"
            " of shape (n_samples, n_labels). Hint: nearlabel.rivals.BinaryRelevance or"
            " sklearn.multioutput.MultiOutputClassifier around it fits one classifier for each label."
        ) from error


@contextmanager
def explaining_sparse(estimator: Any, X: object) -> Iterator[None]:
    """Explain the error of a classifier that does not support sparse X: use around `fit`.

    scikit-learn's tags are not sufficient for a check before `fit`: a classifier of another library may support sparse
    X without a tag.

    Parameters
    ----------
    estimator : classifier
        The user's estimator, for the message.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        The training samples.

    Raises
    ------
    TypeError
        In place of a TypeError that requires dense data.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from sklearn.naive_bayes import GaussianNB
    >>> with explaining_sparse(GaussianNB(), csr_array([[1.0], [0.0]])):
    ...     GaussianNB().fit(csr_array([[1.0], [0.0]]), [0, 1])
    Traceback (most recent call last):
    TypeError: X must be dense for GaussianNB, which does not support sparse X. Hint: X.toarray(), ...
    """
    try:
        yield
    except TypeError as error:
        if not sparse.issparse(X) or "dense" not in str(error) or "X must be dense" in str(error):
            raise
        raise TypeError(
            f"X must be dense for {type(estimator).__name__}, which does not support sparse X. Hint: X.toarray(), if it"
            " fits in memory, or another base classifier."
        ) from error


# A typed version of scikit-learn's decorator for methods that exist only under a condition.

Method = TypeVar("Method", bound=Callable[..., Any])


def available_if(check: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """Return a decorator that hides a method where ``check(estimator)`` is False or raises AttributeError.

    scikit-learn has no type hints, so with its own decorator type checkers would see Any as the result.
    """
    decorator: Callable[[Method], Method] = _available_if(check)
    return decorator


# Metadata of `fit` with a value for each sample, such as `sample_weight`: checks, routing and subsets.

_ROUTING = "sklearn.set_config(enable_metadata_routing=True)"


def refusal_of_weights(classifier: Any, method: str) -> TypeError:
    """Return the error of a method that takes no sample weights: it names the user's class and the way out."""
    return TypeError(
        f"sample_weight must not be passed to {type(classifier).__name__}.{method}, which takes no weights. Hint:"
        " BRkNN, MLkNN, BinaryRelevance and RandomForestPCT do; for other methods, repeat samples."
    )


def refusing_others(fit: Method) -> Method:
    """Return `fit` or `partial_fit` with an error for other arguments that names the user's class, not a base class.

    The signature stays: scikit-learn asks it whether a method takes weights.
    """
    known = list(signature(fit).parameters)[1:]

    @wraps(fit)
    def checked(self: Any, *args: Any, **params: Any) -> Any:
        others = params.keys() - set(known)
        if len(args) > len(known) or "sample_weight" in others:
            raise refusal_of_weights(self, fit.__name__)
        if others:
            name = f"{type(self).__name__}.{fit.__name__}"
            raise TypeError(f"{name}() got an unexpected keyword argument {min(others)!r}.")
        return fit(self, *args, **params)

    return cast(Method, checked)


def routed_to_estimator(owner: Any, estimator: Any, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata for `fit` of a meta-estimator's base estimator.

    Without metadata routing, this is `sample_weight` only, if the base estimator supports it.
    """
    if get_config()["enable_metadata_routing"]:
        return dict(process_routing(owner, "fit", **params).estimator.fit)
    others = sorted(set(params) - {"sample_weight"})
    if others:
        raise ValueError(
            f"fit of {type(owner).__name__} accepts {others} only if metadata routing is enabled. Hint: {_ROUTING}, and"
            " set_fit_request on the estimator that needs them."
        )
    if params and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"sample_weight must be None for a base estimator whose fit does not support it, got weights for"
            f" {estimator!r}. Hint: a pipeline gets them by {_ROUTING} and"
            " set_fit_request(sample_weight=True) on its step; for other estimators, repeat samples."
        )
    return dict(params)


def params_of_samples(params: Mapping[str, Any], samples: IntArray, n_samples: int) -> dict[str, Any]:
    """Return the metadata of some of n samples; values that are not per sample are unchanged."""
    return {name: _some_of(checked_container(name, value), samples, n_samples) for name, value in params.items()}


def _some_of(value: Any, samples: IntArray, n_samples: int) -> Any:
    if sparse.issparse(value):
        return value.tocsr()[samples] if value.shape[0] == n_samples else value
    listed = hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    return np.asarray(value)[samples] if listed and len(value) == n_samples else value


def without_zero_weights(X: Matrix, labels: Matrix, params: Mapping[str, Any]) -> tuple[Matrix, Matrix, dict[str, Any]]:
    """Return training samples without those with weight 0, and `params` without `sample_weight` if it is None."""
    params = dict(params)
    if params.get("sample_weight") is None:
        params.pop("sample_weight", None)
        return X, labels, params
    weights = params["sample_weight"] = check_sample_weight(params["sample_weight"], X.shape[0])
    if weights.all():
        return X, labels, params
    kept = np.flatnonzero(weights)
    return X[kept], labels[kept], params_of_samples(params, kept, len(weights))


# The scores of any multi-label classifier as one array, for all shapes that classifiers return.

RESPONSE_METHODS = ("predict_proba", "decision_function")


def response_method_of(estimator: Any, methods: Sequence[str] = RESPONSE_METHODS) -> str:
    """Return the first of the methods that the estimator has."""
    for method in methods:
        if hasattr(estimator, method):
            return method
    raise ValueError(f"estimator must have {' or '.join(methods)}, got {type(estimator).__name__}.")


def label_scores(estimator: Any, X: MatrixLike, n_labels: int, method: str) -> NDArray[Any]:
    """Return the scores of a fitted classifier, (n_samples, n_labels).

    scikit-learn's classifiers return three shapes: an array (n_samples, n_labels); a list with an array (n_samples,
    n_classes) for each label, where a label with one class in the training data has one column; and, for a single
    label, (n_samples,) or (n_samples, n_classes). A label whose only class is 0 has the probability 0, otherwise 1.
    """
    return as_label_scores(getattr(estimator, method)(checked_container("X", X)), estimator, n_labels, method)


def as_label_scores(answer: Any, estimator: Any, n_labels: int, method: str) -> NDArray[Any]:
    """Return the result of a fitted classifier's method as scores (n_samples, n_labels)."""
    classes: Any = getattr(estimator, "classes_", None)
    if isinstance(answer, list | tuple):
        each = [(0, 1)] * len(answer) if classes is None else classes
        got = f"a list of {len(answer)} and classes_ of {len(each)}"
        _check(len(answer) == len(each) == n_labels, estimator, method, n_labels, got)
        return np.column_stack([_of_class_1(*pair, estimator, method) for pair in zip(answer, each, strict=True)])
    scores: NDArray[Any] = as_dense(checked_container(f"the result of {method}", plain(answer)))
    if n_labels == 1 and method == "predict_proba" and _is_one_class(classes):
        return np.full((scores.shape[0], 1), float(classes[0] == 1))
    if n_labels == 1 and scores.ndim == 1:
        return scores.reshape(-1, 1)
    if n_labels == 1 and scores.ndim == 2 and scores.shape[1] == 2:
        return scores[:, 1:]
    _check(scores.ndim == 2 and scores.shape[1] == n_labels, estimator, method, n_labels, f"shape {scores.shape}")
    return scores


def _is_one_class(classes: Any) -> bool:
    """Return whether `classes_` is the only class of a single label, and not a single column number as in nearlabel."""
    return isinstance(classes, np.ndarray) and classes.shape == (1,) and classes.dtype.kind != "O"


def _of_class_1(answer: Any, classes: Any, estimator: Any, method: str) -> NDArray[Any]:
    """Return the column of class 1 of a label's scores (n_samples, n_classes); 0 if there is none."""
    probabilities: NDArray[Any] = np.asarray(answer)
    if probabilities.ndim == 2 and np.shape(classes) == (1,):
        return np.full(len(probabilities), float(classes[0] == 1))
    if probabilities.ndim != 2 or np.shape(classes) != probabilities.shape[1:]:
        raise ValueError(
            f"{method} of {type(estimator).__name__} must answer, for each label, with a column for each class of"
            f" classes_, got shape {probabilities.shape} for classes {np.array(classes).tolist()}."
        )
    scores: NDArray[Any] = probabilities @ np.equal(classes, 1)
    return scores


def _check(fits: bool, estimator: Any, method: str, n_labels: int, got: str) -> None:
    if not fits:
        raise ValueError(
            f"{method} of {type(estimator).__name__} must answer with an array (n_samples, {n_labels}), or a list of"
            f" {n_labels} arrays, got {got}."
        )


# Check that the fitted arrays of a classifier from a file have consistent shapes.
#
# Otherwise a forged number of rows or labels could make a method allocate a huge array.

Shapes: TypeAlias = Mapping[str, tuple[int | None, ...]]  # by name, such as `_lists.indices`; None is any length


def check_fitted_shapes(fitted: Any, shapes: Shapes) -> None:
    """Raise ValueError unless the attributes that exist and are not None have these shapes.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> check_fitted_shapes(SimpleNamespace(prior_=np.ones(3)), {"prior_": (3,), "absent_": (4,)})
    >>> check_fitted_shapes(SimpleNamespace(prior_=np.ones(3)), {"prior_": (10**9,)})
    Traceback (most recent call last):
        ...
    ValueError: prior_ must be of shape (1000000000,), got (3,)
    """
    for name, expected in shapes.items():
        array = reduce(lambda part, attribute: getattr(part, attribute, None), name.split("."), fitted)
        if array is None:
            continue
        found = tuple(getattr(array, "shape", ()))
        if len(found) != len(expected) or any(
            length not in (None, one) for length, one in zip(expected, found, strict=True)
        ):
            raise ValueError(f"{name} must be of shape {expected}, got {found}")


# The method `score` of every classifier: the share of samples whose label set is predicted exactly.


def score(self: Any, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> float:
    """Return the share of samples whose label set is predicted exactly (exact match).

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Their label sets, or their tags. A label set with a tag that the classifier does not know is never an exact
        match. If cells of a matrix are unknown (NaN), only the known ones are compared; a sample without known cells is
        left out, and so is a sample with None instead of tags or a class.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1.

    Raises
    ------
    ValueError
        If X or y is malformed, all cells are unknown, or their lengths differ.
    """
    check_is_fitted(self)
    check_row_names(X=X, y=y, sample_weight=sample_weight)
    values = objects_of(y)
    known = np.zeros(0, dtype=np.bool_) if values is None else ~missing(values)
    if values is not None and known.any() and not known.all():
        check_consistent_length(X, values)
        some = np.flatnonzero(known)
        weights = None if sample_weight is None else check_sample_weight(sample_weight, len(known))[some]
        return float(self.score(_safe_indexing(X, some), values[some].tolist(), weights))
    tags = tags_of(y)
    if tags is not None:
        predicted = self.predict_labels(X)
        check_consistent_length(tags, predicted)
        hits = [set(filter(is_tag, true)) == set(names) for true, names in zip(tags, predicted, strict=True)]
        return _mean(hits, sample_weight)
    y = checked_container("y", without_sparse_frame(in_order_of_fit(self, y)))
    truth = PartialLabels.of(y) if self._container.classes is None else None
    if truth is None or truth.unknown is None:
        if sample_weight is not None:
            check_sample_weight(sample_weight, _num_samples(y))
        return float(accuracy_score(y, plain_labels(self, X), sample_weight=sample_weight))
    check_consistent_length(X, truth.labels)
    known = np.asarray(truth.unknown.sum(axis=1) < truth.unknown.shape[1])
    return _mean(_are_right(truth, plain_labels(self, X)), sample_weight, known)


def in_order_of_fit(estimator: Any, y: MatrixLike) -> MatrixLike:
    """Return a data frame of label sets, or tags, with columns in the order of a fitted classifier's labels, if named.

    Warns of tags that the classifier does not know: they have no column.
    """
    names = np.asarray(getattr(estimator, "label_names_", ())).tolist()
    is_column = getattr(getattr(estimator, "_container", None), "classes", None) is not None
    has_names = not is_column and names != list(range(len(names)))
    tags = tags_of(y) if has_names else None
    if tags is not None:
        return tags_in_columns(tags, names, type(estimator).__name__)
    return in_columns(names, y, "y", "the fitted classifier") if has_names else y


def _are_right(truth: PartialLabels, predicted: LabelSets) -> BoolArray:
    """Return which samples (n_samples,) are predicted correctly in all known cells."""
    labels, predicted, unknown = (
        sparse.csr_array(matrix, dtype=np.int64) for matrix in (*truth[:1], predicted, truth[1])
    )
    wrong = abs(labels - predicted)
    return np.asarray((wrong - wrong * unknown).sum(axis=1) == 0)


def _mean(hits: Any, sample_weight: ArrayLike | None, counted: BoolArray | None = None) -> float:
    """Return the weighted mean of hits (n_samples,) over the samples that count."""
    weights = np.ones(len(hits)) if sample_weight is None else check_sample_weight(sample_weight, len(hits))
    weights = weights if counted is None else weights * counted
    if not weights.any():
        raise ValueError("y must have a known cell in a sample with a weight above 0, got none.")
    return float(np.average(np.asarray(hits, dtype=np.float64), weights=weights))
