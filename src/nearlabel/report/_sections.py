"""Sections that several pages have: errors, labels, findings on the data, figures, and versions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from nearlabel import plots
from nearlabel.report._tables import Column, Facts, Markup, Value, element, join, notes, shown, table, texts


def figure(title: str, picture: Markup, numbers: Markup, note: str = "") -> Markup:
    """Return a figure with its caption and the numbers behind it."""
    box = element("div", picture, class_="scroll")
    return element("figure", element("figcaption", title), box, notes([note] if note else []), more("Numbers", numbers))


def more(summary: str, content: Markup) -> Markup:
    """Return content that readers can unfold."""
    return element("details", element("summary", summary), content)


def facts_list(pairs: Sequence[tuple[str, Value]]) -> Markup:
    """Return terms with their values."""
    each = [
        element("div", element("dt", term), element("dd", shown(value) if isinstance(value, (int, float)) else value))
        for term, value in pairs
        if value is not None
    ]
    return element("dl", *each)


def wrong_section(wrong: Facts, *, left_out: bool, seen: bool) -> Markup:
    """Return the samples with most wrong labels, next to their neighbours."""
    if not wrong["samples"]:
        return notes(["All label sets are predicted exactly."])
    how = " by leave-one-out" if left_out else ""
    words = f"{wrong['n_wrong']:,} of {wrong['n_samples']:,} samples have a wrong label{how}."
    order = " Of equal numbers, the sample whose probabilities are farther from the truth is first."
    near = any(one["neighbors"] for one in wrong["samples"])
    columns = texts("sample", "missed labels", "wrongly predicted labels")
    columns += texts("neighbours and their labels") if near else []
    rows = []
    for one in wrong["samples"]:
        neighbors = [_neighbors(one["neighbors"])] if near else []
        rows.append((_called(one), _chips(one["missed"], "missed"), _chips(one["added"], "false"), *neighbors))
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
    columns = [*texts("missed", "wrongly predicted"), Column("samples"), Column("expected by chance")]
    rows = [(*_wrong_together(one), one["n_samples"], one["expected"]) for one in confusions["pairs"]]
    return join(notes([words]), table(columns, rows, "Labels that are wrong together", filtered="labels"))


def _wrong_together(pair: Facts) -> tuple[Markup, Markup]:
    """Return the missed and the wrongly predicted labels of a pair."""
    both, kind = pair["labels"], pair["kind"]
    missed, added = {"confused": (both[:1], both[1:]), "missed": (both, []), "added": ([], both)}[kind]
    return _chips(missed, "missed"), _chips(added, "false")


def _called(one: Facts) -> Markup:
    number = f"row {one['row']}"
    return join(one["name"]) if one["name"] == number else join(one["name"], element("span", f", {number}"))


def _chips(names: Sequence[str], kind: str) -> Markup:
    return join(*(element("span", name, class_=f"chip {kind}") for name in names)) if names else Markup("none")


def _neighbors(neighbors: Sequence[Facts]) -> Markup:
    each = [element("li", one["name"], ": ", ", ".join(one["labels"]) or "no label") for one in neighbors]
    return element("ul", *each, class_="plain-list") if each else Markup("none")


# The sections about label sets, on pages of runs and models.

_FIGURES = {
    "instances": "Samples", "features": "Features", "labels": "Labels", "cardinality": "Label cardinality",
    "density": "Label density", "labelset_diversity": "Distinct label sets",
    "rows_without_labels": "Samples without labels", "labels_without_rows": "Labels without samples",
    "max_labels": "Most labels of a sample", "mean_imbalance_ratio": "Mean imbalance ratio",
    "unknown_cells": "Unknown labels", "rows_without_known_labels": "Samples without a known label",
}  # fmt: skip
_MOST_PAIRS = 100

CO_OCCURRENCE_NOTE = (
    "The stronger a cell's colour, the larger the share of samples with its line's label that also have its column's."
)


def data_figures(data: Mapping[str, Any]) -> Markup:
    """Return the statistics of a data set."""
    return facts_list([(title, data[name]) for name, title in _FIGURES.items() if name in data])


def co_occurrence_figure(title: str, co_occurrence: Facts, before: str = "") -> Markup:
    """Return the figure of the labels that occur together, with its numbers; `before` begins the note."""
    drawn, numbers = draw_co_occurrence(co_occurrence), co_occurrence_table(co_occurrence)
    return figure(title, drawn, numbers, before + CO_OCCURRENCE_NOTE)


def co_occurrence_table(co_occurrence: Mapping[str, Any]) -> Markup:
    """Return the most frequent pairs of labels, most frequent first."""
    names, counts = co_occurrence["names"], co_occurrence["counts"]
    pairs = [(names[i], names[j], counts[i][j]) for i, j in combinations(range(len(names)), 2) if counts[i][j]]
    pairs.sort(key=lambda pair: -pair[2])
    columns = [*texts("label", "with"), Column("samples")]
    more = f", the first {_MOST_PAIRS} of {len(pairs)} pairs" if len(pairs) > _MOST_PAIRS else ""
    return table(columns, pairs[:_MOST_PAIRS], f"Labels that occur together{more}", filtered="labels")


# The section with findings in the data, on pages of runs and models.

_COUNTED = {"severe": ("severe", "severe"), "warning": ("warning", "warnings"), "note": ("note", "notes")}
_SEVERE = " Severe ones certainly affect predictions or their measured quality."
_TITLES = ("finding", "severity", "description", "remedy", "evidence")
_OPTION = re.compile(r"(--[a-z-]+)")


def examination_section(examination: Mapping[str, Any]) -> Markup:
    """Return the findings with remedies, as a table or a sentence, and notes on parts that were not examined."""
    findings = examination["findings"]
    words = [f"{_examined(examination)}: {_counts(findings)}", *examination["notes"]]
    if not findings:
        return notes(words)
    rows = [
        (
            one["kind"].replace("_", " "),
            element("span", one["severity"], class_=one["severity"]),
            one["sentence"].replace(" %", "\N{NO-BREAK SPACE}%"),
            _remedy(one["remedy"]),
            _evidence(one["evidence"]),
        )
        for one in findings
    ]
    told = table(
        texts(*_TITLES), rows, f"Findings in {examination['name']}, the most severe first", filtered="findings"
    )
    return join(notes(words), element("div", told, class_="prose"))


def _examined(examination: Mapping[str, Any]) -> str:
    part = "training samples" if examination["training"] else "samples"
    return f"In the {examination['n_rows']:,} {part} of {examination['name']}"


def _counts(findings: Sequence[Mapping[str, Any]]) -> str:
    if not findings:
        return "nothing was found that keeps neighbours from being good ones."
    counts = Counter(one["severity"] for one in findings)
    each = [f"{counts[key]} {words[counts[key] > 1]}" for key, words in _COUNTED.items() if counts[key]]
    return f"{', '.join(each)}.{_SEVERE if counts['severe'] else ''}"


def _remedy(text: str) -> Markup:
    """Return text with command-line options marked up, so that they are not broken at line ends."""
    return join(*(element("code", part) if _OPTION.fullmatch(part) else part for part in _OPTION.split(text)))


def _evidence(evidence: Mapping[str, int | float | str]) -> str:
    return "; ".join(f"{name.replace('_', ' ')}: {shown(value)}" for name, value in evidence.items())


# The figures of a page: displays of `nearlabel.plots` as SVG, with descriptions for screen readers.

_SIZE = (4.2, 3.0)  # inches: text of nine points is still readable at the width of a phone

# Name of a line -> its points: number of neighbours, value, and half the height of the band or None.
Curves = Mapping[str, Sequence[tuple[int, float, float | None]]]


class _LabelCurveDisplay(plots.MicroFrontierDisplay):
    """Precision over recall of one label, for every threshold, as a step function."""

    def _draw(self, ax: Any, **style: Any) -> None:
        super()._draw(ax, **({"drawstyle": "steps-pre"} | style))
        ax.set(xlabel="recall", ylabel="precision")


def draw_curves(curves: Curves, order: Sequence[str], title: str) -> Markup:
    """Return a line for each method; its position determines its style, the same in all figures of a page."""
    lines = []
    for name, points in curves.items():
        numbers, values, deviations = zip(*points, strict=True)
        lines.append(plots.NeighborsCurveDisplay(numbers, values, deviations=deviations, name=name))
    each = "; ".join(f"{line.name} from {line.values[0]:.3g} to {line.values[-1]:.3g}" for line in lines)
    words = f"A line for each method: {each}."
    panel = plots.NeighborsPanelsDisplay({"": lines}, names=order, legend=False)
    return Markup(panel.to_svg(f"{title} over the number of neighbours", words, size=_SIZE))


def draw_reliability(calibration: Mapping[str, Any]) -> Markup:
    """Return the reliability diagram of the bins that contain a probability."""
    filled = [one for one in calibration["bins"] if one["count"]]
    display = plots.ReliabilityDisplay(*([one[key] for one in filled] for key in ("mean_score", "true_share", "count")))
    words = f"Expected calibration error {shown(calibration['error'])}; {len(filled)} of 10 bins contain a probability."
    return Markup(display.to_svg("Reliability diagram", words, size=_SIZE))


def draw_precision_recall(frontier: Mapping[str, Any]) -> Markup:
    """Return the frontier with the best point, and the model's point unless the model predicts no labels."""
    points = {"the model's decisions": frontier["model"], "best thresholds": frontier["best"]}
    marked = {name: (at["recall"], at["precision"]) for name, at in points.items() if at["precision"] is not None}
    words = " and ".join(f"F1 {shown(at['f1'])} of {name}" for name, at in points.items())
    display = plots.MicroFrontierDisplay(frontier["recall"], frontier["precision"], points=marked)
    return Markup(display.to_svg("Micro-averaged precision and recall", f"{words}.", size=(4.2, 3.6)))


def draw_label_curve(curve: Mapping[str, Any]) -> Markup:
    """Return precision over recall of one label, with the model's point unless it never predicts the label."""
    point = curve["precision_of_model"], curve["recall_of_model"]
    marked = {} if point[0] is None else {"the model's decisions": (point[1], point[0])}
    words = (
        f"Average precision {shown(curve['average_precision'])};"
        f" the model's decisions have precision {shown(point[0])} and recall {shown(point[1])}."
    )
    display = _LabelCurveDisplay(curve["recall"], curve["precision"], points=marked)
    return Markup(display.to_svg(f"Precision and recall of {curve['name']}", words, size=(3.6, 3.2)))


def draw_co_occurrence(pairs: Mapping[str, Any]) -> Markup:
    """Return the heat map of the labels that occur together."""
    words = f"Of the samples of each of {len(pairs['names'])} labels, a line each, the share that has each other label."
    return Markup(plots.CoOccurrenceDisplay(pairs["counts"], pairs["names"]).to_svg("Label co-occurrence", words))


def draw_mean_ranks(test: Mapping[str, Any]) -> Markup:
    """Return the critical difference diagram of a test."""
    ranks: Mapping[str, float] = test["mean_ranks"]
    diagram = plots.CriticalDifferenceDisplay(ranks, test["alike"], critical_difference=test["critical_difference"])
    each = ", ".join(f"{method} {ranks[method]:.2f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return Markup(diagram.to_svg(f"Mean ranks, {test['title']}", f"Mean ranks: {each}."))


# The line on environments, for pages of runs and models.


def shown_environments(environments: Iterable[Mapping[str, str]]) -> str | None:
    """Return distinct environments as one line; None if none is known, as for records of an older nearlabel.

    Examples
    --------
    >>> shown_environments([{"numpy": "2.4.6", "kernels": "int16"}, {"numpy": "2.4.6", "kernels": "off"}])
    'numpy 2.4.6, kernels int16; numpy 2.4.6, kernels off'
    """
    each = (", ".join(f"{name} {value}" for name, value in one.items()) for one in environments)
    return "; ".join(dict.fromkeys(each)) or None
