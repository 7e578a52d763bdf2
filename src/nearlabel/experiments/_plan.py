"""What is to be run: a plan, and the folds it cuts data sets into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

import joblib
import numpy as np
from scipy import sparse
from sklearn.model_selection import KFold

from nearlabel import __version__
from nearlabel._typing import IntArray, Matrix
from nearlabel._validation import as_label_matrix, check_choice, check_integer
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
            object.__setattr__(self, name, _each_once(name, getattr(self, name)))
        # Python's own integers: numpy's cannot be written as JSON.
        for name, low in (("n_neighbors", 1), ("seeds", 0)):
            object.__setattr__(self, name, tuple(check_integer(name, v, low=low) for v in getattr(self, name)))
        object.__setattr__(self, "cv", check_integer("cv", self.cv, low=2))
        for method in self.methods:
            make_method(method, self.n_neighbors[0])._check_parameters()
        for metric in self.metrics:
            if metric != EMPTY_PREDICTIONS:
                get_metric(metric)
        check_choice("scale", self.scale, SCALES)

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every problem, in a fixed order.

        Raises
        ------
        ValueError
            If a problem has too few rows for the plan, missing values or no indicator matrix.
        """
        for name, problem in problems.items():
            folds = self._given_fold(name, *problem) if isinstance(problem, tuple) else self._shuffled(name, problem)
            _check_matrices(name, folds[0].X, folds[0].Y)
            n_rows, largest = min(len(fold.training) for fold in folds), max(self.n_neighbors)
            if largest >= n_rows:
                raise ValueError(
                    f"n_neighbors must be smaller than the {n_rows} training rows of a fold of {name}, got {largest}."
                )
            yield from folds

    def _given_fold(self, name: str, training: Dataset, test: Dataset) -> list[Fold]:
        for what in ("feature_names", "label_names"):
            if getattr(training, what) != getattr(test, what):
                raise ValueError(f"training and test part of {name} must have the same {what}, in the same order.")
        n, m = training.X.shape[0], test.X.shape[0]
        X, Y = _stacked(training.X, test.X), _stacked(training.Y, test.Y)
        return [Fold(name, None, 0, X, Y, np.arange(n), np.arange(n, n + m))]

    def _shuffled(self, name: str, problem: Dataset) -> list[Fold]:
        n = problem.Y.shape[0]
        if self.cv > n:
            raise ValueError(f"cv must be at most the {n} rows of {name}, got {self.cv}.")
        rows = np.zeros(n)
        return [
            Fold(name, seed, number, problem.X, problem.Y, training, test)
            for seed in self.seeds
            for number, (training, test) in enumerate(KFold(self.cv, shuffle=True, random_state=seed).split(rows))
        ]

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


def _each_once(name: str, values: object) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a tuple, got {values!r}. Hint: ({values!r},).")
    each = tuple(values)
    if not each or len(set(each)) != len(each):
        raise ValueError(f"{name} must name at least one, each once, got {each}.")
    return each


def _check_matrices(name: str, X: Matrix, Y: Matrix) -> None:
    bad = np.count_nonzero(~np.isfinite(X.data if sparse.issparse(X) else X))
    if bad:
        raise ValueError(f"X of {name} must be finite, got {bad} missing or infinite values. Hint: impute them first.")
    as_label_matrix(Y, name=f"Y of {name}")


def _stacked(upper: Matrix, lower: Matrix) -> Matrix:
    either_sparse = sparse.issparse(upper) or sparse.issparse(lower)
    return sparse.vstack([upper, lower], format="csr") if either_sparse else np.vstack([upper, lower])


def _digest(problem: Problem) -> str:
    parts = problem if isinstance(problem, tuple) else (problem,)
    return str(joblib.hash([(_content(part.X), _content(part.Y)) for part in parts]))


def _content(matrix: Matrix) -> Any:
    """Return what the matrix holds, without what scipy remembers of it: that changes while it is used."""
    if not sparse.issparse(matrix):
        return np.ascontiguousarray(matrix)
    rows = sparse.csr_array(matrix, copy=True)
    rows.sum_duplicates()
    return rows.shape, rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
