import pytest

from nearlabel.experiments import Cell
from nearlabel.papers import Paper
from nearlabel.papers._printed_order import rank_methods


def cell(dataset, method, metric, mean, n_neighbors=None):
    """A cell of a table."""
    return Cell(dataset, method, n_neighbors, metric, mean, float("nan"), float("nan"))


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


def test_measures_that_are_undefined_somewhere():
    """A method without a value cannot be ranked."""
    cells = [cell("one", "a", "micro_f1", 0.1), cell("one", "b", "micro_f1", 0.2), cell("two", "a", "micro_f1", 0.2)]
    with pytest.raises(ValueError, match="micro_f1 must be defined for every method on two, got none of b"):
        rank_methods(cells, "micro_f1", "")


def test_unknown_ranking():
    """The known ones are listed."""
    assert Paper("gweon2019").rankings == ["1"]
    assert Paper("zhang2007").rankings == []
    with pytest.raises(ValueError, match=r"ranking must be one of \['1'\], got '2'"):
        Paper("gweon2019").reproduce_ranking("2")
