"""Labels that are unknown for some rows: a note for the user, and the methods that are tried then."""

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
    _console.print_notes([f"{data.name}: {cells}{useless}. Fitting and metrics use the known ones only."])


def narrowed(methods: Mapping[str, Any], data: Dataset, *, by_default: bool) -> dict[str, Any]:
    """Return the methods to try; if the user named none, those that accept the unknown labels of the data, if any.

    Named methods are never left out: they raise an error if they do not accept unknown labels.
    """
    if not by_default or PartialLabels.of(data.Y, dtype=None).unknown is None:
        return dict(methods)
    taking = {name: method for name, method in methods.items() if takes_unknown(method)}
    if not taking:
        return dict(methods)
    _console.print_notes([f"Only methods that accept unknown labels are tried: {', '.join(taking)}."])
    return taking
