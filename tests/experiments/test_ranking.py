import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from nearlabel.experiments import Cell, Paper
from nearlabel.experiments._ranking import paired_tests, rank_methods


def cell(dataset, method, metric, mean, n_neighbors=None):
    """A cell of a table."""
    return Cell(dataset, method, n_neighbors, metric, mean, float("nan"), float("nan"))


def record(dataset, method, fold, value, metric="hamming_loss"):
    """A record of a fold."""
    return {"dataset": dataset, "seed": 0, "fold": fold, "method": method, "metric": metric, "value": value}


def test_ranks_by_hand():
    """The best has rank 1, in either direction of the measure; equal means share their mean rank."""
    means = {"one": {"a": 0.1, "b": 0.3, "c": 0.3}, "two": {"a": 0.9, "b": 0.2, "c": 0.5}}
    cells = [
        cell(d, m, name, v) for name in ("hamming_loss", "micro_f1") for d, row in means.items() for m, v in row.items()
    ]
    losses, scores = (rank_methods(cells, name, "claim") for name in ("hamming_loss", "micro_f1"))
    assert losses.mean_ranks == {"a": (1 + 3) / 2, "b": (2.5 + 1) / 2, "c": (2.5 + 2) / 2}
    assert scores.mean_ranks == {"a": (3 + 1) / 2, "b": (1.5 + 3) / 2, "c": (1.5 + 2) / 2}
    assert losses.values == means
    assert losses.claim == "claim"


def test_means_over_numbers_of_neighbors_are_no_methods():
    """Of a method with one number of neighbours the mean over them is the same figure again, and is left out."""
    cells = [
        cell("one", "a", "micro_f1", 0.1, 10),
        cell("one", "a", "micro_f1", 0.1, "mean"),
        cell("one", "b", "micro_f1", 0.2),
    ]
    assert rank_methods(cells, "micro_f1", "").values == {"one": {"a": 0.1, "b": 0.2}}


def test_paired_t_test():
    """Folds are paired, data set by data set; a fold where one is undefined is left out."""
    rng = np.random.default_rng(0)
    first, second = rng.random((2, 6))
    records = [record("one", m, i, v) for m, values in (("a", first), ("b", second)) for i, v in enumerate(values)]
    records += [record("one", "a", 6, None), record("one", "b", 6, 0.5), record("one", "c", 0, 0.1)]
    records += [record("one", "a", 0, 0.9, "micro_f1"), record("one", "b", 0, 0.1, "micro_f1")]
    (test,) = paired_tests(records, "hamming_loss", ("a", "b"))
    expected = ttest_rel(first, second)
    assert (test.dataset, test.n_folds, test.methods) == ("one", 6, ("a", "b"))
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.p_value == pytest.approx(expected.pvalue)
    assert test.difference == pytest.approx(np.mean(first - second))


def test_no_statistic_where_there_is_none():
    """The same on every fold, or one fold only: t is not a number, and nothing warns."""
    equal = [record("one", m, i, 0.25) for m in "ab" for i in range(3)]
    single = [record("two", "a", 0, 0.25), record("two", "b", 0, 0.75)]
    for test in paired_tests(equal + single, "hamming_loss", ("a", "b")):
        assert math.isnan(test.statistic)
        assert math.isnan(test.p_value)


def test_measures_that_are_undefined_somewhere():
    """A method without a value cannot be ranked; a data set without a pair of values has no test."""
    cells = [cell("one", "a", "micro_f1", 0.1), cell("one", "b", "micro_f1", 0.2), cell("two", "a", "micro_f1", 0.2)]
    with pytest.raises(ValueError, match="micro_f1 must be defined for every method on two, got none of b"):
        rank_methods(cells, "micro_f1", "")
    records = [record("one", "a", 0, 0.1), record("one", "b", 0, None), record("two", "a", 0, 0.5)]
    assert paired_tests(records, "hamming_loss", ("a", "b")) == []


def test_unknown_ranking():
    """The known ones are listed."""
    assert Paper("gweon2019").rankings == ["1"]
    assert Paper("zhang2007").rankings == []
    with pytest.raises(ValueError, match=r"ranking must be one of \['1'\], got '2'"):
        Paper("gweon2019").reproduce_ranking("2")
