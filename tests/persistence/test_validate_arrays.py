import re
import zipfile
from collections import OrderedDict

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.persistence._searches import validate_arrays


def forged_matrix():
    """One whose indices lead out of it."""
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[0] = 1_000_000
    return matrix


def with_forged_position(path):
    """Write into the file of a model that its random generator is far beyond its array; numpy 2.5 makes no such one."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = members["schema.json"].decode()
    position = r'("(?:pos|buffer_pos)": \{[^}]*"content": )"\d+"'
    members["schema.json"], times = re.subn(position, r'\1"1000000"', schema)
    assert times == 1
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_forged_indices():
    """Named, instead of followed."""
    with pytest.raises(ValueError, match=r"indices|index"):
        validate_arrays(forged_matrix())


GENERATORS = {
    "RandomState": lambda: np.random.RandomState(0),
    "MT19937": lambda: np.random.Generator(np.random.MT19937(0)),
}
FORGED_POSITION = r"got a damaged one: .*(a random generator has position 1000000 of |pos(ition)? must be between)"


@pytest.mark.parametrize("draws", [0, 1, 623, 624, 625])
@pytest.mark.parametrize("kind", ["MT19937", "Philox", "PCG64", "SFC64"])
def test_generators_wherever_they_are(kind, draws):
    """From new to used up."""
    generator = np.random.Generator(getattr(np.random, kind)(0))
    old = np.random.RandomState(0)
    for one in (generator.integers, old.randint):
        one(2**31, size=draws)
    assert validate_arrays(generator) is generator
    assert validate_arrays(old) is old
    assert validate_arrays("any") == "any"


def in_array(part):
    """An array of objects with it."""
    array = np.empty(2, dtype=object)
    array[1] = (part,)
    return array


HIDDEN = {"list": lambda part: [part], "dict": lambda part: OrderedDict(a=part), "array": in_array}


@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
def test_forged_indices_wherever_a_file_hides_them(tmp_path, hide):
    """In containers of any kind."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.part_ = hide(forged_matrix())
    with pytest.raises(ValueError, match=r"got a damaged one: .*(indices|index)"):
        load_model(save_model(model, tmp_path / "m"))


@pytest.mark.parametrize("hide", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_forged_generators_wherever_a_file_hides_them(tmp_path, make, hide):
    """Refused by numpy since 2.5, by nearlabel before."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.part_ = hide(make())
    path = save_model(model, tmp_path / "m")
    load_model(path)
    with pytest.raises(ValueError, match=FORGED_POSITION):
        load_model(with_forged_position(path))


def test_a_seed_of_a_million_numbers(tmp_path):
    """Is refused: numpy mixes each with each. The number of Philox that is forged is also that of its pool."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.part_ = [np.random.Generator(np.random.Philox(0))]
    with pytest.raises(ValueError, match=r"got a damaged one: the seed of a random generator has a pool of '1000000'"):
        load_model(with_forged_position(save_model(model, tmp_path / "m")))


@pytest.mark.parametrize("size", [None, "auto", 10**6])
def test_a_pool_of_something_else(tmp_path, size):
    """Where no generator has a seed, a number of this name is nobody's danger."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.part_ = {"pool_size": size}
    assert load_model(save_model(model, tmp_path / "m")).part_ == {"pool_size": size}


def test_in_the_parameters_of_a_search(tmp_path):
    """Which is built of them when the file is read."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.search = ExactNeighbors("minkowski", metric_params={"p": 3, "w": np.random.RandomState(0)})
    with pytest.raises(ValueError, match=FORGED_POSITION):
        load_model(with_forged_position(save_model(model, tmp_path / "m")))


@pytest.mark.parametrize(
    ("model", "forge"),
    [
        (MLkNN(2), {"_n_samples": 10**9}),
        (DMLkNN(2), {"_n_samples": 10**9}),
        (BRkNN(2), {"_n_samples": 10**9}),
        (BRkNN(2), {"n_neighbors_": 10**9}),
        (BRkNN(2), {"n_neighbors_": 0}),
        (BRkNN(2), {"label_names_": np.arange(3)}),
        (MLkNN(2), {"_labels": sparse.csr_array((4, 10**9))}),
        (MLkNN(2), {"_counts": np.zeros((2, 1, 3), dtype=np.int64)}),
        (MLkNN(2), {"posterior_": np.zeros((3, 3))}),
        (MLkNN(2), {"_training_distances": np.zeros(3)}),
        (DMLkNN(2), {"_totals": np.zeros((2, 2))}),
        (LPkNN(2), {"labelsets_": np.zeros((2, 3), dtype=np.int64)}),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else next(iter(value)),
)
def test_numbers_that_the_arrays_contradict(tmp_path, model, forge):
    """A number of rows, neighbours or labels would be the size of an array that is asked for when the model is used."""
    X, Y = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    model.fit(X, Y)
    loaded = load_model(save_model(model, tmp_path / "m"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    vars(model).update(forge)
    with pytest.raises(ValueError, match=r"m must be the file of a model, got a damaged one: \w+ must be (of|from)"):
        load_model(save_model(model, tmp_path / "m"))


def test_lists_of_neighbours_that_are_too_short(tmp_path):
    """Within the classifier they are the part of another object."""
    model = MLkNN(2).fit(np.arange(8.0).reshape(4, 2), np.eye(4, dtype=int)[:, :2])
    model._lists.indices = model._lists.indices[:2]
    with pytest.raises(ValueError, match=r"_lists\.indices must be of shape \(4, None\), got \(2, 3\)"):
        load_model(save_model(model, tmp_path / "m"))
