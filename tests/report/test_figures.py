"""The figures of a page: displays as SVG with the words of the facts."""

import re
import xml.etree.ElementTree as ET

from nearlabel.plots import line_sample
from nearlabel.report._sections import (
    draw_co_occurrence,
    draw_curves,
    draw_mean_ranks,
    draw_precision_recall,
    draw_reliability,
)

EMPTY = {"count": 0, "mean_score": None, "true_share": None}
FULL = {"count": 99, "mean_score": 0.5, "true_share": 0.25}
BINS = [{"low": i / 10, "high": (i + 1) / 10, **(FULL if i == 5 else EMPTY)} for i in range(10)]


def words_of(picture):
    """The texts of a picture."""
    return [text.text for text in ET.fromstring(picture).iter("text")]


def lines_of(picture):
    """Dashes and colour of each line that is no part of the frame."""
    look = r'fill="none"(?: stroke-dasharray="([\d.,]+)" stroke-dashoffset="0")? stroke="(var\(--s\d[^"]*)'
    return re.findall(look, picture)


def description(picture):
    """What a screen reader says after the title."""
    return ET.fromstring(picture).find("desc").text


def test_curves():
    """A line for each method in the style of its place in the order, a band where there are deviations."""
    curves = {"b": [(1, 0.2, 0.1), (2, 0.4, 0.1)], "c": [(1, 0.3, None), (2, 0.3, None)]}
    picture = draw_curves(curves, ["a", "b", "c"], "loss")
    assert lines_of(picture) == [("5.92,2.56", "var(--s1, #D55E00)"), ("10.24,2.56,1.6,2.56", "var(--s2, #009E73)")]
    assert 'fill="var(--s1, #D55E00)" fill-opacity' in picture
    assert 'fill="var(--s2, #009E73)" fill-opacity' not in picture
    assert description(picture) == "A line for each method: b from 0.2 to 0.4; c from 0.3 to 0.3."
    assert "number of neighbours k" in words_of(picture)
    assert not {"a", "b", "c"} & set(words_of(picture))  # the page has one legend


def test_lines_and_legend_look_alike():
    """The ninth method has the first colour with other dashes, in the figure as in the legend."""
    names = [f"m{i}" for i in range(9)]
    picture = draw_curves({name: [(3, 0.5, None), (4, 0.5, None)] for name in names}, names, "loss")
    assert "nan" not in picture
    lines = lines_of(picture)
    assert len(set(lines)) == 9
    for number, (dashes, colour) in enumerate(lines):
        sample = line_sample(number)
        assert f'stroke="{colour}"' in sample
        assert bool(dashes) == ("dasharray" in sample)


def test_reliability():
    """The bins that contain a probability are drawn; the words count them."""
    picture = draw_reliability({"bins": BINS, "error": 0.25})
    assert description(picture) == "Expected calibration error 0.250; 1 of 10 bins contain a probability."


def test_precision_recall():
    """The frontier and both points, with nine lines of equal F1; no point for a model that predicts nothing."""
    frontier = {
        "precision": [1.0, 0.5], "recall": [0.5, 1.0], "n_points": 2,
        "model": {"precision": 0.5, "recall": 0.5, "f1": 0.5}, "best": {"precision": 1.0, "recall": 0.5, "f1": 2 / 3},
    }  # fmt: skip
    words = words_of(draw_precision_recall(frontier))
    assert {"the model's decisions", "best thresholds", *(f"F = {i / 10}" for i in range(1, 10))} <= set(words)
    nothing = {**frontier, "model": {"precision": None, "recall": 0.0, "f1": 0.0}}
    picture = draw_precision_recall(nothing)
    assert "the model's decisions" not in words_of(picture)
    assert description(picture) == "F1 0 of the model's decisions and F1 0.667 of best thresholds."


def test_co_occurrence():
    """Shares of the line's label: 1 of 2 rows of a have b, 1 of 1 of b has a; c goes with nothing."""
    counts = [[2, 1, 0], [1, 1, 0], [0, 0, 3]]
    picture = draw_co_occurrence({"names": ["a", "b<", "c"], "counts": counts})
    cells = [
        (tip, opacity) for opacity, tip in re.findall(r'fill-opacity="([\d.]+)"><title>(.*?)</title></path>', picture)
    ]
    assert cells == [("a, b&lt;: 1 samples, 50 % of a", "0.55"), ("b&lt;, a: 1 samples, 100 % of b&lt;", "0.95")]


def test_mean_ranks():
    """Methods with their ranks, best first in the words for screen readers; the title is that of the test."""
    test = {"mean_ranks": {"b": 2.0, "a": 1.0, "c": 3.0}, "alike": [["a", "b"]], "critical_difference": 1.5}
    picture = draw_mean_ranks({**test, "title": "F1"})
    assert {"a (1.00)", "b (2.00)", "(3.00) c", "critical difference 1.50"} <= set(words_of(picture))
    assert description(picture) == "Mean ranks: a 1.00, b 2.00, c 3.00."
    assert ET.fromstring(picture).find("title").text == "Mean ranks, F1"
