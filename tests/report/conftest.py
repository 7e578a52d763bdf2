"""Facts of small runs and models, as the commands gather them; names that would harm a careless page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nearlabel.audit import audit
from nearlabel.datasets import Dataset, load_multidigits
from nearlabel.experiments import Plan, run
from nearlabel.lazy import NLDD, BRkNN, MLkNN
from nearlabel.persistence import ModelCard
from nearlabel.report import audit_facts, model_facts, run_facts

METRICS = ("hamming_loss", "micro_f1", "empty_predictions")
EVIL = "<script>window.harmed = 1</script>"


def facts_of(model: Any, data: Dataset, **options: Any) -> dict[str, Any]:
    """The facts of a model that was fitted to the data."""
    card = json.loads(ModelCard.of(model, data=data).to_json())
    return model_facts(model, data, card=card, **options)


@pytest.fixture(scope="session")
def digits_facts() -> dict[str, Any]:
    """MLkNN on the embedded data: its training rows, pictures and all."""
    digits = load_multidigits()
    data = Dataset(digits.X[:400], digits.Y[:400], digits.feature_names, digits.label_names, "digits")
    return facts_of(MLkNN(5).fit(data.X, data.Y), data, training=data, seen=True, n_rows=30)


@pytest.fixture(scope="session")
def evil_facts() -> dict[str, Any]:
    """150 labels, the first and most frequent one named like a script, another one of 300 signs; no pictures."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (rng.random((120, 150)) < np.linspace(0.6, 0.02, 150)).astype(int)
    names = (EVIL, "\"&' onload=x", "x" * 300, *(f"label {i}" for i in range(3, 149)), "</SCRIPT><!--")
    data = Dataset(X, Y, tuple("abcd"), names, EVIL + "y" * 200)
    kept = {EVIL: [EVIL] * 120, "url": ["x" * 300] * 120}
    return facts_of(MLkNN(3).fit(X, Y), data, n_rows=20, kept=kept, seen=True)


@pytest.fixture(scope="session")
def nldd_facts() -> dict[str, Any]:
    """A model with columns of its own, and labels and rows that have names, on rows that it was not fitted to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    Y = (X[:, :2] + rng.normal(size=(90, 2)) > 0).astype(int)
    data = Dataset(X[60:], Y[60:], tuple("abc"), ("classification", "regression"), "new")
    own = {"id": [str(4711 + row) for row in range(30)], "title": [f"Song {row % 10}" for row in range(30)]}
    return facts_of(NLDD(random_state=0).fit(X[:60], Y[:60]), data, kept_of_data=own)


@pytest.fixture(scope="session")
def audited_facts() -> dict[str, Any]:
    """An audit of 120 rows with ids and titles, some labels and rows named like scripts, one of 300 signs."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (120, 3)).astype(float)
    Y = (X + rng.normal(size=(120, 3)) > 2).astype(int)
    found = audit(BRkNN(5).fit(X, Y), n_cells=40, label_names=(EVIL, '"quoted", and more', "x" * 300))
    names = [f"Song {row}{EVIL if row % 2 else ''}" for row in range(120)]
    ids = [f'id "{row}";' for row in range(120)]
    return audit_facts(found.named(names), name="songs" + EVIL, by="BRkNN", id_column='the "id"', ids=ids)


@pytest.fixture(scope="session")
def wide_run() -> dict[str, Any]:
    """Facts of a run with all metrics."""
    digits = load_multidigits()
    data = Dataset(digits.X[:60], digits.Y[:60], digits.feature_names, digits.label_names, "digits")
    with tempfile.TemporaryDirectory() as folder:
        run(Plan(("brknn", "mlknn@micro-f"), (3, 5), cv=2), {"digits": data}, out=folder)
        return run_facts([folder])


@pytest.fixture(scope="session")
def make_dataset() -> Callable[..., Dataset]:
    """Make a random data set of 4 labels; features on a grid, so that many distances are equal."""

    def _make(name: str = "toy", *, n: int = 36, seed: int = 0) -> Dataset:
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (n, 5)) * np.array([1.0, 1.0, 2.0, 0.5, 10.0])
        y = (X[:, :4] + rng.normal(size=(n, 4)) > [1, 2, 3, 1.4]).astype(np.int64)
        names = tuple(map(str, range(5)))
        return Dataset(X, y, names, names[:4], name)

    return _make


@pytest.fixture(scope="session")
def toy(make_dataset: Callable[..., Dataset]) -> Dataset:
    """36 rows, 5 features, 4 labels."""
    return make_dataset()


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Run a small plan and return the folder."""

    def _make(*names: str, k: tuple[int, ...] = (1, 3, 5), n: int = 60, metrics: tuple[str, ...] = METRICS) -> Any:
        digits = load_multidigits()
        problems = {
            name: Dataset(digits.X[i::20][:n], digits.Y[i::20][:n], digits.feature_names, digits.label_names, name)
            for i, name in enumerate(names)
        }
        folder = tmp_path_factory.mktemp("run")
        plan = Plan(("brknn", "brknn-b", "mlknn", "iblr"), k, cv=3, metrics=metrics)
        run(plan, problems, out=folder)
        return folder, problems

    return _make


@pytest.fixture(scope="session")
def run_of_one(make_run: Callable[..., Any]) -> dict[str, Any]:
    """Facts of a run on one data set that is found."""
    folder, problems = make_run("one")
    return run_facts([folder], open_problem=lambda name, _: problems[name])


@pytest.fixture(scope="session")
def run_of_many(make_run: Callable[..., Any]) -> dict[str, Any]:
    """Facts of a run on six data sets, none of which is found."""
    folder, _ = make_run(*(f"set {i}" for i in range(6)), k=(1, 3), n=40, metrics=METRICS[:2])
    return run_facts([folder])
