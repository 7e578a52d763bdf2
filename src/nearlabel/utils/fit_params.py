"""Metadata of `fit` with a value for each sample, such as `sample_weight`: checks, routing and subsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import check_sample_weight

_ROUTING = "sklearn.set_config(enable_metadata_routing=True)"


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
            " set_fit_request(sample_weight=True) on its step."
        )
    return dict(params)


def params_of_samples(params: Mapping[str, Any], samples: IntArray, n_samples: int) -> dict[str, Any]:
    """Return the metadata of some of n samples; values that are not per sample are unchanged."""
    return {name: _some_of(value, samples, n_samples) for name, value in params.items()}


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
