"""Every metric against a slow transcription of its definition, one row, one label, one pair at a time."""

import itertools
import math

import numpy as np
import pytest

from nearlabel import metrics

NAN = math.nan
ZERO_DIVISIONS = [0.0, 1.0, NAN]
TIES = ["pessimistic", "optimistic", "low", "high"]
TRIVIAL = ["drop", "keep"]


def label_sets(seed):
    """Return random true and predicted label sets (30, 6) with empty, full and disjoint rows and a label never used."""
    rng = np.random.default_rng(seed)
    true, predicted = (rng.random((30, 6)) < rng.random((30, 1)) for _ in range(2))
    true[:4], predicted[2:6] = False, False
    true[6:9] = True
    predicted[:, 3] = True
    true[9:, 5], predicted[:, 5] = False, False
    true[:, 5] = False
    return true.astype(int), predicted.astype(int)


def scores_with_ties(seed, shape=(30, 6)):
    """Return random scores of few different values."""
    return np.random.default_rng(seed).integers(0, 4, shape) / 4


def mean(values):
    """Return the mean of the values that are not nan, or nan."""
    kept = [value for value in values if not math.isnan(value)]
    return sum(kept) / len(kept) if kept else NAN


def quotient(numerator, denominator, zero_division):
    """Return the quotient, or what 0/0 counts as."""
    return numerator / denominator if denominator else zero_division


def by_definition(what, true, predicted, zero_division, beta=1.0):
    """Return the metric `what` of two lists of 0 and 1."""
    hits = sum(1 for t, p in zip(true, predicted, strict=True) if t and p)
    if what == "precision":
        return quotient(hits, sum(predicted), zero_division)
    if what == "recall":
        return quotient(hits, sum(true), zero_division)
    if what == "jaccard":
        union = sum(1 for t, p in zip(true, predicted, strict=True) if t or p)
        return quotient(hits, union, zero_division)
    if sum(true) == sum(predicted) == 0:
        return zero_division
    if hits == 0:
        return 0.0
    p, r = hits / sum(predicted), hits / sum(true)
    return (1 + beta**2) * p * r / (beta**2 * p + r)


def groups(average, true, predicted):
    """Return the pairs of lists a metric is averaged over."""
    if average == "examples":
        return zip(true.tolist(), predicted.tolist(), strict=True)
    if average == "macro":
        return zip(true.T.tolist(), predicted.T.tolist(), strict=True)
    return [(true.ravel().tolist(), predicted.ravel().tolist())]


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("what", ["precision", "recall", "f1"])
@pytest.mark.parametrize("average", ["examples", "micro", "macro"])
def test_ratio_is_the_mean_over_its_groups(average, what, zero_division):
    """A ratio metric is the mean of the ratio over examples or labels, or the ratio of all cells."""
    name = f"{what}_examples" if average == "examples" else f"{average}_{what}"
    for seed in range(3):
        true, predicted = label_sets(seed)
        expected = mean(by_definition(what, t, p, zero_division) for t, p in groups(average, true, predicted))
        got = getattr(metrics, name)(true, predicted, zero_division=zero_division)
        assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
@pytest.mark.parametrize("beta", [0.5, 2.0])
@pytest.mark.parametrize("average", ["examples", "micro", "macro"])
def test_fbeta_is_the_weighted_harmonic_mean(average, beta, zero_division):
    """F-beta is the harmonic mean of precision and recall with weights 1 and beta squared."""
    name = "fbeta_examples" if average == "examples" else f"{average}_fbeta"
    true, predicted = label_sets(7)
    expected = mean(by_definition("fbeta", t, p, zero_division, beta) for t, p in groups(average, true, predicted))
    got = getattr(metrics, name)(true, predicted, beta=beta, zero_division=zero_division)
    assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_jaccard_is_intersection_over_union(zero_division):
    """The Jaccard index of an example is the size of the intersection over that of the union."""
    true, predicted = label_sets(1)
    expected = mean(by_definition("jaccard", t, p, zero_division) for t, p in groups("examples", true, predicted))
    assert metrics.jaccard_examples(true, predicted, zero_division=zero_division) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("zero_division", ZERO_DIVISIONS)
def test_f1_of_means_is_the_harmonic_mean_of_two_means(zero_division):
    """The F of means takes both means first, each with its own 0/0 rows."""
    true, predicted = label_sets(2)
    p, r = (
        mean(by_definition(what, t, q, zero_division) for t, q in groups("examples", true, predicted))
        for what in ("precision", "recall")
    )
    assert metrics.f1_of_means(true, predicted, zero_division=zero_division) == pytest.approx(2 * p * r / (p + r))


def test_hamming_loss_and_subset_accuracy_count_cells_and_rows():
    """Hamming loss is the share of wrong cells, subset accuracy the share of rows without one."""
    true, predicted = label_sets(3)
    predicted[:10] = true[:10]
    wrong = [[t != p for t, p in zip(*rows, strict=True)] for rows in zip(true, predicted, strict=True)]
    assert metrics.hamming_loss(true, predicted) == pytest.approx(sum(map(sum, wrong)) / 180, abs=1e-12)
    assert metrics.subset_accuracy(true, predicted) == pytest.approx(sum(not any(w) for w in wrong) / 30, abs=1e-12)


def ranks(relevant, scores, ties):
    """Return the rank of each label: the worst shared one, or the place in the order that `ties` says."""
    labels = range(len(scores))
    if ties == "pessimistic":
        return [sum(scores[other] >= scores[label] for other in labels) for label in labels]
    second = {
        "low": lambda label: label,
        "high": lambda label: -label,
        "optimistic": lambda label: not relevant[label],
    }[ties]
    order = sorted(labels, key=lambda label: (-scores[label], second(label), label))
    return [order.index(label) + 1 for label in labels]


def one_error_of_row(relevant, scores, ties):
    """Return whether the row is trivial, and whether its top label is wrong (equation 2)."""
    if not any(relevant) or all(relevant):
        return True, float(not any(relevant))
    top = [r for r, score in zip(relevant, scores, strict=True) if score == max(scores)]
    right = {"pessimistic": all(top), "low": top[0], "high": top[-1], "optimistic": any(top)}[ties]
    return False, float(not right)


def coverage_of_row(relevant, scores, ties):
    """Return whether the row is trivial, and the steps to its last relevant label (equation 3)."""
    if not any(relevant):
        return True, 0.0
    return False, max(rank for rank, r in zip(ranks(relevant, scores, ties), relevant, strict=True) if r) - 1


def ranking_loss_of_row(relevant, scores, ties):
    """Return whether the row is trivial, and its share of reversed pairs (equation 4)."""
    if not any(relevant) or all(relevant):
        return True, 0.0
    place = ranks(relevant, scores, ties)
    errors = [
        {"pessimistic": scores[p] <= scores[q], "optimistic": scores[p] < scores[q]}.get(ties, place[p] > place[q])
        for p, q in itertools.product(range(len(scores)), repeat=2)
        if relevant[p] and not relevant[q]
    ]
    return False, sum(errors) / len(errors)


def average_precision_of_row(relevant, scores, ties):
    """Return whether the row is trivial, and the mean precision at its relevant labels (equation 5)."""
    if not any(relevant) or all(relevant):
        return True, 1.0
    of_relevant = [rank for rank, r in zip(ranks(relevant, scores, ties), relevant, strict=True) if r]
    return False, mean(sum(other <= rank for other in of_relevant) / rank for rank in of_relevant)


ROW_DEFINITIONS = {
    "one_error": one_error_of_row,
    "coverage": coverage_of_row,
    "ranking_loss": ranking_loss_of_row,
    "average_precision": average_precision_of_row,
}


@pytest.mark.parametrize("trivial", TRIVIAL)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("name", ROW_DEFINITIONS)
def test_ranking_metric_is_the_mean_of_its_rows(name, ties, trivial):
    """A ranking metric is the mean of the paper's row value over the rows that count."""
    for seed in range(4):
        true, scores = label_sets(seed)[0], scores_with_ties(seed)
        rows = [ROW_DEFINITIONS[name](t, s, ties) for t, s in zip(true.tolist(), scores.tolist(), strict=True)]
        expected = mean(value for is_trivial, value in rows if trivial == "keep" or not is_trivial)
        got = getattr(metrics, name)(true, scores, ties=ties, trivial=trivial)
        assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", [*TIES, "average"])
def test_blocks_of_rows_change_nothing(ties, monkeypatch):
    """Ranks computed three rows at a time equal those computed at once."""
    true, scores = label_sets(5)[0], scores_with_ties(5)
    at_once = metrics.score_all(true, y_score=scores, ties=ties)
    monkeypatch.setattr("nearlabel.metrics.ranking.BLOCK_BYTES", 3 * 8 * 6)
    assert metrics.score_all(true, y_score=scores, ties=ties) == at_once


@pytest.mark.parametrize("n_labels", [1, 2, 3, 5])
@pytest.mark.parametrize("name", ROW_DEFINITIONS)
def test_average_is_the_mean_over_all_orders_of_equal_scores(name, n_labels):
    """The closed forms give what the mean over every permutation of the labels gives."""
    function = getattr(metrics, name)
    rng = np.random.default_rng(n_labels)
    orders = [np.array(order) / (10 * n_labels) for order in itertools.permutations(range(n_labels))]
    for _ in range(12):
        true, scores = rng.integers(0, 2, (1, n_labels)), rng.integers(0, 3, (1, n_labels)).astype(float)
        expected = np.mean([function(true, scores - order, trivial="keep") for order in orders])
        assert function(true, scores, ties="average", trivial="keep") == pytest.approx(expected, abs=1e-12)


def test_index_is_the_former_name_of_low():
    """Programs written for it go on."""
    true, scores = label_sets(6)[0], scores_with_ties(6)
    assert metrics.score_all(true, y_score=scores, ties="index") == metrics.score_all(true, y_score=scores, ties="low")


@pytest.mark.parametrize("name", ["one_error", "coverage", "ranking_loss"])
def test_optimistic_and_pessimistic_are_the_best_and_the_worst_order(name):
    """Over all orders of equal scores a loss ranges from its optimistic to its pessimistic value."""
    function = getattr(metrics, name)
    true, scores = np.array([[1, 0, 1, 0, 1]]), np.array([[0.5, 0.5, 0.5, 0.5, 0.1]])
    by_order = [function(true, scores - 0.01 * np.array([[*order, 0]])) for order in itertools.permutations(range(4))]
    assert function(true, scores, ties="optimistic") == min(by_order)
    assert function(true, scores, ties="pessimistic") == max(by_order)


def test_average_precision_optimistic_is_the_best_order():
    """Over all orders of equal scores average precision is at most its optimistic value."""
    true, scores = np.array([[1, 0, 1, 0, 1]]), np.array([[0.5, 0.5, 0.5, 0.5, 0.1]])
    by_order = [
        metrics.average_precision(true, scores - 0.01 * np.array([[*order, 0]]))
        for order in itertools.permutations(range(4))
    ]
    assert metrics.average_precision(true, scores, ties="optimistic") == pytest.approx(max(by_order), abs=1e-12)
