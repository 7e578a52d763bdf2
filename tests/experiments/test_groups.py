"""Groups of rows that plans and tuning hold out together."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold

from nearlabel.datasets import Dataset, duplicate_groups
from nearlabel.experiments import Candidate, Plan, Tuning, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import log_loss, micro_f1
from nearlabel.solvers.score_maps import fit_score_map
from nearlabel.thresholds import CalibratedLabels, MicroFOptimum, TunedThresholdsClassifierCV, cross_val_scores


@pytest.fixture(scope="module")
def twice(toy):
    """Every row of a data set twice, and the numbers of the pairs."""
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(toy.X)), 2))
    return Dataset(toy.X[rows], toy.Y[rows], toy.feature_names, toy.label_names, "twice", groups=rows)


def test_no_fold_parts_a_group(twice):
    """By shuffled folds, and by folds in which every label has its share."""
    for stratify in (None, 1):
        folds = list(Plan(("brknn",), (1,), cv=4, stratify=stratify).folds({"twice": twice}))
        assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(len(twice.X)))
        for fold in folds:
            assert not set(twice.groups[fold.training]) & set(twice.groups[fold.test])
            np.testing.assert_array_equal(fold.groups, twice.groups[fold.training])


@pytest.mark.parametrize("method", ["mlknn", "br"])
def test_thresholds_are_tuned_on_rows_of_other_groups(twice, method):
    """By leave-one-group-out scores where a method has them, else by folds of groups."""
    plan = Plan((f"{method}@micro-f",), (3,), cv=3, metrics=("micro_f1",))
    records = run(plan, {"twice": twice})
    for record, fold in zip(records, plan.folds({"twice": twice}), strict=True):
        X, Y, groups = twice.X[fold.training], twice.Y[fold.training], fold.groups
        model = plan.spec_of(f"{method}@micro-f").classifier(3).fit(X, Y)
        if method == "mlknn":
            strategy = MicroFOptimum().fit(model.loo_predict_proba(groups), Y)
        else:
            numbers = np.unique(groups, return_inverse=True)[1]
            splits = list(GroupKFold(5, shuffle=True, random_state=0).split(X, Y, numbers))
            unfitted = plan.spec_of(f"{method}@micro-f").classifier()
            scores, rows = cross_val_scores(unfitted, X, Y, cv=splits)
            strategy = MicroFOptimum().fit(scores, Y[rows])
        predicted = strategy.predict(model.predict_proba(twice.X[fold.test]))
        assert record["value"] == micro_f1(twice.Y[fold.test], predicted)


def test_tuning_no_longer_reports_a_perfect_score(twice, toy):
    """One neighbour of doubled rows is the copy; without it the value is that of the single rows."""
    tuning = Tuning(("brknn",), n_neighbors=(1,), cv="loo")
    assert tuning.run(replace(twice, groups=None)).trials[0].value == 1
    (trial,) = tuning.run(twice).trials
    model = BRkNN(1).fit(twice.X, twice.Y)
    assert trial.value == micro_f1(twice.Y, model.loo_predict(twice.groups)) < 1
    assert trial.held_out == "leave-one-group-out"


@pytest.mark.parametrize("cv", ["loo", 3])
def test_the_choice_is_judged_by_parts_that_part_no_group(twice, cv):
    """All numbers, and thresholds; the chosen model is tuned the same way."""
    tuned = Tuning(("mlknn@micro-f", "iblr"), n_neighbors=(2, 5), cv=cv).run(twice)
    assert len(tuned.trials) == 4
    best = next(trial.candidate for trial in tuned.trials if trial.candidate.method == "mlknn@micro-f")
    model = best.fit(twice)
    expected = TunedThresholdsClassifierCV(MLkNN(best.n_neighbors), MicroFOptimum(), cv="loo", random_state=0)
    expected.fit(twice.X, twice.Y, groups=twice.groups)
    np.testing.assert_array_equal(model[-1].thresholds_, expected.thresholds_)


@pytest.mark.parametrize("spec", ["mlknn@isotonic", "mlknn@isotonic@micro-f"])
def test_calibration_holds_groups_out(twice, spec):
    """In plans, tuning and the model, also where thresholds are around it: no map is fitted to scores of copies."""
    candidate = Candidate(spec, 3, "none", "exact")
    model = candidate.fit(twice)[-1]
    inner = model if spec.count("@") == 1 else model.estimator_
    scores = MLkNN(3).fit(twice.X, twice.Y).loo_predict_proba(twice.groups)
    for label, one in enumerate(inner.calibrators_):
        known = fit_score_map(
            "isotonic", scores[:, label], twice.Y[:, label], np.ones(len(scores)), are_probabilities=True
        )
        np.testing.assert_array_equal(one.probabilities, known.probabilities)
    if spec.count("@") == 1:
        plan = Plan((spec,), (3,), cv=3, metrics=("log_loss",))
        for record, fold in zip(run(plan, {"twice": twice}), plan.folds({"twice": twice}), strict=True):
            X, Y = twice.X[fold.training], twice.Y[fold.training]
            fitted = CalibratedLabels(MLkNN(3), "isotonic", cv="loo").fit(X, Y, groups=fold.groups)
            assert record["value"] == log_loss(twice.Y[fold.test], fitted.predict_proba(twice.X[fold.test]))
        grouped = Tuning((spec,), n_neighbors=(3,), cv=3, metric="log_loss").run(twice).trials[0].value
        assert grouped < 1


def test_records_of_other_groups_are_not_resumed(twice, tmp_path):
    """They come from other folds."""
    plan = Plan(("brknn",), (1,), cv=3, metrics=("micro_f1",))
    records = run(plan, {"twice": twice}, out=tmp_path)
    assert run(plan, {"twice": twice}, out=tmp_path) == records
    with pytest.raises(ValueError, match="must contain records of the same plan"):
        run(plan, {"twice": replace(twice, groups=None)}, out=tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda data: replace(data, groups=[1, 2]), r"groups must be of shape \(72,\), one for each row, got \(2,\)"),
        (
            lambda data: list(Plan(("brknn",), (1,), cv=50).folds({"d": data})),
            "cv must be at most the 36 groups, got 50",
        ),
        (lambda data: Tuning(("brknn",), cv=40).run(data), "at most the 36 groups of twice, got 40"),
        (
            lambda data: Tuning(("brknn",)).run(replace(data, groups=np.zeros(72, int))),
            "'twice' must have at least 2 groups for some to be held out, got 1",
        ),
    ],
)
def test_bad_groups(twice, call, message):
    """Each says what was expected."""
    with pytest.raises(ValueError, match=message):
        call(twice)


def test_duplicate_groups_are_equal_rows(twice, toy):
    """Dense and sparse; rows that were equal in the single data set are one group, too."""
    groups = duplicate_groups(twice.X)
    expected = np.unique(twice.X, axis=0, return_inverse=True)[1].ravel()
    assert len(set(zip(groups.tolist(), expected.tolist(), strict=True))) == len(set(groups)) == len(set(expected))
