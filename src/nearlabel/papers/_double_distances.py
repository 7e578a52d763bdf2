"""Figures of the two distances of NLDD: the label space as a cube, and one sample paired with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from nearlabel.datasets import Dataset
from nearlabel.lazy.double_distances import double_distances
from nearlabel.neighbors import ExactNeighbors
from nearlabel.solvers.feature_scaling import FeatureScaling
from nearlabel.solvers.label_probabilities import LabelProbabilities

_MARKS = {"m1, nearest in the features": (1.0, 0.0), "m2, nearest in the labels": (0.0, 1.0)}


@dataclass(frozen=True)
class LabelCube:
    """A figure of the space of three labels: probabilities in the unit cube, and label sets at its corners.

    Parameters
    ----------
    paper, figure, title : str
        Name of the paper, number and title of the figure.
    notes : tuple of str
        Notes for the comparison.
    probabilities : tuple of three float
        Of the labels.
    labelsets : tuple of tuples of three int
        Corners of the cube.
    distances : tuple of float
        Dy, the Euclidean distance from the probabilities to each label set.
    """

    paper: str
    figure: str
    title: str
    notes: tuple[str, ...]
    probabilities: tuple[float, ...]
    labelsets: tuple[tuple[int, ...], ...]
    distances: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each label set."""
        for labelset, distance in zip(self.labelsets, self.distances, strict=True):
            yield {"figure": self.figure, "row": str(labelset), "metric": "dy", "ours": distance}


@dataclass(frozen=True)
class DistancePairs:
    """A figure of one sample paired with others: a point for each pair, by its two distances.

    Parameters
    ----------
    paper, figure, title : str
        Name of the paper, number and title of the figure.
    notes : tuple of str
        Notes for the comparison.
    dataset : str
        Name of the data set.
    query : int
        The query, by its row number in the data set.
    row : tuple of int
        The samples with which it is paired, by row number.
    dx, dy : tuple of float
        The distance in the features, and that from the query's label probabilities to the row's label set.
    loss : tuple of int
        Number of labels in which the two label sets differ.
    marks : dict of str to int
        Indices of the pairs to which the regression would be fitted.
    """

    paper: str
    figure: str
    title: str
    notes: tuple[str, ...]
    dataset: str
    query: int
    row: tuple[int, ...]
    dx: tuple[float, ...]
    dy: tuple[float, ...]
    loss: tuple[int, ...]
    marks: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield three flat dicts for each pair."""
        for place, row in enumerate(self.row):
            same = {"figure": self.figure, "dataset": self.dataset, "row": row, "remark": self.remark(place)}
            for metric in ("dx", "dy", "loss"):
                yield {**same, "metric": metric, "ours": getattr(self, metric)[place]}

    def remark(self, place: int) -> str:
        """Return the marks of a pair.

        Parameters
        ----------
        place : int
            The number of the pair.

        Returns
        -------
        str
            Its marks, or an empty text.
        """
        return "; ".join(name for name, marked in self.marks.items() if marked == place)


def label_cube(paper: str, number: str, facts: Mapping[str, Any]) -> LabelCube:
    """Return the figure of a section [cubes.N], with the distances."""
    p, labelsets = np.array(facts["probabilities"]), np.array(facts["labelsets"])
    return LabelCube(
        paper,
        number,
        facts["title"],
        tuple(facts.get("notes", ())),
        tuple(p.tolist()),
        tuple(map(tuple, labelsets.tolist())),
        tuple(np.sqrt(((labelsets - p) ** 2).sum(axis=1)).tolist()),
    )


def distance_pairs(paper: str, number: str, facts: Mapping[str, Any], data: Dataset) -> DistancePairs:
    """Return the figure of a section [pairs.N]: a sample of T2 with all of T1, as in Algorithm 1 of the paper."""
    random, n_samples = check_random_state(facts["seed"]), facts["n_samples"]
    if n_samples > data.X.shape[0]:
        raise ValueError(f"[pairs.{number}] n_samples must be at most {data.X.shape[0]}, got {n_samples}.")
    T1, T2 = np.split(random.permutation(data.X.shape[0])[:n_samples], 2)
    query = T2[facts["row"]]
    probabilities = LabelProbabilities.fit(None, data.X[T1], data.Y[T1], random, None).predict(data.X[[query]])
    scaling = FeatureScaling.by_deviation(data.X[T1])
    candidates = double_distances(ExactNeighbors(), scaling(data.X[T1]), data.Y[T1])
    pairs = candidates.of_rows(scaling(data.X[[query]]), probabilities)
    loss = np.asarray(abs(data.Y[T1] - data.Y[[query] * len(T1)]).sum(axis=1)).reshape(-1)
    return DistancePairs(
        paper,
        number,
        facts["title"],
        tuple(facts.get("notes", ())),
        data.name,
        int(query),
        tuple(T1.tolist()),
        tuple(pairs.dx.tolist()),
        tuple(pairs.dy.tolist()),
        tuple(loss.tolist()),
        {name: pairs.place_of_first(weights) for name, weights in _MARKS.items()},
    )
