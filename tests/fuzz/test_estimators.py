import re
import textwrap
from collections import Counter

import numpy as np
import pytest

from conftest import long_after
from fuzz.estimator_checks import check
from fuzz.estimator_models import MODELS, OTHERS
from fuzz.estimator_problems import CONTAINERS, LABEL_CONTAINERS, Problem, problem
from fuzz.estimators import attempt, main, models_of, run

PLANTED = """
    import ctypes
    import os

    import numpy as np

    from fuzz.estimator_models import LAZY, Model, replace
    from nearlabel.lazy import BRkNN, MLkNN

    class FlipsOneLabel(MLkNN):
        def predict(self, X):
            labels = super().predict(X)
            labels[-1, 0] = 1 - labels[-1, 0]
            return labels

    class ChangesX(BRkNN):
        def fit(self, X, y):
            if isinstance(X, np.ndarray) and X.flags.writeable and X.size:
                X.ravel(order="K")[0] += 1
            return super().fit(X, y)

    class Crashes(BRkNN):
        def fit(self, X, y):
            os.abort()

    class Hangs(BRkNN):
        def fit(self, X, y):
            ctypes.CDLL(None).sleep(60)  # compiled code, which Python does not interrupt

    class TakesAllMemory(BRkNN):
        def fit(self, X, y):
            self.held = np.ones(2**40)
            return super().fit(X, y)

    class Forgets(BRkNN):
        def __getstate__(self):
            return {**super().__getstate__(), "n_neighbors": 1, "n_neighbors_": 1}

    class RaisesAnything(BRkNN):
        def predict(self, X):
            return {}["labels"]

    class AlwaysRefuses(BRkNN):
        def fit(self, X, y):
            raise ValueError("X must be something else, got this. Hint: give up.")

    PLANT = %s
    MODELS = {"planted": replace(LAZY["MLkNN" if issubclass(PLANT, MLkNN) else "BRkNN"], make=PLANT)}
"""


@pytest.mark.parametrize("seed", long_after(35, range(70)))
def test_an_estimator_keeps_its_promises(seed):
    """Right, or a clear error; the same from all containers, threads and copies; input unchanged."""
    assert not attempt(seed, processes=False).startswith("WRONG")


@pytest.mark.slow
def test_estimators_keep_their_promises_on_more_problems():
    """A hundred problems in a process of their own."""
    outcomes = dict(run(range(1000, 1100)))
    assert [outcome for outcome in outcomes.values() if outcome.startswith("WRONG")] == []
    assert len(outcomes) == 100


@pytest.mark.long
@pytest.mark.parametrize("name", OTHERS)
def test_every_estimator_answers_an_ordinary_problem(name):
    """So that none passes by refusing everything."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (30, 4)).astype(float)
    y = (X[:, :3] + rng.normal(size=(30, 3)) > 2).astype(int)
    plain = Problem(1, name, 3, X, X[:6], y, "f4", "CSR with int64 indices", "CSR", 0, "whole", bad_cell=False)
    assert plain.is_ordinary
    assert check(plain, MODELS[name], processes=False) == "answered"


@pytest.fixture
def planted(tmp_path):
    """Return what writes a file of models of which one is wrong, and returns its path."""

    def write(plant):
        file = tmp_path / "planted.py"
        file.write_text(textwrap.dedent(PLANTED % plant), encoding="utf-8")
        return str(file)

    return write


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        ("FlipsOneLabel", "label sets are not those of the slow reference"),
        ("ChangesX", "has changed its input"),
        ("Forgets", "(pickle|deepcopy) answered otherwise"),
        ("RaisesAnything", "raw KeyError"),
        ("AlwaysRefuses", "an ordinary problem was refused"),
    ],
)
def test_a_planted_mistake_is_found(plant, found, planted):
    """Within some problems, of which not all can show it."""
    models = models_of(planted(plant))
    assert any(re.search(f"WRONG.*{found}", attempt(seed, models, processes=False)) for seed in range(60))


@pytest.mark.parametrize(
    ("plant", "found"),
    [
        pytest.param("Crashes", "the process died, exit -6", marks=pytest.mark.long),
        pytest.param("Hangs", "no end in 1 s", marks=pytest.mark.long),
        pytest.param("TakesAllMemory", "raw .*MemoryError", marks=pytest.mark.long),
    ],
)
def test_the_process_goes_on_after_a_problem_that_ends_it(plant, found, planted):
    """After a crash, after what does not end, and where memory is refused."""
    outcomes = dict(run(range(3, 5), models=planted(plant), seconds=1.0 if plant == "Hangs" else 60.0))
    assert list(outcomes) == [3, 4]
    assert all(re.search(f"WRONG: seed {seed}: .*{found}", outcome) for seed, outcome in outcomes.items()), outcomes


@pytest.mark.long
def test_the_program_prints_the_seed_that_repeats_a_failure(planted, capsys):
    """By `--only`, in the same process, with the same words."""
    file = planted("RaisesAnything")
    assert main(["--number", "2", "--seed", "5", "--models", file]) == 1
    printed = capsys.readouterr().out
    assert re.search(r"2 problems in \d+ s: \d answered rightly, \d refused with a clear error, [12] wrong\.", printed)
    failure, seed = re.search(r"(WRONG: .*)\n    again: python -m fuzz.estimators --only (\d+)", printed).groups()
    assert main(["--only", seed, "--models", file]) == 1
    assert capsys.readouterr().out.strip() == failure
    assert main(["--only", "1"]) == 0


def test_problems_are_the_same_each_time_and_of_all_kinds():
    """A seed draws one problem; each container and each odd shape occurs among some hundreds."""
    names = list(MODELS)
    first, second = problem(7, names), problem(7, names)
    assert str(first) == str(second)
    np.testing.assert_array_equal(first.rows, second.rows)
    drawn = [problem(seed, names) for seed in range(600)]
    assert {one.container for one in drawn} == set(CONTAINERS)
    assert {one.label_container for one in drawn} == set(LABEL_CONTAINERS)
    assert {one.model for one in drawn} >= set(names[:20])
    shapes = Counter(min(one.rows.shape) == 0 for one in drawn)
    assert 20 < shapes[True] < 200
    assert 0.2 < np.mean([one.is_ordinary for one in drawn]) < 0.9
    assert any(one.exponent < -500 for one in drawn)
    assert any(one.exponent > 400 for one in drawn)


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_hold_the_numbers(name, tmp_path):
    """To the bit, in the type that was asked for where the container knows it."""
    rows = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])
    for dtype in ("f8", "f4", ">f8", "i8", "u1", "O", "f2"):
        held = CONTAINERS[name](rows, dtype, tmp_path)
        dense = held.toarray() if hasattr(held, "toarray") else np.asarray(held)
        np.testing.assert_array_equal(dense.astype(np.float64), rows)
