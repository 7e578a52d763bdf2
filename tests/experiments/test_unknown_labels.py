"""Data sets with unknown labels in plans and tunings: methods that take them, and errors for those that do not."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.datasets.doctor._examine import TAKE_UNKNOWN
from nearlabel.experiments import (
    METHODS,
    Candidate,
    NeighborsChoice,
    Plan,
    Tuning,
    make_method,
    run,
    takes_unknown,
)

advised = pytest.mark.filterwarnings("ignore:.*which are never neighbours")  # of fits in the test itself


@pytest.fixture
def holes():
    """Two classes of rows that are easily told apart, and a label of noise; a third of the labels is unknown."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (30, 3)), rng.normal(4, 1, (30, 3))])
    side = np.repeat([0.0, 1.0], 30)
    Y = np.column_stack([side, 1 - side, rng.random(60) < 0.4])
    Y[rng.random(Y.shape) < 0.3] = np.nan
    Y[5] = np.nan
    return Dataset(X, Y, ("a", "b", "c"), ("left", "right", "noise"), "holes")


def test_the_doctor_names_who_takes_them():
    """Its list is that of the classes that do."""
    found = {type(make_method(name)).__name__ for name in METHODS if takes_unknown(name)}
    assert found == set(TAKE_UNKNOWN)


def test_a_selection_sees_the_labels_too():
    """A method behind a selection that reads whole label sets takes no unknown ones."""
    assert not takes_unknown("igs+brknn")
    assert not takes_unknown("lpknn@micro-f")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "work",
    [
        lambda data: list(Plan(("lpknn",), (3,), cv=3).folds({"holes": data})),
        lambda data: run(Plan(("lpknn",), (3,), cv=3), {"holes": data}),
        lambda data: Tuning(("lpknn",)).run(data),
        lambda data: Candidate("lpknn", 3, "none", "exact").fit(data),
    ],
)
def test_refused_before_the_work(holes, container, work):
    """Each names the method, the data and how many labels are unknown."""
    with pytest.raises(ValueError, match=r"methods must support unknown labels, of which holes has \d+, got .*nn"):
        work(replace(holes, Y=container(holes.Y)))


def test_other_values_are_no_unknown_labels(holes):
    """What is neither 0, 1 nor NaN is named."""
    with pytest.raises(ValueError, match=r"Y of holes must contain 0, 1 and NaN only, got two values, -1 and 1"):
        list(Plan(("brknn",), (3,), cv=3).folds({"holes": replace(holes, Y=np.where(holes.Y == 0, -1, holes.Y))}))


@advised
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", ["brknn", "mlknn@micro-f"])
def test_a_plan_is_what_a_fold_by_hand_is(holes, container, method):
    """Searches are the methods' own: a label's neighbours may be farther than those found for all."""
    from nearlabel.metrics import micro_f1  # what is under test is that it gets NaN

    plan = Plan((method,), (5,), cv=3, metrics=("micro_f1",))
    data = replace(holes, Y=container(holes.Y))
    values = [record["value"] for record in run(plan, {"holes": data})]
    for fold, value in zip(plan.folds({"holes": data}), values, strict=True):
        model = make_method(method, 5).fit(data.X[fold.training], data.Y[fold.training])
        assert value == pytest.approx(micro_f1(data.Y[fold.test], model.predict(data.X[fold.test])))


@advised
def test_a_tuning_by_leave_one_out(holes):
    """It chooses by the known cells, thresholds included; what separates the classes is found."""
    tuned = Tuning(("brknn@micro-f", "mlknn@micro-f"), n_neighbors=(3, 9), searches=("exact",)).run(holes)
    assert len(tuned.trials) == 4
    assert tuned.trials[0].value > 0.75
    model = tuned.best.fit(holes)
    assert (model.predict([[0.0] * 3, [4.0] * 3])[:, :2] == [[0, 1], [1, 0]]).all()


def test_the_automatic_choice(holes):
    """It is among the methods that take unknown labels; with all known it is what it was."""
    chosen = NeighborsChoice(n_neighbors=(3, 5), scales=("none",), distances=("euclidean",)).run(holes)
    assert chosen.n_candidates == 6
    assert takes_unknown(chosen.candidate.method_object)
    assert chosen.score >= chosen.crossfit_score > 0.6


def test_pairs_with_frames(holes):
    """A pair (X, y) is read with what stands for missing; methods that refuse say so."""
    y = np.ma.masked_invalid(holes.Y)
    with pytest.raises(ValueError, match="of which data has"):
        Tuning(("lpknn",)).run((holes.X, y))
