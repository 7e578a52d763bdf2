"""Tuning under a time limit, from a file of what was tried, on samples, and without copies."""

import json
import time
from dataclasses import replace

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.experiments import LEADERBOARD_METHODS, Candidate, Line, MethodSpec, Tuning
from nearlabel.files.check_sums import with_sum, without_sum
from nearlabel.selection import stages
from nearlabel.selection import tuning as module
from nearlabel.selection._grid import drawn
from nearlabel.selection.tuning import items_within

OF_ITSELF = "the same as with scaling none, as the method divides features by their ranges"


def dataset(n_rows=40, *, binary=False, name="toy"):
    """Rows with three labels that the features tell with noise."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 4)).round(2)
    Y = (X[:, :3] + rng.normal(size=(n_rows, 3)) > 0).astype(np.int64)
    X = (X > 0).astype(float) if binary else X
    return Dataset(X, Y, tuple("abcd"), tuple("xyz"), name)


@pytest.mark.long
def test_work_is_ended_in_time():
    """What was found by then is there, also while something is running that takes an hour."""
    start = time.monotonic()
    assert len(list(items_within(4, map, time.sleep, [0, 0, 3600]))) in (0, 2)  # none on a very busy machine
    assert time.monotonic() - start < 6


@pytest.mark.long
def test_within_a_worker_of_joblib():
    """A worker's way to start processes is unknown to those that it starts."""
    items = delayed(lambda: list(items_within(30, range, 3)))
    assert Parallel(2)([items(), items()]) == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.long
def test_errors_of_the_other_process_are_raised():
    """As they are, after what was found before."""
    items = items_within(60, map, int, ["1", "x"])
    assert next(items) == 1
    with pytest.raises(ValueError, match="invalid literal for int"):
        next(items)


@pytest.mark.long
def test_a_time_limit_that_suffices_changes_nothing():
    """The same candidates, values and scores as in this process."""
    tuning = {"methods": ("brknn@micro-f", "br:estimator=logistic"), "n_neighbors": (2, 5)}
    free, limited = Tuning(**tuning).run(dataset()), Tuning(**tuning, time_limit=120).run(dataset())
    assert limited.trials == free.trials
    assert limited.scores == free.scores
    assert limited.left_out == ()


def test_what_there_is_no_time_for_is_named(monkeypatch):
    """Lines in part, lines not at all, and an error if there is nothing."""
    tuning = Tuning(("brknn", "mlknn"), n_neighbors=(1, 2), time_limit=9)
    for n_steps, expected in (
        (2, [("brknn", "1 of 2 numbers of neighbours were tried in the time"), ("mlknn", "not tried in the time")]),
        (3, [("mlknn", "not tried in the time")]),
    ):
        monkeypatch.setattr(module, "items_within", _first(n_steps))
        tuned = tuning.run(dataset())
        assert [(out.line.method, out.reason) for out in tuned.left_out] == expected
    monkeypatch.setattr(module, "items_within", _first(1))
    with pytest.raises(ValueError, match="time_limit must be long enough for a model, got 9"):
        tuning.run(dataset())


def _first(n_steps):
    """Replace the other process by one that is ended after some steps."""

    def items(seconds, make_items, *args):
        for _, item in zip(range(n_steps), make_items(args[0], args[1], module.Attempt()), strict=False):
            yield item

    return items


def test_nothing_is_tried_twice(tmp_path, monkeypatch):
    """A tuning that was ended early goes on where it was, with the result of one that was not."""
    options = {
        "methods": ("mlknn@micro-f", "br:estimator=logistic"),
        "n_neighbors": (1, 4),
        "scales": ("none", "minmax"),
    }
    state, data = tmp_path / "state.npz", dataset()
    whole = Tuning(**options).run(data)
    with monkeypatch.context() as patch:
        patch.setattr(module, "items_within", _first(3))
        some = Tuning(**options, time_limit=9).run(data, state=state)
    assert len(some.trials) == 2
    seen = []
    again = Tuning(**options).run(data, state=state, progress=lambda *pair: seen.append(pair))
    assert (again.trials, again.scores, again.measured) == (whole.trials, whole.scores, whole.measured)
    assert len(seen) == 4, "two of six fits are known"
    assert seen[-1][0] == seen[-1][1]
    monkeypatch.setattr(stages, "_trials", None)  # would fail
    assert Tuning(**options).run(data, state=state).scores == whole.scores


def test_a_state_of_something_else(tmp_path):
    """Of other rows, or other options: the file is not touched."""
    state = tmp_path / "state.npz"
    Tuning(("brknn",), n_neighbors=2).run(dataset(), state=state)
    before = state.read_bytes()
    for tuning, data in (
        (Tuning(("brknn",), n_neighbors=2), dataset(41)),
        (Tuning(("mlknn",), n_neighbors=2), dataset()),
    ):
        with pytest.raises(
            ValueError, match=r"state must be of the same data and options, got .* Hint: use another file"
        ):
            tuning.run(data, state=state)
    assert state.read_bytes() == before
    for content in (b"no archive", before[:200]):
        state.write_bytes(content)
        with pytest.raises(ValueError, match="state must be a file that tuning wrote, got "):
            Tuning(("brknn",), n_neighbors=2).run(dataset(), state=state)


@pytest.mark.parametrize(
    ("has_sum", "stages", "message"),
    [
        (False, 1, r"state must be of the same data and options, got .* Hint: use another file"),
        (True, 0, r"state must be a file that tuning wrote, got .*: it has 0 stages"),
    ],
)
def test_a_state_of_an_earlier_nearlabel_or_without_a_stage(tmp_path, has_sum, stages, message):
    """The one is told from damage, the other is no error of Python's."""
    state = tmp_path / "state.npz"
    Tuning(("brknn",), n_neighbors=2).run(dataset(), state=state)
    with np.load(state) as file:
        known, _ = without_sum(json.loads(str(file["tuning"])))
    changed = known | {"stages": known["stages"][:stages], "sums": {}}
    np.savez_compressed(state, tuning=json.dumps(with_sum(changed) if has_sum else changed))
    with pytest.raises(ValueError, match=message):
        Tuning(("brknn",), n_neighbors=2).run(dataset(), state=state)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equal_features_are_tried_once(container):
    """Min-max changes nothing of 0 and 1; a standard scaling does."""
    data = dataset(binary=True)
    data = Dataset(container(data.X), data.Y, data.feature_names, data.label_names, "flags")
    tuned = Tuning(("brknn",), n_neighbors=(3,), scales=("none", "minmax", "standard")).run(data)
    assert {trial.candidate.scale for trial in tuned.trials} == {"none", "standard"}
    ((line, reason),) = tuned.left_out
    assert (line, reason) == (
        Line("brknn", "minmax", "exact"),
        "the same as with scaling none, as the features are the same",
    )


@pytest.mark.parametrize("has_empty_row", [False, True])
def test_the_cosine_of_rows_of_length_one(has_empty_row):
    """It orders as the Euclidean distance does, unless a row is empty."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (30, 6)).astype(float)
    X[:, 0] += 1
    X[:15, 1] = 0  # so that a term tells documents apart: one that all have weighs nothing
    X[3:, 0] -= 1
    X[X.sum(axis=1) == 0, 2] = 1
    if has_empty_row:
        X[7] = 0
    data = Dataset(X, (X[:, :2] > 1).astype(int), tuple("abcdef"), ("x", "y"), "words")
    tuning = Tuning(("brknn",), n_neighbors=(3,), scales=("tfidf",), searches=("exact", "exact:metric=cosine"))
    left_out = [out.line.search for out in tuning.run(data).left_out]
    assert left_out == ([] if has_empty_row else ["exact:metric=cosine"])


def test_forests_see_the_order_of_values_only():
    """So they are tried in one of the scalings that keep it."""
    tuned = Tuning(("rfpct:n_estimators=2",), scales=("minmax", "none", "tfidf")).run(
        Dataset(np.abs(dataset().X), dataset().Y, tuple("abcd"), tuple("xyz"), "toy")
    )
    assert {trial.candidate.scale for trial in tuned.trials} == {"minmax", "tfidf"}


def test_a_method_that_scales_itself_is_tried_once():
    """ML-MLM divides features by their ranges, unless it is told not to; by the cosine, a shift makes a difference."""
    methods = ("mlmlm", "mlmlm:scale=none", "mlmlm:metric=cosine")
    tuned = Tuning(methods, scales=("none", "standard")).run(dataset())
    assert tuned.left_out == ((Line("mlmlm", "standard", None), OF_ITSELF),)
    values = {trial.candidate.scale: trial.value for trial in tuned.trials if trial.candidate.method == "mlmlm"}
    again = Tuning(("mlmlm",), scales=("standard",)).run(dataset())
    assert again.trials[0].value == pytest.approx(values["none"])


@pytest.mark.long
@pytest.mark.parametrize("sample_rows", [None, 40])
def test_methods_around_one_classifier_share_a_scaling(sample_rows):
    """That which is best for the first of them; those by neighbours, and around others, are tried in all."""
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(150, 2)), 1000 * rng.normal(size=(150, 2))])
    data = Dataset(X, (X[:, :2] > 0).astype(int), tuple("abcd"), ("x", "y"), "unlike")
    methods = ("br:estimator=logistic", "ecc:estimator=logistic", "nldd:estimator=logistic", "br:estimator=tree")
    tuning = Tuning(methods, scales=("none", "minmax"), sample_rows=sample_rows)
    tuned = replace(tuning, one_scaling=True).run(data)
    tried = data if sample_rows is None else drawn(data, sample_rows)
    of_first = Tuning(methods[:1], scales=tuning.scales).run(tried)
    better, worse = (trial.candidate.scale for trial in of_first.trials)
    reason = f"scaling {better} is better for {methods[0]}"
    assert [out for out in tuned.left_out if out.reason == reason] == [(Line(methods[1], worse, None), reason)]
    lines = {Line.of(trial.candidate) for trial in tuned.trials} | {out.line for out in tuned.left_out}
    assert lines == {Line(name, scale, None) for name in methods for scale in tuning.scales}
    assert reason not in [out.reason for out in tuning.run(data).left_out]


@pytest.mark.long
def test_halves_by_a_sample():
    """All lines on some rows; the better half, and the best of the other kind, on all."""
    methods = ("brknn", "mlknn", "lpknn", "brknn-b", "br:estimator=logistic", "br:estimator=tree")
    data = dataset(150)
    tuned = Tuning(methods, n_neighbors=(3,), sample_rows=50).run(data)
    sample = drawn(data, 50)
    on_sample = [trial.candidate for trial in Tuning(methods, n_neighbors=(3,)).run(sample).trials]
    kinds = {MethodSpec.of(of.method).is_lazy: of for of in reversed(on_sample)}
    assert {trial.candidate for trial in tuned.trials} == {*on_sample[:3], *kinds.values()}
    assert {out.reason for out in tuned.left_out} == {"among the worse on 50 of the rows"}
    assert tuned.n_samples == 150
    free = Tuning(methods, n_neighbors=(3,)).run(data)
    assert {t.candidate: t.value for t in tuned.trials}.items() <= {t.candidate: t.value for t in free.trials}.items()
    assert Tuning(methods, n_neighbors=(3,), sample_rows=51).run(data).left_out == ()


def test_no_time_for_more_than_a_sample(monkeypatch):
    """Its values are told as what they are."""
    monkeypatch.setattr(module, "items_within", _first(3))
    tuned = Tuning(("brknn", "mlknn", "lpknn"), n_neighbors=(1, 2), sample_rows=20, time_limit=9).run(dataset(60))
    assert (tuned.n_samples, len(tuned.trials)) == (20, 2)
    assert tuned.measured.endswith("on 20 of the rows: there was no time for more")


def test_a_third_of_the_time_for_the_sample(monkeypatch):
    """Then what was tried on it is tried on all rows."""
    monkeypatch.setattr(module, "_SAMPLES_SHARE", 0.0)
    monkeypatch.setattr(module, "items_within", _first(99))
    tuned = Tuning(("brknn", "mlknn", "lpknn"), n_neighbors=(1,), sample_rows=20, time_limit=9).run(dataset(60))
    assert [trial.candidate.method for trial in tuned.trials] == ["brknn"]
    assert [out.line.method for out in tuned.left_out] == ["lpknn", "mlknn"]


def test_costs_are_of_the_best_of_each_line():
    """Measured only if somebody says how to measure sizes; methods that share a fit have the same."""
    sizes = []

    def size_of(model):
        sizes.append(model[-1].get_params().get("n_neighbors"))
        return 10 * len(sizes)

    methods = ("mlknn", "mlknn@micro-f", "br:estimator=logistic")
    tuned = Tuning(methods, n_neighbors=(2, 9), scales=("minmax",), size_of=size_of).run(dataset())
    assert sizes == [next(t.candidate.n_neighbors for t in tuned.trials if "mlknn" in t.candidate.method), None]
    assert {line.method: cost.n_bytes for line, cost in tuned.costs.items()} == dict(
        zip(methods, (10, 10, 20), strict=True)
    )
    assert all(cost.fit_seconds > 0 and cost.predict_seconds > 0 for cost in tuned.costs.values())
    assert Tuning(methods, n_neighbors=2).run(dataset()).costs == {}


def test_few_numbers_where_each_costs_a_fit():
    """Of a range of 30 the methods without leave-one-out answers try three."""
    tuned = Tuning(("brknn", "iblr"), n_neighbors=30).run(dataset(60))
    of = {
        m: sorted(t.candidate.n_neighbors for t in tuned.trials if t.candidate.method == m) for m in ("brknn", "iblr")
    }
    assert of == {"brknn": list(range(1, 31)), "iblr": [10, 20, 30]}


def test_the_default_methods():
    """Both kinds, all with a decision that is tuned or their own; the first is the cheapest."""
    kinds = [MethodSpec.of(method).is_lazy for method in LEADERBOARD_METHODS]
    assert kinds[0]
    assert not all(kinds)
    assert tuple(Tuning().methods) == LEADERBOARD_METHODS
    assert Candidate("nldd:estimator=logistic", None, "none", None).make().estimator is not None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_limit": 0}, "time_limit must be"),
        ({"time_limit": "30"}, "time_limit must be"),
        ({"sample_rows": 3}, "sample_rows must be at least 10"),
    ],
)
def test_bad_settings(settings, message):
    """Refused at once."""
    with pytest.raises((ValueError, TypeError), match=message):
        Tuning(**settings)
