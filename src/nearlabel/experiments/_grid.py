"""The grid of a tuning: methods with numbers of neighbours, scalings and searches, and which of them share a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.adaptation.clustering_trees import ClusteringTrees
from nearlabel.experiments._attempt import Line
from nearlabel.experiments._candidate import EXACT, Candidate
from nearlabel.experiments._copies import in_small_groups
from nearlabel.experiments._held_out import Answer, Folds, HoldingOut, LeaveOneOut
from nearlabel.experiments._methods import MethodSpec, sharing_a_fit
from nearlabel.experiments._preparing import Columns, preparation
from nearlabel.experiments._samples import LOO, Samples
from nearlabel.lazy import MLMLM
from nearlabel.out_of_sample import largest_group
from nearlabel.utils.types import Matrix

_COSINE = "exact:metric=cosine"
_FEW = 3  # numbers of neighbours tried from a range, for methods that need a fit for each
_BY_FEATURE = ("none", "minmax", "standard")  # scalings that shift and divide each feature


class Fitting(NamedTuple):
    """Methods that share a fit (they differ only in thresholds), with some numbers of neighbours.

    Parameters
    ----------
    specs : dict of str to MethodSpec
        The methods, by name.
    numbers : sequence of int, or (None,)
        Numbers of neighbours to try.
    scale, search : str, str or None
        Names of the scaling and of the search.
    search_object : object
        The object of the search's name.
    by : HoldingOut
        How samples are held out.
    copy_of : str
        Reason why it is skipped as a copy of another one; empty if it must be fitted.
    """

    specs: dict[str, MethodSpec]
    numbers: Sequence[int | None]
    scale: str
    search: str | None
    search_object: Any
    by: HoldingOut
    copy_of: str

    @property
    def lines(self) -> list[Line]:
        """One line for each method."""
        return [Line(name, self.scale, self.search) for name in self.specs]

    def answer(self, by: HoldingOut, n_neighbors: int | None) -> Answer:
        """Return the predictions for held-out samples, without thresholds."""
        spec = next(iter(self.specs.values()))
        return by.answer(spec, n_neighbors, self.search_object, self.search or EXACT)


@dataclass(frozen=True)
class Grid:
    """All candidates of a `Tuning`; the fields are as there, with an object for each name."""

    methods: dict[str, Any]
    n_neighbors: int | tuple[int, ...]
    scales: tuple[str, ...]
    searches: dict[str, Any]
    cv: str | int
    impute: str | None

    @cached_property
    def specs(self) -> dict[str, MethodSpec]:
        """The methods as specifications."""
        return {name: MethodSpec.of(method) for name, method in self.methods.items()}

    def candidate(self, method: str, n_neighbors: int | None, scale: str, search: str | None) -> Candidate:
        """Return a candidate, with the objects of names that are not nearlabel's own."""
        of_method = self.methods[method]
        of_search = None if search is None else self.searches[search]
        return Candidate(
            method,
            n_neighbors,
            scale,
            search,
            method_object=None if of_method == method else of_method,
            search_object=None if of_search == search else of_search,
            impute=self.impute,
        )

    def fittings(self, samples: Samples) -> list[Fitting]:
        """Return the necessary fits, method by method; methods that differ only in their thresholds share a fit."""
        held_out = {scale: self._held_out(samples, scale) for scale in self.scales}
        copies = _copied_scales({scale: left_out for scale, (left_out, _) in held_out.items()})
        fittings = []
        for specs in sharing_a_fit(self.specs):
            spec = next(iter(specs.values()))
            for scale, (left_out, folds) in held_out.items():
                by: HoldingOut = left_out if self.cv == LOO and spec.has_left_out_scores else folds
                numbers = self._numbers(by, samples.Y.shape[0]) if spec.has_neighbors else (None,)
                for search in self.searches if spec.shares_search else (None,):
                    copy_of = copies[scale] or self._copied_by_method(spec, scale, search, left_out)
                    search_object = EXACT if search is None else self.searches[search]
                    fittings.append(Fitting(specs, numbers, scale, search, search_object, by, copy_of))
        return fittings

    def _held_out(self, samples: Samples, scale: str) -> tuple[LeaveOneOut, Folds]:
        data, Y, parts, copies = samples
        n_more = 0 if copies is None else largest_group(in_small_groups(copies)[0]) - 1
        largest = max(self.n_neighbors) if isinstance(self.n_neighbors, tuple) else self.n_neighbors
        steps = preparation(Columns.of(data), self.impute, scale)
        left_out = LeaveOneOut(data.X, Y, steps, largest + n_more, data.groups)
        # Only calibration leaves groups out inside a fold, which needs more neighbours.
        groups = data.groups if any(spec.calibration for spec in self.specs.values()) else None
        return left_out, Folds(data.X, Y, steps, parts, largest, groups)

    def _numbers(self, by: HoldingOut, n_rows: int) -> Sequence[int]:
        """Return the numbers of neighbours to try; fewer of a range if each needs a fit."""
        most = by.most_neighbors
        if most < 1:
            raise ValueError(f"data must have more samples, so that some can be held out, got {n_rows}.")
        if isinstance(self.n_neighbors, tuple):
            if max(self.n_neighbors) > most:
                raise ValueError(
                    f"n_neighbors must be at most {most} where some of {n_rows} rows are held out,"
                    f" got {max(self.n_neighbors)}."
                )
            return self.n_neighbors
        last = min(self.n_neighbors, most)
        step = max(1, last // _FEW) if isinstance(by, Folds) and self.cv == LOO and last > 2 * _FEW else 1
        return range(step, last + 1, step)

    def _copied_by_method(self, spec: MethodSpec, scale: str, search: str | None, left_out: LeaveOneOut) -> str:
        """Return the reason why a method gives the same result with another scaling or search; empty if it does not."""
        first = next((one for one in self.scales if one in _BY_FEATURE), scale)
        if isinstance(spec.method.prototype, ClusteringTrees) and scale in _BY_FEATURE and scale != first:
            return f"the same as with scaling {first}, as trees depend only on the order of values"
        if _scales_itself(spec.method.prototype) and scale in _BY_FEATURE and scale != first:
            return f"the same as with scaling {first}, as the method divides features by their ranges"
        if search == _COSINE and EXACT in self.searches and left_out.has_unit_rows:
            return "the same as with the Euclidean distance, as all samples have norm 1"
        return ""


def _scales_itself(method: Any) -> bool:
    """Return whether a method divides features by their ranges and is invariant to shifts."""
    return isinstance(method, MLMLM) and (method.scale, method.metric) == ("minmax", "euclidean")


def _copied_scales(left_out: Mapping[str, LeaveOneOut]) -> dict[str, str]:
    """Return why each scaling is left out (an earlier one gives the same features); empty if it is not."""
    copied: dict[str, str] = {}
    for scale, rows in left_out.items():
        same = (other for other in copied if not copied[other] and _are_equal(left_out[other].prepared, rows.prepared))
        copied[scale] = next((f"the same as with scaling {other}, as the features are the same" for other in same), "")
    return copied


def _are_equal(first: Matrix, second: Matrix) -> bool:
    if sparse.issparse(first) or sparse.issparse(second):
        return bool((sparse.csr_array(first) != sparse.csr_array(second)).nnz == 0)
    return bool(np.array_equal(first, second))
