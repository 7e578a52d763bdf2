"""The samples with most wrong labels, and labels that are wrong together."""

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN
from nearlabel.persistence import ModelCard
from nearlabel.plots._figure import Display
from nearlabel.report import model_facts, report_page
from nearlabel.report._error_facts import Errors, compare_all, label_confusions, wrong_samples
from nearlabel.rivals import BinaryRelevance

NAMES = ("a", "b", "c", "d")
NO_NAMES = {"own": {}, "kept": {}, "seen": False}
EVIL = "<script>window.harmed = 1</script>"


@pytest.fixture
def _no_figures(monkeypatch):
    """The tests are about words."""
    monkeypatch.setattr(Display, "to_svg", lambda *_, **__: "<svg></svg>")


def facts_of(model, data, **options):
    """Facts of a model that is fitted to the data."""
    model.fit(data.X, data.Y)
    return model_facts(model, data, card=json.loads(ModelCard.of(model, data=data).to_json()), n_rows=5, **options)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_most_wrong_labels_first(store):
    """By hand: the third sample has two wrong labels, the first and last one each; the last probability is worse."""
    Y = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0]])
    predicted = np.array([[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    scores = np.array([[0.9, 0.6, 0, 0], [0, 1, 0, 0], [1, 0.4, 0, 0.5], [0, 0, 0.1, 0]])
    errors = Errors(compare_all(store(Y), store(predicted)))
    own = {"id": ["r", "s", "t", "u"]}
    found = wrong_samples(errors, scores, None, np.zeros((4, 1)), NAMES, **NO_NAMES | {"own": own})
    assert (found["n_wrong"], found["n_samples"]) == (3, 4)
    assert [(one["row"], one["name"], one["missed"], one["added"]) for one in found["samples"]] == [
        (2, "id t", ["b"], ["d"]),
        (3, "id u", ["c"], []),
        (0, "id r", [], ["b"]),
    ]
    by_row = wrong_samples(errors, 10 * scores, None, np.zeros((4, 1)), NAMES, **NO_NAMES)
    assert [one["row"] for one in by_row["samples"]] == [2, 0, 3]  # no probabilities


def test_unknown_labels_are_not_wrong():
    """Neither missed nor added."""
    Y, predicted = np.array([[np.nan] * 2, [np.nan, 1], [np.nan, 0]]), np.array([[1, 1], [1, 0], [0, 0]])
    errors = Errors(compare_all(Y, predicted))
    assert errors.missed.toarray().tolist() == [[0, 0], [0, 1], [0, 0]]  # rows keep their numbers
    assert errors.added.nnz == 0


def test_neighbours_of_a_wrong_sample(toy):
    """The first five, without the sample itself, by name and with their labels."""
    kept = {"id": [f"r{row}" for row in range(len(toy.Y))]}
    model = BRkNN(5)
    wrong = facts_of(model, toy, seen=True, kept=kept)["wrong"]
    predicted = model.loo_predict()
    n_wrong = (predicted != toy.Y).sum(axis=1)
    assert wrong["n_wrong"] == (n_wrong > 0).sum()
    assert [n_wrong[one["row"]] for one in wrong["samples"]] == sorted(n_wrong, reverse=True)[: len(wrong["samples"])]
    for one in wrong["samples"]:
        rows = [near["row"] for near in one["neighbors"]]
        assert len(rows) >= 4
        assert one["row"] not in rows
        expected = [row for row in model.explain(toy.X[[one["row"]]])[0].neighbors["row"] if row != one["row"]]
        assert rows == expected[:5]
        for near in one["neighbors"]:
            assert near["name"] == f"id r{near['row']}"
            assert near["labels"] == [toy.label_names[label] for label in np.flatnonzero(toy.Y[near["row"]])]
    assert all(one["neighbors"] == [] for one in facts_of(BinaryRelevance(), toy)["wrong"]["samples"])


@pytest.mark.parametrize("seed", range(3))
def test_confusions_by_loops(seed):
    """Every pair of errors in the same sample, counted cell by cell; the largest excess over chance is first."""
    rng = np.random.default_rng(seed)
    Y, predicted = rng.integers(0, 2, (30, 4)), rng.integers(0, 2, (30, 4))
    missed, added = (Y == 1) & (predicted == 0), (Y == 0) & (predicted == 1)
    expected = {}
    for kind, one, other, pairs in (
        ("confused", missed, added, permutations(range(4), 2)),
        ("missed", missed, missed, combinations(range(4), 2)),
        ("added", added, added, combinations(range(4), 2)),
    ):
        for i, j in pairs:
            n = sum(one[row, i] and other[row, j] for row in range(30))
            by_chance = one[:, i].sum() * other[:, j].sum() / 30
            if n > 1 and n > by_chance:
                expected[kind, NAMES[i], NAMES[j]] = (n, pytest.approx(by_chance))
    found = label_confusions(Errors(compare_all(Y, predicted)), NAMES)["pairs"]
    assert {(one["kind"], *one["labels"]): (one["n_samples"], one["expected"]) for one in found} == expected
    excess = [one["n_samples"] - one["expected"] for one in found]
    assert excess == sorted(excess, reverse=True)


@pytest.mark.long
@pytest.mark.usefixtures("_no_figures")
def test_sections(nldd_facts, evil_facts):
    """Tables with headings; names are escaped; the order and the count are written above."""
    page = report_page(nldd_facts)
    section = page.split('<section id="most-wrong-samples">')[1].split("</section>")[0]
    assert f"{nldd_facts['wrong']['n_wrong']} of 30 samples have a wrong label." in section
    assert "Samples with wrong labels, most wrong labels first</caption>" in section
    assert section.count('<th scope="col">') == 4
    assert section.count('<th scope="row">') == len(nldd_facts["wrong"]["samples"])
    assert "id 47" in section
    evil = report_page(evil_facts)
    assert "A sample is not listed as its own neighbour." in evil
    assert "have a wrong label by leave-one-out." in evil
    assert EVIL not in evil
    assert '<section id="confusion-between-labels">' in evil
    first = evil_facts["confusions"]["pairs"][0]
    assert f'<td class="n" data-v="{first["n_samples"]}">' in evil


@pytest.mark.usefixtures("_no_figures")
def test_sections_without_errors(toy, nldd_facts):
    """A model that is always right has neither."""
    wrong = {"n_wrong": 0, "n_samples": 30, "samples": []}
    confusions = {"n_paired": 2, "n_labels": 2, "pairs": []}
    page = report_page({**nldd_facts, "wrong": wrong, "confusions": confusions})
    assert "All label sets are predicted exactly." in page
    assert "No two labels are wrong in the same samples" in page
    errors = Errors(compare_all(toy.Y, toy.Y))
    assert wrong_samples(errors, None, None, toy.X, NAMES, **NO_NAMES) == {**wrong, "n_samples": 36}
    assert label_confusions(errors, NAMES)["pairs"] == []


@pytest.mark.usefixtures("_no_figures")
def test_pairs_of_many_labels(nldd_facts):
    """The page names the limit."""
    confusions = {**nldd_facts["confusions"], "n_paired": 300, "n_labels": 4000}
    kinds = ("confused", "missed", "added")
    pairs = [{"kind": kind, "labels": ["x", "y"], "n_samples": 7, "expected": 1.5} for kind in kinds]
    page = report_page({**nldd_facts, "confusions": {**confusions, "pairs": pairs}})
    assert "Pairs of the 300 labels with most errors of 4,000." in page
    missed, added = '<span class="chip missed">{}</span>', '<span class="chip false">{}</span>'
    x_missed, y_missed, x_added, y_added = (mark.format(name) for mark in (missed, added) for name in "xy")
    for first, second in ((x_missed, y_added), (x_missed + y_missed, "none"), ("none", x_added + y_added)):
        assert f'<th scope="row">{first}</th><td>{second}</td><td class="n" data-v="7">' in page
