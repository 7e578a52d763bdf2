import math

import numpy as np
import pytest

from nearlabel.experiments import Cell, summarise


def record(value, *, k=3, seed=0, fold=0, dataset="toy", method="brknn"):
    """One record."""
    return {
        "dataset": dataset, "seed": seed, "fold": fold,
        "method": method, "n_neighbors": k, "metric": "hamming_loss", "value": value,
    }  # fmt: skip


def cell(records, n_neighbors):
    """The one cell of a number of neighbours."""
    (found,) = [c for c in summarise(records) if c.n_neighbors == n_neighbors]
    return found


def test_folds_of_one_shuffle():
    """Mean and deviation (n - 1) over the folds; one shuffle has no spread."""
    found = cell([record(0.1), record(0.4, fold=1), record(0.1, fold=2)], 3)
    assert found.mean == pytest.approx((0.1 + 0.4 + 0.1) / 3)
    assert found.std == pytest.approx(math.sqrt((0.1**2 + 0.2**2 + 0.1**2) / 2))
    assert math.isnan(found.spread)


def test_shuffles_are_averaged_after_their_folds():
    """Each shuffle counts once, also where a fold of it is undefined; the spread is that of the shuffles' means."""
    records = [record(0.2, seed=0), record(0.4, seed=0, fold=1), record(0.9, seed=1), record(None, seed=1, fold=1)]
    found = cell(records, 3)
    assert found.mean == pytest.approx((0.3 + 0.9) / 2)
    assert found.spread == pytest.approx(math.sqrt(2 * 0.3**2))


def test_deviation_is_averaged_over_shuffles():
    """The deviation within a shuffle, not over the folds of all of them."""
    records = [
        record(v, seed=seed, fold=fold)
        for seed, base in ((0, 0.1), (1, 0.7))
        for fold, v in enumerate((base, base + 0.2))
    ]
    assert cell(records, 3).std == pytest.approx(math.sqrt(2 * 0.1**2))


def test_mean_over_numbers_of_neighbours():
    """In each fold the numbers of neighbours are averaged first; the deviation is that of these averages."""
    values = {(0, 3): 0.1, (0, 5): 0.3, (1, 3): 0.6, (1, 5): 0.8}
    found = cell([record(v, k=k, fold=fold) for (fold, k), v in values.items()], "mean")
    assert found.mean == pytest.approx((0.2 + 0.7) / 2)
    assert found.std == pytest.approx(np.std([0.2, 0.7], ddof=1))


def test_a_given_split_has_no_deviation():
    """A single fold says nothing about deviation."""
    found = cell([record(0.25, seed=None)], 3)
    assert (found.mean, math.isnan(found.std), math.isnan(found.spread)) == (0.25, True, True)


def test_undefined_values_make_no_cell():
    """Where no fold has a value there is no mean."""
    assert summarise([record(None), record(None, fold=1)]) == []
    assert summarise([]) == []


def test_numbers_ascend():
    """Numbers of neighbours first, however they came, their mean behind them, method by method."""
    records = [record(0.1, k=k, method=m) for m in ("b", "a") for k in (10, 2, 1)]
    assert [(c.method, c.n_neighbors) for c in summarise(records)] == [
        (method, k) for method in "ba" for k in (1, 2, 10, "mean")
    ]


def test_one_cell_for_each_combination():
    """Data sets and methods are kept apart, in the order in which they come."""
    records = [record(0.1, dataset=d, method=m) for d in ("b", "a") for m in ("mlknn", "brknn")]
    assert [(c.dataset, c.method) for c in summarise(records) if c.n_neighbors == 3] == [
        ("b", "mlknn"), ("b", "brknn"), ("a", "mlknn"), ("a", "brknn"),
    ]  # fmt: skip
    assert isinstance(summarise(records)[0], Cell)
