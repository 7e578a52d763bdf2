import ast
import os
import pkgutil
import pwd
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
import skops.io
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _models import MODELS, TREE
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import get_scorer
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import TRUSTED_TYPES, load_model, read_card, save_model

MARK = "touched"


def two_norm(left, right):
    """The Euclidean distance."""
    return float(np.sqrt(((left - right) ** 2).sum()))


def fitted(**attributes):
    """A small model with attributes of one's own."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    vars(model).update(attributes)
    return model


@pytest.fixture(scope="module")
def forest(tmp_path_factory):
    """The file of a model that holds trees."""
    return save_model(MODELS["RF-PCT"]().model, tmp_path_factory.mktemp("forest") / "m.skops")


@pytest.mark.parametrize("name", TRUSTED_TYPES)
def test_what_is_trusted_is_a_class_or_arithmetic(name):
    """No module, and no function but the four that turn label sets into memberships."""
    thing = pkgutil.resolve_name(name)
    assert isinstance(thing, type) or name.startswith("nearlabel.lazy._cmlknn.")
    assert name in (f"{thing.__module__}.{thing.__name__}", "numpy.dtype")


@pytest.mark.parametrize(
    ("attribute", "name"),
    [
        (os.path.join, "posixpath.join"),
        (pwd.getpwnam, "pwd.getpwnam"),
        (partial(os.path.join, "a"), "posixpath.join"),
        (two_norm, f"{__name__}.two_norm"),
        (ExactNeighbors(), None),
        (ExactNeighbors("euclidean").fit, "nearlabel.neighbors.exact._search.ExactNeighbors.fit"),
        (ExactNeighbors, "nearlabel.neighbors.exact._search.ExactNeighbors"),
        (save_model, "nearlabel.persistence._model_file.save_model"),
    ],
)
def test_foreign_parts_are_named(tmp_path, attribute, name):
    """Functions, bound methods, types: all but what is trusted is refused with its name and the way out.

    Who saves the model is warned; of what is trusted nobody is.
    """
    if name is None:
        file = save_model(fitted(part_=attribute), tmp_path / "m.skops")
        assert isinstance(load_model(file).part_, ExactNeighbors)
        return
    with pytest.warns(UserWarning, match=rf"contains types that .* trusted=\[.*'{re.escape(name)}'.*\]\), on the"):
        file = save_model(fitted(part_=attribute), tmp_path / "m.skops")
    with pytest.raises(ValueError, match=r"must contain trusted types only, got .*Hint: trusted=\[") as refused:
        load_model(file)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)
    assert name in read_card(file).foreign_types


@pytest.mark.filterwarnings("ignore:.* contains types that load_model")
def test_a_metric_of_ones_own(tmp_path):
    """A function must be named, by name or as it is a type; then all is as before."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = MLkNN(2, search=ExactNeighbors(two_norm)).fit(X, (X > 0).astype(int))
    file = save_model(model, tmp_path / "m.skops")
    (name,) = read_card(file).foreign_types
    with pytest.raises(ValueError, match="two_norm"):
        load_model(file)
    assert np.array_equal(load_model(file, trusted=[name]).predict_proba(X), model.predict_proba(X))


def test_the_warning_names_what_to_trust(tmp_path):
    """What `load_model` then takes, as it stands there; the warning points to the line that saves."""
    frame = pd.DataFrame(np.eye(6), columns=list("abcdef"))
    columns = make_column_transformer((StandardScaler(), make_column_selector(dtype_include=float)))
    model = make_pipeline(columns, MLkNN(1)).fit(frame, np.eye(6, dtype=int))
    with pytest.warns(UserWarning, match="builds only if they are trusted") as caught:
        file = save_model(model, tmp_path / "m.skops")
    assert caught[0].filename == __file__
    named = ast.literal_eval(re.search(r"trusted=(\[.*\])", str(caught[0].message))[1])
    assert named == ["sklearn.compose._column_transformer.make_column_selector"]
    assert np.array_equal(load_model(file, trusted=named).predict(frame), model.predict(frame))


@pytest.mark.filterwarnings("ignore:.* contains types that load_model")
def test_a_search_over_parameters(tmp_path):
    """A grid search holds scorers and splitters that must be trusted; its best estimator does not."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    grid = GridSearchCV(MLkNN(1), {"n_neighbors": [1, 3]}, scoring=get_scorer("micro_f1"), cv=2)
    grid.fit(X, (X > 0).astype(int))
    file = save_model(grid, tmp_path / "grid.skops")
    foreign = read_card(file).foreign_types
    assert "nearlabel.metrics.label_based.micro_f1" in foreign
    assert np.array_equal(load_model(file, trusted=foreign).predict(X), grid.predict(X))
    best = load_model(save_model(grid.best_estimator_, tmp_path / "best.skops"))
    assert np.array_equal(best.predict_proba(X), grid.predict_proba(X))


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("nearlabel.files.store", "shutil.rmtree"),
        ("nearlabel.utils.naming", "import_optional"),
        ("nearlabel.datasets", "write_store"),
        ("nearlabel.neighbors.optional._dask", "DaskNeighbors"),
        ("nearlabel.neighbors.optional._approximate", "UsearchNeighbors"),
        ("nearlabel.persistence._searches.SavedSearch", "rebuilt"),
        ("os", "mkdir"),
    ],
)
@pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "ObjectNode", "TypeNode", "FunctionNode", "ListNode"])
def test_calls_that_a_file_asks_for_are_refused(saved, rewrite, tmp_path, module, name, loader):
    """No function or class is called because a file names it, wherever it is defined or imported."""
    folder = tmp_path / MARK

    def ask(schema):
        argument = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": f'"{folder}"'}
        part = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [argument]}
        call = {"__class__": name, "__module__": module, "__loader__": loader, "content": part}
        if loader == "ListNode":
            call["content"] = [argument]
        schema["content"]["content"]["part_"] = call
        return schema

    with pytest.raises(ValueError, match="must contain trusted types only, got "):
        load_model(rewrite(saved, "schema.json", ask))
    assert not folder.exists()


@pytest.mark.parametrize(
    "use",
    [
        {"__loader__": "ConstructorFromReduceNode"},
        {"__loader__": "TypeNode"},
        {"__loader__": "FunctionNode"},
        {"__loader__": "ListNode"},
        {"__loader__": "SetNode"},
        {"__loader__": "DictNode", "key_types": {}},
        {"__loader__": "NdArrayNode", "type": "json"},
        {},
    ],
    ids=lambda use: use.get("__loader__", "none"),
)
@pytest.mark.parametrize(
    "name", ["nearlabel.lazy.double_distances.SearchedPairs", "nearlabel.persistence._searches.SavedSearch"]
)
def test_trusted_types_are_built_in_one_way_only(saved, rewrite, name, use):
    """Constructors may fit what they are given: they are never called, nor handed out."""
    module, _, kind = name.rpartition(".")

    def ask(schema):
        schema["content"]["content"]["part_"] = {"__class__": kind, "__module__": module, "content": [], **use}
        return schema

    with pytest.raises(ValueError, match=rf"got a damaged one: {name} must not be built by "):
        load_model(rewrite(saved, "schema.json", ask))


@pytest.mark.parametrize("name", [name for name in TRUSTED_TYPES if name.startswith("nearlabel.")])
def test_building_runs_no_code_of_ours(name):
    """An object gets its attributes as they are: no class takes them in a way of its own."""
    thing = pkgutil.resolve_name(name)
    if isinstance(thing, type):
        assert getattr(thing, "__setstate__", None) in (None, BaseEstimator.__setstate__)
        assert thing.__new__ is object.__new__ or hasattr(thing, "_fields")


def test_a_method_of_a_trusted_type_is_refused(saved, rewrite):
    """That an object may be built does not mean that its methods may be handed out."""

    def ask(schema):
        kept = schema["content"]["content"]["search_"]
        schema["content"]["content"]["part_"] = {
            "__class__": kept["__class__"],
            "__module__": kept["__module__"],
            "__loader__": "MethodNode",
            "content": {"func": "rebuilt", "obj": kept},
        }
        return schema

    with pytest.raises(ValueError, match="SavedSearch must not be built by MethodNode"):
        load_model(rewrite(saved, "schema.json", ask))


def test_an_unknown_kind_of_search_is_damage(saved, rewrite):
    """A file chooses among the searches that are kept, not among all classes."""

    def ask(schema):
        schema["content"]["content"]["search_"]["content"]["content"]["kind"]["content"] = '"DaskNeighbors"'
        return schema

    with pytest.raises(ValueError, match="must be the file of a model, got a damaged one: 'DaskNeighbors'"):
        load_model(rewrite(saved, "schema.json", ask))


@pytest.mark.parametrize("where", ["rows", "attribute"])
def test_indices_that_lead_out_of_a_matrix_are_damage(tmp_path, where):
    """They would be followed beside it; scipy is asked to look first."""
    bad = sparse.csr_array(np.eye(3))
    bad.indices[0] = 1_000_000
    model = fitted(part_=bad) if where == "attribute" else BRkNN(1).fit(sparse.csr_array(np.eye(3)), np.eye(3))
    if where == "rows":
        model.search_._segments = [replace(model.search_._segments[0], rows=bad, duplicates=None)]
    with pytest.raises(ValueError, match=r"got a damaged one: .*(indices|index)"):
        load_model(save_model(model, tmp_path / "m.skops"))


@pytest.mark.parametrize("trusted", ["sklearn.tree._tree.Tree", True, [1], None, 3])
def test_trusted_must_be_a_list_of_names(saved, trusted):
    """A text is no list of texts, and nothing says "trust everything"."""
    with pytest.raises(TypeError, match="trusted must be a list of names or types, got "):
        load_model(saved, trusted=trusted)


def test_a_type_may_be_given_as_it_is(forest):
    """Beside its name."""
    from sklearn.tree._tree import Tree

    loaded = load_model(forest, trusted=[Tree])
    assert type(loaded).__name__ == "RandomForestPCT"


def test_trees_are_for_load_model_only(forest):
    """Who reads a file without our checks must not trust trees: they are on no published list."""
    assert TREE not in TRUSTED_TYPES
    assert read_card(forest).foreign_types == ()


def test_skops_reads_our_files_with_the_published_types(saved):
    """Other programs that read a file through skops need no list of their own."""
    assert type(skops.io.load(saved, trusted=list(TRUSTED_TYPES))) is MLkNN
