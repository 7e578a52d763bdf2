"""Tables of methods and metrics: a row for each method, and as many metrics side by side as the width allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nearlabel.cli import _console


class MethodTable(NamedTuple):
    """A title, the cells of each method, one for each metric, and the header of the methods."""

    title: str
    cells: Mapping[str, Sequence[str]]
    of: str = "method"

    def columns(self, headers: Sequence[str], numbers: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the column of the methods and those of some metrics, each with its header first."""
        of_metrics = [(headers[n], *(cells[n] for cells in self.cells.values())) for n in numbers]
        return [(self.of, *self.cells), *of_metrics]


def print_method_tables(tables: Sequence[MethodTable], headers: Sequence[str], *, every: bool) -> int:
    """Print tables with the same metrics as columns, and return how many metrics are not printed.

    Metrics that do not fit next to the others are printed below them if `every` metric is wanted, else left out.
    """
    blocks = _blocks(tables, headers)
    printed = blocks if every else blocks[:1]
    for table in tables:
        for number, block in enumerate(printed):
            first, *others = zip(*table.columns(headers, block), strict=True)
            _console.print_table("" if number else table.title, first, others)
    return len(headers) - sum(map(len, printed))


def _blocks(tables: Sequence[MethodTable], headers: Sequence[str]) -> list[list[int]]:
    """Divide the columns so that each part fits the width in every table."""
    blocks: list[list[int]] = [[]]
    for number in range(len(headers)):
        wider = [*blocks[-1], number]
        width = max(_console.least_width(table.columns(headers, wider)) for table in tables)
        if blocks[-1] and width > _console.width():
            blocks.append([number])
        else:
            blocks[-1] = wider
    return blocks
