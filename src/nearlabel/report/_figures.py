"""The figures of a page: displays of `nearlabel.plots` as SVG, with descriptions for screen readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nearlabel.plots import (
    CoOccurrenceDisplay,
    CriticalDifferenceDisplay,
    MicroFrontierDisplay,
    NeighborsCurveDisplay,
    NeighborsPanelsDisplay,
    ReliabilityDisplay,
)
from nearlabel.report._markup import Markup
from nearlabel.report._numbers import shown

_SIZE = (4.2, 3.0)  # inches: text of nine points is still readable at the width of a phone

# Name of a line -> its points: number of neighbours, value, and half the height of the band or None.
Curves = Mapping[str, Sequence[tuple[int, float, float | None]]]


class _LabelCurveDisplay(MicroFrontierDisplay):
    """Precision over recall of one label, for every threshold, as a step function."""

    def _draw(self, ax: Any, **style: Any) -> None:
        super()._draw(ax, **({"drawstyle": "steps-pre"} | style))
        ax.set(xlabel="recall", ylabel="precision")


def draw_curves(curves: Curves, order: Sequence[str], title: str) -> Markup:
    """Return a line for each method; its position determines its style, the same in all figures of a page."""
    lines = []
    for name, points in curves.items():
        numbers, values, deviations = zip(*points, strict=True)
        lines.append(NeighborsCurveDisplay(numbers, values, deviations=deviations, name=name))
    each = "; ".join(f"{line.name} from {line.values[0]:.3g} to {line.values[-1]:.3g}" for line in lines)
    words = f"A line for each method: {each}."
    panel = NeighborsPanelsDisplay({"": lines}, names=order, legend=False)
    return Markup(panel.to_svg(f"{title} over the number of neighbours", words, size=_SIZE))


def draw_reliability(calibration: Mapping[str, Any]) -> Markup:
    """Return the reliability diagram of the bins that contain a probability."""
    filled = [one for one in calibration["bins"] if one["count"]]
    display = ReliabilityDisplay(*([one[key] for one in filled] for key in ("mean_score", "true_share", "count")))
    words = f"Expected calibration error {shown(calibration['error'])}; {len(filled)} of 10 bins contain a probability."
    return Markup(display.to_svg("Reliability diagram", words, size=_SIZE))


def draw_precision_recall(frontier: Mapping[str, Any]) -> Markup:
    """Return the frontier with the best point, and the model's point unless the model predicts no labels."""
    points = {"the model's decisions": frontier["model"], "best thresholds": frontier["best"]}
    marked = {name: (at["recall"], at["precision"]) for name, at in points.items() if at["precision"] is not None}
    words = " and ".join(f"F1 {shown(at['f1'])} of {name}" for name, at in points.items())
    display = MicroFrontierDisplay(frontier["recall"], frontier["precision"], points=marked)
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
    return Markup(CoOccurrenceDisplay(pairs["counts"], pairs["names"]).to_svg("Label co-occurrence", words))


def draw_mean_ranks(test: Mapping[str, Any]) -> Markup:
    """Return the critical difference diagram of a test."""
    ranks: Mapping[str, float] = test["mean_ranks"]
    diagram = CriticalDifferenceDisplay(ranks, test["alike"], critical_difference=test["critical_difference"])
    each = ", ".join(f"{method} {ranks[method]:.2f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return Markup(diagram.to_svg(f"Mean ranks, {test['title']}", f"Mean ranks: {each}."))
