"""The samples on which a tuning evaluates candidates, and their split into parts."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np

from nearlabel.datasets import Dataset
from nearlabel.experiments._copies import groups_of_copies
from nearlabel.experiments._methods import N_FOLDS
from nearlabel.out_of_sample import of_groups, rows_of, splitter_of
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import IntArray, Matrix

LOO = "loo"


class Samples(NamedTuple):
    """A data set, its label sets with NaN in unknown cells, and the parts for evaluating selections and thresholds.

    `copies` (n_samples,) has the same number for equal samples; None if no metrics without copies are requested.
    """

    data: Dataset
    Y: Matrix
    parts: list[IntArray]
    copies: IntArray | None

    @classmethod
    def of(cls, data: Dataset, cv: str | int, *, without_copies: bool) -> Self:
        """Return a data set split into parts; groups are never split, so copies are not searched then."""
        Y = PartialLabels.of(data.Y).with_nan()
        copies = groups_of_copies(data.X) if without_copies and data.groups is None else None
        return cls(data, Y, parts_of(data.name, Y.shape[0], data.groups, cv), copies)


def parts_of(name: str, n_rows: int, groups: IntArray | None, cv: str | int) -> list[IntArray]:
    """Return the sample indices of each fold; selections and thresholds are evaluated on the same parts."""
    n_units, units = (n_rows, "rows") if groups is None else (len(np.unique(groups)), "groups")
    if n_units < 2:
        raise ValueError(f"{name!r} must have at least 2 {units} for some to be held out, got {n_units}.")
    n_parts = min(N_FOLDS, n_units) if cv == LOO else int(cv)
    if n_parts > n_units:
        raise ValueError(f"cv must be at most the {n_units} {units} of {name}, got {n_parts}.")
    splitter = splitter_of(n_parts, n_rows, 0, groups)
    return [part for _, part in splitter.split(np.zeros((n_rows, 1)), **of_groups(groups))]


def drawn(data: Dataset, n_rows: int) -> Dataset:
    """Return a random sample of the rows, always the same."""
    rows = np.sort(np.random.default_rng(0).permutation(data.X.shape[0])[:n_rows])
    groups = None if data.groups is None else np.unique(data.groups[rows], return_inverse=True)[1]
    return replace(data, X=rows_of(data.X, rows), Y=rows_of(data.Y, rows), groups=groups)
