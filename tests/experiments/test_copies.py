"""Figures without exact copies: the same as those of models that have not seen them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.comparison import paired_values
from nearlabel.datasets import Dataset, duplicate_groups
from nearlabel.experiments import Plan, Tuning, copied_rows, make_method, run, share_of_copies
from nearlabel.selection import data as copies
from nearlabel.selection._grid import parts_of
from nearlabel.selection.data import groups_of_copies, in_small_groups

END = "_without_copies"
METRICS = ("micro_f1", "average_precision", "empty_predictions")


@pytest.fixture(scope="module")
def some():
    """70 rows, of which 20 are copies of the first ten or so; two are empty."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (50, 4)) + rng.random((50, 4)).round(1)
    X[[7, 9]] = 0
    Y = (X[:, :3] + rng.normal(size=(50, 3)) > 2).astype(int)
    rows = rng.permutation([*range(50), *range(10, 20), *range(12, 22)])
    return Dataset(X[rows], Y[rows], tuple("abcd"), ("u", "v", "w"), "some")


@pytest.fixture(scope="module")
def twice(some):
    """Every distinct row that is not empty twice."""
    distinct = np.unique(some.X, axis=0, return_index=True)[1]
    rows = np.repeat(distinct[some.X[distinct].any(axis=1)], 2)
    return replace(some, X=some.X[rows], Y=some.Y[rows], name="twice")


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, lambda X: X.astype(object)])
def test_share_and_groups(some, storage):
    """Of 70 rows 20 repeat another; empty rows repeat none, but among cells of several kinds no row is empty."""
    data = replace(some, X=storage(some.X))
    n_empty = 1 if data.X.dtype.kind == "O" else 0
    assert share_of_copies(data) == pytest.approx((20 + n_empty) / 70)
    groups = groups_of_copies(data.X)
    for row, values in enumerate(some.X):
        alike = np.flatnonzero((values == some.X).all(axis=1)) if values.any() or n_empty else [row]
        np.testing.assert_array_equal(np.flatnonzero(groups == groups[row]), alike)


def test_copied_rows(some):
    """Test rows that equal a training row, empty ones apart; a pair is taken together for its share."""
    part = replace(some, X=some.X[:30], Y=some.Y[:30])
    rest = replace(some, X=some.X[30:], Y=some.Y[30:])
    expected = [row.any() and (row == part.X).all(axis=1).any() for row in rest.X]
    np.testing.assert_array_equal(copied_rows(part, rest), expected)
    assert share_of_copies((part, rest)) == share_of_copies(some)


def test_rows_with_very_many_copies_are_not_judged(monkeypatch):
    """They would need as many more neighbours of every row; the others are judged."""
    monkeypatch.setattr(copies, "_MOST_LISTED", 0)
    X = np.repeat([[1.0], [2.0], [3.0]], [31, 30, 1], axis=0)
    groups, rows = in_small_groups(duplicate_groups(X))
    np.testing.assert_array_equal(rows, X[:, 0] > 1)
    assert np.bincount(groups).max() == 30
    assert len(np.unique(groups)) == 31 + 2


@pytest.mark.parametrize("spec", ["brknn", "mlknn", "lpknn", "mlknn@micro-f", "brknn@0.4"])
def test_leave_one_out_is_that_of_groups(twice, some, spec):
    """Without another search, and whatever the copies: what a model of that number of neighbours reaches by groups."""
    for data in (twice, some):
        tuned = Tuning((spec,), n_neighbors=(1, 3), without_copies=True).run(data)
        asked = {name: value for name, value in tuned.scores.items() if not name.endswith(END)}
        assert asked == Tuning((spec,), n_neighbors=(1, 3)).run(data).scores
        grouped = replace(data, groups=groups_of_copies(data.X))
        expected = Tuning((spec,), n_neighbors=(tuned.best.n_neighbors,)).run(grouped).scores
        assert {name: tuned.scores.get(f"{name}{END}") for name in expected} == pytest.approx(expected, abs=1e-12)


def test_doubled_rows_no_longer_report_one(twice):
    """One neighbour is the copy; without it the figure is that of rows that are there once."""
    scores = Tuning(("brknn",), n_neighbors=(1,), without_copies=True).run(twice).scores
    once = replace(twice, X=twice.X[::2], Y=twice.Y[::2])
    assert scores["micro_f1"] == 1
    assert scores[f"micro_f1{END}"] == Tuning(("brknn",), n_neighbors=(1,)).run(once).scores["micro_f1"] < 0.9


@pytest.mark.parametrize("spec", ["mlknn", "br:estimator=logistic"])
def test_folds_judge_rows_without_copies(some, spec):
    """By the answers that there are: no model is fitted again."""
    tuning = Tuning((spec,), n_neighbors=(3,), cv=4, without_copies=True)
    scores = tuning.run(some).scores
    parts = parts_of("some", 70, None, 4)
    groups = groups_of_copies(some.X)
    rows = np.sort(np.concatenate([p[~np.isin(groups[p], groups[np.delete(np.arange(70), p)])] for p in parts]))
    assert 20 < len(rows) < 60
    labels = np.empty_like(some.Y)
    for part in parts:
        others = np.delete(np.arange(70), part)
        labels[part] = make_method(spec, 3).fit(some.X[others], some.Y[others]).predict(some.X[part])
    assert scores["hamming_loss"] == pytest.approx((labels != some.Y).mean())
    assert scores[f"hamming_loss{END}"] == pytest.approx((labels != some.Y)[rows].mean())


def test_nothing_is_said_where_groups_are_given_or_no_row_is_left(some):
    """Groups of the user's own decide; rows that are all the same leave none to learn from."""
    tuning = Tuning(("brknn",), n_neighbors=(1,), without_copies=True)
    for data in (replace(some, groups=np.arange(70) // 2), replace(some, X=np.ones_like(some.X))):
        assert not any(name.endswith(END) for name in tuning.run(data).scores)


def test_records_of_a_plan(some, tmp_path):
    """Those asked for are as before; the others are of the test rows without a copy in the training part."""
    plan = Plan(("mlknn", "brknn@0.4", "br:estimator=logistic"), (1, 4), cv=3, metrics=METRICS)
    both = run(replace(plan, without_copies=True), [some], out=tmp_path)
    assert [r for r in both if not r["metric"].endswith(END)] == run(plan, [some])
    assert run(replace(plan, without_copies=True), [some], out=tmp_path) == both
    groups = groups_of_copies(some.X)
    for fold in plan.folds({"some": some}):
        new = fold.test[~np.isin(groups[fold.test], groups[fold.training])]
        part, rest = (replace(some, X=some.X[rows], Y=some.Y[rows]) for rows in (fold.training, new))
        expected = [r["value"] for r in run(plan, {"some": (part, rest)})]
        found = [r["value"] for r in both if r["fold"] == fold.number and r["metric"].endswith(END)]
        assert found == pytest.approx(expected)


def test_a_fold_without_new_rows_has_no_value(some):
    """Such as a test part that is the training part."""
    full = replace(some, X=some.X + 1)
    records = run(Plan(("brknn",), (3,), metrics=METRICS, without_copies=True), {"some": (full, full)})
    assert [r["value"] for r in records if r["metric"].endswith(END)] == [None] * 3


def test_a_comparison_leaves_them_out(some):
    """Else each metric would count twice in the total order; who names one gets it."""
    records = run(Plan(("brknn", "mlknn"), (3,), cv=5, metrics=METRICS, without_copies=True), [some])
    assert [values.metric for values in paired_values(records, "folds")] == ["micro_f1", "average_precision"]
    name = f"micro_f1{END}"
    named = paired_values(records, "folds", metrics=[name], greater_is_better={name: True})
    assert [values.metric for values in named] == [name]
