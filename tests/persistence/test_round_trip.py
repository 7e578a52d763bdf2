import inspect
import os
import pkgutil
import re
import subprocess
import sys

import joblib
import numpy as np
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator

import nearlabel
from _models import APPROXIMATE, MODELS, SEARCHES, TREE, Fitted, answers
from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import (
    DaskNeighbors,
    ExactNeighbors,
    FaissHNSWNeighbors,
    FaissIVFNeighbors,
    LanceTable,
    TableNeighbors,
)
from nearlabel.persistence import TRUSTED_TYPES, load_model, save_model

# A cluster's; a description of a model, whose `fit` returns one; and what is in a database.
_NOT_KEPT = {"DaskNeighbors", "Candidate", "TableNeighbors", "TableClassifier"}


def equal(left, right):
    """Whether two sets of answers are the same to the bit and the type."""
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype and np.array_equal(left[name], right[name]) for name in left
    )


def without_addresses(model):
    """The parameters as text, without where a RandomState lies in memory."""
    return re.sub(" at 0x[0-9A-F]+", "", repr(model))


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_the_same(kept, name):
    """Scores, label sets, neighbours and features are the same bit for bit; so are the parameters."""
    fitted, folder = kept
    model, queries = fitted[name]
    loaded = load_model(folder / f"{list(MODELS).index(name)}.skops")
    assert type(loaded) is type(model)
    assert equal(answers(Fitted(model, queries)), answers(Fitted(loaded, queries)))
    assert without_addresses(loaded) == without_addresses(model)
    for attribute in ("feature_names_in_", "label_names_", "classes_", "thresholds_", "n_features_in_"):
        assert np.array_equal(getattr(loaded, attribute, None), getattr(model, attribute, None)), attribute


@pytest.mark.long
def test_another_process_answers_the_same(kept, tmp_path):
    """What one process wrote another one reads, with the same answers: one model of each class."""
    fitted, folder = kept
    numbers = list({type(model): number for number, (model, _) in enumerate(fitted.values())}.values())
    chosen = [list(fitted.values())[number] for number in numbers]
    script = """if True:
        import sys
        import joblib
        from _models import Fitted, answers
        from nearlabel.persistence import load_model
        folder, exchange = sys.argv[1:]
        joblib.dump(
            [
                answers(Fitted(load_model(f"{folder}/{number}.skops"), queries))
                for number, queries in joblib.load(exchange)
            ],
            exchange,
        )
    """
    exchange = tmp_path / "exchange"
    joblib.dump([(number, queries) for number, (_, queries) in zip(numbers, chosen, strict=True)], exchange)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    subprocess.run([sys.executable, "-c", script, folder, exchange], check=True, env=environment)
    for (model, queries), loaded in zip(chosen, joblib.load(exchange), strict=True):
        assert equal(loaded, answers(Fitted(model, queries))), type(model)


def test_the_list_holds_the_types_of_all_models_and_no_more(kept):
    """Whoever gives an estimator a part of a new type thinks about it, then adds it; what is unused is not trusted."""
    files = (kept[1] / f"{number}.skops" for number in range(len(MODELS)))
    needed = {name for file in files for name in skops.io.get_untrusted_types(file=file)}
    assert sorted(needed - {TREE}) == sorted(TRUSTED_TYPES)


def public_estimators():
    """The names of all classes that any public package offers, and that learn something."""
    packages = (f"nearlabel.{module.name}" for module in pkgutil.iter_modules(nearlabel.__path__))
    offered = (
        getattr(package, name)
        for package in map(pkgutil.resolve_name, (name for name in packages if "._" not in name))
        for name in getattr(package, "__all__", ())
    )
    return {
        kind.__name__
        for kind in offered
        if isinstance(kind, type)
        and hasattr(kind, "fit")
        and not inspect.isabstract(kind)
        and not getattr(kind, "_is_protocol", False)
    }


def kinds_in(model):
    """The names of a model's class and of those of all that it is made of."""
    parts = model.get_params().values() if isinstance(model, BaseEstimator) else ()
    return {type(part).__name__ for part in (model, *parts)}


def test_every_public_estimator_is_among_them(kept):
    """Whoever adds an estimator to the library adds it to the models that are kept."""
    not_here = {type(search).__name__ for search in APPROXIMATE.values() if search not in SEARCHES.values()}
    seen = set().union(*(kinds_in(model) for model, _ in kept[0].values()))
    assert {"NeighborsPerLabel", "MLkNN", "MicroFOptimum", "RAkELd", "FeatureScaler"} <= public_estimators()
    assert public_estimators() - seen - not_here - _NOT_KEPT == set()


def test_keeping_changes_nothing(kept):
    """A model that was saved still has its own search, and says what it said."""
    model, queries = kept[0]["ML-kNN, exact"]
    assert type(model.search_) is ExactNeighbors
    assert equal(answers(Fitted(model, queries)), answers(MODELS["ML-kNN, exact"]()))


def test_parts_that_were_one_stay_one(tmp_path):
    """A generator that two parts share is shared afterwards, and goes on where it was."""
    random = np.random.RandomState(5)
    model = BRkNN(1, search=ExactNeighbors()).fit([[0.0], [1.0]], [[1], [0]])
    model.first, model.second = random, [random]
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    assert loaded.first is loaded.second[0]
    assert loaded.first.random_sample() == random.random_sample()


@pytest.mark.parametrize("as_sparse", [False, True])
def test_rows_in_a_store_are_copied_into_the_file(tmp_path, as_sparse):
    """A model on memory maps is whole without them."""
    X = np.random.default_rng(0).normal(size=(200, 5))
    Y = (X > 0).astype(int)
    rows = open_store(write_store(tmp_path / "rows", sparse.csr_array(np.maximum(X, 0)) if as_sparse else X))
    model = MLkNN(3).fit(rows, Y)
    file = save_model(model, tmp_path / "m.skops")
    expected = model.predict_proba(X[:50])
    del model, rows
    (tmp_path / "rows").rename(tmp_path / "gone")
    loaded = load_model(file)
    assert np.array_equal(loaded.predict_proba(X[:50]), expected)


def test_memory_maps_elsewhere_become_arrays(tmp_path):
    """A parameter or an attribute on a memory map is an array in the file."""
    np.save(tmp_path / "w.npy", np.arange(1.0, 3.0))
    weights = np.load(tmp_path / "w.npy", mmap_mode="r")
    search = ExactNeighbors("minkowski", metric_params={"p": 3, "w": weights})
    model = BRkNN(1, search=search).fit([[0.0, 1.0], [1.0, 0.0]], [[1], [0]])
    model.kept_ = weights
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    assert type(loaded.kept_) is type(loaded.search.metric_params["w"]) is np.ndarray
    assert loaded.kept_.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "search",
    [FaissHNSWNeighbors(reproducible=False), FaissIVFNeighbors(random_state=np.random.RandomState(0))],
    ids=["threads", "generator"],
)
def test_an_index_that_would_be_another_is_refused(tmp_path, search):
    """An index is built anew when it is loaded; where that gives another one, nothing is written."""
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = MLkNN(3, search=search).fit(X, (X > 0).astype(int))
    with pytest.raises(ValueError, match=r"search must have reproducible=True and an integer random_state"):
        save_model(model, tmp_path / "m.skops")
    assert list(tmp_path.iterdir()) == []


def test_a_search_in_a_database_is_refused(tmp_path):
    """Its rows are elsewhere: the hint says what to do."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.search = TableNeighbors(LanceTable("music", "songs"))
    with pytest.raises(ValueError, match=r"model must not search in a database to be saved, .* table.read\(\)"):
        save_model(model, tmp_path / "m.skops")


def test_a_search_on_a_cluster_is_refused(tmp_path):
    """Its rows are elsewhere: the hint says what to do."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.search = DaskNeighbors()
    with pytest.raises(ValueError, match="Hint: fit it with search=ExactNeighbors"):
        save_model(model, tmp_path / "m.skops")
