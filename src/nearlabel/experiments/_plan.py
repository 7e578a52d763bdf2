"""What is to be run: a plan, and the folds it cuts data sets into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

from nearlabel import __version__
from nearlabel._typing import IntArray, Matrix
from nearlabel._validation import check_choice, check_integer
from nearlabel.datasets import Dataset
from nearlabel.experiments._methods import make_method
from nearlabel.experiments._scaling import SCALES
from nearlabel.metrics import CATALOGUE, get_metric

# A data set to be cut into folds, or its given training and test part.
Problem: TypeAlias = Dataset | tuple[Dataset, Dataset]

# What is counted of the predictions alone, beside the measures of the catalogue.
EMPTY_PREDICTIONS = "empty_predictions"


@dataclass(frozen=True)
class Plan:
    """A comparison of methods over numbers of neighbours.

    Parameters
    ----------
    methods : tuple of str
        Specifications as `make_method` takes them.
    n_neighbors : tuple of int
        Numbers of neighbours; one search per fold serves all.
    cv : int, default=10
        Number of shuffled folds; not used for a problem with a given split.
    scale : {"none", "minmax", "standard"}, default="none"
        How the features are scaled, by the training part.
    seeds : tuple of int, default=(0,)
        One shuffle, hence one whole cross-validation, for each.
    metrics : tuple of str, default: all of the catalogue
        Names of measures, and "empty_predictions", the share of rows that get no label.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown or a number out of range.
    """

    methods: tuple[str, ...]
    n_neighbors: tuple[int, ...]
    cv: int = 10
    scale: str = "none"
    seeds: tuple[int, ...] = (0,)
    metrics: tuple[str, ...] = (*CATALOGUE, EMPTY_PREDICTIONS)

    def __post_init__(self) -> None:
        for name in ("methods", "n_neighbors", "seeds", "metrics"):
            values = getattr(self, name)
            if not values or len(set(values)) != len(values):
                raise ValueError(f"{name} must name at least one, each once, got {values}.")
        for k in self.n_neighbors:
            check_integer("n_neighbors", k, low=1)
        for seed in self.seeds:
            check_integer("seed", seed, low=0)
        for method in self.methods:
            make_method(method, self.n_neighbors[0])._check_parameters()
        for metric in self.metrics:
            if metric != EMPTY_PREDICTIONS:
                get_metric(metric)
        check_integer("cv", self.cv, low=2)
        check_choice("scale", self.scale, SCALES)

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every problem, in a fixed order."""
        for name, problem in problems.items():
            if isinstance(problem, tuple):
                yield Fold(name, None, 0, *_joined(*problem))
                continue
            if self.cv > problem.Y.shape[0]:
                raise ValueError(f"cv must be at most the {problem.Y.shape[0]} rows of {name}, got {self.cv}.")
            for seed in self.seeds:
                parts = KFold(self.cv, shuffle=True, random_state=seed).split(np.zeros(problem.Y.shape[0]))
                for number, (training, test) in enumerate(parts):
                    yield Fold(name, seed, number, problem.X, problem.Y, training, test)

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return what decides the records: the plan, the library's version and a digest of each problem."""
        return asdict(self) | {"version": __version__, "problems": {n: _digest(p) for n, p in problems.items()}}


class Fold(NamedTuple):
    """One search: a training and a test part of a problem."""

    dataset: str
    seed: int | None  # None: the split is given
    number: int
    X: Matrix
    Y: Matrix
    training: IntArray
    test: IntArray

    def label(self) -> dict[str, Any]:
        """Return what says in a record which fold it is of."""
        return {"dataset": self.dataset, "seed": self.seed, "fold": self.number}


def _joined(training: Dataset, test: Dataset) -> tuple[Matrix, Matrix, IntArray, IntArray]:
    n, m = training.X.shape[0], test.X.shape[0]
    return _stacked(training.X, test.X), _stacked(training.Y, test.Y), np.arange(n), np.arange(n, n + m)


def _stacked(upper: Matrix, lower: Matrix) -> Matrix:
    return sparse.vstack([upper, lower], format="csr") if sparse.issparse(upper) else np.vstack([upper, lower])


def _digest(problem: Problem) -> str:
    parts = problem if isinstance(problem, tuple) else (problem,)
    return str(joblib.hash([(part.X, part.Y) for part in parts]))
