"""Precision-recall curves of the labels with the lowest F1."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score

from nearlabel.report import report_page
from nearlabel.report._error_facts import compare_all
from nearlabel.report._facts import label_curves
from nearlabel.report._sections import draw_label_curve

NAMES = tuple("abcdefghij")
CURVE = {
    "name": "a<b", "recall": [0.0, 0.5, 1.0], "precision": [1.0, 1.0, 0.5], "average_precision": 0.75, "share": 0.5,
    "precision_of_model": 0.6, "recall_of_model": 0.7, "f1": 0.65,
}  # fmt: skip


@pytest.fixture
def problem():
    """True labels, scores and predictions: the first label has four samples, the last one all."""
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 10)) < 0.4).astype(int)
    Y[:, 0], Y[:, 9] = np.arange(60) < 4, 1
    scores = np.round(np.clip(0.5 * Y + 0.7 * rng.random((60, 10)) - 0.1, 0, 1), 2)  # with ties
    return Y, scores, (scores >= 0.5).astype(int)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_lowest_f1_first(problem, store):
    """Six of the eight labels that have enough samples, and others without them."""
    Y, scores, predicted = problem
    found = label_curves(compare_all(store(Y), store(predicted)), scores, NAMES)
    f1 = 2 * (Y * predicted).sum(axis=0) / (Y + predicted).sum(axis=0)
    order = sorted(range(1, 9), key=lambda label: (f1[label], -Y[:, label].sum()))[:6]
    assert found["n_labels"] == 8
    assert [one["name"] for one in found["curves"]] == [NAMES[label] for label in order]
    assert [one["f1"] for one in found["curves"]] == pytest.approx(f1[order])


def test_points_by_loops(problem):
    """Each point is that of a threshold; the ends are right; average precision is scikit-learn's."""
    Y, scores, predicted = problem
    for one in label_curves(compare_all(Y, predicted), scores, NAMES)["curves"]:
        true, score = (matrix[:, NAMES.index(one["name"])] for matrix in (Y, scores))
        reached = {(0.0, 1.0)}
        for threshold in score:
            chosen = score >= threshold
            reached.add((true[chosen].sum() / true.sum(), true[chosen].mean()))
        points = list(zip(one["recall"], one["precision"], strict=True))
        assert set(points) <= reached
        assert one["recall"] == sorted(one["recall"])
        assert (points[0], points[-1]) == ((0.0, 1.0), (1.0, true.mean()))
        assert one["average_precision"] == average_precision_score(true, score)
        assert one["share"] == true.mean()


def test_unknown_labels_do_not_count(problem):
    """The curve is that of the known samples."""
    Y, scores, predicted = problem
    holes = np.where(np.arange(60)[:, None] < 20, np.nan, Y)
    found, known = (
        label_curves(compare_all(of, decided), by, NAMES)
        for of, decided, by in ((holes, predicted, scores), (Y[20:], predicted[20:], scores[20:]))
    )
    assert found == known


def test_no_curve(problem):
    """Without scores, with infinite ones, and of a label that is never predicted there is no wrong number."""
    Y, scores, predicted = problem
    assert label_curves(compare_all(Y, predicted), None, NAMES) == {"n_labels": 0, "curves": []}
    scores[3, 1] = -np.inf
    assert label_curves(compare_all(Y, predicted), scores, NAMES)["n_labels"] == 7
    never = label_curves(compare_all(Y, 0 * predicted), scores, NAMES)["curves"][0]
    assert (never["precision_of_model"], never["recall_of_model"], never["f1"]) == (None, 0.0, 0.0)


def test_picture():
    """The axes are of one label; the words are those of the figures; no point without a prediction."""
    picture = draw_label_curve(CURVE)
    words = [text.text for text in ET.fromstring(picture).iter("text")]
    assert {"precision", "recall", "the model's decisions"} <= set(words)
    assert ET.fromstring(picture).find("title").text == "Precision and recall of a<b"
    told = "Average precision 0.750; the model's decisions have precision 0.600 and recall 0.700."
    assert ET.fromstring(picture).find("desc").text == told
    never = draw_label_curve({**CURVE, "precision_of_model": None, "recall_of_model": 0.0})
    assert "the model's decisions" not in [text.text for text in ET.fromstring(never).iter("text")]


@pytest.mark.long
def test_section(nldd_facts):
    """A figure for each curve, with its numbers; the page names the order and how many labels are not drawn."""
    page = report_page({**nldd_facts, "label_curves": {"n_labels": 70, "curves": [CURVE]}})
    section = page.split('<section id="precision-and-recall-of-labels">')[1].split("</section>")[0]
    assert "The 1 of 70 labels with the lowest F1, the lowest F1 first" in section
    assert "<figcaption>a&lt;b</figcaption>" in section
    assert "Average precision 0.750, share of samples 0.500." in section
    assert "Figures of a&lt;b</caption>" in section
    page = report_page({**nldd_facts, "label_curves": {"n_labels": 0, "curves": []}})
    assert "no label has enough samples for a curve" in page
