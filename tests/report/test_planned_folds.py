import pytest

from nearlabel.report._run_facts import FoldsOfMethods, planned_folds

PLAN = {"methods": ["a", "b"], "problems": {"toy": "digest"}, "cv": 3, "first_folds": None, "seeds": [0, 7]}
NO_BEST = "On toy the methods do not share all folds and numbers of neighbours, so none is marked as the best."


def records(method, folds, numbers=(1, 3), dataset="toy"):
    """Records of one measure."""
    return [
        {
            "dataset": dataset,
            "seed": seed,
            "fold": fold,
            "method": method,
            "n_neighbors": k,
            "metric": "m",
            "value": 0.0,
        }
        for seed, fold in folds
        for k in numbers
    ]


@pytest.mark.parametrize(
    ("changes", "given", "expected"),
    [
        ({}, False, {(seed, fold) for seed in (0, 7) for fold in range(3)}),
        ({"first_folds": 2, "seeds": [0]}, False, {(0, 0), (0, 1)}),
        ({"first_folds": 9, "seeds": [0]}, False, {(0, 0), (0, 1), (0, 2)}),
        ({}, True, {(None, 0)}),
        ({"n_parts": 4}, True, {(None, fold) for fold in range(4)}),
    ],
)
def test_planned_folds(changes, given, expected):
    """All folds of all shuffles, or the first ones; the given split; the runs of a plan of thresholds."""
    assert planned_folds({**PLAN, **changes}, given=given) == expected


def test_a_finished_run_has_no_notes():
    """All folds of both methods, one of them without numbers of neighbours."""
    whole = planned_folds(PLAN, given=False)
    folds = FoldsOfMethods.of("toy", [PLAN], records("a", whole) + records("b", whole, [None]))
    assert (folds.notes, folds.comparable, folds.n_planned) == ([], True, 6)


def test_a_run_of_some_folds():
    """The same folds of both methods: they can be compared, but it is said that some are missing."""
    some = [(0, 0), (0, 1)]
    folds = FoldsOfMethods.of("toy", [PLAN], records("a", some) + records("b", some))
    assert folds.notes == ["2 of 6 folds are in the records of toy: the run is not finished."]
    assert folds.comparable


def test_methods_of_different_folds():
    """One method is a fold behind, another one has not begun."""
    plan = {**PLAN, "methods": ["a", "b", "c"]}
    some = records("a", [(0, 0), (0, 1)]) + records("b", [(0, 0)])
    folds = FoldsOfMethods.of("toy", [plan], some)
    assert folds.notes == [
        "Of 6 folds the records of toy contain 2 of a and 1 of b and 0 of c: the run is not finished.",
        NO_BEST,
    ]


def test_plans_of_different_folds():
    """Each plan is finished, but one of them ran the first fold only."""
    short = {**PLAN, "methods": ["b"], "first_folds": 1, "seeds": [0]}
    long = {**PLAN, "methods": ["a"], "seeds": [0]}
    folds = FoldsOfMethods.of("toy", [long, short], records("a", [(0, i) for i in range(3)]) + records("b", [(0, 0)]))
    assert folds.notes == [NO_BEST]


def test_a_fold_that_was_cut_off():
    """The last fold lacks a number of neighbours of one method."""
    plan = {**PLAN, "cv": 2, "seeds": [0]}
    some = records("a", [(0, 0), (0, 1)]) + records("b", [(0, 0)]) + records("b", [(0, 1)], [1])
    assert FoldsOfMethods.of("toy", [plan], some).notes == [NO_BEST]


def test_nothing_of_a_data_set():
    """A plan of two data sets, stopped in the first one."""
    plan = {**PLAN, "problems": {"toy": "digest", "other": "digest"}}
    folds = FoldsOfMethods.of("other", [plan], records("a", [(0, 0)]))
    assert folds.notes == ["No fold of other is in the records: the run is not finished."]
