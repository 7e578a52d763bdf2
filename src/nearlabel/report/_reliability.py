"""The reliability diagram: shares of true labels over probabilities, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from nearlabel.report._axes import Axes, picture, ticks
from nearlabel.report._markup import Markup, element, join
from nearlabel.report._numbers import shown


def draw_reliability(calibration: Mapping[str, Any]) -> Markup:
    """Return the diagram; points on the diagonal are calibrated.

    Parameters
    ----------
    calibration : mapping
        ``bins`` and ``error``, as `nearlabel.report.model_facts` gives them.

    Returns
    -------
    Markup
        The picture.
    """
    axes = Axes((0.0, 1.0), (0.0, 1.0))
    filled = [(one["mean_score"], one["true_share"]) for one in calibration["bins"] if one["count"]]
    tenths = ticks(0.0, 1.0)
    parts = [
        axes.frame(tenths, tenths, "mean probability", "share that is true"),
        axes.line([(0.0, 0.0), (1.0, 1.0)], class_="guide"),
        axes.line(filled, class_="line s0"),
        *(axes.dot(point, class_="dot s0", radius=3.5) for point in filled),
    ]
    words = f"Expected calibration error {shown(calibration['error'])}; {len(filled)} of 10 bins hold a probability."
    return picture("Reliability diagram", words, *parts)


def draw_counts(calibration: Mapping[str, Any]) -> Markup:
    """Return how many probabilities each bin holds, as bars of logarithmic height."""
    bins = calibration["bins"]
    powers = math.ceil(math.log10(max(one["count"] for one in bins) + 1))
    axes = Axes((0.0, 1.0), (0.0, float(powers)), height=130)
    bars = [_bar(axes, one["low"], one["high"], math.log10(one["count"] + 1), one["count"]) for one in bins]
    frame = axes.frame(ticks(0.0, 1.0), [], "probability", "pairs, log")
    marks = [_mark(axes, count) for count in (0, *(10**power for power in range(1, powers + 1, 1 + powers // 5)))]
    counts = ", ".join(f"{one['low']:g} to {one['high']:g}: {one['count']}" for one in bins)
    return picture("Number of probabilities in each bin", counts, frame, *marks, *bars, height=130)


def _mark(axes: Axes, count: int) -> Markup:
    """Return a line at a count, and what it is: 10, 1k, 1M."""
    up = min(math.log10(count + 1), axes.y[1])
    words = f"{count // 10**6}M" if count >= 10**6 else f"{count // 1000}k" if count >= 1000 else str(count)
    label = axes.text((0.0, up), words, class_="ty", offset=(-6.0, 3.5))
    return join(axes.line([(0.0, up), (1.0, up)], class_="grid"), label)


def _bar(axes: Axes, low: float, high: float, top: float, count: int) -> Markup:
    (left, upper), (right, lower) = axes.place((low, top)), axes.place((high, 0.0))
    bar = element("rect", x=left + 1, y=upper, width=right - left - 2, height=lower - upper, class_="bar")
    return join(element("g", element("title", f"{count:,}"), bar))
