"""The output of ``nearlabel compare --rows``: the rows that only one of two methods predicts correctly."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields, replace

from nearlabel.cli import _console
from nearlabel.comparison import ComparedRow, RowComparison, compare_rows, read_results
from nearlabel.metrics.evaluation import title_of
from nearlabel.utils.messages import warnings_as_notes

_EXACT = "subset_accuracy"
_IN_A_TABLE = 10  # rows of each method


def show_rows(arguments: argparse.Namespace) -> None:
    """Compare two methods row by row and print the rows where one is better."""
    with warnings_as_notes() as notes:
        records = read_results(arguments.results)
    metric = _EXACT if arguments.metrics is None else arguments.metrics[0]
    comparison = compare_rows(records, arguments.methods, metric=metric, n_neighbors=arguments.k)
    limit = _IN_A_TABLE if arguments.limit is None and arguments.format == "table" else arguments.limit
    shown = [row for method in comparison.methods for row in _of(comparison, method)[:limit]]
    if arguments.format == "json":
        _console.print_json(replace(comparison, rows=tuple(shown)).as_dict() | {"notes": notes})
    elif arguments.format == "csv":
        columns = [field.name for field in fields(ComparedRow)]
        _console.print_csv([_flat(row) for row in shown], columns=columns)
        _console.print_notes(notes)
    else:
        _print(comparison, shown)
        for note in notes:
            _console.print_text(f"Note: {note}")


def _of(comparison: RowComparison, method: str) -> list[ComparedRow]:
    return [row for row in comparison.rows if row.better == method]


def _flat(row: ComparedRow) -> dict[str, object]:
    """Return the cells for CSV; label sets are JSON lists, since labels may contain any character."""
    return {name: json.dumps(cell) if isinstance(cell, tuple) else cell for name, cell in asdict(row).items()}


def _print(comparison: RowComparison, shown: Sequence[ComparedRow]) -> None:
    """Print a table for each method with the rows on which it is better, and how many there are of each kind."""
    first, second = comparison.methods
    for better, worse in ((first, second), (second, first)):
        title = f"{better} better than {worse} by {title_of(comparison.metric)}"
        if comparison.metric == _EXACT:
            title = f"{better} right, {worse} wrong"
        rows, n_better = [row for row in shown if row.better == better], comparison.n_better[better]
        number = f"{len(rows)} of {n_better}" if rows and len(rows) < n_better else str(n_better)
        title += f": {number} row{'' if n_better == 1 else 's'}"
        if rows:
            _print_rows(title, rows, comparison)
        else:
            _console.print_text(f"{title}.")
    alike = comparison.n_rows - sum(comparison.n_better.values())
    _console.print_text(f"Neither is better on {alike} of the {comparison.n_rows} rows.")


def _print_rows(title: str, rows: Sequence[ComparedRow], comparison: RowComparison) -> None:
    """Print rows of one method, without the columns that are the same in all."""
    columns: dict[str, list[str]] = {
        "data set": [row.dataset for row in rows],
        "seed": [str(row.seed) for row in rows],
        "row": [str(row.row) for row in rows],
        "labels": [_joined(row.labels, row.unknown) for row in rows],
        f"by {rows[0].better}": [_joined(row.of_better) for row in rows],
        f"by {rows[0].worse}": [_joined(row.of_worse) for row in rows],
    }
    for name, field in (("data set", "dataset"), ("seed", "seed")):
        if len({getattr(row, field) for row in comparison.rows}) == 1:
            del columns[name]
    left = len(columns)
    if comparison.metric != _EXACT:
        columns["better"] = [f"{row.value_of_better:.4f}" for row in rows]
        columns["worse"] = [f"{row.value_of_worse:.4f}" for row in rows]
    _console.print_table(title, list(columns), zip(*columns.values(), strict=True), left=left)


def _joined(labels: Sequence[str], unknown: Sequence[str] = ()) -> str:
    """Return a label set in words; a question mark follows labels that are unknown."""
    return ", ".join([*labels, *(f"{label}?" for label in unknown)]) or "–"
