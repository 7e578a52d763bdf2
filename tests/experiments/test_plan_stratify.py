import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from nearlabel.comparison import read_results
from nearlabel.experiments import Plan, SearchPlan, read_records, run
from nearlabel.selection import IterativeStratifiedKFold

PLAN = Plan(("brknn",), (3,), cv=4, seeds=(0, 7), metrics=("hamming_loss",))


def cut_by(plan, problem):
    """The test rows of each fold."""
    return [fold.test.tolist() for fold in plan.folds({"toy": problem})]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_folds_are_those_of_the_splitter(make_dataset, store, order):
    """For each seed the folds of `IterativeStratifiedKFold`, shuffled by it; the same in a plan of searches."""
    problem = make_dataset(store=store)
    expected = [
        test.tolist()
        for seed in PLAN.seeds
        for _, test in IterativeStratifiedKFold(4, order=order, shuffle=True, random_state=seed).split(None, problem.Y)
    ]
    plan = replace(PLAN, stratify=order)
    assert cut_by(plan, problem) == expected
    assert cut_by(SearchPlan(plan, ("exact:metric=cosine",)), problem) == expected
    assert cut_by(replace(plan, first_folds=1), problem) == [expected[0], expected[4]]


def test_plain_folds_by_default(toy):
    """Without it the folds are those of `KFold`, as they always were."""
    shuffled = KFold(4, shuffle=True, random_state=0).split(toy.X)
    assert cut_by(PLAN, toy)[:4] == [test.tolist() for _, test in shuffled]


def test_a_given_split_stays(make_dataset):
    """A given training and test part are not cut anew."""
    (fold,) = replace(PLAN, stratify=1).folds({"pair": (make_dataset(n=20), make_dataset(n=9, seed=1))})
    assert fold.test.tolist() == list(range(20, 29))


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (3, ValueError, r"stratify must be 1 \(labels\) or 2 \(pairs of labels first\), got 3"),
        (0, ValueError, "stratify must be at least 1, got 0"),
        (True, TypeError, "stratify must be an integer, got True"),
    ],
)
def test_wrong_orders(value, error, message):
    """They are refused when the plan is made."""
    with pytest.raises(error, match=message):
        replace(PLAN, stratify=value)


def test_records_from_before_it_was_a_choice_resume(toy, tmp_path):
    """A plan on file that does not mention it is one of plain folds: it resumes, and refuses others."""
    whole = run(PLAN, {"toy": toy}, out=tmp_path)
    file = tmp_path / "plan.json"
    plan = json.loads(file.read_text())
    assert plan.pop("stratify", "missing") is None
    del plan["crc"]  # of those days, too
    file.write_text(json.dumps(plan))
    told = []
    assert run(PLAN, {"toy": toy}, out=tmp_path, progress=lambda *each: told.append(each)) == whole
    assert told == []
    with pytest.raises(ValueError, match=r"must contain records of the same plan, got stratify=1 \(there: None\)"):
        run(replace(PLAN, stratify=1), {"toy": toy}, out=tmp_path)
    assert list(read_records(tmp_path)) == whole


def test_stratified_records_resume(toy, tmp_path):
    """They are found again; numpy's integers are the same plan."""
    plan = replace(PLAN, stratify=np.int64(2))
    assert type(plan.stratify) is int
    whole = run(plan, {"toy": toy}, out=tmp_path)
    assert run(replace(PLAN, stratify=2), {"toy": toy}, out=tmp_path) == whole


def test_other_folds_are_not_compared(toy, tmp_path):
    """Runs of plain and of stratified folds have no folds in common, though their numbers are the same."""
    run(PLAN, {"toy": toy}, out=tmp_path / "plain")
    run(replace(PLAN, stratify=1), {"toy": toy}, out=tmp_path / "stratified")
    with pytest.raises(ValueError, match=r"must have the folds of toy of .*plain, got other stratification\."):
        read_results([tmp_path / "plain", tmp_path / "stratified"])
