"""A fitted search as arrays of numbers, its packed panels among them, from which it is made again without packing.

The arrays may come from an untrusted file: nothing in them may lead a kernel to other memory. Wrong points give wrong
neighbours, as wrong samples do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils import assert_all_finite

from nearlabel.neighbors.exact import kernels
from nearlabel.neighbors.exact._bounds_search import BoundsSearch
from nearlabel.neighbors.exact._candidates import DuplicateRows
from nearlabel.neighbors.exact._kernel_points import PLAIN, PackedPoints, packed_format
from nearlabel.neighbors.exact._kernel_search import KernelSearch, PackedPanel, PackedPanels, PanelLayout
from nearlabel.neighbors.exact._panel_search import Parts
from nearlabel.neighbors.exact._panels import LARGEST_QUERY, PANEL_ROWS
from nearlabel.neighbors.exact._search import ExactNeighbors, distance_named
from nearlabel.neighbors.exact._segments import Segment
from nearlabel.utils.types import AnyArray, Matrix

Arrays = Mapping[str, AnyArray]
_OF_POINTS = {"units": np.float32, "squares": np.float64, "norms": np.float32, "rests": np.float32}
_LARGEST_SQUARE = 2 * LARGEST_QUERY**2  # of a stored point, and for roundings


def packed_arrays(search: ExactNeighbors) -> dict[str, AnyArray]:
    """Return the samples of a fitted search and its packed panels; nothing if it keeps no such panels."""
    if not _keeps_panels(search._segments[0]):
        return {}
    segment: Any = search._joined()
    if not _keeps_panels(segment):
        return {}
    panels = segment.engine._panels
    duplicates, layout, parts = segment.duplicates, panels.layout, panels._panels
    groups = {} if duplicates is None else {"first": duplicates.first, "group_of": duplicates.group_of}
    return groups | {
        "rows": segment.rows,
        "format": np.array([kernels.INTERFACE, kernels.level_numbers()[panels.level]]),
        "layout": np.array(layout[1:], dtype=np.int64),
        "centre": layout.centre,
        "centres": np.array([panel.centre for panel in parts]),
        "shares_centre": np.array([panel.centre is layout.centre for panel in parts], dtype=np.uint8),
        "middles": np.array([panel.middle for panel in parts]),
        "radii": np.array([panel.radius for panel in parts]),
        "sizes": np.array([panel.n_rows for panel in parts], dtype=np.int64),
        "numbers": np.concatenate([panel.numbers for panel in parts]),
        "packed": np.concatenate([panel.points.packed for panel in parts]),
        **{name: np.concatenate([getattr(panel.points, name) for panel in parts]) for name in _OF_POINTS},
    }


def _keeps_panels(segment: Any) -> bool:
    panels = getattr(segment.engine, "_panels", None)
    return isinstance(panels, PackedPanels) and panels._panels is not None


def fit_to_packed(search: ExactNeighbors, arrays: Arrays) -> ExactNeighbors:
    """Fit a search to the samples among the arrays; pack these again only if the kernels here take another format.

    Raises ValueError if the arrays are not those of a search.
    """
    rows, duplicates = _samples_of(arrays)
    distance: Any = distance_named(search.metric, search.metric_params)
    panels = None if search.device is not None else _panels_of(arrays, rows, distance)
    if panels is None:
        return search.fit(rows if duplicates is None else rows[duplicates.group_of])
    distance.fit(rows)  # raises where squared norms overflow
    parts = Parts(rows, distance, BoundsSearch(rows, distance).write, search.n_jobs)
    engine = KernelSearch(parts, level=kernels.kernel_in_use(), panels=panels)
    search._distance, search._as_sparse, search.n_features_in_ = distance, False, rows.shape[1]
    search._set_segments([Segment(rows, duplicates, engine=engine)])
    return search


def _samples_of(arrays: Arrays) -> tuple[Matrix, DuplicateRows | None]:
    rows = _whole(arrays, "rows")
    if rows.ndim != 2 or rows.dtype not in (np.float32, np.float64) or 0 in rows.shape:
        raise ValueError(f"rows must be a matrix of floats, got {rows.dtype} {rows.shape}")
    assert_all_finite(rows)
    if "first" not in arrays:
        return rows, None
    first, group_of = _whole(arrays, "first"), _whole(arrays, "group_of")
    n_rows = len(group_of) if group_of.ndim == 1 else 0
    _check(arrays, "first", np.intp, (len(rows),), 0, n_rows - 1)
    _check(arrays, "group_of", np.intp, (n_rows,), 0, len(rows) - 1)
    if (group_of[first] != np.arange(len(rows))).any():
        raise ValueError("first must have a row of each group")
    return rows, DuplicateRows(first, group_of)


def _panels_of(arrays: Arrays, rows: AnyArray, distance: Any) -> PackedPanels | None:
    """Return the panels, checked; None if the kernels here take another format."""
    level = kernels.kernel_in_use()
    _check(arrays, "format", np.int64, (2,))
    exponent, whole, bounded = _check(arrays, "layout", np.int64, (3,), -1200, 1200).tolist()
    used = PLAIN if whole else level
    if level == kernels.OFF or arrays["format"].tolist() != [kernels.INTERFACE, kernels.level_numbers()[used]]:
        return None
    centre = _check(arrays, "centre", np.float64, rows.shape[1:])
    layout = PanelLayout(centre, exponent, bool(whole), bool(bounded))
    return PackedPanels.of_panels(rows, distance, level, _panels(arrays, rows, used, layout), layout)


def _panels(arrays: Arrays, rows: AnyArray, level: str, layout: PanelLayout) -> list[PackedPanel]:
    """Return the panels of all rows that have points."""
    n_rows, n_features = rows.shape
    n_panels = len(_whole(arrays, "sizes"))
    sizes = _check(arrays, "sizes", np.int64, (n_panels,), 1, PANEL_ROWS)
    ends = np.cumsum(sizes)
    n_points = int(ends[-1]) if n_panels else 0
    numbers = _check(arrays, "numbers", np.int32, (n_points,), 0, n_rows - 1)
    if n_points < 2 or np.bincount(numbers, minlength=n_rows).max() > 1:
        raise ValueError(f"numbers must be those of at least two rows, each once, got {n_points}")
    centres, middles = (_check(arrays, name, np.float64, (n_panels, n_features)) for name in ("centres", "middles"))
    shares_centre = _check(arrays, "shares_centre", np.uint8, (n_panels,), 0, 1)
    radii = _check(arrays, "radii", np.float64, (n_panels,), 0, np.inf)
    of_points = [_check(arrays, name, kind, (n_points,), 0, _LARGEST_SQUARE) for name, kind in _OF_POINTS.items()]
    formats = [packed_format(level, int(size), n_features, as_rows=True) for size in sizes]
    packed_ends = np.cumsum([n_bytes for n_bytes, _ in formats])
    packed = _check(arrays, "packed", np.uint8, (int(packed_ends[-1]),))
    number, panels = kernels.level_numbers()[level], []
    for place, (n_bytes, depth) in enumerate(formats):
        some = slice(ends[place] - sizes[place], ends[place])
        of_panel = packed[packed_ends[place] - n_bytes : packed_ends[place]]
        points = PackedPoints(number, True, n_features, depth, of_panel, *(of[some] for of in of_points))
        centre = layout.centre if shares_centre[place] else centres[place]
        facts = int(sizes[place]), numbers[some].astype(np.intp), centre, middles[place], float(radii[place])
        panels.append(PackedPanel(*facts, numbers[some], points))
    return panels


def _whole(arrays: Arrays, name: str) -> AnyArray:
    if name not in arrays:
        raise ValueError(f"it has packed rows without {name}")
    return arrays[name]


def _check(
    arrays: Arrays,
    name: str,
    kind: DTypeLike,
    shape: tuple[int, ...],
    low: float = -np.inf,
    high: float = np.inf,
) -> AnyArray:
    """Return an array of this type and shape, with values from `low` to `high` and no NaN; raise ValueError else."""
    array = _whole(arrays, name)
    if array.dtype != kind or array.shape != shape:
        raise ValueError(f"{name} must be {np.dtype(kind)} {shape}, got {array.dtype} {array.shape}")
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ValueError(f"{name} must be from {low} to {high}, got {array.min()} to {array.max()}")
    return array
