"""What gives labels away: columns, the order of rows, and dates."""

import datetime as dt

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, examine

RNG = np.random.default_rng(0)


def found(X, Y, kind, **options):
    """The findings of a kind."""
    return [finding for finding in examine(X, Y, search=False, **options) if finding.kind == kind]


def healthy(n_rows=300, n_columns=50, n_labels=8):
    """Features that have something to do with the labels, in random order."""
    X = RNG.normal(size=(n_rows, n_columns))
    return X, (X[:, :n_labels] + RNG.normal(size=(n_rows, n_labels)) > 0.5).astype(int)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_in_healthy_data(seed):
    """Nor in few rows of many columns, some of which separate a rare label by chance."""
    rng = np.random.default_rng(seed)
    for shape in ((300, 50), (40, 3000)):
        X, Y = rng.normal(size=shape), (rng.random((shape[0], 6)) < 0.3).astype(int)
        kinds = {finding.kind for finding in examine(X, Y, search=False)}
        assert not kinds & {"leaking_columns", "sorted_rows", "later_rows_differ"}


def test_columns_that_give_a_label_away():
    """A copy, its opposite, a threshold, and one with a slip."""
    X, Y = healthy()
    X[:, 20], X[:, 21] = Y[:, 0], 5 - 2 * Y[:, 1]
    X[:, 22] = np.exp(RNG.normal(size=300)) + 40 * Y[:, 2]
    X[:, 23] = Y[:, 3]
    X[np.flatnonzero(Y[:, 3] == 0)[0], 23] = 1
    names = [f"c{column}" for column in range(50)]
    (finding,) = found(X, Y, "leaking_columns", feature_names=names, label_names=list("abcdefgh"))
    assert finding.evidence == {"columns": "c20 -> a, c21 -> b, c22 -> c, c23 -> d", "count": 4}
    assert finding.severity == "warning"
    assert "A column predicts a label exactly or nearly, in 4 cases" in finding.sentence
    assert "--ignore c20,c21,c22" in finding.remedy


def test_words_that_give_a_label_away():
    """Of words it is a note; a missing number is no obstacle."""
    X, Y = healthy()
    X = (X > 1.2).astype(float)
    X[:, 30] = 3.0 * Y[:, 0]
    (finding,) = found(sparse.csr_array(X), Y, "leaking_columns")
    assert (finding.severity, finding.evidence["columns"]) == ("note", "30 -> 0")
    X[5, 3] = np.nan
    assert found(X, Y, "leaking_columns")[0].evidence["columns"] == "30 -> 0"


def test_labels_that_are_not_looked_at():
    """Unknown in some rows, or with few rows of a class."""
    X, Y = healthy()
    X[:, 20] = Y[:, 0]
    partial = Y.astype(float)
    partial[3, 0] = np.nan
    assert found(X, partial, "leaking_columns") == []
    Y[:, 0] = 0
    Y[:9, 0] = 1
    X[:, 20] = Y[:, 0]
    assert found(X, Y, "leaking_columns") == []


def cells(n_rows=400):
    """A date, a category and a number, and two labels, in random order of dates."""
    days = RNG.permutation(n_rows)
    columns = np.empty((n_rows, 3), dtype=object)
    columns[:, 0] = [dt.datetime(2026, 1, 1) + dt.timedelta(days=int(day)) for day in days]
    columns[:, 1] = np.array(["x", "y", "z"], dtype=object)[RNG.integers(0, 3, n_rows)]
    columns[:, 2] = RNG.random(n_rows)
    return columns, days, (RNG.random((n_rows, 2)) < 0.3).astype(int)


def test_categories_that_give_a_label_away():
    """Each frequent one is compared."""
    columns, _, Y = cells()
    Y[:, 1] = columns[:, 1] == "y"
    data = Dataset(columns, Y, ("when", "kind", "size"), ("a", "b"), "toy", ("date", "category", "number"))
    (finding,) = found(data, None, "leaking_columns")
    assert (finding.evidence["columns"], finding.remedy[-13:]) == ("kind=y -> b", "-ignore kind.")


def test_rows_in_the_order_of_labels():
    """The label with the fewest changes is named, with what chance would give."""
    X, Y = healthy()
    order = np.argsort(Y[:, 4], kind="stable")
    (finding,) = found(X[order], Y[order], "sorted_rows", label_names=list("abcdefgh"))
    assert (finding.severity, finding.evidence) == ("note", {"labels": "e", "count": 1, "changes": 1})
    assert "'e' changes 1 times from row to row" in finding.sentence
    assert found(X, Y, "sorted_rows") == []


def test_later_rows_with_other_labels():
    """Both shares, and the day from which on; a column of dates as texts is none."""
    columns, days, Y = cells()
    Y[:, 0] = RNG.random(400) < np.where(days >= 320, 0.9, 0.2)
    data = Dataset(columns, Y, ("when", "kind", "size"), ("a", "b"), "toy", ("date", "category", "number"))
    (finding,) = found(data, None, "later_rows_differ")
    later, before = Y[days >= 320, 0].mean(), Y[days < 320, 0].mean()
    assert finding.evidence == {"labels": "a", "count": 1, "columns": "when"}
    assert f"from 2026-11-17 on, the last fifth by when, 'a' is on {100 * later:.2g} % of the rows" in finding.sentence
    assert f"before on {100 * before:.2g} %." in finding.sentence
    assert finding.remedy == "Estimate and select for later rows: fit --split-by when."
    Y[:, 0] = RNG.random(400) < 0.3
    assert found(Dataset(columns, Y, *(data.feature_names, data.label_names, "toy", data.feature_kinds)), None,
                 "later_rows_differ") == []  # fmt: skip
