"""The pages that say how good methods are have the figures that were measured."""

import importlib
import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def script(monkeypatch):
    """Return a function that imports a benchmark by its name."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("name", ["defaults", "which_method", "neutral", "audit"])
def test_the_page_has_the_figures_of_the_records(script, name):
    """The part between the marks is what the script makes of its results file."""
    module, harness = script(name), script("_harness")
    records = harness.read_records(module.RESULTS)
    assert len(records) > 100
    assert harness.figures_of(module.PAGE) == "".join(module.page(records))


@pytest.mark.parametrize("name", ["annotators", "claims", "calibration", "footprint"])
def test_the_page_has_the_figures_of_the_results(script, name):
    """The part between the marks is what the script makes of its results file."""
    module, harness = script(name), script("_harness")
    content = json.loads((harness.RESULTS / f"{name}.json").read_text())
    assert harness.figures_of(module.PAGE) == "".join(module.lines_of(content))


def test_the_pictures_are_those_of_the_results(script):
    """What the script draws of the results files, to the byte."""
    pictures = dict(script("charts").pictures())
    assert len(pictures) == 6
    assert {file: file.read_text() for file in pictures} == pictures


def test_dots_are_where_their_values_are(script):
    """In the middle of a linear axis, and of a logarithmic one; what was not measured has no dot."""
    module = script("_dots")
    chart = module.Chart("a & b", ("x", "y"), (("one", (5.0, None)),), "axis", (0, 10))
    middle = f"translate({module.WIDTH / 2:.1f} {module.TOP + 21})"
    assert module.svg_of(chart).count(middle) == 1
    assert "a &amp; b" in module.svg_of(chart)
    assert middle in module.svg_of(chart._replace(rows=(("one", (4.0,)),), ticks=(1, 16), logarithmic=True))
    assert module.svg_of(chart).count('class="s1"') == 1  # in the legend


def record(name, method, value):
    """Return a record of a data set and a method; None: not done."""
    if value is None:
        return {"set": name, "method": method, "not_done": "took more than 20 s"}
    losses = {"hamming_loss": 1 - value, "ranking_loss": 1 - value}
    return (
        {"set": name, "method": method} | dict.fromkeys(("micro_f1", "macro_f1", "average_precision"), value) | losses
    )


def test_what_was_not_done_ranks_last(script):
    """Ranks 1, 2, 3 and 2, 1, 3 by hand, by metrics of either direction; methods that lack a data set are left out."""
    module = script("which_method")
    by_set = {
        "emotions": {"mlknn": 0.5, "brknn": 0.4, "lpknn": None, "brknn-a": 0.9},
        "yeast": {"mlknn": 0.6, "brknn": 0.7, "lpknn": 0.0},
    }
    records = [record(name, method, value) for name, of in by_set.items() for method, value in of.items()]
    tests = module.ranked(module.complete(records))
    for metric in module.METRICS:
        assert tests[metric].mean_ranks == {"mlknn": 1.5, "brknn": 1.5, "lpknn": 3.0}


def test_words_and_lengths_decide_what_is_done_to_features(script):
    """Words get tf-idf unless their rows have length 1, and the cosine; numbers below 0, or mostly not 0, min-max."""

    def prepared(rows):
        candidate = script("which_method").candidate_for(np.array(rows, dtype=float), "mlknn")
        return candidate.scale, candidate.search

    assert prepared([[2, 0, 0, 0, 0], [0, 1, 0, 0, 0]]) == ("tfidf", "exact:metric=cosine")
    assert prepared([[1, 0, 0, 0, 0], [0, 0.6, 0, 0, 0.8], [0] * 5, [0] * 5]) == ("none", "exact:metric=cosine")
    assert prepared([[0.5, 0, 1, 0]]) == ("minmax", "exact")
    assert prepared([[-1, 0, 0, 0, 0]]) == ("minmax", "exact")
