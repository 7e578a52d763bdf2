"""The last line of a table of results: the number of metrics on which each method is best, or better than another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from nearlabel.experiments import Record
from nearlabel.metrics import CATALOGUE
from nearlabel.papers._printed_table import PrintedCell

# Method and number of neighbours.
_Who: TypeAlias = tuple[str | None, int | str | None]


def wins_beside_printed(
    table: Mapping[str, Any], cells: Iterable[PrintedCell], records: Iterable[Record]
) -> Iterator[PrintedCell]:
    """Yield the printed numbers of metrics that a method wins, next to ours.

    A method wins a metric if no other value of the data set in the table is better; equal values both win. This is how
    Spyromitros et al. (2008) count, Tables 2 and 3: "the number of metrics for which it achieves the best result", and
    "the number of metrics for which [the extensions] are better than the base".

    Parameters
    ----------
    table : mapping
        ``wins``: rows of data set, method, number of neighbours, metrics won, and, of some, metrics in which the method
        is better than ``base``. Rows of data sets that were not run are left out.
    cells : iterable of PrintedCell
        Our cells of the table.
    records : iterable of dict
        Records of the experiments, with the direction of metrics outside the catalogue.

    Raises
    ------
    ValueError
        If it is unknown whether a greater value of a metric is better.
    """
    of_datasets = _values_by_metric(cells, records)
    for dataset, method, k, *printed in table.get("wins", ()):
        who = method, k or None  # TOML has no null
        by_metric = [values for values in of_datasets[dataset] if who in values]
        ours = {"wins": sum(values[who] == max(values.values()) for values in by_metric)}
        if len(printed) > 1:
            base = table["base"], who[1]
            better = sum(base in values and values[who] > values[base] for values in by_metric)
            ours[f"better_than_{table['base']}"] = better
        for (metric, count), in_print in zip(ours.items(), printed, strict=True):
            if by_metric:
                yield PrintedCell(dataset, *who, metric, in_print, None, count, None, count - in_print)


def _values_by_metric(
    cells: Iterable[PrintedCell], records: Iterable[Record]
) -> Mapping[str, Sequence[Mapping[_Who, float]]]:
    """Return, for each data set, the values of each metric, with the sign that makes greater values better."""
    greater = {record["metric"]: record["greater_is_better"] for record in records if "greater_is_better" in record}
    greater |= {name: metric.greater_is_better for name, metric in CATALOGUE.items()}
    values: dict[str, dict[str, dict[_Who, float]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if greater.get(cell.metric) is None:
            raise ValueError(f"wins must be of metrics with a known direction, got {cell.metric}.")
        sign = 1 if greater[cell.metric] else -1
        values[cell.dataset][cell.metric][cell.method, cell.n_neighbors] = sign * cell.ours
    return defaultdict(list, {dataset: list(by_metric.values()) for dataset, by_metric in values.items()})
