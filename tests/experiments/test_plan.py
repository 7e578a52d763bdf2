from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.experiments import Plan
from nearlabel.metrics import CATALOGUE
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS

GOOD = {"methods": ("mlknn",), "n_neighbors": (3, 5), "cv": 4}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"methods": ()}, r"methods must name at least one, each once, got \(\)\."),
        ({"methods": ("mlknn", "mlknn")}, r"methods must name at least one, each once, got \('mlknn', 'mlknn'\)"),
        ({"methods": ("knn!",)}, r"method must be one of \['adaboostmh', 'adtboostmh'"),
        ({"methods": ("mlknn:smooth=1",)}, "option of method 'mlknn' must be parameter=value"),
        ({"methods": ("mlknn:smoothing=0",)}, "smoothing must be a finite number above 0, got 0"),
        ({"methods": ("lpknn:ties=best",)}, r"ties must be one of .*, got 'best'"),
        ({"methods": ("mlknn", "mlknn@micro")}, r"thresholds must be a number from 0 to 1 or one of .*, got 'micro'"),
        ({"methods": ("mlknn@micro-f:beta=0",)}, "beta must be a finite number above 0, got 0"),
        ({"methods": ("mlknn@fbr1:beta=-1",)}, "beta must be a finite number above 0, got -1"),
        ({"methods": ("mlknn@fbr0:cv=1",)}, "cv must be at least 2, got 1"),
        ({"methods": ("mlknn@global-f:metric=f1",)}, "metric must be one of .*, got 'f1'"),
        ({"methods": ("mlknn@rcut:n_labels=-1",)}, "n_labels must be at least 0, got -1"),
        ({"methods": ("mlknn:smoothing=0@micro-f",)}, "smoothing must be a finite number above 0, got 0"),
        ({"methods": ("lpknn:ties=best@0.3",)}, r"ties must be one of .*, got 'best'"),
        ({"n_neighbors": ()}, "n_neighbors must name at least one"),
        ({"n_neighbors": (3, 3)}, "n_neighbors must name at least one, each once"),
        ({"n_neighbors": (0,)}, "n_neighbors must be at least 1, got 0"),
        ({"seeds": (-1,)}, "seeds must be at least 0, got -1"),
        ({"seeds": (1, 1)}, "seeds must name at least one, each once"),
        ({"metrics": ()}, "metrics must name at least one"),
        (
            {"metrics": ("haming_loss",)},
            "metric must be a name of the catalogue, .*, got 'haming_loss'. Did you mean",
        ),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"scale": "max"}, r"scale must be one of \['minmax', 'none', 'standard', 'tfidf'\], got 'max'"),
    ],
)
def test_wrong_values(setting, message):
    """Each value out of range is refused when the plan is made, before anything runs."""
    with pytest.raises(ValueError, match=message):
        Plan(**GOOD | setting)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"methods": "mlknn"}, r"methods must be a tuple, got 'mlknn'\. Hint: \('mlknn',\)"),
        ({"methods": ("mlknn@micro-f:beta=two",)}, "beta must be a number, got 'two' of type str"),
        ({"n_neighbors": 5}, r"n_neighbors must be a tuple, got 5\. Hint: \(5,\)"),
        ({"n_neighbors": (2.0,)}, "n_neighbors must be an integer, got 2.0 of type float"),
        ({"methods": ("iblr:plus=false",)}, "plus must be True or False, got 'false' of type str"),
        ({"n_neighbors": (True,)}, "n_neighbors must be an integer, got True of type bool"),
        ({"seeds": (None,)}, "seeds must be an integer, got None"),
        ({"cv": 2.5}, "cv must be an integer, got 2.5"),
    ],
)
def test_wrong_types(setting, message):
    """Each value of a wrong type is refused when the plan is made."""
    with pytest.raises(TypeError, match=message):
        Plan(**GOOD | setting)


def test_any_collection_is_taken_as_a_tuple():
    """Lists, ranges and numpy's integers make the same plan as tuples of Python's own."""
    plan = Plan(["mlknn"], range(3, 6), cv=np.int64(4), seeds=np.arange(2))
    assert plan == Plan(("mlknn",), (3, 4, 5), cv=4, seeds=(0, 1))
    assert {type(k) for k in plan.n_neighbors + plan.seeds + (plan.cv,)} == {int}


def test_all_measures_by_default():
    """The catalogue in its order, then the share of empty predictions."""
    assert tuple(Plan(**GOOD).metrics) == (*CATALOGUE, EMPTY_PREDICTIONS)


def test_every_row_is_tested_once_a_shuffle(toy):
    """In each shuffle the test parts are the rows, each once, and the training part is the others."""
    folds = list(Plan(**GOOD, seeds=(0, 5)).folds({"toy": toy}))
    for seed in (0, 5):
        of_seed = [fold for fold in folds if fold.seed == seed]
        assert sorted(np.concatenate([fold.test for fold in of_seed])) == list(range(36))
        for fold in of_seed:
            assert sorted([*fold.training, *fold.test]) == list(range(36))


def test_shuffles_differ_and_repeat(toy):
    """A seed always cuts in the same way, another seed in another."""
    tests = [[fold.test.tolist() for fold in Plan(**GOOD, seeds=(s,)).folds({"toy": toy})] for s in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]


def test_order_of_folds(toy, make_dataset):
    """Folds come by problem, then by seed as given, then by number."""
    problems = {"b": toy, "a": (toy, make_dataset(seed=1))}
    labels = [fold.label() for fold in Plan(**GOOD | {"cv": 2}, seeds=(7, 0)).folds(problems)]
    assert [(f["dataset"], f["seed"], f["fold"]) for f in labels] == [
        ("b", 7, 0), ("b", 7, 1), ("b", 0, 0), ("b", 0, 1), ("a", None, 0),
    ]  # fmt: skip


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_given_split_is_one_fold(make_dataset, store):
    """A pair is run once, on its own parts, whatever the seeds."""
    training, test = make_dataset(n=20, store=store), make_dataset(n=9, seed=1, store=store)
    (fold,) = Plan(**GOOD, seeds=(0, 1)).folds({"pair": (training, test)})
    for name in ("X", "Y"):
        for rows, part in ((fold.training, training), (fold.test, test)):
            got, expected = getattr(fold, name)[rows], getattr(part, name)
            assert (sparse.csr_array(got) != sparse.csr_array(expected)).nnz == 0


def test_given_split_of_two_storages(make_dataset):
    """A dense training part with a sparse test part is one problem like any other."""
    parts = make_dataset(n=20), make_dataset(n=9, seed=1, store=sparse.csr_array)
    (fold,) = Plan(**GOOD).folds({"pair": parts})
    assert (fold.X[fold.test] != parts[1].X).nnz == 0


def test_more_folds_than_rows(toy):
    """A row cannot be in no fold and a fold cannot be empty."""
    with pytest.raises(ValueError, match="cv must be at most the 36 rows of toy, got 37"):
        list(Plan(("mlknn",), (3,), cv=37).folds({"toy": toy}))


@pytest.mark.parametrize(("cv", "k", "n"), [(4, 27, 27), (36, 40, 35), (5, 28, 28)])
def test_too_many_neighbours_for_the_smallest_training_part(toy, cv, k, n):
    """The number k is to be smaller than the training rows of every fold: a row is not its own neighbour."""
    message = f"n_neighbors must be smaller than the {n} training samples of a fold of toy, got {k}"
    with pytest.raises(ValueError, match=message):
        list(Plan(("mlknn",), (1, k, 2), cv=cv).folds({"toy": toy}))
    list(Plan(("mlknn",), (n - 1,), cv=cv).folds({"toy": toy}))


@pytest.mark.parametrize("method", ["mlknn@micro-f", "brknn:majority=half@mcut"])
def test_tuning_leaves_one_training_row_out(toy, method):
    """Where thresholds are tuned on leave-one-out scores, k is to be smaller by one: before anything runs."""
    message = f"the 27 training samples of a fold of toy minus the 1 left out to tune {method}, got 26"
    with pytest.raises(ValueError, match=f"n_neighbors must be smaller than {message}"):
        list(Plan(("mlknn", method), (26, 1), cv=4).folds({"toy": toy}))
    list(Plan(("mlknn", method), (25, 1), cv=4).folds({"toy": toy}))


def test_given_thresholds_leave_no_row_out(toy):
    """A number needs no leave-one-out scores."""
    assert len(list(Plan(("mlknn@0.3",), (26,), cv=4).folds({"toy": toy}))) == 4


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_missing_values(toy, store, value):
    """Missing features are named as such before anything runs."""
    X = toy.X.copy()
    X[2, 1] = value
    with pytest.raises(ValueError, match=r"X of toy must be finite, got 1 missing .*, the first in row .*Hint: impute"):
        list(Plan(**GOOD).folds({"toy": replace(toy, X=store(X))}))


def test_missing_labels(toy):
    """They are refused before anything runs if a method does not take them; not if only test rows have some."""
    unknown = replace(toy, Y=np.where(toy.Y == 1, np.nan, 0))
    n_unknown = int(toy.Y.sum())
    plan = Plan(**GOOD | {"methods": ("mlknn", "lpknn", "igs+brknn")})
    with pytest.raises(
        ValueError, match=f"methods must support unknown labels, of which toy has {n_unknown}, got .*lpknn, igs"
    ):
        list(plan.folds({"toy": unknown}))
    assert len(list(plan.folds({"toy": (toy, unknown)}))) == 1


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_description_follows_the_content(make_dataset, store):
    """The digest of equal data is equal, and one cell changes it."""
    plan, data = Plan(**GOOD), make_dataset(store=store)
    before = plan.describe({"toy": data})
    assert plan.describe({"toy": data}) == plan.describe({"toy": make_dataset(store=store)}) == before
    data.Y[0, 0] = 1 - data.Y[0, 0]
    assert plan.describe({"toy": data}) != before


def test_parts_of_a_given_split_have_the_same_names(toy):
    """Labels in another order in the test part would be compared with the wrong ones."""
    other = replace(toy, Y=toy.Y[:, ::-1], label_names=toy.label_names[::-1])
    with pytest.raises(ValueError, match="training and test part of toy must have the same label_names"):
        list(Plan(("brknn",), (2,)).folds({"toy": (toy, other)}))


def test_tuning_by_refits_leaves_a_fifth_out(make_dataset):
    """A method without leave-one-out scores needs as many neighbours in a fold of the training rows."""
    plan = Plan(("iblr@micro-f",), (22,), cv=3)
    with pytest.raises(
        ValueError, match="the 26 training samples of a fold of toy minus the 6 left out to tune iblr@micro-f"
    ):
        list(plan.folds({"toy": make_dataset(n=39)}))
