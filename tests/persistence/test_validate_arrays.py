from collections import OrderedDict

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.persistence._validate_arrays import validate_arrays


def forged_matrix():
    """One whose indices lead out of it."""
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices[0] = 1_000_000
    return matrix


def forged_state(generator=None):
    """A generator that is far beyond its array."""
    forged = np.random.RandomState(0)
    state = forged.get_state(legacy=False)
    state["state"]["pos"] = 1_000_000
    forged.set_state(state)
    return forged


def forged_generator(kind, *path):
    """The same, of the newer kind."""
    forged = np.random.Generator(kind(0))
    state = whole = forged.bit_generator.state
    for field in path[:-1]:
        state = state[field]
    state[path[-1]] = 1_000_000
    forged.bit_generator.state = whole
    return forged


FORGED = {
    "matrix": forged_matrix,
    "RandomState": forged_state,
    "MT19937": lambda: forged_generator(np.random.MT19937, "state", "pos"),
    "Philox": lambda: forged_generator(np.random.Philox, "buffer_pos"),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_forged_parts(forge):
    """Named, instead of read."""
    with pytest.raises(ValueError, match=r"indices|index|a random generator has position 1000000 of "):
        validate_arrays(forge())


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


@pytest.mark.parametrize("forge", [forged_matrix, forged_state])
@pytest.mark.parametrize("hide", [list, OrderedDict, in_array], ids=["list", "dict", "array"])
def test_wherever_a_file_hides_them(tmp_path, forge, hide):
    """In containers of any kind."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.part_ = hide({"a": forge()}.items()) if hide is OrderedDict else hide([forge()])
    with pytest.raises(ValueError, match=r"got a damaged one: .*(indices|index|generator)"):
        load_model(save_model(model, tmp_path / "m"))


def test_in_the_parameters_of_a_search(tmp_path):
    """Which is built of them when the file is read."""
    model = BRkNN(1).fit([[0.0], [1.0]], [[1], [0]])
    model.search = ExactNeighbors("minkowski", metric_params={"p": 3, "w": forged_state()})
    with pytest.raises(ValueError, match="got a damaged one: a random generator"):
        load_model(save_model(model, tmp_path / "m"))
