import inspect
import json
import logging
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import _guests as guests
from nearlabel.comparison import compare
from nearlabel.experiments import (
    Candidate,
    MethodSpec,
    NeighborsChoice,
    Plan,
    SearchPlan,
    Tuning,
    make_method,
    make_metric,
    make_sampler,
    make_search,
    run,
    search_costs,
    takes_unknown,
)  # fmt: skip
from nearlabel.lazy import BRkNN, LPkNN, MLkNN
from nearlabel.metrics import Metric, hamming_loss
from nearlabel.neighbors import ExactNeighbors
from nearlabel.selection import specs
from nearlabel.thresholds import MicroFOptimum, SCut


def imported(text):
    """The specification of a text that may import."""
    return MethodSpec.of(text, allow_imports=True)


def values(records, method, metric):
    """The values of a method by one metric."""
    return [r["value"] for r in records if (r["method"], r["metric"]) == (method, metric)]


@pytest.mark.long
def test_objects_in_the_place_of_names(toy):
    """A user's classifier and metric are run beside named ones, and called what the user calls them."""
    metrics = {"agreeing": guests.agreement, "hamming": "hamming_loss", "hamming_loss": hamming_loss}
    plan = Plan({"mine": guests.Shares(), "brknn": "brknn"}, (2, 5), cv=3, metrics=metrics)
    records = run(plan, {"toy": toy})
    assert [(r["method"], r["n_neighbors"]) for r in records[:12:3]] == [
        ("mine", 2), ("mine", 5), ("brknn", 2), ("brknn", 5),
    ]  # fmt: skip
    for metric in metrics:
        assert values(records, "mine", metric) == values(records, "brknn", metric)
    assert values(records, "mine", "hamming") == values(records, "mine", "hamming_loss")
    assert values(records, "mine", "agreeing") == pytest.approx([1 - v for v in values(records, "mine", "hamming")])


def test_names_of_a_list(toy):
    """An object is called by its representation, a function by its name."""
    plan = Plan((MLkNN(smoothing=0.3), "mlknn"), (3,), cv=2, metrics=(guests.agreement, "micro_f1"))
    assert list(plan.methods) == ["MLkNN(smoothing=0.3)", "mlknn"]
    assert {r["metric"] for r in run(plan, {"toy": toy})} == {"agreement", "micro_f1"}


@pytest.mark.long
def test_what_a_classifier_gets_from_the_plan(toy):
    """The shared neighbours, unless it has a search or a number of its own, or is a pipeline."""
    cosine = ExactNeighbors(metric="cosine")
    methods = {
        "own search": BRkNN(search=cosine),
        "pipeline": make_pipeline(MinMaxScaler(), BRkNN(3)),
        "own number": guests.OwnNeighbors(4),
    }
    plan = Plan(methods, (3, 4), cv=2, metrics=("hamming_loss",))
    records = run(plan, {"toy": toy})
    assert [r["n_neighbors"] for r in records if r["method"] != "own search"] == [None] * 4
    for fold in plan.folds({"toy": toy}):
        X, y, X_test, y_test = toy.X[fold.training], toy.Y[fold.training], toy.X[fold.test], toy.Y[fold.test]
        by_hand = {
            ("own search", 3): BRkNN(3, search=cosine),
            ("pipeline", None): methods["pipeline"],
            ("own number", None): BRkNN(4),
        }
        for (method, k), model in by_hand.items():
            expected = hamming_loss(y_test, model.fit(X, y).predict(X_test))
            (value,) = [
                r["value"] for r in records if (r["method"], r["n_neighbors"], r["fold"]) == (method, k, fold.number)
            ]
            assert value == expected


@pytest.mark.long
def test_one_search_serves_guests_too(toy, monkeypatch):
    """Guests with a number of neighbours and no search of their own share the neighbours of all methods."""
    asked, search = [], ExactNeighbors.kneighbors

    def counted(self, X=None, *args, **kwargs):
        asked.append("training" if X is None else len(X))
        return search(self, X, *args, **kwargs)

    plan = Plan({"mine": guests.Shares(), "brknn": "brknn"}, (2, 5), cv=2, metrics=("micro_f1",))
    monkeypatch.setattr(ExactNeighbors, "kneighbors", counted)
    run(plan, {"toy": toy})
    assert asked == ["training", 18] * 2


def test_selection_and_thresholds_as_objects(toy):
    """A specification of objects is that of names."""
    by_objects = {
        "tuned": MethodSpec(MLkNN(), thresholds=MicroFOptimum(beta=2)),
        "selected": MethodSpec("brknn", selection=guests.Varying(0.5)),
        "fixed": MethodSpec(BRkNN(), thresholds=0.3),
        "cut": MethodSpec("brknn", thresholds=guests.MyCut()),
    }
    by_names = {
        "tuned": "mlknn@micro-f:beta=2",
        "selected": imported("_guests:Varying:threshold=0.5+brknn"),
        "fixed": "brknn@0.3",
        "cut": imported("brknn@_guests:MyCut"),
    }
    plans = [Plan(methods, (3,), cv=2, metrics=("micro_f1", "one_error")) for methods in (by_objects, by_names)]
    assert run(plans[0], {"toy": toy}) == run(plans[1], {"toy": toy})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("_guests:Shares:weights=distance", guests.Shares(7, weights="distance")),
        ("_guests:shares", guests.Shares(7, weights="distance")),
        ("_guests:shares:weights=uniform", guests.Shares(7)),
    ],
)
def test_methods_of_modules(spec, expected):
    """A class with options, and an object with other options than its own."""
    made = make_method(spec, 7, allow_imports=True)
    assert type(made) is guests.Shares
    assert made.get_params() == expected.get_params()


def test_estimators_of_modules():
    """The option `estimator` takes a class of a module; dots, as a colon begins an option."""
    assert (
        repr(make_method("br:estimator=sklearn.naive_bayes.GaussianNB", allow_imports=True).estimator) == "GaussianNB()"
    )


def test_guests_draw_from_the_same_seed():
    """Random numbers come from the seed 0 unless the user sets another."""
    assert make_method(LPkNN(ties="random")).random_state == 0
    assert make_method(LPkNN(ties="random", random_state=5)).random_state == 5


def test_a_search_of_a_user(toy):
    """Its neighbours are the exact ones, and so are the results."""
    plan = Plan({"mine": guests.Shares()}, (3,), cv=2, metrics=("micro_f1",))
    rows = np.random.default_rng(0).normal(size=toy.X.shape)  # no ties
    cosine = make_search("_guests:Listed:metric=cosine", allow_imports=True)
    searches = SearchPlan(plan, {"listed": guests.Listed(), "cosine": cosine})
    costs = search_costs(searches, run(searches, {"toy": (rows, toy.Y)}))
    assert [(cost.search, cost.difference, cost.recall) for cost in costs if cost.n_neighbors == 3] == [
        ("listed", 0, 1),
        ("cosine", 0, 1),
    ]


def test_a_name_of_the_exact_search_is_its_own(toy):
    """It could not be told from the search that others are compared to."""
    plan = Plan(("brknn",), (3,), cv=2)
    with pytest.raises(ValueError, match="searches must not give the name of the exact search to another one"):
        SearchPlan(plan, {"exact": guests.Listed()})


def test_tuning_among_guests(toy):
    """Methods, searches and the metric are objects; the best can be made and says what it is called."""
    tuning = Tuning(
        {"mine": guests.Shares(), "mlknn": "mlknn"},
        n_neighbors=(2, 4),
        searches={"listed": guests.Listed(), "exact": "exact"},
        metric=guests.agreement,
    )
    tuned = tuning.run((toy.X, toy.Y))
    named = Tuning(("brknn", "mlknn"), n_neighbors=(2, 4), searches=("exact",), metric="hamming_loss").run(toy)
    by_agreement = {(t.candidate.method, t.candidate.n_neighbors): t.value for t in tuned.trials
                    if t.candidate.search == "exact"}  # fmt: skip
    by_loss = {
        (t.candidate.method.replace("brknn", "mine"), t.candidate.n_neighbors): 1 - t.value for t in named.trials
    }
    assert by_agreement == pytest.approx(by_loss)
    assert tuned.metric == "agreement"
    assert tuned.scores["agreement"] == pytest.approx(1 - tuned.scores["hamming_loss"])
    (mine,) = [t.candidate for t in tuned.trials if t.candidate.method == "mine"
               and (t.candidate.n_neighbors, t.candidate.search) == (2, "listed")]  # fmt: skip
    assert repr(mine.make()) == repr(guests.Shares(2, search=guests.Listed()))


def test_objects_of_equal_text_are_not_taken_for_each_other(toy):
    """Two searches, and two selections, whose representation is the same, are tried each for itself."""

    def values_of(searches, thresholds):
        methods = {f"{t}": MethodSpec("brknn", selection=guests.Varying(t)) for t in thresholds}
        tuned = Tuning({"plain": "brknn", **methods}, n_neighbors=3, searches=searches).run(toy)
        return {(t.candidate.method, t.candidate.n_neighbors, t.candidate.search): t.value for t in tuned.trials}

    metrics, thresholds = ("euclidean", "chebyshev"), (1, 2)
    one_at_a_time: dict = {}
    for metric in metrics:
        for threshold in thresholds:
            one_at_a_time |= values_of({metric: guests.Mute(metric)}, [threshold])
    assert len(set(one_at_a_time.values())) > len(one_at_a_time) / 2  # the objects do differ
    assert values_of({metric: guests.Mute(metric) for metric in metrics}, thresholds) == one_at_a_time


def test_two_objects_of_a_moment_do_not_share_a_fit():
    """The second one may get the address of the first, if nobody keeps that."""
    keys = [MethodSpec("brknn", selection=guests.Varying(number)).fit_key for number in range(20)]
    assert len({key[0].prototype.threshold for key in keys}) == len(set(keys)) == 20


def test_records_tell_the_direction_of_a_metric(toy):
    """A comparison of methods knows which is better by a user's metric."""
    loss = Metric("distance", guests.disagreement, greater_is_better=False)
    plan = Plan(("brknn", "mlknn@0"), (3,), cv=6, metrics={"agreeing": guests.agreement, "distance": loss})
    records = run(plan, {"toy": toy})
    assert {(r["metric"], r["greater_is_better"]) for r in records} == {("agreeing", True), ("distance", False)}
    relations = compare(records, over="folds", test="t").order.relations
    assert {(r.metric, r.better) for r in relations} == {("agreeing", "brknn"), ("distance", "brknn")}
    assert all("greater_is_better" not in r for r in run(Plan(("brknn",), (3,), cv=2), {"toy": toy}))


def test_a_plan_on_disk_says_what_its_names_stand_for(toy, tmp_path):
    """Class, parameters and function; a plan of names only has no such entry."""
    plan = Plan({"mine": guests.Shares(), "alias": "brknn", "mlknn": "mlknn"}, (3,), cv=2,
                metrics={"agreeing": partial(guests.agreement, power=2)})  # fmt: skip
    run(plan, {"toy": toy}, out=tmp_path)
    stored = json.loads((tmp_path / "plan.json").read_text())
    assert stored["methods"] == ["mine", "alias", "mlknn"]
    assert stored["objects"]["methods"]["mine"].startswith("_guests.Shares(majority='strict', n_neighbors=10")
    assert stored["objects"]["methods"]["alias"] == "brknn"
    assert stored["objects"]["metrics"] == {
        "agreeing": "_guests.agreement(power=2), needs=prediction, greater_is_better=True"
    }
    assert "objects" not in Plan(("mlknn",), (3,)).describe({})


@pytest.mark.long
@pytest.mark.parametrize(
    ("methods", "metrics"),
    [
        ({"mine": guests.Shares(weights="distance")}, {"m": guests.agreement}),
        ({"mine": guests.Slow()}, {"m": guests.agreement}),
        ({"mine": "brknn"}, {"m": guests.agreement}),
        ({"mine": guests.Shares()}, {"m": "hamming_loss"}),
    ],
)
def test_another_object_under_the_same_name_is_another_plan(toy, tmp_path, methods, metrics):
    """Its records are not mixed with those on file; the same object in another process resumes."""
    first = {"methods": {"mine": guests.Shares()}, "metrics": {"m": guests.agreement}}
    records = run(Plan(**first, n_neighbors=(3,), cv=2), {"toy": toy}, out=tmp_path)
    again = {"methods": {"mine": guests.Shares()}, "metrics": {"m": guests.agreement}}
    assert run(Plan(**again, n_neighbors=(3,), cv=2), {"toy": toy}, out=tmp_path) == records
    with pytest.raises(ValueError, match="must contain records of the same plan, got objects="):
        run(Plan(methods, (3,), cv=2, metrics=metrics), {"toy": toy}, out=tmp_path)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_guests_in_other_processes(toy, n_workers):
    """Objects and modules go to worker processes."""
    plan = Plan({"mine": guests.Shares(), "text": imported("_guests:Shares")}, (3,), cv=2, metrics=(guests.agreement,))
    records = run(plan, {"toy": toy}, n_workers=n_workers)
    assert values(records, "mine", "agreement") == values(records, "text", "agreement")


WORKERS = """
import sys
from nearlabel.experiments import MethodSpec, Plan, Tuning, run

if __name__ == "__main__":
    path = [*sys.path]
    mine = MethodSpec.of("./deep/users_module.py:Shares", allow_imports=True)
    run(Plan({"mine": mine}, (3,), cv=2, metrics=("micro_f1",)), ["multidigits"], n_workers=2)
    Tuning({"mine": mine}, n_neighbors=(3,), time_limit=100.0).run("multidigits")
    assert sys.path == path
"""


@pytest.mark.long
def test_a_module_of_another_folder_in_other_processes(tmp_path):
    """It is found by the processes of a run and of a time limit, and the path of this one is as before."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "users_module.py").write_text(
        "from nearlabel.lazy import BRkNN\nclass Shares(BRkNN):\n    'BRkNN under another name.'\n"
    )
    (tmp_path / "script.py").write_text(WORKERS)
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


NAMES_THAT_IMPORT = ("stranger:K", "./stranger.py:K", "os:getcwd", "nearlabel.utils.naming:sys")
ESTIMATORS_THAT_IMPORT = ("br:estimator=stranger.K", "ecc:estimator=nearlabel.utils.naming.sys")


@pytest.mark.parametrize(
    ("door", "texts"),
    [
        (make_method, NAMES_THAT_IMPORT),
        (make_method, [f"{name}+mlknn" for name in NAMES_THAT_IMPORT]),
        (make_method, [f"igs+{name}+mlknn" for name in NAMES_THAT_IMPORT]),
        (make_method, [f"mlsmote+{name}@0.3" for name in NAMES_THAT_IMPORT]),
        (make_method, [f"brknn@{name}" for name in NAMES_THAT_IMPORT]),
        (make_method, ESTIMATORS_THAT_IMPORT),
        (MethodSpec.of, NAMES_THAT_IMPORT),
        (MethodSpec, NAMES_THAT_IMPORT),
        (lambda text: MethodSpec("brknn", thresholds=text), NAMES_THAT_IMPORT),
        (lambda text: MethodSpec("brknn", selection=text), NAMES_THAT_IMPORT),
        (lambda text: MethodSpec("brknn", sampler=text), NAMES_THAT_IMPORT),
        (takes_unknown, NAMES_THAT_IMPORT),
        (make_sampler, NAMES_THAT_IMPORT),
        (make_search, NAMES_THAT_IMPORT),
        (make_metric, NAMES_THAT_IMPORT),
        (lambda text: Plan(("brknn", text), (3,)), NAMES_THAT_IMPORT + ESTIMATORS_THAT_IMPORT),
        (lambda text: Plan({"mine": text}, (3,)), NAMES_THAT_IMPORT),
        (lambda text: Plan(("brknn",), (3,), metrics=(text,)), NAMES_THAT_IMPORT),
        (lambda text: SearchPlan(Plan(("brknn",), (3,)), (text,)), NAMES_THAT_IMPORT),
        (lambda text: Tuning((text,)), NAMES_THAT_IMPORT + ESTIMATORS_THAT_IMPORT),
        (lambda text: Tuning(("brknn",), searches=(text,)), NAMES_THAT_IMPORT),
        (lambda text: Tuning(("brknn",), metric=text), NAMES_THAT_IMPORT),
        (NeighborsChoice, NAMES_THAT_IMPORT),
        (lambda text: NeighborsChoice(thresholds=text), NAMES_THAT_IMPORT),
        (lambda text: Candidate(text, 3, "none", "exact").make(), NAMES_THAT_IMPORT),
        (lambda text: Candidate("brknn", 3, "none", text).make(), NAMES_THAT_IMPORT),
    ],
)
def test_names_import_nothing(tmp_path, monkeypatch, door, texts):
    """A name may come from a stranger; the message says how to allow an import."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stranger.py").write_text("open('imported.txt', 'w').close()\nclass K: pass\n")
    path = [*sys.path]
    for text in texts:
        with pytest.raises(ValueError, match=r"an import, which runs code\. Hint: .* allow_imports=True\."):
            door(text)
        assert not (tmp_path / "imported.txt").exists()
    assert sys.path == path


@pytest.mark.parametrize(
    "text",
    ["brknn:weights=stranger:K", "mlknn+stranger:K", "exact:metric=stranger.K", "interpolation:neighbors=stranger.K"],
)
def test_options_import_nothing(tmp_path, monkeypatch, text):
    """The value of an option is a literal or a text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stranger.py").write_text("open('imported.txt', 'w').close()\nclass K: pass\n")
    with pytest.raises(ValueError, match="must be"):
        (make_search if text.startswith("exact") else make_method)(text).fit(np.eye(4), np.eye(4, dtype=int))
    assert not (tmp_path / "imported.txt").exists()


def test_no_option_of_a_name_is_a_file():
    """No class that a name can make has a parameter for a path, an address or a command."""
    known = {name for kind in (specs.METHODS, specs.SELECTIONS, specs.SAMPLERS, specs.THRESHOLDS, specs.SEARCHES)
             for make in kind.values() for name in inspect.signature(make).parameters}  # fmt: skip
    assert known.isdisjoint({"path", "file", "folder", "memory", "uri", "url", "address", "client", "table", "out"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Plan({"mine": guests.Forgetful()}, (3,)),
            "method 'mine' must pass the checks of .*, got a failure of check_labels_.*: A label that .* Hint: .* exp",
        ),
        (lambda: Plan({"text": imported("_guests:Forgetful")}, (3,)), "method 'text' must pass the checks"),
        (lambda: Tuning({"mine": guests.Forgetful()}), "got a failure of check_labels_with_one_class_are_constant"),
        (
            lambda: Plan(("brknn",), (3,), metrics=(guests.disagreement,)),
            "metric 'disagreement' must pass .* check_metric_is_best_for_the_truth: No prediction is better",
        ),
        (lambda: make_metric("_guests:disagreement", allow_imports=True), "check_metric_is_best_for_the_truth"),
        (
            lambda: SearchPlan(Plan(("brknn",), (3,)), {"self": guests.Narcissus()}),
            "search 'self' must pass .* check_search_leaves_a_row_out_of_its_own_list: .* is in its own list",
        ),
        (lambda: Tuning(("brknn",), searches=(guests.Narcissus(),)), r"search 'Narcissus\(\)' must pass"),
    ],
)
def test_the_contract_is_the_gate(make, message):
    """What fails a check is refused when the plan is made, with the check's name and sentence."""
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.long
def test_checks_that_a_guest_cannot_pass(toy):
    """The class says so itself, with a reason, also for the command line."""
    assert (
        len(run(Plan({"excused": imported("_guests:Excused")}, (3,), cv=2, metrics=("micro_f1",)), {"toy": toy})) == 2
    )


@pytest.mark.long
def test_a_guest_may_excuse_what_no_plan_does(toy):
    """Checks that are left out here may still be named, for those who run the whole contract; others may not."""
    Plan({"mine": guests.Matrices()}, (3,))
    with pytest.raises(ValueError, match=r"expected_failed_checks must name some of .*, got check_onedimensional\."):
        Plan({"mine": guests.Misspelt()}, (3,))


@pytest.mark.long
def test_a_slow_guest_waits_for_two_seconds_at_most(caplog):
    """No check starts after a second; the log says which did not."""
    slow = guests.Slow(weights="distance")  # no other test has had it checked
    start = time.monotonic()
    with caplog.at_level(logging.INFO, logger="nearlabel"):
        Plan({"slow": slow}, (3,))
    assert time.monotonic() - start < 4  # generous: a check that has begun is finished, and machines are shared
    assert "'slow': after 1 s these checks were not run: " in caplog.text
    assert "check_scikit_learn_tools" in caplog.text
    start = time.monotonic()
    Plan({"slow": slow}, (3,))
    assert time.monotonic() - start < 0.5


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Plan({"mine": guests.Shares}, (3,)), TypeError, "must be an object, got the class Shares. Hint: "),
        (lambda: Plan({"mine": object()}, (3,)), TypeError, "method must be an estimator with fit, got <object"),
        (lambda: Plan({1: "mlknn"}, (3,)), TypeError, "methods must have texts as names, got 1"),
        (lambda: Plan((MLkNN(), MLkNN()), (3,)), ValueError, "methods must name at least one, each once"),
        (lambda: Plan(MLkNN(), (3,)), TypeError, r"methods must be a tuple, got MLkNN\(\)"),
        (lambda: imported("_guests:Share"), ValueError, "got no 'Share' there. Did you mean 'Shares'"),
        (lambda: imported("_guests:Shares:size=1"), ValueError, "option of method '_guests:Shares' must be"),
        (lambda: imported("no_such_module:Shares"), ImportError, "No module named 'no_such_module'"),
        (lambda: MethodSpec("mlknn", thresholds=MLkNN()), TypeError, "must be a ThresholdStrategy, got MLkNN"),
        (lambda: MethodSpec("mlknn", thresholds=2), ValueError, "thresholds must be a number from 0 to 1 or one of"),
        (lambda: MethodSpec("mlknn", selection=SCut()), TypeError, "selection must be an estimator with transform"),
        (lambda: make_search(MLkNN()), TypeError, "search must be an object with kneighbors, got MLkNN"),
        (lambda: Plan(("mlknn",), (3,), metrics=(lambda y, p: 1.0,)), ValueError, "metrics must have names"),
        (lambda: Plan(("mlknn",), (3,), metrics={"micro_f1": guests.agreement}), ValueError, "must not have the name"),
        (lambda: make_metric("_guests:agreement:size=1", allow_imports=True), ValueError, "option of metric"),
    ],
)  # fmt: skip
def test_what_is_no_guest(make, error, message):
    """Each mistake is told when the plan is made."""
    with pytest.raises(error, match=message):
        make()


def test_data_of_every_kind(toy, tmp_path):
    """Arrays, frames, sparse matrices, names, paths, and pairs of them as a given split."""
    plan = Plan(("brknn",), (3,), cv=2, metrics=("micro_f1",))
    expected = run(plan, {"d": toy})
    assert run(plan, {"d": (toy.X, toy.Y)}) == expected
    assert run(plan, {"d": (sparse.csr_matrix(toy.X), sparse.csr_matrix(toy.Y))}) == expected
    assert [r["value"] for r in run(plan, [toy])] == [r["value"] for r in expected]
    np.savez(tmp_path / "rows.npz", X=toy.X, Y=toy.Y)
    assert [r["value"] for r in run(plan, {"d": tmp_path / "rows.npz"})] == [r["value"] for r in expected]
    parts = [(toy.X[:20], toy.Y[:20]), (toy.X[20:], toy.Y[20:])]
    (split,) = run(plan, {"d": tuple(parts)})
    assert split["seed"] is None
    assert run(plan, ["multidigits"])[0]["dataset"] == "multidigits"


@pytest.mark.parametrize(
    ("problems", "error", "message"),
    [
        ("emotions", TypeError, "problems must be a mapping or a list of data sets, got 'emotions'"),
        ([(np.eye(4), np.eye(4))], TypeError, "problems must be a mapping if data have no names, got tuple"),
        ({"d": np.eye(4)}, TypeError, r"d must be a Dataset, a name, a path or a pair \(X, y\), got ndarray"),
        ({"d": (np.eye(4), np.eye(4) + 1)}, ValueError, "y of d must contain 0 and 1 only, got two values, 1 and 2"),
        ({"d": (np.eye(4), np.eye(3, dtype=int))}, ValueError, "Y must have as many rows as X, 4, got 3"),
        (["multidigits", "multidigits"], ValueError, "problems must have distinct names, got 'multidigits' twice"),
    ],
)
def test_what_is_no_data_set(problems, error, message):
    """Each mistake names the data set and what was expected."""
    with pytest.raises(error, match=message):
        run(Plan(("brknn",), (1,), cv=2), problems)


def test_a_search_of_scikit_learn(toy):
    """It keeps the contract."""
    assert isinstance(make_search(NearestNeighbors()), NearestNeighbors)
    SearchPlan(Plan(("brknn",), (3,)), {"sklearn": NearestNeighbors()})
