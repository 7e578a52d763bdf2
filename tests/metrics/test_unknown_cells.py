"""Label sets with unknown cells: each metric is what its definition gives of the known cells alone."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from nearlabel import metrics
from nearlabel.metrics.evaluation import skipped_lines

PROPENSITIES = np.array([0.9, 0.2, 0.5, 0.4, 0.7])
ALL = [
    *metrics.CATALOGUE,
    "fbeta_examples:beta=2",
    "micro_fbeta:beta=2",
    "macro_fbeta:beta=0.5",
    *(f"{name}:k={k}" for name in ("precision_at_k", "recall_at_k", "ndcg_at_k") for k in (1, 3)),
    "propensity_scored_precision_at_k:k=2",
    *(f"{name}:average={average}" for name in ("roc_auc", "mean_average_precision") for average in ("macro", "micro")),
    *(f"{name}:average={how}" for name in ("roc_auc", "mean_average_precision") for how in ("samples", "weighted")),
    "log_loss",
    "brier_score",
]
PREDICTION = [name for name in ALL if metrics.get_metric(name).needs == "prediction"]
RANKING = [name for name in ALL if name in ("one_error", "coverage", "ranking_loss", "average_precision")]
TOP = [name for name in ALL if "_at_k" in name and "propensity" not in name]


def problem(seed=0, n=40, hidden=0.4):
    """Return y with NaN, predictions, scores of few values and weights; a row and a label are unknown, rows trivial."""
    rng = np.random.default_rng(seed)
    true = (rng.random((n, 5)) < rng.random((n, 1))).astype(float)
    true[:4], true[4:8] = 0, 1
    predicted = np.where(rng.random(true.shape) < 0.3, 1 - true, true).astype(int)
    true[rng.random(true.shape) < hidden] = np.nan
    true[9], true[:, 3] = np.nan, np.nan
    return true, predicted, rng.integers(0, 4, true.shape) / 4, rng.integers(0, 4, n) / 4


def given(name, predicted, scores):
    """Return what the metric needs."""
    return predicted if metrics.get_metric(name).needs == "prediction" else scores


def value(name, true, second, weights=None, **options):
    """Return a metric, with propensities where it needs them."""
    if "propensity" in name:
        options["propensities"] = PROPENSITIES
    return metrics.get_metric(name)(true, second, sample_weight=weights, **options)


def mean(values, weights):
    """Return the weighted mean of what is not nan."""
    values, weights = np.array(values), np.array(weights, dtype=float)
    kept = ~np.isnan(values)
    return np.average(values[kept], weights=weights[kept])


def by_rows(name, true, second, weights, **options):
    """Return the mean over rows of the metric of the row's known cells; k is at most their number."""
    values, sizes = [], []
    for row, known in enumerate(~np.isnan(true)):
        if known.any() and weights[row]:
            base, _, k = name.partition(":k=")
            cut = f"{base}:k={min(int(k), known.sum())}" if k else name
            values.append(value(cut, true[[row]][:, known], second[[row]][:, known], **options))
            sizes.append(weights[row])
    return mean(values, sizes)


def by_labels(name, true, second, weights, of_labels=None):
    """Return the mean over labels of the metric of the rows that know the label and have weight."""
    values, sizes = [], []
    for label, known in enumerate(~np.isnan(true.T) & (weights > 0)):
        if known.any():
            column = np.s_[known, label : label + 1]
            values.append(value(name, true[column], second[column], weights[known]))
            sizes.append(1 if of_labels is None else weights[known] @ true[known, label])
    return mean(values, sizes)


def in_all(name, true, second, weights):
    """Return the metric of all known cells as samples of one label."""
    known = ~np.isnan(true)
    cells = np.broadcast_to(weights[:, np.newaxis], true.shape)
    return value(name, *(matrix[known][:, np.newaxis] for matrix in (true, second)), cells[known])


def expected(name, true, second, weights):
    """Return the value by definition."""
    if name == "f1_of_means":
        p, r = (by_rows(part, true, second, weights) for part in ("precision_examples", "recall_examples"))
        return 2 * p * r / (p + r)
    base, _, average = name.partition(":average=")
    if average in ("macro", "weighted"):
        return by_labels(f"{base}:average=macro", true, second, weights, average == "weighted" or None)
    if average == "samples" or "_examples" in name or name in ["subset_accuracy", *RANKING, *TOP]:
        return by_rows(name, true, second, weights)
    if "propensity" in name:
        return _psp(true, second, weights)
    return by_labels(name, true, second, weights) if "macro" in name else in_all(name, true, second, weights)


def _psp(true, scores, weights, k=2):
    worth = np.where(np.isnan(true), -1.0, true / PROPENSITIES)
    sums = np.zeros(2)
    for row in np.flatnonzero(~np.isnan(true).all(axis=1)):
        known = [gain for _, gain in sorted(zip(-scores[row], worth[row], strict=True)) if gain >= 0]
        sums += weights[row] * np.array([sum(known[:k]), sum(sorted(known)[-k:])])
    return sums[0] / sums[1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ALL)
def test_equals_the_definition(name, seed, weighted):
    """Row by row, label by label, or cell by cell."""
    true, predicted, scores, weights = problem(seed)
    second = given(name, predicted, scores)
    weights = weights if weighted else np.ones(len(true))
    assert value(name, true, second, weights if weighted else None) == pytest.approx(
        expected(name, true, second, weights), rel=1e-12
    )


@pytest.mark.parametrize("trivial", ["drop", "keep"])
@pytest.mark.parametrize("ties", ["pessimistic", "optimistic", "low", "high", "average"])
@pytest.mark.parametrize("name", RANKING + TOP)
def test_rules_of_rankings(name, ties, trivial):
    """The rules for equal scores and trivial rows are those of the known cells; infinite scores are ranked too."""
    true, _, scores, weights = problem(4)
    scores[scores == 0] = -np.inf
    options = {"ties": ties, "trivial": trivial}
    assert value(name, true, scores, weights, **options) == pytest.approx(
        by_rows(name, true, scores, weights, **options), rel=1e-12
    )


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("name", ["jaccard_examples", "recall_examples", "f1_examples", "fbeta_examples:beta=2"])
def test_zero_division(name, zero_division):
    """A row of which nothing is known is left out, whatever 0/0 counts as."""
    true, predicted, _, weights = problem(5, hidden=0.7)
    options = {"zero_division": zero_division}
    assert value(name, true, predicted, weights, **options) == pytest.approx(
        by_rows(name, true, predicted, weights, **options), rel=1e-12
    )
    assert metrics.macro_f1([[np.nan, 1]], [[1, 1]], zero_division=zero_division) == 1


@pytest.mark.parametrize("name", ALL)
def test_unknown_cells_do_not_matter(name):
    """Whatever is predicted there, the value is the same to the bit."""
    true, predicted, scores, weights = problem(6)
    hidden = np.isnan(true)
    outside = (-np.inf, np.inf, 7.0, 0.25)  # no probability of a known cell is outside of [0, 1]
    for other in (np.where(hidden, 1 - predicted, predicted), np.where(hidden, 1, predicted)):
        second = given(name, other, np.where(hidden, outside[int(other.sum()) % 4], scores))
        assert value(name, true, second, weights) == value(name, true, given(name, predicted, scores), weights)


@pytest.mark.parametrize("name", ALL)
def test_rows_or_columns_that_are_known(name):
    """Where whole rows are known and the others not at all, the value is that of these rows; of labels likewise."""
    true, predicted, scores, weights = problem(7, hidden=0)
    true[9], true[:, 3] = 1, [0, 1] * 20
    true[20:, :] = np.nan
    second = given(name, predicted, scores)
    assert value(name, true, second, weights) == pytest.approx(
        value(name, true[:20], second[:20], weights[:20]), rel=1e-14
    )
    true, _, _, _ = problem(7, hidden=0)
    true[9], true[:, 3:] = 0, np.nan
    if "propensity" not in name:
        assert value(name, true, second, weights) == pytest.approx(
            value(name, true[:, :3], second[:, :3], weights), rel=1e-12
        )


@pytest.mark.parametrize("name", ALL)
def test_containers(name):
    """Sparse label sets with stored NaN, masked arrays, data frames and lists are the same label sets."""
    pandas = pytest.importorskip("pandas")
    true, predicted, scores, _ = problem(8)
    second = given(name, predicted, scores)
    expected = value(name, true, second)
    nullable = pandas.DataFrame(true).astype(object).where(~np.isnan(true), pandas.NA).astype("Int8")
    masked = np.ma.masked_array(np.nan_to_num(true).astype(int), np.isnan(true))
    listed = [[None if math.isnan(cell) else int(cell) for cell in row] for row in true]
    for container in (nullable, masked, listed, sparse.csc_matrix(true)):
        assert value(name, container, second) == pytest.approx(expected, rel=1e-14)
    for both in ((true, sparse.csr_array(second)), (sparse.csr_array(true), sparse.csr_array(second))):
        assert value(name, *both) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_score_all(wrap):
    """Gives what each metric gives; a metric of one's own sees NaN."""

    def hidden_share(y_true, y_score):
        dense = y_true.toarray() if sparse.issparse(y_true) else y_true
        return float(np.isnan(dense).mean())

    true, predicted, scores, weights = problem(9)
    true = wrap(true)
    values = metrics.score_all(true, predicted, scores, ALL, propensities=PROPENSITIES, sample_weight=weights)
    assert values == {name: value(name, true, given(name, predicted, scores), weights) for name in ALL}
    assert 0 < metrics.score_all(true, y_score=scores, metrics=[hidden_share])["hidden_share"] < 1


def test_label_table():
    """Has how many rows know each label; one that none knows has no figures."""
    true, predicted, scores, weights = problem(10)
    known = ~np.isnan(true)
    table = metrics.label_table(true, predicted, scores, zero_division=0.0)
    assert table["known"].tolist() == known.sum(axis=0).tolist()
    for name in ("precision", "recall", "f1", "log_loss", "brier_score", "roc_auc", "average_precision"):
        assert np.flatnonzero(np.isnan(table[name])).tolist() == [3]
    assert np.nanmean(table["f1"]) == pytest.approx(metrics.macro_f1(true, predicted), rel=1e-14)
    rows = known[:, 0]
    alone = metrics.label_table(true[rows][:, :1], predicted[rows][:, :1], scores[rows][:, :1], zero_division=0.0)
    assert {name: column[0] for name, column in table.items() if name != "known"} == pytest.approx(
        {name: column[0] for name, column in alone.items()}
    )
    weighted = metrics.label_table(true, predicted, sample_weight=weights)["known"]
    assert weighted == pytest.approx(weights @ known)
    assert "known" not in metrics.label_table(np.nan_to_num(true), predicted)


def test_what_is_left_out_is_told():
    """By areas the labels of one known class, by means over labels those of which nothing is known."""
    true, _, _, _ = problem(11)
    true[:, 0] = np.where(np.isnan(true[:, 0]), np.nan, 1)
    assert metrics.count_skipped(true) == 2
    assert metrics.count_skipped(sparse.csr_array(true), average="samples") == sum(
        len({*row[~np.isnan(row)]}) < 2 for row in true
    )
    told = skipped_lines(true, map(metrics.get_metric, ["micro_f1", "macro_f1", "macro_fbeta:beta=2", "roc_auc"]))
    assert told == {"macro_f1": 1, "macro_fbeta:beta=2": 1, "roc_auc": 2}


def test_calibration():
    """Bins hold known cells only."""
    true, _, scores, weights = problem(12)
    known = ~np.isnan(true)
    cells = np.broadcast_to(weights[:, np.newaxis], true.shape)[known]
    for wrap in (np.array, sparse.csr_array):
        bins = metrics.calibration_bins(wrap(true), np.where(known, scores, 9), n_bins=3, sample_weight=weights)
        of_cells = metrics.calibration_bins(
            true[known][:, np.newaxis], scores[known][:, np.newaxis], n_bins=3, sample_weight=cells
        )
        for name in ("counts", "mean_probability", "true_share", "error"):
            assert getattr(bins, name) == pytest.approx(getattr(of_cells, name))


def test_propensities():
    """Of each label by the rows that know it."""
    true, _, _, _ = problem(13)
    true[9], true[:, 3] = 0, 1
    propensities = metrics.label_propensities(true)
    for label, column in enumerate(true.T):
        assert propensities[label] == metrics.label_propensities(column[~np.isnan(column)][:, np.newaxis])[0]
    true[2:, 3] = np.nan
    with pytest.raises(ValueError, match="3 known cells of each label, got 2"):
        metrics.label_propensities(true)


@pytest.mark.parametrize("name", ["micro_f1", "ranking_loss", "roc_auc"])
def test_scorers(name):
    """Take y with NaN."""
    true, predicted, scores, _ = problem(14)

    class Told(BaseEstimator):
        def predict(self, X):
            return predicted

        def decision_function(self, X):
            return scores

    sign = 1 if metrics.get_metric(name).greater_is_better else -1
    assert metrics.get_scorer(name)(Told(), true, true) == sign * value(name, true, given(name, predicted, scores))


def test_weights_of_unknown_rows():
    """Rows that have weight must have a known cell, too."""
    with pytest.raises(ValueError, match="y_true must have a known cell in a sample with a weight above 0, got none"):
        metrics.micro_f1([[1, 0], [np.nan, np.nan]], [[1, 0], [0, 1]], sample_weight=[0, 1])
    huge = [1e300, 1e-300, 1.0]
    assert metrics.macro_f1([[np.nan, 1], [np.nan, 0], [np.nan, 1]], [[1, 1], [0, 0], [1, 1]], sample_weight=huge) == 1
