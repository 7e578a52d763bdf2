import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from nearlabel.report._axes import Axes, ticks, widened
from nearlabel.report._curves import draw_curves
from nearlabel.report._heat_map import draw_co_occurrence
from nearlabel.report._markup import element, join
from nearlabel.report._mean_ranks import draw_mean_ranks
from nearlabel.report._numbers import shown, shown_threshold
from nearlabel.report._precision_recall import draw_precision_recall
from nearlabel.report._reliability import draw_counts, draw_reliability

EMPTY = {"count": 0, "mean_score": None, "true_share": None}
FULL = {"count": 99, "mean_score": 0.5, "true_share": 0.25}
BINS = [{"low": i / 10, "high": (i + 1) / 10, **(FULL if i == 5 else EMPTY)} for i in range(10)]
CALIBRATION = {"bins": BINS, "error": 0.25}


def parsed(picture):
    """An SVG is XML: names and counts of its elements can be asked."""
    return ET.fromstring(picture)


def test_markup_escapes_text_and_attributes():
    """What is markup stays, all else is text."""
    inner = element("b", "<i>", title='"&')
    assert inner == '<b title="&quot;&amp;">&lt;i&gt;</b>'
    assert join("<", inner, None, 3) == f"&lt;{inner}3"
    assert element("input", type="search", hidden=False, value=None) == '<input type="search">'


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.0, "0"), (20000, "20,000"), (0.08, "0.0800"), (12.0, "12.0"), (123.0, "123"),
     (999.7, "1,000"), (1e6, "1,000,000"), (-0.5, "-0.500"), (1e-7, "1.00e-07"), ("text", "text")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    """Three significant ones, thousands apart."""
    assert shown(value) == text


def test_infinite_thresholds_are_words():
    """A label that is never or always chosen."""
    assert [shown_threshold(v) for v in ("inf", "-inf", 0.5, None)] == ["never", "always", "0.500", "–"]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.1234, 0.1235), (-3, 1e6), (1, 2), (0.999, 1.001)])
def test_ticks_are_few_round_and_inside(low, high):
    """Two to six of them, evenly spaced, none outside."""
    found = ticks(low, high)
    assert 2 <= len(found) <= 6
    assert low - 1e-9 <= found[0] < found[-1] <= high + 1e-9 * abs(high)
    steps = {round((b - a) / (found[1] - found[0]), 6) for a, b in pairwise(found)}
    assert steps == {1.0}


def test_widened_ranges_hold_their_values():
    """Also where all values are equal, or zero."""
    for values in ([1.0], [0.0, 0.0], [2.0, 5.0], [-1.0]):
        low, high = widened(values)
        assert low < min(values) <= max(values) < high


def test_places():
    """Corners of the axes, by hand: 360 wide, 46 left, 10 right, 250 high, 8 above, 36 below."""
    axes = Axes((0.0, 10.0), (0.0, 1.0))
    assert axes.place((0.0, 0.0)) == (46.0, 214.0)
    assert axes.place((10.0, 1.0)) == (350.0, 8.0)
    assert axes.line([(5.0, 0.5)], class_="x") == '<polyline points="198.0,111.0" class="x"></polyline>'


def test_curves():
    """A line for each method, a band where there is a spread, dots where there are few; colours by the page's order."""
    curves = {"b": [(1, 0.2, 0.1), (2, 0.4, 0.1)], "c": [(1, 0.3, None), (2, 0.3, None)]}
    picture = draw_curves(curves, ["a", "b", "c"], "loss")
    assert re.findall(r'class="(band \w+|line \w+)"', picture) == ["band s1", "line s1", "line s2"]
    assert len(re.findall("<circle", picture)) == 4
    assert parsed(picture).find("desc").text == "A line for each method: b from 0.2 to 0.4; c from 0.3 to 0.3."


def test_curves_of_one_point_and_of_many_methods():
    """One value is a dot; the ninth method has the first colour, dashed."""
    names = [f"m{i}" for i in range(9)]
    picture = draw_curves({name: [(3, 0.5, None)] for name in names}, names, "loss")
    assert "line s0 d1" in picture
    assert "nan" not in picture


def test_reliability():
    """The only full bin lies at mean 0.5, share 0.25; empty ones have no dot."""
    picture = draw_reliability(CALIBRATION)
    (dot,) = re.findall(r'<circle cx="(\S+)" cy="(\S+)"', picture)
    assert dot == ("198", "162.5")
    bars = parsed(draw_counts(CALIBRATION)).findall(".//rect")
    assert [float(bar.get("height")) > 0 for bar in bars] == [i == 5 for i in range(10)]
    assert float(bars[5].get("height")) == 86.0  # 99 + 1 is the whole of two powers of ten


@pytest.mark.parametrize(
    ("most", "words"),
    [
        (9, ["0", "10"]),
        (99, ["0", "10", "100"]),
        (99_999, ["0", "10", "1k", "100k"]),
        (9_999_999, ["0", "10", "1k", "100k", "10M"]),
    ],
)
def test_counts_have_a_scale(most, words):
    """None, and powers of ten up to the top: no more than there is room for."""
    bins = [{**BINS[0], "count": most}, {**BINS[1], "count": 1}]
    root = parsed(draw_counts({"bins": bins, "error": 0.0}))
    marks = [text for text in root.iter("text") if text.get("class") == "ty"]
    assert [text.text for text in marks] == words
    heights = [float(text.get("y")) for text in marks]
    assert heights == sorted(heights, reverse=True)
    assert min(a - b for a, b in pairwise(heights)) > 11


def test_precision_recall():
    """The frontier, nine lines of equal F1, ring and dot; no dot for a model that predicts nothing."""
    frontier = {
        "precision": [1.0, 0.5], "recall": [0.5, 1.0], "n_points": 2,
        "model": {"precision": 0.5, "recall": 0.5, "f1": 0.5}, "best": {"precision": 1.0, "recall": 0.5, "f1": 2 / 3},
    }  # fmt: skip
    root = parsed(draw_precision_recall(frontier))
    assert [c.get("class") for c in root.findall("circle")] == ["ring s2", "dot s1"]
    assert [t.text for t in root.iter("text") if t.get("class") == "faint"] == [f"F {i / 10:g}" for i in range(1, 10)]
    nothing = {**frontier, "model": {"precision": None, "recall": 0.0, "f1": 0.0}}
    assert [c.get("class") for c in parsed(draw_precision_recall(nothing)).findall("circle")] == ["ring s2"]


def test_heat_map():
    """Shares of the line's label: 1 of 2 rows of a have b, 1 of 1 of b has a; c goes with nothing."""
    counts = [[2, 1, 0], [1, 1, 0], [0, 0, 3]]
    root = parsed(draw_co_occurrence({"names": ["a", "b<", "c"], "counts": counts}))
    cells = [(g.find("title").text, g.find("rect").get("class")) for g in root.findall("g")]
    assert cells == [("a, b<: 1 rows, 50 % of a", "heat h5"), ("b<, a: 1 rows, 100 % of b<", "heat h10")]


@pytest.mark.parametrize("difference", [1.5, None])
def test_mean_ranks(difference):
    """Methods from best to worst, a bar for each group, the scale where there is one."""
    test = {"mean_ranks": {"b": 2.0, "a": 1.0, "c": 3.0}, "alike": [["a", "b"]], "critical_difference": difference}
    root = parsed(draw_mean_ranks({**test, "title": "F1"}))
    words = [text.text for text in root.iter("text")]
    assert [word for word in words if word[0] in "abc" and "  " in word] == ["a  1.00", "b  2.00", "c  3.00"]
    assert ("critical difference 1.50" in words) == (difference is not None)
    assert len([line for line in root.iter("line") if line.get("class") == "group"]) == 1


def test_long_names_of_methods():
    """Cut in the middle to the room beside their dots, clear of the bars; whole in what the pointer shows."""
    names = [f"br:estimator=svm-linear,C={i},loss=squared_hinge@micro-f-{i}" for i in range(5)]
    ranks = dict(zip(names, (1.0, 2.0, 3.0, 4.0, 5.0), strict=True))
    root = parsed(
        draw_mean_ranks({"mean_ranks": ranks, "alike": [names[:3], names[2:]], "critical_difference": 2.0, "title": ""})
    )
    groups = root.findall("g")
    assert [group.find("title").text for group in groups] == names
    for i, text in enumerate(group.find("text") for group in groups):
        assert text.text.endswith(f"-{i}  {i + 1}.00")
        assert "…" in text.text
        x, width = float(text.get("x")), 6.7 * len(text.text)
        left, right = (x - width, x) if text.get("class") == "ty" else (x, x + width)
        assert 8 + 6 * 2 <= left < right <= 360
