"""What must not change any metric, declared once for the whole catalogue."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nearlabel.metrics import CATALOGUE, score_all

RNG = np.random.default_rng(11)
TRUE = (RNG.random((50, 8)) < 0.35).astype(int)
TRUE[0], TRUE[1] = 0, 1
PREDICTED = (RNG.random((50, 8)) < 0.35).astype(int)
SCORES = RNG.integers(-3, 4, (50, 8)) / 4

TIES = ("pessimistic", "optimistic", "low", "high", "average")
every_metric = pytest.mark.parametrize("metric", CATALOGUE.values(), ids=CATALOGUE)
CONTAINERS = {
    "list": lambda matrix: matrix.tolist(),
    "bool": lambda matrix: matrix if matrix.dtype.kind == "f" else matrix.astype(bool),
    "fortran": np.asfortranarray,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "lil_matrix": sparse.lil_matrix,
}


def second(metric):
    """Return the matrix that the metric needs in addition to the truth."""
    return PREDICTED if metric.needs == "prediction" else SCORES


def options(metric):
    """Return the settings to try: all tie rules for scores, none for predictions."""
    return [{}] if metric.needs == "prediction" else [{"ties": t} for t in TIES]


@every_metric
def test_permuting_rows_changes_nothing(metric):
    """The order of the examples does not matter."""
    rows = RNG.permutation(50)
    for setting in options(metric):
        expected = metric.function(TRUE, second(metric), **setting)
        got = metric.function(TRUE[rows], second(metric)[rows], **setting)
        assert got == pytest.approx(expected, abs=1e-12)


@every_metric
def test_permuting_labels_changes_nothing(metric):
    """The order of the labels does not matter, unless equal scores are ordered by it."""
    labels = RNG.permutation(8)
    for setting in options(metric):
        if setting.get("ties") in ("low", "high"):
            continue
        expected = metric.function(TRUE, second(metric), **setting)
        got = metric.function(TRUE[:, labels], second(metric)[:, labels], **setting)
        assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same(container):
    """Lists, frames and sparse containers, on both sides or mixed with arrays, give the array's number."""
    wrap = CONTAINERS[container]
    for metric in CATALOGUE.values():
        expected = metric.function(TRUE, second(metric))
        both = (wrap(TRUE), wrap(second(metric))), (TRUE, wrap(second(metric))), (wrap(TRUE), second(metric))
        assert [metric.function(*pair) for pair in both] == pytest.approx([expected] * 3, abs=1e-12), metric.name


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_inputs_are_not_changed(kind):
    """No metric writes into what it is given."""
    true, predicted, scores = kind(TRUE.copy()), kind(PREDICTED.copy()), kind(SCORES.copy())
    for metric in CATALOGUE.values():
        metric.function(true, predicted if metric.needs == "prediction" else scores, sample_weight=np.arange(50))
    for matrix, before in ((true, TRUE), (predicted, PREDICTED), (scores, SCORES)):
        assert (matrix != kind(before)).sum() == 0


@every_metric
def test_score_all_equals_the_single_function(metric):
    """Shared counts and ranks give exactly what the function gives alone, for all settings."""
    settings = (
        [{"zero_division": zero} for zero in (0.0, 1.0, np.nan)]
        if metric.needs == "prediction"
        else [{"ties": ties, "trivial": trivial} for ties in ("pessimistic", "high") for trivial in ("drop", "keep")]
    )
    for setting in settings:
        own = {} if metric.name in ("hamming_loss", "subset_accuracy") else setting
        assert score_all(TRUE, PREDICTED, SCORES, **setting)[metric.name] == metric.function(
            TRUE, second(metric), **own
        )


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("transform", [np.exp, lambda s: 1e6 * s - 7, np.arctan, lambda s: s.astype(np.float32)])
def test_monotone_transforms_of_scores_change_nothing(ties, transform):
    """Ranking metrics see the order of the scores only."""
    assert score_all(TRUE, y_score=transform(SCORES), ties=ties) == score_all(TRUE, y_score=SCORES, ties=ties)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.float16, np.float32, object])
def test_score_dtype_does_not_matter(dtype):
    """Votes as small integers, booleans or objects rank as floats do."""
    votes = RNG.integers(0, 2, (50, 8))
    assert score_all(TRUE, y_score=votes.astype(dtype)) == score_all(TRUE, y_score=votes.astype(float))


def test_reversing_labels_swaps_the_index_rules():
    """The higher index wins with "high", as in Mulan, or with "low" in reversed columns."""
    high = score_all(TRUE, y_score=SCORES, ties="high")
    assert high == score_all(TRUE[:, ::-1], y_score=SCORES[:, ::-1], ties="low")
    assert high != score_all(TRUE, y_score=SCORES, ties="low")


def test_sparse_predictions_with_many_labels_stay_sparse():
    """100,000 labels cost memory and time for the labels that occur only."""
    rng, rows = np.random.default_rng(3), np.repeat(np.arange(5000), 5)
    true, predicted = (
        sparse.csr_array((np.ones(25_000), (rows, rng.integers(0, 100_000, 25_000))), shape=(5000, 100_000)).sign()
        for _ in range(2)
    )
    values = score_all(true, true.maximum(predicted))
    assert values["recall_examples"] == pytest.approx(np.mean(true.sum(axis=1) > 0))
    assert 0.45 < values["micro_precision"] < 0.55
