"""Micro-averaged precision over recall: all that thresholds can do, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearlabel.report._axes import Axes, Point, picture, ticks
from nearlabel.report._markup import Markup, join
from nearlabel.report._numbers import shown


def draw_precision_recall(frontier: Mapping[str, Any]) -> Markup:
    """Return the frontier above lines of equal F1, with the model's point and the best one.

    Parameters
    ----------
    frontier : mapping
        ``precision`` and ``recall`` of its points, and those of ``model`` and ``best``, as
        `nearlabel.report.model_facts` gives them.

    Returns
    -------
    Markup
        The picture.
    """
    axes = Axes((0.0, 1.0), (0.0, 1.02))
    line = list(zip(frontier["recall"], frontier["precision"], strict=True))
    tenths = ticks(0.0, 1.0)
    parts = [
        axes.frame(tenths, tenths, "micro-averaged recall", "micro-averaged precision"),
        *(_equal_f(axes, tenth / 10) for tenth in range(1, 10)),
        axes.line(line, class_="line s0"),
        axes.dot(_point(frontier["best"]), class_="ring s2", radius=6.0),
    ]
    model = frontier["model"]
    if model["precision"] is not None:  # nothing is predicted: there is no such point
        parts.append(axes.dot(_point(model), class_="dot s1", radius=4.5))
    words = (
        f"The model has F1 {shown(model['f1'])}; the best thresholds for these rows {shown(frontier['best']['f1'])}."
    )
    return picture("Micro-averaged precision and recall", words, *parts)


def _point(of: Mapping[str, float]) -> Point:
    return of["recall"], of["precision"]


def _equal_f(axes: Axes, f: float) -> Markup:
    """Return the line of one F1: precision = F recall / (2 recall - F)."""
    recalls = [f / (2 - f) + (1 - f / (2 - f)) * (step / 40) ** 2 for step in range(41)]
    curve = [(recall, f * recall / (2 * recall - f)) for recall in recalls]
    words = axes.text((1.0, f / (2 - f)), f"F {f:g}", class_="faint", offset=(-24.0, -3.0))
    return join(axes.line(curve, class_="grid"), words)
