from collections import OrderedDict, namedtuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from nearlabel.neighbors import ExactNeighbors, NeighborGraph
from nearlabel.persistence._searches import map_parts

Pair = namedtuple("Pair", "left right")


def up(part):
    """Exchange one number."""
    return 2 if type(part) is int and part == 1 else part


def test_containers():
    """Lists, tuples, named tuples and dicts, one in the other."""
    before = {"a": [1, (1, 3)], "b": Pair(1, {"c": 1})}
    assert map_parts(before, up) == {"a": [2, (2, 3)], "b": Pair(2, {"c": 2})}
    assert type(map_parts(before, up)["b"]) is Pair
    assert before == {"a": [1, (1, 3)], "b": Pair(1, {"c": 1})}


def test_other_dicts_and_arrays_of_objects():
    """Parts are found wherever a file can hide them; kinds and shapes stay."""
    array = np.array([[1, "a"], [None, 3]], dtype=object)
    array[0, 1] = [1, 4]
    before = OrderedDict(a=array, b=Bunch(c=1))
    after = map_parts(before, up)
    assert (type(after), type(after["b"]), after["b"].c) == (OrderedDict, Bunch, 2)
    assert after["a"].tolist() == [[2, [2, 4]], [None, 3]]
    assert before["a"].tolist() == [[1, [1, 4]], [None, 3]]


def test_what_holds_nothing_is_the_same_object():
    """Nothing is copied without need."""
    before = {"a": [3, (4,)], "b": ExactNeighbors(), "c": np.ones(3), "d": np.array([3, None])}
    assert map_parts(before, up) is before


def test_estimators_and_frozen_objects():
    """Attributes are exchanged on a copy, also where assignment is forbidden."""
    graph = NeighborGraph(np.zeros((1, 1)), np.zeros((1, 1), dtype=int), None)
    pipeline = make_pipeline(LogisticRegression(max_iter=1), ExactNeighbors(n_neighbors=1))
    vars(pipeline.steps[1][1])["graph_"] = graph
    after = map_parts(pipeline, lambda part: "digest" if part is None else up(part))
    assert (after.steps[0][1].max_iter, after.steps[1][1].n_neighbors) == (2, 2)
    assert after.steps[1][1].graph_.digest == "digest"
    assert after.steps[1][1].graph_.indices is graph.indices
    assert (pipeline.steps[0][1].max_iter, graph.digest) == (1, None)


def test_one_object_in_two_places_stays_one():
    """Identity is kept, of what is exchanged and of what holds it."""
    shared = [1]
    after = map_parts((shared, {"again": shared}), up)
    assert after[0] is after[1]["again"]
    search = ExactNeighbors()
    after = map_parts([search, search], lambda part: {"kept": part.metric} if part is search else part)
    assert after[0] is after[1]
