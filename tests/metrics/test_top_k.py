"""Metrics of the first k labels: against plain loops, all orders of equal scores, and scikit-learn."""

import itertools
import math

import numpy as np
import pytest
import sklearn.metrics as theirs
from scipy import sparse

from nearlabel import metrics
from nearlabel.metrics import get_metric, label_propensities

TIES = ("pessimistic", "optimistic", "low", "high", "average")
PLAIN = ("precision_at_k", "recall_at_k", "ndcg_at_k")
RNG = np.random.default_rng(4)
TRUE = (RNG.random((40, 6)) < 0.35).astype(int)
TRUE[0], TRUE[1] = 0, 1
SCORES = RNG.integers(-2, 3, TRUE.shape) / 4
PROPENSITIES = label_propensities(TRUE)


def functions():
    """Return all four as functions of true labels, scores and k."""
    scored = metrics.propensity_scored_precision_at_k
    return {name: getattr(metrics, name) for name in PLAIN} | {
        scored.__name__: lambda *args, **options: scored(*args, propensities=PROPENSITIES[: len(args[0][0])], **options)
    }


def order_of(scores, gains, ties):
    """Return the labels from the best down."""
    second = {
        "pessimistic": lambda label: gains[label],
        "optimistic": lambda label: -gains[label],
        "low": lambda label: label,
        "high": lambda label: -label,
    }[ties]
    return sorted(range(len(scores)), key=lambda label: (-scores[label], second(label)))


def row_values(relevant, scores, k, ties, propensities):
    """Return by name the value of a row; of the scored precision what is gained and what could be."""
    order = order_of(scores, [r / p for r, p in zip(relevant, propensities, strict=True)], ties)[:k]
    gain = sum(relevant[label] / math.log2(rank + 1) for rank, label in enumerate(order, start=1))
    best = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, sum(relevant)) + 1))
    worth = sorted((1 / p for r, p in zip(relevant, propensities, strict=True) if r), reverse=True)
    hits = sum(relevant[label] for label in order)
    return {
        "precision_at_k": hits / k,
        "recall_at_k": hits / sum(relevant) if any(relevant) else 0.0,
        "ndcg_at_k": gain / best if best else 0.0,
        "propensity_scored_precision_at_k": (
            sum(relevant[label] / propensities[label] for label in order),
            sum(worth[:k]),
        ),
    }


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.parametrize("ties", TIES[:4])
def test_loops_over_the_definitions(k, ties):
    """Row by row and label by label; rows without labels are left out of means, or count as 0."""
    rows = [row_values(t, s, k, ties, PROPENSITIES) for t, s in zip(TRUE.tolist(), SCORES.tolist(), strict=True)]
    for name in PLAIN:
        kept = [row[name] for row, true in zip(rows, TRUE, strict=True) if true.any()]
        function = getattr(metrics, name)
        assert function(TRUE, SCORES, k, ties=ties) == pytest.approx(sum(kept) / len(kept), abs=1e-12)
        expected = sum(row[name] for row in rows) / len(rows)
        assert function(TRUE, SCORES, k, ties=ties, trivial="keep") == pytest.approx(expected, abs=1e-12)
    gained, possible = np.sum([row["propensity_scored_precision_at_k"] for row in rows], axis=0)
    got = metrics.propensity_scored_precision_at_k(TRUE, SCORES, k, propensities=PROPENSITIES, ties=ties)
    assert got == pytest.approx(gained / possible, abs=1e-12)


@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("name", functions())
def test_average_is_the_mean_over_all_orders_of_equal_scores(name, n_labels):
    """Each place of a group expects the mean gain of the group."""
    function, rng = functions()[name], np.random.default_rng(n_labels)
    orders = [np.array(order) / (10 * n_labels) for order in itertools.permutations(range(n_labels))]
    for k in range(1, n_labels + 1):
        true, scores = rng.integers(0, 2, (1, n_labels)), rng.integers(0, 2, (1, n_labels)).astype(float)
        values = [function(true, scores - order, k) for order in orders]
        got = function(true, scores, k, ties="average")
        assert got == pytest.approx(np.mean(values), abs=1e-12, nan_ok=True)
        assert function(true, scores, k, ties="pessimistic") == pytest.approx(min(values), abs=1e-12, nan_ok=True)
        assert function(true, scores, k, ties="optimistic") == pytest.approx(max(values), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_ndcg_of_scikit_learn(k):
    """It averages over ties and counts rows without labels as 0."""
    expected = theirs.ndcg_score(TRUE, SCORES, k=k)
    assert metrics.ndcg_at_k(TRUE, SCORES, k, ties="average", trivial="keep") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", functions())
@pytest.mark.parametrize("ties", TIES)
def test_sparse_weights_and_blocks(name, ties, monkeypatch):
    """Sparse matrices give the number of dense ones, whole weights that of repeated rows, blocks that of the whole."""
    function, weights = functions()[name], RNG.integers(0, 4, len(TRUE))
    dense = functions()[name](TRUE, SCORES, 3, ties=ties)
    for pair in ((sparse.csr_array(TRUE), sparse.csc_array(SCORES)), (TRUE, sparse.csr_matrix(SCORES))):
        assert getattr(metrics, name)(*pair, 3, ties=ties, **_more(name)) == pytest.approx(dense, abs=1e-14)
    repeated = np.repeat(np.arange(len(TRUE)), weights)
    expected = function(TRUE[repeated], SCORES[repeated], 3, ties=ties)
    assert function(TRUE, SCORES, 3, ties=ties, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
    monkeypatch.setattr("nearlabel.metrics.ranking.BLOCK_BYTES", 3 * 8 * 6)
    assert function(TRUE, SCORES, 3, ties=ties) == pytest.approx(dense, abs=1e-14)


@pytest.mark.parametrize("k", [1, 4, 20, 60])
@pytest.mark.parametrize("ties", TIES)
def test_cells_that_are_stored_nowhere_take_places(ties, k, monkeypatch):
    """Very sparse matrices: absent scores rank above negative ones, equal to stored zeros, in the order of labels."""
    rng = np.random.default_rng(k)
    true = (rng.random((30, 60)) < 0.05).astype(int)
    scores = rng.integers(-2, 3, true.shape) * (rng.random(true.shape) < 0.04) / 2
    worth = {"propensities": rng.random(60) / 2 + 0.5}
    for budget in (2**20, 8 * 60):
        monkeypatch.setattr("nearlabel.metrics.ranking.BLOCK_BYTES", budget)
        for name in functions():
            function, more = getattr(metrics, name), worth if name.startswith("propensity") else {}
            got = function(sparse.csr_array(true), sparse.csr_array(scores), k, ties=ties, **more)
            assert got == pytest.approx(function(true, scores, k, ties=ties, **more), abs=1e-12), name


def _more(name):
    return {"propensities": PROPENSITIES} if name.startswith("propensity") else {}


@pytest.mark.parametrize("name", functions())
def test_edges(name):
    """No labels: nothing to find. All labels: all found. One label. Infinite scores."""
    function = functions()[name]
    assert math.isnan(function([[0, 0]], [[0.1, 0.2]], 1))
    assert function([[1, 1]], [[0.1, 0.2]], 2) == pytest.approx(1)
    assert function([[1], [0]], [[0.1], [0.2]], 1) == 1
    assert function([[1, 0]], [[-np.inf, np.inf]], 1) == 0
    assert type(function([[1, 0]], [[0.1, 0.2]], 1)) is float


def test_propensities_by_hand():
    """Frequent labels are stated more often; with propensities of 1 the scored precision is one of sums."""
    n, n_label, a, b = 4, 3, 0.55, 1.5
    c = (math.log(n) - 1) * (b + 1) ** a
    y = np.zeros((n, 2), dtype=int)
    y[:n_label, 0] = 1
    expected = [1 / (1 + c * math.exp(-a * math.log(count + b))) for count in (n_label, 0)]
    assert label_propensities(y) == pytest.approx(expected, abs=1e-14)
    assert label_propensities(sparse.csr_array(y)) == pytest.approx(expected, abs=1e-14)
    assert label_propensities(y, 0.6, 2.6)[0] != expected[0]
    # Row 1 finds 1 of its 2 labels, row 2 its only one: 2 of the 3 that two labels a row can find.
    true, scores = [[1, 1, 0], [1, 0, 0]], [[0.9, 0.1, 0.5], [0.9, 0.5, 0.1]]
    got = metrics.propensity_scored_precision_at_k(true, scores, 2, propensities=[1, 1, 1])
    assert got == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"k": 7}, ValueError, "k must be at most n_labels=6, got 7"),
        ({"k": 0}, ValueError, "k must be at least 1, got 0"),
        ({"k": 2.0}, TypeError, "k must be an integer, got 2.0"),
        ({"k": 2, "ties": "random"}, ValueError, "ties must be one of"),
    ],
)
@pytest.mark.parametrize("name", functions())
def test_bad_options(name, options, error, message):
    """Each says what was expected."""
    with pytest.raises(error, match=message):
        getattr(metrics, name)(TRUE, SCORES, **options, **_more(name))


@pytest.mark.parametrize("wrong", [[1] * 5, [0.5] * 5 + [0], [1.5] * 6, [np.nan] * 6, [[1] * 6]])
def test_bad_propensities(wrong):
    """One for each label, above 0 and at most 1."""
    with pytest.raises(ValueError, match=r"propensities must be numbers above 0 and at most 1, one for each of 6"):
        metrics.propensity_scored_precision_at_k(TRUE, SCORES, 1, propensities=wrong)


def test_too_few_rows_for_propensities():
    """The logarithm of n must be above 1."""
    with pytest.raises(ValueError, match="at least 3 samples, and 3 known cells of each label, got 2"):
        label_propensities([[1], [0]])
    with pytest.raises(ValueError, match="a must be a finite number above 0, got 0"):
        label_propensities(TRUE, a=0)


def test_trivial_is_checked():
    """Also by name."""
    with pytest.raises(ValueError, match="trivial must be one of"):
        get_metric("recall_at_k:k=1:trivial=no")(TRUE, SCORES)


def test_propensities_by_name():
    """They come with the call; without them the error says where they come from."""
    metric = get_metric("propensity_scored_precision_at_k:k=2")
    assert metric.title == "PSP@2"
    value = metrics.propensity_scored_precision_at_k(TRUE, SCORES, 2, propensities=PROPENSITIES)
    assert metric(TRUE, SCORES, propensities=PROPENSITIES) == value
    known = metrics.score_all(TRUE, y_score=SCORES, metrics=[metric, "coverage"], propensities=PROPENSITIES)
    assert known[metric.name] == value
    for call in (lambda: metric(TRUE, SCORES), lambda: metrics.score_all(TRUE, y_score=SCORES, metrics=[metric])):
        with pytest.raises(
            ValueError, match=r"propensities must be given for propensity_scored.*:k=2, got None\. Hint: "
        ):
            call()
    with pytest.raises(ValueError, match="propensities"):
        get_metric("propensity_scored_precision_at_k:k=2:propensities=3")
