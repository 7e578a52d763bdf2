"""The distances of the metrics' names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nearlabel.neighbors._distances import AnyMetric, Cosine, Distance, Euclidean, Manhattan, SquaredEuclidean
from nearlabel.neighbors._missing_values import Heom, NanEuclidean

_ALIASES = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}
_WITH_MISSING: dict[Any, Callable[[], Distance]] = {"heom": Heom, "nan_euclidean": NanEuclidean}
_DISTANCES: dict[Any, Callable[[], Distance]] = {
    "euclidean": Euclidean,
    "sqeuclidean": SquaredEuclidean,
    "cityblock": Manhattan,
    "cosine": Cosine,
    **_WITH_MISSING,
}


def distance_named(metric: str | Callable[..., float], params: dict[str, Any] | None) -> Distance:
    """Return the distance of a metric, given by name or as a function of two rows."""
    if not isinstance(metric, str) and not callable(metric):
        raise TypeError(f"metric must be a name or a function of two rows, got {metric!r}.")
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    return AnyMetric(name, params or {}) if params or name not in _DISTANCES else _DISTANCES[name]()


def takes_missing_values(metric: object) -> bool:
    """Return whether NaN is a missing value to a metric; to all others it is an error."""
    return isinstance(metric, str) and metric in _WITH_MISSING
