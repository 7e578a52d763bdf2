"""Every public function and method that takes samples, label sets, scores or numbers of rows, and valid arguments.

As a program it calls the doors of some rooms with forged containers: ``python tests/_doors.py lazy rivals``. A
container that gets through may end the process, so that tests/test_doors.py gives it one of its own. Each line names a
door, and what it answers if that is no clear error. With ``--all`` each gets all forged containers, not some.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from _classifiers import default_classifiers
from nearlabel.datasets import write_store
from nearlabel.experiments import Candidate, Plan
from nearlabel.lazy import NLDD, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors, TransformerNeighbors
from nearlabel.persistence import save_model
from nearlabel.rivals import SoftVote
from nearlabel.thresholds import FBR, CalibratedLabels, FixedThresholdsClassifier, SCut, TunedThresholdsClassifierCV

ROOMS = ("audit", "datasets", "experiments", "labels", "lazy", "metrics", "models", "neighbors", "persistence", "plots",
         "preprocessing", "rivals", "selection", "thresholds")  # fmt: skip

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (40, 5)) * RNG.integers(0, 2, (40, 5)) + 0.5 * (np.arange(40) % 5 == 0)[:, np.newaxis]
Y = (RNG.random((40, 4)) < 0.4).astype(int)
Y[:2] = [[0, 1, 0, 1], [1, 0, 1, 0]]
SCORES = RNG.random((40, 4))
GRAPHS = tuple(KNeighborsTransformer(n_neighbors=3).fit(X).transform(queries) for queries in (X, X[:7]))

# The parameters that take containers, and a valid argument of each.
SAMPLES = dict.fromkeys(("X", "X_pool", "X_labelled", "X_test", "X_training", "queries"), X)
LABELS = dict.fromkeys(("y", "Y", "y_true", "y_pred", "y_train", "labels"), Y)
OF_SCORES = dict.fromkeys(("scores", "y_score", "y_prob", "probabilities", "model_scores", "shares"), SCORES)
CONTAINERS = {
    **SAMPLES, **LABELS, **OF_SCORES, "reference": SCORES[:, 0], "sample_weight": np.ones(40),
    "training_graph": GRAPHS[0], "query_graphs": GRAPHS[1],
}  # fmt: skip
# Those that take dense arrays only.
DENSE = {
    **dict.fromkeys(("groups", "rows", "forgotten", "order", "others"), np.arange(40)),
    "indices": np.arange(80).reshape(40, 2) % 40,
    **dict.fromkeys(("weights", "distances"), np.ones((40, 2))),
    **dict.fromkeys(("sizes", "reach", "dx", "dy"), np.ones(40)),
    **dict.fromkeys(("propensities", "thresholds", "classes", "prior"), np.ones(4)),
    "labelsets": np.eye(3), "quality": SCORES,
}  # fmt: skip
PAIRS = ("data", "problem", "problems", "training", "test")  # parameters that take (X, y)

# Parameters of the same names that take something else, or nothing that is used.
_SEARCHES = ("ExactNeighbors", "PrecomputedNeighbors", "TransformerNeighbors", "NoveltyDetector")
OTHERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("preprocessing.information_gain", "preprocessing.symmetrical_uncertainty"), ("labels",)),
    **dict.fromkeys(("datasets.load_dataset", "datasets.read_table"), ("labels",)),
    **dict.fromkeys(("datasets.from_frame", "datasets.from_hub"), ("labels",)),
    **dict.fromkeys(("persistence.save_model", "persistence.ModelCard.of", "rivals.SoftVote.fit"), ("scores",)),
    **dict.fromkeys((f"plots.CriticalDifferenceDisplay.{name}" for name in ("from_test", "of")), ("test",)),
    "thresholds.CalibratedLabels.calibrated": ("labels",), "lazy.NeighborsSweep.answers": ("labels", "scores"),
    "lazy.NeighborsSweep.within_fit": ("X", "labels"),  # for `_learn`, which gets checked ones
    "audit.read_corrections": ("y",),  # with a file of an annotation tool
    # These take data sets, which are checked when they are made.
    "experiments.Candidate.make": ("data",), "experiments.copied_rows": PAIRS, "experiments.share_of_copies": PAIRS,
    "experiments.make_preparation": PAIRS, "experiments.problem_digest": PAIRS,
    # These ignore it.
    **dict.fromkeys((f"neighbors.{name}.fit" for name in _SEARCHES), ("y",)),
    "preprocessing.InformationGainSelector.get_support": ("indices",),  # whether
    "neighbors.PrecomputedNeighbors.from_graph": ("rows",),  # of several graphs
    "metrics.score_all": ("propensities",),  # for one metric only
    "audit.audit": ("order",),  # a name
    **dict.fromkeys((f"experiments.NeighborsChoice.{name}" for name in ("run", "tries")), ("order",)),
    "neighbors.NoveltyDetector.fit_predict": ("y",), "preprocessing.document_frequency": ("y",),
    **dict.fromkeys((f"preprocessing.{name}.{method}" for name in ("FeatureScaler", "MixedFeaturesEncoder")
                     for method in ("fit", "fit_transform")), ("y",)),
    "selection.IterativeStratifiedKFold.get_n_splits": ("X", "y", "groups"),
    "selection.IterativeStratifiedKFold.split": ("X",),
}  # fmt: skip
# Classes whose doors are not tried, with the reason.
NOT_TRIED = {
    **dict.fromkeys(("LanceTable", "QdrantTable", "PgVectorTable", "VectorTable"), "need a database"),
    **dict.fromkeys(("Plan", "SearchPlan", "ThresholdPlan"), "take data sets, which are checked when they are made"),
    **dict.fromkeys(("Neighbors", "Votes"), "hold what a search found"),
    **dict.fromkeys(("TableNeighbors", "TableClassifier"), "need a database"),
    **dict.fromkeys(("DaskNeighbors", "FaissHNSWNeighbors", "FaissIVFNeighbors", "UsearchNeighbors"), "need a library"),
}


CONSTRUCTORS = ("plots.DoubleDistancesDisplay", "plots.LabelCubeDisplay")  # that compute: others do so in `fit`


class Door(NamedTuple):
    """A call with a container as one argument; all others are valid."""

    name: str
    argument: str
    call: Callable[[Any], Any]


def doors(room: str) -> Iterator[Door]:
    """Yield the doors of a room."""
    module = importlib.import_module(f"nearlabel.{room}")
    for name in module.__all__:
        thing = getattr(module, name)
        if inspect.isclass(thing) and not inspect.isabstract(thing) and name not in NOT_TRIED:
            yield from _of_class(f"{room}.{name}", thing)
        elif inspect.isfunction(thing):
            yield from _of(f"{room}.{name}", lambda thing=thing: thing, thing)
    for metric in ("micro_f1", "ranking_loss") if room == "metrics" else ():
        yield from _of(f"metrics.get_scorer({metric})", partial(_scorer, metric), _scorer(metric))


def _scorer(metric: str) -> Callable[..., float]:
    scorer = importlib.import_module("nearlabel.metrics").get_scorer(metric)
    return lambda X, y_true: scorer(_fitted_model("pipeline"), X, y_true)


def _of_class(name: str, thing: type) -> Iterator[Door]:
    if name in CONSTRUCTORS:
        yield from _of(name, lambda: thing, thing)
    for method in dir(thing):
        function, of = getattr(thing, method, None), inspect.getattr_static(thing, method)
        if method.startswith(("_", "set_")) or not callable(function) or not _taken(f"{name}.{method}", function):
            continue
        if isinstance(of, classmethod | staticmethod):
            yield from _of(f"{name}.{method}", lambda function=function: function, function)
        else:
            for number in [at for at, one in enumerate(_fitted(thing)) if hasattr(one, method)]:
                found = lambda method=method, number=number: getattr(_ready(thing, method)[number], method)  # noqa: E731
                yield from _of(f"{name}.{method}", found, function)


def _of(name: str, found: Callable[[], Any], function: Callable[..., Any]) -> Iterator[Door]:
    for argument in _taken(name, function):
        if argument in CONTAINERS or argument in DENSE:
            yield Door(name, argument, lambda value, argument=argument: _called(found(), argument, value))
        else:
            pair = partial(_pair, argument)
            yield Door(name, "X", lambda X, argument=argument, pair=pair: _called(found(), argument, pair(X, Y)))
            yield Door(name, "y", lambda y, argument=argument, pair=pair: _called(found(), argument, pair(X, y)))


def _taken(name: str, function: Callable[..., Any]) -> list[str]:
    """Return the parameters that take a container, or a pair of them."""
    names = _parameters(function).keys() - set(OTHERS.get(name, ()))
    return sorted(name for name in names if name in {**CONTAINERS, **DENSE} or name in PAIRS)


def _pair(argument: str, X: Any, y: Any) -> Any:
    return {"toy": (X, y)} if argument == "problems" else (X, y)


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:
        return {}


def _called(function: Callable[..., Any], argument: str, value: Any) -> Any:
    """Call a function with the least arguments that it needs, and the one that is tried."""
    before, named, after = [], {}, []
    parameters = {name: of for name, of in _parameters(function).items() if name != "self"}
    has_others = any(of.kind is of.VAR_POSITIONAL for of in parameters.values())
    for name, of in parameters.items():
        if of.kind is of.VAR_POSITIONAL:
            after = [value] * (name == argument)
        elif of.kind is not of.VAR_KEYWORD and (name in (argument, _ALSO.get(argument)) or of.default is of.empty):
            given = value if name == argument else _argument(name, function)
            if has_others and of.kind is not of.KEYWORD_ONLY:
                before.append(given)
            else:
                named[name] = given
    return function(*before, *after, **named)


# An optional argument that goes with another.
_ALSO = {"y_true": "y_pred", "sample_weight": "y_pred", "X": "y", "y": "X", "groups": "y", "order": "y"}


def _argument(name: str, function: Callable[..., Any]) -> Any:
    if name in CONTAINERS or name in DENSE:
        return {**DENSE, **CONTAINERS}[name]
    if name in ("training", "test", "data"):
        return X, Y
    if name in ("model", "estimator"):
        return copy.deepcopy(_fitted_model(_MODELS.get(function.__qualname__, "pipeline")))
    return _path(function) if name == "path" else _ARGUMENTS[name]()


@cache
def _fitted_model(name: str) -> Any:
    made = {
        "pipeline": lambda: make_pipeline(MaxAbsScaler(), MLkNN(3)),  # whose first step is not ours
        "forest": lambda: default_classifiers()["RandomForestPCT"],
        "nldd": NLDD,
        "tuned": lambda: make_pipeline(MaxAbsScaler(), TunedThresholdsClassifierCV(MLkNN(3))),
    }
    return made[name]().fit(X, Y)


# The models of functions that do not take any.
_MODELS = {
    "LeafShares.of": "forest", "LeafShares.shares": "forest", "training_shares": "forest",
    "DoubleDistancesDisplay.from_query": "nldd", "refit": "tuned",
}  # fmt: skip


def _path(function: Callable[..., Any]) -> Path:
    """Return a file or folder that is not there yet, or a store or model."""
    path = Path(tempfile.mkdtemp(dir=FOLDER)) / "made"
    if function.__name__ in ("append_to_store", "remove_from_store"):
        write_store(path, X)
    if function.__name__ in ("update_model", "forget_rows"):
        save_model(_fitted_model("pipeline"), path)
    return path


_ARGUMENTS: dict[str, Callable[[], Any]] = {
    "n": lambda: 2, "k": lambda: 2, "n_labels": lambda: 2, "n_neighbors": lambda: 2, "beta": lambda: 1.0,
    "corrections": list, "n_old": lambda: 30, "fitted": lambda: MLkNN(3).fit(X, Y),
    "level": lambda: 0.05,
    "folds": lambda: [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))],
    "search": lambda: ExactNeighbors(n_neighbors=2),
    "widen": lambda: True, "plan": lambda: Plan(["brknn"], [2], cv=2),
    "classifier": lambda: MLkNN(3), "candidates": lambda: 3, "metric": lambda: "micro_f1",
}  # fmt: skip
FOLDER: Any = None


@cache
def _made(thing: type) -> tuple[Any, ...]:
    """Return instances of a class, not fitted."""
    name, classifiers = thing.__name__, _classifiers()
    ones = OneVsRestClassifier(LogisticRegression())
    others = {
        "SoftVote": lambda: (SoftVote([("near", MLkNN(3)), ("linear", ones)]),),
        "FBR": lambda: (FBR(SCut()),),
        "TransformerNeighbors": lambda: (TransformerNeighbors(KNeighborsTransformer(n_neighbors=2)),),
        "PrecomputedNeighbors": lambda: (PrecomputedNeighbors.from_graph(*GRAPHS, rows=(X, X[:7])),),
        "NeighborGraph": lambda: (PrecomputedNeighbors.from_graph(*GRAPHS, rows=(X, X[:7])).training,),
        "LeafShares": lambda: (thing.of(_fitted_model("forest"), X),),
        "Candidate": lambda: (Candidate("brknn", 2, "none", "exact"),),
        "TunedThresholdsClassifierCV": lambda: (*classifiers[name], TunedThresholdsClassifierCV(ones)),
        "FixedThresholdsClassifier": lambda: (*classifiers[name], FixedThresholdsClassifier(ones)),
        "CalibratedLabels": lambda: (*classifiers[name], CalibratedLabels(ones)),
    }
    if name in others:
        return others[name]()
    return classifiers[name] if name in classifiers else (thing(),)


@cache
def _classifiers() -> dict[str, tuple[Any]]:
    return {name: (each,) for name, each in default_classifiers().items()}


def _ready(thing: type, method: str) -> tuple[Any, ...]:
    """Return instances for a method, fitted unless it fits."""
    return tuple(copy.deepcopy(each) for each in _made(thing)) if method.startswith("fit") else _fitted(thing)


@cache
def _fitted(thing: type) -> tuple[Any, ...]:
    fitted = tuple(copy.deepcopy(each) for each in _made(thing))
    for each in fitted:
        if hasattr(each, "fit"):
            _called(each.fit, "", None)
    return fitted


# Forged containers.

PARTS = [("indices", 10**9), ("indices", -1), ("indices", 40), ("indptr", -5), ("indptr", 2**31 - 1)]
ARRAYS = [("indices", float), ("indptr", float), ("data", object), ("indices", slice(-3)), ("data", slice(-3)),
          ("indptr", slice(-1))]  # fmt: skip


def forged(rows: Any) -> Iterator[tuple[str, Any]]:
    """Yield what is wrong with a container of the rows of a matrix, and the container; scipy does not complain."""
    rows = np.atleast_2d(rows.toarray() if sparse.issparse(rows) else rows).astype(float)
    for family in ("array", "matrix"):
        made = {name: getattr(sparse, f"{name}_{family}") for name in ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")}
        for name in ("csr", "csc", "bsr"):
            for part, value in PARTS:
                container = made[name](rows)
                getattr(container, part)[1] = value
                yield f"{name}_{family} with {part} {value}", container
            for part, new in ARRAYS:
                container = made[name](rows)
                old = getattr(container, part)
                setattr(container, part, old[new] if isinstance(new, slice) else old.astype(new))
                yield f"{name}_{family} with {part} {new}", container
        for axis in (0, 1):
            container = made["coo"](rows)
            axes = [each.copy() for each in container.coords]
            axes[axis][1] = 10**9
            container.coords = tuple(axes)
            yield f"coo_{family} with {10**9} on axis {axis}", container
        container = made["lil"](rows)
        container.rows[0], container.data[0] = [10**9], [1.0]
        yield f"lil_{family} with {10**9}", container
        container = made["dok"](rows)
        container._dict[0, 10**9] = 1.0
        yield f"dok_{family} with {10**9}", container
        container = made["dia"](rows)
        container.offsets = container.offsets[:-1]
        yield f"dia_{family} with too few offsets", container


def with_forged_elements(rows: Any) -> Iterator[tuple[str, Any]]:
    """Yield what has forged containers of single rows among its elements, which numpy and pandas take as objects."""
    rows = np.atleast_2d(rows.toarray() if sparse.issparse(rows) else rows).astype(float)
    rows = rows if len(rows) > 1 else rows.T
    for kind in ("csr_array", "csc_matrix", "coo_array", "bsr_array"):
        each = [getattr(sparse, kind)(row[np.newaxis]) for row in rows]
        for one in each:
            one.data = np.ones_like(one.data)
            if kind == "coo_array":
                one.coords = tuple(np.full_like(places, 2**31 - 1) for places in one.coords)
            else:
                one.indices = np.full_like(one.indices, 2**31 - 1)
        objects = np.empty(len(each), dtype=object)
        objects[:] = each
        yield f"list of {kind}", each
        yield f"tuple of None and {kind}", (None, *each[1:])
        yield f"list of lists of {kind}", [[one] for one in each]
        yield f"objects {kind}", objects
        yield f"column of objects {kind}", objects[:, np.newaxis]
        yield f"series of {kind}", pd.Series(objects)
        yield f"frame of {kind}", pd.DataFrame({"a": objects})


_FEW = 12  # every so manieth forged container for each door, so that all have their turn


def complaint(door: Door, value: Any) -> str | None:
    """Return what is wrong with the answer to a forged container, which is an error that names the argument."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            door.call(value)
    except (ValueError, TypeError) as error:
        text = str(error)
        name = {"query_graphs": "query graph", "model_scores": "scores of estimator"}.get(door.argument, door.argument)
        is_clear = re.search(rf"\b{name}\b", text, re.IGNORECASE) and re.search("must|requires", text)
        return None if is_clear else f"{type(error).__name__}: {text[:150]}"
    except Exception as error:  # noqa: BLE001 - any error is one to complain of
        return f"{type(error).__name__}: {error!s:.150}"
    return "no error"


def main() -> int:
    """Try the doors of the rooms; return 1 if one lets a forged container in."""
    global FOLDER
    rooms = [room for room in sys.argv[1:] if room in ROOMS]
    n_wrong, (step, few) = 0, (1, 1) if "--all" in sys.argv else (_FEW, 9)
    with tempfile.TemporaryDirectory() as FOLDER:
        for number, door in enumerate(chain.from_iterable(map(doors, rooms or ROOMS))):
            sys.stdout.write(f"{door.name}: {door.argument}\n")
            sys.stdout.flush()
            valid = {**DENSE, **CONTAINERS}.get(door.argument, Y if door.argument == "y" else X)
            kinds = list(forged(valid))[number % step :: step] + list(with_forged_elements(valid))[number % 5 :: few]
            wrong = [f"    {kind}: {found}\n" for kind, value in kinds if (found := complaint(door, value))]
            n_wrong += len(wrong)
            sys.stdout.writelines(wrong[:3])
    return min(n_wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
