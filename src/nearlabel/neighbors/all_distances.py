"""The distances of all pairs of queries and rows, for methods that need more than the nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.neighbors._exact import as_float_rows, stored_alike
from nearlabel.neighbors._named_distances import distance_named
from nearlabel.neighbors._named_distances import takes_missing_values as takes_missing_values
from nearlabel.utils.types import FloatArray, Matrix

_PRECISE_ENOUGH = 1e-9  # relative width of the bounds on a distance; they are for the worst rounding


class AllDistances:
    """Distances of all pairs, by any metric of `ExactNeighbors`.

    The fast bounds of a metric give the distance of most pairs. The few whose bounds are wide, those of rows that
    nearly agree, are computed feature by feature. So equal rows are at distance 0, whatever the storage.

    Parameters
    ----------
    X : ndarray or CSR of shape (n_rows, n_features)
        Rows from which the metric may learn a centre or variances.
    metric : str or callable
        As in `ExactNeighbors`.
    metric_params : dict or None
        As in `ExactNeighbors`.
    """

    def __init__(self, X: Matrix, metric: str | Callable[..., float], metric_params: dict[str, Any] | None) -> None:
        self._distance = distance_named(metric, metric_params)
        self._is_sparse = sparse.issparse(X)
        self._distance.fit(as_float_rows(X))

    def between(self, queries: Matrix, rows: Matrix) -> FloatArray:
        """Return the distances (n_queries, n_rows)."""
        tile = self._distance.tile(self._prepared(queries), self._prepared(rows))
        low = tile.lower + tile.base[:, np.newaxis]
        high = tile.query_slack[:, np.newaxis] + tile.row_slack
        high += low
        with np.errstate(invalid="ignore"):  # the root of a bound below 0
            least, most = self._distance.to_distance(low), self._distance.to_distance(high)
        distances = np.asarray(least + most)
        distances /= 2  # in place, as more than half of the time is that of memory
        query, row = np.nonzero(~(np.subtract(most, least, out=least) <= _PRECISE_ENOUGH * most))
        distances[query, row] = self._distance.to_distance(tile.refine(query, row))
        return distances

    def _prepared(self, X: Matrix) -> Any:
        return self._distance.prepare(as_float_rows(stored_alike(X, as_sparse=self._is_sparse)))
