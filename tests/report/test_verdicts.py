"""The first lines of a page: a sentence with the result, and the headline figures."""

from itertools import chain, combinations

import numpy as np
import pytest

from nearlabel.metrics import micro_f1
from nearlabel.metrics.counts import compare
from nearlabel.plots._figure import Display
from nearlabel.report import report_page
from nearlabel.report._facts import constant_f1
from nearlabel.report._model_page import _classifier


@pytest.fixture(autouse=True)
def _no_figures(monkeypatch):
    """The tests are about words."""
    monkeypatch.setattr(Display, "to_svg", lambda *_, **__: "<svg></svg>")


def header_of(facts):
    """The header of the page."""
    return report_page(facts).split("<header>")[1].split("</header>")[0].replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("seed", range(5))
def test_best_constant_prediction_by_trying_all(seed):
    """Of all label sets that could be predicted for every sample."""
    Y = (np.random.default_rng(seed).random((12, 4)) < [0.1, 0.3, 0.5, 0.9]).astype(int)
    each = chain.from_iterable(combinations(range(4), size) for size in range(1, 5))
    values = [micro_f1(Y, np.tile(np.isin(range(4), labels).astype(int), (12, 1))) for labels in each]
    assert constant_f1(compare(Y, Y).per_label) == pytest.approx(max(values))


def test_constant_prediction_of_unknown_and_no_labels():
    """Unknown cells do not count; without a true label there is no best prediction."""
    Y = np.array([[1, 1], [np.nan, 0], [np.nan, 0]])
    assert constant_f1(compare(Y, np.zeros((3, 2))).per_label) == pytest.approx(2 / 3)  # the first label: 2 / (1 + 2)
    assert constant_f1(compare(np.zeros((3, 2)), np.zeros((3, 2))).per_label) is None


def test_verdict_of_a_model(nldd_facts):
    """Recall and precision in words, micro F1 compared with a constant prediction, and the hardest label."""
    headline = {"true": 40, "predicted": 30, "hits": 20, "n_exact": 1234, "f1": 4 / 7, "constant_f1": 0.5}
    header = header_of({**nldd_facts, "headline": headline})
    assert "The model finds 50 % of the true labels, and 67 % of its predicted labels are right" in header
    assert "micro F1 0.571, better than the best prediction that is the same for all samples (0.500)." in header
    assert "<dt>Exact matches</dt><dd>1,234 of 30 samples</dd>" in header
    worst = min(nldd_facts["labels"], key=lambda one: one["f1"])
    assert f"<dt>Hardest label</dt><dd>{worst['name']} (F1 {worst['f1']:.3f})</dd>" in header
    assert "no better than the best" in header_of({**nldd_facts, "headline": {**headline, "constant_f1": 4 / 7}})


def test_verdict_of_a_model_that_predicts_nothing(nldd_facts):
    """No share of nothing is shown."""
    headline = {**nldd_facts["headline"], "predicted": 0, "hits": 0, "n_exact": None}
    assert "The model predicts no label." in (header := header_of({**nldd_facts, "headline": headline}))
    assert "Exact matches" not in header
    assert "cannot be evaluated" in header_of({**nldd_facts, "headline": {**headline, "true": 0}})


def test_shares_are_not_rounded_to_all_or_none(nldd_facts):
    """One miss in a thousand is not 100 %, one hit not 0 %."""
    headline = {**nldd_facts["headline"], "true": 1000, "predicted": 999, "hits": 999}
    assert "finds over 99 % of the true labels, and 100 %" in header_of({**nldd_facts, "headline": headline})
    headline = {**headline, "predicted": 1000, "hits": 1}
    assert "finds under 1 % of the true labels" in header_of({**nldd_facts, "headline": headline})


def test_headline_counts(nldd_facts, digits_facts):
    """The counts give the metrics of the same page."""
    for facts in (nldd_facts, digits_facts):
        values = {one["name"]: one["value"] for one in facts["metrics"]}
        headline = facts["headline"]
        assert headline["f1"] == pytest.approx(values["micro_f1"])
        assert headline["hits"] / headline["true"] == pytest.approx(values["micro_recall"])
        assert headline["n_exact"] == pytest.approx(values["subset_accuracy"] * facts["data"]["instances"])


def test_title_is_that_of_the_classifier():
    """Without what is around it; the card has the whole name."""
    assert _classifier("Pipeline(FeatureScaler, TunedThresholdsClassifierCV(CalibratedLabels(MLkNN)))") == "MLkNN"
    assert _classifier("Pipeline(A, BinaryRelevance(Pipeline(B, SVC)))") == "BinaryRelevance(Pipeline(B, SVC))"


@pytest.mark.long
def test_verdict_of_a_run(run_of_one):
    """The best method by micro F1, the next one, and whether the difference is significant."""
    means = {
        cell["method"]: cell["mean"]
        for cell in run_of_one["datasets"][0]["cells"]
        if cell["metric"] == "micro_f1" and cell["n_neighbors"] in ("mean", None)
    }
    first, second = sorted(means, key=means.__getitem__, reverse=True)[:2]
    header = header_of(run_of_one)
    words = f"{first} has the best micro F1 on one: {means[first]:.3f}, next is {second} with {means[second]:.3f}; the"
    assert words in header
    assert header.count("<dt>") == 4
    (test,) = run_of_one["tests"]
    relation = {"dataset": "one", "metric": "micro_f1", "better": first, "worse": second}
    rest = {"difference": 0.1, "p_value": 0.01, "n_pairs": 3}
    for relations, ending in (([], "the difference is not significant."), ([relation | rest], "is significant.")):
        facts = {**run_of_one, "tests": [{**test, "relations": relations}]}
        assert ending in header_of(facts)


@pytest.mark.long
def test_verdict_of_a_run_on_several_data_sets(run_of_many):
    """The method that is best most often."""
    header = header_of(run_of_many)
    assert "the best " in header
    assert " of 6 data sets" in header


def test_no_verdict_where_methods_cannot_be_compared(run_of_one):
    """Other folds, or metrics without a direction."""
    (dataset,) = run_of_one["datasets"]
    different = {**run_of_one, "datasets": [{**dataset, "comparable": False}]}
    assert "so the methods are not compared." in header_of(different)
    metrics = [{**one, "greater_is_better": None} for one in run_of_one["metrics"]]
    assert "No metric has a direction" in header_of({**run_of_one, "metrics": metrics})


def test_labels_are_sorted_by_trouble(evil_facts):
    """The lowest F1 is first; labels without F1 are last; the caption names the order."""
    page = report_page(evil_facts)
    table = page.split("Precision, recall and F1 of each label, lowest F1 first</caption>")[1].split("</table>")[0]
    names = [line.split("</th>")[0] for line in table.split('<th scope="row">')[1:]]
    f1 = {one["name"]: one["f1"] for one in evil_facts["labels"]}
    found = [f1[name] for name in names if name in f1]  # all but names that are escaped
    known = [value for value in found if value is not None]
    assert len(known) > 2
    assert known == sorted(known)
    assert found[: len(known)] == known
