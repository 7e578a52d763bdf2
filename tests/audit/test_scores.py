"""The scores of suspicion against plain loops over their definitions, on data with ties."""

import math

import numpy as np
import pytest
from scipy import sparse

from nearlabel.audit import _scores
from nearlabel.audit._scores import (
    Cells,
    checked_evidence,
    confident_issues,
    confident_sums,
    disagreement,
    halfway_prior,
    positive_shares,
    prior_odds,
    row_quality,
    self_confidence,
    thresholds_of,
)
from nearlabel.lazy import BRkNN
from nearlabel.utils import messages

NAN = math.nan
SEEDS = [0, 1, 2]


def evidence(seed, *, holes=True):
    """Return probabilities of eleven different values, labels and shares (40, 7); two labels have one class."""
    rng = np.random.default_rng(seed)
    labels = (rng.random((40, 7)) < rng.random(7)).astype(float)
    labels[:, 5], labels[:, 6] = 0, 1
    if holes:
        labels[rng.random(labels.shape) < 0.2] = NAN
        labels[3] = NAN
    return rng.integers(0, 11, labels.shape) / 10, labels, rng.integers(0, 3, labels.shape) / 2


def confidence_by_loops(p, y):
    """The probability of the given value of each cell."""
    found = np.full(y.shape, NAN)
    for i, row in enumerate(y):
        for label, given in enumerate(row):
            if not math.isnan(given):
                found[i, label] = round(p[i, label] if given == 1 else 1 - p[i, label], 12)
    return found


def shares_by_loops(y):
    """The share of positives among the known cells of each label."""
    columns = [[given for given in column if not math.isnan(given)] for column in y.T]
    return [sum(column) / len(column) for column in columns]


def odds_by_loops(p, y, prior):
    """Self-confidence over the share of the given value."""
    found = confidence_by_loops(p, y)
    for i, row in enumerate(y):
        for label, given in enumerate(row):
            if not math.isnan(given):
                found[i, label] = round(found[i, label] / (prior[label] if given == 1 else 1 - prior[label]), 12)
    return found


def issues_by_loops(p, y):
    """Confident learning of one label after the other, in the words of the definition."""
    found = np.zeros(y.shape, dtype=bool)
    for label in range(y.shape[1]):
        cells = [(i, p[i, label], y[i, label]) for i in range(len(y)) if not math.isnan(y[i, label])]
        of_positives = [prob for _, prob, given in cells if given == 1]
        of_negatives = [1 - prob for _, prob, given in cells if given == 0]
        if not of_positives or not of_negatives:
            continue
        theta_1 = math.fsum(of_positives) / len(of_positives)
        theta_0 = math.fsum(of_negatives) / len(of_negatives)
        for i, prob, given in cells:
            own, other = (prob, 1 - prob) if given == 1 else (1 - prob, prob)
            theta_own, theta_other = (theta_1, theta_0) if given == 1 else (theta_0, theta_1)
            confident = other >= theta_other - 1e-9
            found[i, label] = confident and (own < theta_own - 1e-9 or other > 0.5 + 1e-9)
    return found


def suspects_by_loops(quality, confidence, against):
    """All cells below full confidence, sorted by quality, disagreement, row and label."""
    suspects = np.argwhere(confidence < 1).tolist()
    return sorted(map(tuple, suspects), key=lambda cell: (quality[cell], -against[cell], cell))


def places(cells):
    """Return pairs of row and label."""
    return list(zip(cells.rows.tolist(), cells.labels.tolist(), strict=True))


def worst_cells(p, y, n_cells, *, shares=None, prior=None, blocks=(slice(None),)):
    """Return the most suspicious cells, found block by block."""
    p, y = np.array(p, dtype=float), np.array(y, dtype=float)
    confidence = self_confidence(p, y)
    quality = confidence if prior is None else prior_odds(p, y, prior=prior)
    against = np.full(y.shape, NAN) if shares is None else disagreement(shares, y)
    numbers = np.arange(len(y))
    parts = [Cells.of_rows(numbers[some], confidence[some], quality[some], against[some], n_cells) for some in blocks]
    return Cells.joined(parts).first(n_cells)


def stored(matrix, kind):
    """Return a matrix as an array or CSR; a 0 that is stored, too."""
    if kind == "dense":
        return matrix
    csr = sparse.csr_array(matrix)
    csr.data[: len(csr.data) // 50] += 0.0
    return csr


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_scores_of_cells_equal_their_definitions(seed, kind):
    """Self-confidence, odds over the prior and disagreement, known cells only, however stored."""
    p, y, shares = evidence(seed)
    given, scores = stored(y, kind), stored(p, kind)
    prior = shares_by_loops(y)
    np.testing.assert_array_equal(self_confidence(scores, given), confidence_by_loops(p, y))
    np.testing.assert_allclose(positive_shares(given), prior, rtol=1e-15)
    np.testing.assert_allclose(prior_odds(scores, given), odds_by_loops(p, y, prior), rtol=0, atol=2e-12)
    np.testing.assert_array_equal(prior_odds(scores, given, prior=[0.5] * 7), 2 * confidence_by_loops(p, y))
    against = np.array([[NAN if math.isnan(v) else 1 - v for v in row] for row in confidence_by_loops(shares, y)])
    np.testing.assert_array_equal(disagreement(stored(shares, kind), given), against)


@pytest.mark.parametrize("seed", SEEDS)
def test_confident_issues_equal_their_definition(seed):
    """Confident learning label by label; labels of one class and unknown cells have no issue."""
    p, y, _ = evidence(seed)
    issues = confident_issues(p, y)
    np.testing.assert_array_equal(issues, issues_by_loops(p, y))
    np.testing.assert_array_equal(confident_issues(sparse.csr_array(p), sparse.csr_array(y)), issues)
    assert issues.any()
    assert not issues[np.isnan(y)].any()
    assert not issues[:, 5:].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_halfway_prior_is_a_mean_of_log_odds(seed):
    """Halfway between the label and all known cells; 0 and 1 stay; with 0 for 1 it is 1 less."""
    _, y, _ = evidence(seed)
    known = y[~np.isnan(y)]
    overall, prior = sum(known) / len(known), halfway_prior(y)
    for found, share in zip(prior, shares_by_loops(y), strict=True):
        if 0 < share < 1:
            log_odds = (math.log(share / (1 - share)) + math.log(overall / (1 - overall))) / 2
            assert found == pytest.approx(1 / (1 + math.exp(-log_odds)), abs=1e-14)
        else:
            assert found == share
    np.testing.assert_allclose(halfway_prior(1 - y), 1 - prior, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(halfway_prior(sparse.csr_array(y)), prior)


@pytest.mark.parametrize("shares", [positive_shares, halfway_prior])
def test_the_prior_of_a_label_of_which_nothing_is_known_is_unknown(shares):
    """It is NaN, and no cell of the label is suspicious."""
    y = [[1, NAN], [0, NAN]]
    prior = shares(y)
    assert prior[0] == 0.5
    assert math.isnan(prior[1])
    assert places(worst_cells([[0.5, 0.5], [0.5, 0.5]], y, 9, prior=prior)) == [(0, 0), (1, 0)]


def test_confident_issues_by_hand():
    """A mean that all cells equal is reached by each of them, whatever its rounding."""
    y = np.array([[1.0]] * 10 + [[0.0]])
    p, given = checked_evidence(np.full((11, 1), 0.1), y)
    thresholds = thresholds_of(*confident_sums(self_confidence(p, y), given))
    assert thresholds.round(9).ravel().tolist() == [0.9, 0.1]
    # The negative: 0.1 reaches the mean of the positives, but 0.9 that of the negatives, and 0.1 is no majority.
    # A positive: 0.9 reaches the mean of the negatives, and is a majority.
    assert confident_issues(np.full((11, 1), 0.1), y).ravel().tolist() == [True] * 10 + [False]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("by", ["mean", "least", "moving_average"])
def test_scores_of_rows_equal_their_definitions(seed, by):
    """A row's score is of its known cells; that of a row without any is unknown."""
    p, y, _ = evidence(seed)
    quality = self_confidence(p, y)
    for found, row in zip(row_quality(quality, by=by), quality, strict=True):
        values = sorted((v for v in row.tolist() if not math.isnan(v)), reverse=True)
        if not values:
            assert math.isnan(found)
            continue
        average = values[0]
        for value in values[1:]:
            average = 0.8 * value + 0.2 * average
        expected = {"mean": math.fsum(values) / len(values), "least": values[-1], "moving_average": average}[by]
        assert found == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("n_cells", [1, 7, 30, 1000])
@pytest.mark.parametrize("with_prior", [False, True])
@pytest.mark.parametrize("with_shares", [False, True])
@pytest.mark.parametrize("n_blocks", [1, 9])
def test_most_suspicious_cells_equal_a_sort_of_all(n_cells, with_prior, with_shares, n_blocks):
    """The order is that of a sort of all cells, whatever the blocks and their order."""
    p, y, shares = evidence(n_cells)
    votes = shares if with_shares else None
    prior = positive_shares(y) if with_prior else None
    quality = prior_odds(p, y, prior=prior) if with_prior else confidence_by_loops(p, y)
    against = 1 - confidence_by_loops(shares, y) if with_shares else np.zeros(y.shape)
    expected = suspects_by_loops(quality, confidence_by_loops(p, y), against)
    assert len(expected) > 100
    blocks = np.array_split(np.arange(len(y)), n_blocks)[::-1]
    found = worst_cells(p, y, n_cells, shares=votes, prior=prior, blocks=blocks)
    assert places(found) == expected[:n_cells]
    np.testing.assert_array_equal(found.quality, quality[found.rows, found.labels])


def test_blocks_of_arrays_are_small(monkeypatch):
    """Arrays in blocks give what they give at once."""
    p, y, _ = evidence(5)
    whole = prior_odds(p, y)
    monkeypatch.setattr(_scores, "_BYTES_PER_CELL", 2**24)  # four cells a block
    np.testing.assert_array_equal(prior_odds(p, y), whole)
    np.testing.assert_array_equal(confident_issues(p, y), issues_by_loops(p, y))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_meaning_of_a_label_does_not_matter(seed):
    """With 0 for 1, and 1 - p for p, nothing changes, nor for some labels only."""
    p, y, shares = evidence(seed)
    for some in (slice(None), [0, 3]):
        q, z, votes = p.copy(), y.copy(), shares.copy()
        q[:, some], z[:, some], votes[:, some] = 1 - p[:, some], 1 - y[:, some], 1 - shares[:, some]
        np.testing.assert_array_equal(self_confidence(q, z), self_confidence(p, y))
        np.testing.assert_array_equal(confident_issues(q, z), confident_issues(p, y))
        np.testing.assert_array_equal(prior_odds(q, z), prior_odds(p, y))
        found = worst_cells(q, z, 60, shares=votes)
        assert places(found) == places(worst_cells(p, y, 60, shares=shares))


@pytest.mark.parametrize("wrong", [(7, 2), (12, 0)])
def test_a_contradiction_among_identical_rows_comes_first(wrong):
    """Of twenty equal rows one has a label more, or fewer: its cell is the worst, by any score."""
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0)
    y = np.repeat([[1, 0, 0], [0, 1, 1]], 20, axis=0)
    y[wrong] = 1 - y[wrong]
    p = BRkNN(5).fit(X, y).loo_predict_proba()
    for prior in (None, positive_shares(y)):
        cells = worst_cells(p, y, 3, prior=prior)
        assert places(cells)[0] == wrong
    assert confident_issues(p, y)[wrong]
    assert row_quality(self_confidence(p, y)).argmin() == wrong[0]


def test_probabilities_that_are_sums_may_miss_their_limits_by_rounding():
    """Shares of label sets add up to next to 1: that contradicts nothing, and is no error."""
    p, y = np.array([[1 + 2e-16, -1e-17], [1 + 2e-16, -1e-17]]), np.array([[1, 0], [0, 1]])
    np.testing.assert_array_equal(self_confidence(p, y), [[1, 1], [0, 0]])
    assert places(worst_cells(p, y, 9)) == [(1, 0), (1, 1)]


def test_cells_that_nothing_contradicts_are_no_findings():
    """There may be fewer findings than asked for, or none."""
    cells = worst_cells([[1.0, 0.0], [1.0, 0.5]], [[1, 0], [1, 1]], 10)
    assert places(cells) == [(1, 1)]
    assert np.isnan(cells.disagreement).all()
    assert places(worst_cells([[1.0]], [[1]], 10)) == []
    assert places(worst_cells([[0.0]], [[NAN]], 10)) == []


@pytest.mark.parametrize("call", [self_confidence, prior_odds, confident_issues, disagreement])
@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        (np.empty((0, 2)), np.empty((0, 2)), "labels must have at least one sample"),
        (np.empty((2, 0)), np.empty((2, 0)), "labels must have at least one label"),
        ([[0.5, 0.5]], [[1]], r"probabilities must be of the shape of labels, \(1, 1\), got \(1, 2\)"),
        ([[1.5]], [[1]], "probabilities must be from 0 to 1, got values from 1.5 to 1.5"),
        ([[NAN]], [[1]], "probabilities must not contain NaN"),
        ([[0.5]], [[2]], "labels must contain 0 and 1 only, got 2"),
    ],
)
def test_malformed_evidence_is_refused(call, p, y, message):
    """Every score says what is wrong with what it was given."""
    message = message.replace("probabilities", "shares") if call is disagreement else message
    with pytest.raises(ValueError, match=message):
        call(p, y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: prior_odds([[0.5]], [[1]], prior=[0.5, 0.5]), "prior must be 1 numbers"),
        (lambda: prior_odds([[0.5]], [[1]], prior=[2]), "prior must be 1 numbers from 0 to 1"),
        (lambda: prior_odds([[0.5]], [[1]], prior=[0]), "prior must be above 0"),
        (lambda: row_quality(np.empty((0, 2))), "quality must be of at least one sample"),
        (lambda: row_quality(np.ones((1, 2)), by="median"), "by must be"),
        (lambda: row_quality(np.ones((1, 2)), alpha=1.5), "alpha must be from 0 to 1, got 1.5"),
    ],
)
def test_malformed_parameters_are_refused(call, message):
    """So are parameters."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("score", [self_confidence, prior_odds, confident_issues, disagreement])
def test_scores_of_too_many_cells_say_so(score, monkeypatch):
    """Before the work; they are dense, whatever probabilities and labels are."""
    monkeypatch.setattr(messages, "_WORTH_ASKING", 0)
    monkeypatch.setattr(messages, "free_bytes", lambda unknown: 2**20)
    some = sparse.csr_array((300, 700))
    with pytest.raises(messages.TooLargeError, match=r"dense, of 300 samples x 700 labels \(1.6 MiB\) must fit into"):
        score(some, some)
