"""Labels that are unknown for some rows: what the user is told of them, and which methods are tried then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from nearlabel.cli import _console
from nearlabel.datasets import Dataset
from nearlabel.experiments import takes_unknown
from nearlabel.utils.partial_labels import PartialLabels


def tell(data: Dataset) -> None:
    """Print how many labels are unknown, if some are."""
    unknown = PartialLabels.of(data.Y, dtype=None).unknown
    if unknown is None:
        return
    n_cells, n_rows = int(unknown.sum()), int((np.asarray(unknown.sum(axis=1)) == unknown.shape[1]).sum())
    useless = f"; {n_rows} {'row has' if n_rows == 1 else 'rows have'} no known label" if n_rows else ""
    share = n_cells / (unknown.shape[0] * unknown.shape[1])
    cells = f"{n_cells} label {'cell is' if n_cells == 1 else 'cells are'} unknown ({share:.1%})"
    _console.print_notes([f"{data.name}: {cells}{useless}. The known ones decide and are counted."])


def narrowed(methods: Mapping[str, Any], data: Dataset, *, by_default: bool) -> dict[str, Any]:
    """Return the methods to try; where nobody named them, those that take unknown labels, if the data have some.

    Methods that were named stay, and are refused with an error if they do not take them.
    """
    if not by_default or PartialLabels.of(data.Y, dtype=None).unknown is None:
        return dict(methods)
    taking = {name: method for name, method in methods.items() if takes_unknown(method)}
    if not taking:
        return dict(methods)
    _console.print_notes([f"Tried are the methods that take unknown labels: {', '.join(taking)}."])
    return taking
