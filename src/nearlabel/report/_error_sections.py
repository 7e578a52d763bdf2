"""The sections about wrong predictions on the page of a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.report._markup import Markup, element, join
from nearlabel.report._tables import Column, notes, table

Facts = Mapping[str, Any]


def wrong_section(wrong: Facts, *, left_out: bool, seen: bool) -> Markup:
    """Return the samples with most wrong labels, next to their neighbours."""
    if not wrong["samples"]:
        return notes(["All label sets are predicted exactly."])
    how = " by leave-one-out" if left_out else ""
    words = f"{wrong['n_wrong']:,} of {wrong['n_samples']:,} samples have a wrong label{how}."
    order = " Of equal numbers, the sample whose probabilities are farther from the truth is first."
    near = any(one["neighbors"] for one in wrong["samples"])
    columns = [Column(title, numeric=False) for title in ("sample", "missed labels", "wrongly predicted labels")]
    columns += [Column("neighbours and their labels", numeric=False)] if near else []
    rows = [
        (
            _called(one),
            _chips(one["missed"], "missed"),
            _chips(one["added"], "false"),
            *([_neighbors(one["neighbors"])] if near else []),
        )
        for one in wrong["samples"]
    ]
    without = " A sample is not listed as its own neighbour." if near and seen else ""
    told = table(columns, rows, "Samples with wrong labels, most wrong labels first")
    return join(notes([f"{words}{order}{without}"]), element("div", told, class_="wide-cells"))


def confusion_section(confusions: Facts) -> Markup:
    """Return the pairs of labels that are wrong together."""
    if not confusions["pairs"]:
        return notes(["No two labels are wrong in the same samples more often than by chance."])
    paired, n_labels = confusions["n_paired"], confusions["n_labels"]
    some = f" Pairs of the {paired:,} labels with most errors of {n_labels:,}." if paired < n_labels else ""
    words = (
        "Labels that are wrong in the same samples, more often than if errors were independent (expected by chance)."
        f" The pair that exceeds this number by most is first.{some}"
    )
    columns = [Column("missed", numeric=False), Column("wrongly predicted", numeric=False)]
    columns += [Column("samples"), Column("expected by chance")]
    rows = [(*_wrong_together(one), one["n_samples"], one["expected"]) for one in confusions["pairs"]]
    return join(notes([words]), table(columns, rows, "Labels that are wrong together", filtered="labels"))


def _wrong_together(pair: Facts) -> tuple[Markup, Markup]:
    """Return the missed and the wrongly predicted labels of a pair."""
    first, second = pair["labels"]
    missed, added = {"confused": ([first], [second]), "missed": ([first, second], []), "added": ([], [first, second])}[
        pair["kind"]
    ]
    return _chips(missed, "missed"), _chips(added, "false")


def _called(one: Facts) -> Markup:
    number = f"row {one['row']}"
    return join(one["name"]) if one["name"] == number else join(one["name"], element("span", f", {number}"))


def _chips(names: Sequence[str], kind: str) -> Markup:
    return join(*(element("span", name, class_=f"chip {kind}") for name in names)) if names else Markup("none")


def _neighbors(neighbors: Sequence[Facts]) -> Markup:
    each = [element("li", one["name"], ": ", ", ".join(one["labels"]) or "no label") for one in neighbors]
    return element("ul", *each, class_="plain-list") if each else Markup("none")
