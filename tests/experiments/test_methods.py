import pytest

from nearlabel.experiments import METHODS, make_method
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mlknn", MLkNN(7)),
        ("brknn-a", BRkNNa(7)),
        ("brknn-b:rounding=half_up", BRkNNb(7, rounding="half_up")),
        ("mlknn:smoothing=0.5", MLkNN(7, smoothing=0.5)),
        ("brknn:majority=half:weights=distance", BRkNN(7, majority="half", weights="distance")),
        ("lpknn:ties=random:random_state=3", LPkNN(7, ties="random", random_state=3)),
    ],
)
def test_specification(spec, expected):
    """A name, then options: numbers are read as numbers, all else as text."""
    model = make_method(spec, 7)
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()


def test_search_is_handed_on():
    """The search given is the one the classifier has."""
    search = ExactNeighbors("manhattan")
    assert make_method("mlknn", 3, search).search is search


@pytest.mark.parametrize("name", METHODS)
def test_every_name_makes_a_method(name):
    """Each name of `METHODS` stands for a classifier of its own."""
    assert type(make_method(name, 4)) is METHODS[name]


@pytest.mark.parametrize(("name", "near"), [("mlkn", "mlknn"), ("BRkNN-a", "brknn-a"), ("LPkNN", "lpknn")])
def test_unknown_method_hints_at_a_near_one(name, near):
    """A misspelt method is answered with the nearest name."""
    with pytest.raises(ValueError, match=rf"method must be one of \['brknn'.*, got '{name}'\. Did you mean '{near}'\?"):
        make_method(name, 3)


@pytest.mark.parametrize("name", ["", "forest", "mlknn smoothing=1"])
def test_unknown_method_lists_all(name):
    """Where no name is near, all are listed."""
    with pytest.raises(ValueError, match=r"method must be one of \['brknn', 'brknn-a', 'brknn-b', 'lpknn', 'mlknn'\]"):
        make_method(name, 3)


@pytest.mark.parametrize("option", ["smooth=1", "smoothing", "n_neighbors=3", "search=None", "", " smoothing=1"])
def test_bad_option(option):
    """An option is parameter=value, of the method's own parameters."""
    with pytest.raises(ValueError, match=r"option of method 'mlknn' must be parameter=value, of \['smoothing'\], got"):
        make_method(f"mlknn:{option}", 3)
