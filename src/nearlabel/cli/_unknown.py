"""Labels that are unknown for some rows: what the user is told of them, and which methods are tried then."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearlabel import labels
from nearlabel.cli import _console
from nearlabel.datasets import Dataset
from nearlabel.experiments import takes_unknown


def tell(data: Dataset) -> None:
    """Print how many labels are unknown, if some are."""
    figures = labels.describe(data.Y)
    if "unknown_cells" not in figures:
        return
    n_rows = figures["rows_without_known_labels"]
    useless = f"; {n_rows} {'row has' if n_rows == 1 else 'rows have'} no known label" if n_rows else ""
    n_cells = figures["unknown_cells"]
    cells = f"{n_cells} label {'cell is' if n_cells == 1 else 'cells are'} unknown ({figures['unknown_share']:.1%})"
    _console.print_notes([f"{data.name}: {cells}{useless}. The known ones decide and are counted."])


def narrowed(methods: Mapping[str, Any], data: Dataset, *, by_default: bool) -> dict[str, Any]:
    """Return the methods to try; where nobody named them, those that take unknown labels, if the data have some.

    Methods that were named stay, and are refused with an error if they do not take them.
    """
    if not by_default or (labels.known_counts(data.Y) == data.Y.shape[0]).all():
        return dict(methods)
    taking = {name: method for name, method in methods.items() if takes_unknown(method)}
    if not taking:
        return dict(methods)
    _console.print_notes([f"Tried are the methods that take unknown labels: {', '.join(taking)}."])
    return taking
