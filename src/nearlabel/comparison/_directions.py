"""Determine for each metric whether greater values are better."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nearlabel.experiments import Record
from nearlabel.metrics import CATALOGUE


def metric_directions(metrics: Iterable[str], records: Iterable[Record], given: Mapping[str, bool]) -> dict[str, bool]:
    """Return, for each metric, whether greater is better, from the catalogue, the records or the argument.

    Raises
    ------
    ValueError
        If none of the three defines the direction of a metric, or two contradict each other.
    """
    known = {name: (metric.greater_is_better, "the catalogue") for name, metric in CATALOGUE.items()}
    said = [(r["metric"], r["greater_is_better"], "the results") for r in records if "greater_is_better" in r]
    for name, direction, source in [*said, *((name, given[name], "greater_is_better") for name in given)]:
        if direction is None:
            continue
        before, by = known.setdefault(name, (direction, source))
        if before != direction:
            raise ValueError(f"{name}: greater_is_better must be {before}, as in {by}, got {direction} in {source}.")
    directions = {}
    for name in metrics:
        if name not in known:
            raise ValueError(
                f"greater_is_better must be known of every metric, got none for {name}. Hint: --lower-is-better {name},"
                f" in Python greater_is_better={{{name!r}: False}}, or a column greater_is_better; to leave {name} out,"
                " name the metrics to compare."
            )
        directions[name] = known[name][0]
    return directions
