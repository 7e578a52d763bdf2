"""A vote method as arrays: what a few lines of numpy need to predict the same label sets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from nearlabel.files.atomic_file import whole_file
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import FeatureScaler
from nearlabel.thresholds import ByThresholds, FixedThresholdsClassifier, TunedThresholdsClassifierCV
from nearlabel.utils.messages import require_room
from nearlabel.utils.types import AnyArray, FloatArray
from nearlabel.utils.validation import as_dense

_FORMAT = 1
_METHODS = (BRkNN, BRkNNa, BRkNNb, MLkNN)
_POWERS = {"euclidean": 2, "sqeuclidean": 2, "manhattan": 1}  # of differences, which add up to the rank
_HINT = "`nearlabel serve` and `load_model` predict with any saved model"


def export_arrays(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a vote method as an ``.npz`` of plain arrays, for machines without nearlabel.

    The reader on ``docs/howto/deploy.md``, 40 lines that need numpy only, predicts the same label sets as `predict` for
    dense rows of float64: distances are added up in the same order, and equal ones are ordered by training index.

    Parameters
    ----------
    model : fitted estimator
        `BRkNN`, `BRkNNa`, `BRkNNb` or `MLkNN` with uniform weights and an `ExactNeighbors` search by "euclidean",
        "sqeuclidean" or "manhattan". Around it may be a `FixedThresholdsClassifier` or a `TunedThresholdsClassifierCV`
        without bounds on label sets, and pipelines whose other steps scale numbers: `FeatureScaler` (not "tfidf") and
        scikit-learn's `StandardScaler`, `MinMaxScaler`, `MaxAbsScaler` and `RobustScaler`.
    path : path-like
        The file, which is written atomically.

    Returns
    -------
    path : pathlib.Path
        The file. Anyone who gets it can read the training samples in it.

    Raises
    ------
    ValueError
        If the model has a part that the arrays cannot express. Then nothing is written.
    OSError
        If the file cannot be written.

    See Also
    --------
    save_model : Save any model, with a card and without loss.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.persistence import export_arrays
    >>> model = BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> path = export_arrays(model, Path(tempfile.mkdtemp()) / "small.npz")
    >>> with np.load(path) as arrays:
    ...     print(arrays["samples"].tolist(), arrays["labels"].tolist())
    [[0.0], [1.0]] [[1, 0], [0, 1]]
    """
    check_is_fitted(model)
    steps, thresholds, method = _taken_apart(model)
    _check_method(method)
    steps_array = np.array(steps, dtype=np.float64).reshape(-1, 6, method.n_features_in_)
    arrays = {"format": _FORMAT, "steps": steps_array, **_of_method(method), **_of_rule(method, thresholds)}
    path = Path(path)
    with whole_file(path) as partial, partial.open("wb") as file:
        np.savez(file, **arrays)
    return path


def _taken_apart(model: Any) -> tuple[list[list[AnyArray]], FloatArray | None, Any]:
    """Return the steps before the method, the thresholds around it if there are some, and the method."""
    steps: list[list[AnyArray]] = []
    thresholds = None
    while isinstance(model, Pipeline | FixedThresholdsClassifier | TunedThresholdsClassifierCV):
        if isinstance(model, Pipeline):
            for step in model[:-1]:
                if step not in (None, "passthrough"):
                    steps += _of_scaler(step)
            model = model[-1]
        else:
            rule = getattr(model, "strategy_", None)
            if not model.cuts_only or not (rule is None or isinstance(rule, ByThresholds)):
                raise _cannot(f"{type(model).__name__} must decide by thresholds alone, without at_least and at_most")
            # The outermost one decides; others inside it only pass scores on.
            thresholds = model.thresholds_ if thresholds is None else thresholds
            model = model.estimator_
    return steps, thresholds, model


def _of_scaler(scaler: Any) -> Iterator[list[AnyArray]]:
    """Yield steps, each as low, high, minus, over, times and plus: (clip(x, low, high) - minus) / over * times + plus.

    These are the operations of the scaler, in its order: a product with the reciprocal would round otherwise.
    """
    n = getattr(scaler, "n_features_in_", 0)
    if type(scaler) is FeatureScaler and scaler.scale != "tfidf":
        ends = np.full((2, n), [[-np.inf], [np.inf]])
        low, high = ends if scaler.range_ is None else scaler.range_.transform(ends)
        yield _step(n, low=low, high=high, minus=scaler.offset_, times=scaler.factor_)
    elif type(scaler) is StandardScaler:
        yield _step(n, minus=scaler.mean_ if scaler.with_mean else None, over=scaler.scale_)
    elif type(scaler) is RobustScaler:
        yield _step(n, minus=scaler.center_, over=scaler.scale_)
    elif type(scaler) is MaxAbsScaler:
        yield _step(n, over=scaler.scale_)
        if getattr(scaler, "clip", False):
            yield _step(n, low=-1.0, high=1.0)
    elif type(scaler) is MinMaxScaler:
        yield _step(n, times=scaler.scale_, plus=scaler.min_)
        if scaler.clip:
            yield _step(n, low=scaler.feature_range[0], high=scaler.feature_range[1])
    else:
        raise _cannot(f"steps of a pipeline must scale numbers, got {scaler!r}")


_NEUTRAL = {"low": -np.inf, "high": np.inf, "minus": 0.0, "over": 1.0, "times": 1.0, "plus": 0.0}


def _step(n_features: int, **given: Any) -> list[AnyArray]:
    known = {name: value for name, value in given.items() if value is not None}
    return [np.broadcast_to(value, n_features) for value in (_NEUTRAL | known).values()]


def _check_method(method: Any) -> None:
    """Raise ValueError unless votes of whole neighbours, and nothing else, decide."""
    if type(method) not in _METHODS:
        raise _cannot(f"its method must be one of {', '.join(kind.__name__ for kind in _METHODS)}, got {method!r}")
    if method.weights != "uniform" or method._sample_weight is not None:
        raise _cannot(f"neighbours must have one vote each, got weights={method.weights!r} or sample weights")
    if method._cells is not None:
        raise _cannot("all labels of its samples must be known, got unknown cells")
    if method._container.classes is not None:
        raise _cannot("y must have a column for each label, got a one-dimensional y")
    search = method.search_
    if type(search) is not ExactNeighbors or search.metric not in _POWERS:
        raise _cannot(f"its search must be ExactNeighbors with one of the metrics {', '.join(_POWERS)}, got {search!r}")


def _of_method(method: Any) -> dict[str, Any]:
    """Return the training samples, the labels of their rows, and the score of each number of votes for each label."""
    k, search = method.n_neighbors_, method.search_
    require_room("exported samples", (search.n_samples_fit_, search.n_features_in_), ("samples", "features"), _HINT)
    require_room("exported labels", method._labels.shape, ("samples", "labels"), _HINT)
    labels = as_dense(method.training_labels()).astype(np.uint8)
    shares = np.tile(np.arange(k + 1) / k, (labels.shape[1], 1))
    return {
        "samples": as_dense(search.take(np.arange(search.n_samples_fit_))),
        "labels": labels,
        "label_names": np.array([str(name) for name in method.label_names_]),
        "n_neighbors": k,
        "power": _POWERS[search.metric],
        "scores": method.posterior_ if isinstance(method, MLkNN) else shares,
    }


def _of_rule(method: Any, thresholds: FloatArray | None) -> dict[str, Any]:
    """Return what decides: a threshold of each label; or the size of a label set, by the sum of all votes (BRkNN-b).

    `fills` is whether a sample without a label gets the best one (BRkNN-a).
    """
    n_labels, k = method._n_labels, method.n_neighbors_
    sizes = np.zeros(0, dtype=np.int64)
    if thresholds is None and isinstance(method, BRkNNb):
        largest = int(method.training_labels().sum(axis=1).max())
        sizes = method._rounded(np.arange(k * largest + 1) / k).astype(np.int64)
    if thresholds is None:
        is_strict = getattr(method, "majority", "half") == "strict"
        thresholds = np.full(n_labels, np.nextafter(0.5, 1.0) if is_strict else 0.5)
        return {"thresholds": thresholds, "sizes": sizes, "fills": isinstance(method, BRkNNa)}
    return {"thresholds": thresholds, "sizes": sizes, "fills": False}


def _cannot(must: str) -> ValueError:
    return ValueError(f"model cannot be exported as arrays: {must}. Hint: {_HINT}.")
