"""Facts of single samples: the most wrong ones, and those of the explorer, also as pictures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.lazy import Explanation
from nearlabel.metrics.counts import Comparison
from nearlabel.metrics.inputs import check_predicted
from nearlabel.models import explain, explains
from nearlabel.utils.messages import shortened
from nearlabel.utils.tables import names_of_rows, row_name
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

_MOST_SAMPLES, _MOST_NEIGHBORS, _MOST_PAIRS = 10, 5, 20
_MOST_PAIRED = 300  # maximum of labels of which all pairs are counted


def compare_all(y: MatrixLike, predicted: Matrix) -> Comparison:
    """Return the comparison of all samples, including those without known labels, so that row numbers stay valid."""
    parts = PartialLabels.of(y)
    return Comparison.of(parts.labels, check_predicted(predicted, parts.labels.shape), unknown=parts.unknown)


class Errors:
    """The missed and the added labels of predictions, cells (n_samples, n_labels) of CSR arrays.

    A missed label is true and not predicted, an added label is predicted and not true; unknown cells are neither.
    """

    def __init__(self, compared: Comparison) -> None:
        true, predicted = (sparse.csr_array(one, dtype=np.int64) for one in (compared.true, compared.predicted))
        hits = true * predicted
        self.missed = sparse.csr_array(true - hits)
        self.added = sparse.csr_array(predicted - hits)
        for one in (self.missed, self.added):
            one.eliminate_zeros()


def wrong_samples(
    errors: Errors,
    scores: FloatArray | None,
    model: Any,
    X: Matrix,
    label_names: Sequence[str],
    *,
    own: Mapping[str, Sequence[str]],
    kept: Mapping[str, Sequence[str]],
    seen: bool,
) -> dict[str, Any]:
    """Return the samples with the most wrong labels, each with its nearest neighbours.

    Ties in the number of wrong labels are ordered by the distance of the labels' probabilities from the true values,
    farthest first. A training sample is not its own neighbour. `own` names the samples, `kept` the neighbours.
    """
    n_wrong = errors.missed.sum(axis=1) + errors.added.sum(axis=1)
    order = np.lexsort((-_distance_from_truth(errors, scores), -n_wrong))
    rows = order[:_MOST_SAMPLES][n_wrong[order[:_MOST_SAMPLES]] > 0]
    near = _neighbors(model, X, rows, label_names, kept, seen=seen)
    samples = [
        {
            "row": row,
            "name": row_name(row, {name: texts[row] for name, texts in own.items()}),
            "missed": _names(errors.missed, row, label_names),
            "added": _names(errors.added, row, label_names),
            "neighbors": neighbors,
        }
        for row, neighbors in zip(rows.tolist(), near, strict=True)
    ]
    return {"n_wrong": int((n_wrong > 0).sum()), "n_samples": int(X.shape[0]), "samples": samples}


def label_confusions(errors: Errors, label_names: Sequence[str]) -> dict[str, Any]:
    """Return the pairs of labels that are wrong in the same samples more often than by chance.

    The number expected by chance is that of independent errors: the product of both numbers of errors, divided by the
    number of samples. The pair that exceeds it most is first.
    """
    n_errors = errors.missed.sum(axis=0) + errors.added.sum(axis=0)
    most = np.sort(np.argsort(-n_errors, kind="stable")[:_MOST_PAIRED])
    missed, added = errors.missed[:, most], errors.added[:, most]
    kinds = {"confused": (missed, added), "missed": (missed, missed), "added": (added, added)}
    pairs = [
        {"kind": kind, "labels": [str(label_names[most[first]]), str(label_names[most[second]])], **counted}
        for kind, (one, other) in kinds.items()
        for first, second, counted in _counted(one, other, is_symmetric=kind != "confused")
    ]
    pairs.sort(key=lambda pair: pair["expected"] - pair["n_samples"])
    return {"n_paired": len(most), "n_labels": len(label_names), "pairs": pairs[:_MOST_PAIRS]}


def _counted(one: Matrix, other: Matrix, *, is_symmetric: bool) -> list[tuple[int, int, dict[str, Any]]]:
    """Return the pairs of columns, of two matrices or symmetrically of one, that share more rows than by chance."""
    counts = (one.T @ other).toarray()
    expected = np.outer(one.sum(axis=0), other.sum(axis=0)) / one.shape[0]
    wanted = np.triu(counts, 1) if is_symmetric else counts
    pairs = np.argwhere((wanted > 1) & (counts > expected)).tolist()
    return [(i, j, {"n_samples": int(counts[i, j]), "expected": float(expected[i, j])}) for i, j in pairs]


def _distance_from_truth(errors: Errors, scores: FloatArray | None) -> FloatArray:
    """Return how far the probabilities of each sample's wrong labels are from the true values; 0 without any."""
    n_samples = errors.missed.shape[0]
    if scores is None or not np.isfinite(scores).all() or scores.min() < 0 or scores.max() > 1:
        return np.zeros(n_samples)
    missed, added = (np.asarray(one.multiply(scores).sum(axis=1)) for one in (errors.missed, errors.added))
    distances: FloatArray = np.asarray(errors.missed.sum(axis=1)) - missed + added
    return distances


def _names(cells: Matrix, row: int, label_names: Sequence[str]) -> list[str]:
    return [str(label_names[label]) for label in sorted(cells[[row]].indices.tolist())]


def _neighbors(
    model: Any,
    X: Matrix,
    rows: IntArray,
    label_names: Sequence[str],
    kept: Mapping[str, Sequence[str]],
    *,
    seen: bool,
) -> list[list[dict[str, Any]]]:
    """Return the nearest neighbours of some samples, without the samples themselves; empty if the model has none."""
    if not len(rows) or not explains(model):
        return [[] for _ in rows]
    called = names_of_rows(kept) if kept else None
    found = []
    for row, explanation in zip(rows.tolist(), explain(model, X[rows]), strict=True):
        others = [one for one in explanation.to_dict()["neighbors"] if not (seen and one["row"] == row)]
        found.append([_neighbor(one, label_names, called) for one in others[:_MOST_NEIGHBORS]])
    return found


def _neighbor(one: Mapping[str, Any], label_names: Sequence[str], called: Sequence[str] | None) -> dict[str, Any]:
    return {
        "row": one["row"],
        "name": f"row {one['row']}" if called is None else called[one["row"]],
        "labels": [str(label_names[label]) for label in one["labels"]],
    }


# Samples with their label sets, scores and neighbours, for the explorer of a report.

_MOST_LABELS, _MOST_NEIGHBORS_EXPLORED = 12, 20
_LONGEST_TEXT = 200  # maximum of characters of a saved column
_COMMON_COLUMNS = ("votes", "score", "threshold", "flip")
_OF_NEIGHBORS = ("row", "labels", "names")  # shown for the neighbours of every method
_UNEXPLAINED: Mapping[str, Any] = {"novelty": None, "rule": "", "labels": (), "neighbors": ()}


def explorer_facts(
    model: Any,
    data: Dataset,
    predicted: Matrix,
    scores: FloatArray | None,
    training: Dataset | None,
    n_rows: int,
    *,
    kept: Mapping[str, Sequence[str]],
    own: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    """Return some samples, spread evenly over the data, with their labels, scores and neighbours.

    Parameters
    ----------
    model : fitted classifier
        The model; neighbours come from its `explain`, if it has one.
    data : Dataset
        Samples and their true label sets.
    predicted : ndarray or CSR of shape (n_samples, n_labels)
        Predicted label sets.
    scores : ndarray of shape (n_samples, n_labels) or None
        Scores of the model.
    training : Dataset or None
        Training data of the model, for images of the neighbours.
    n_rows : int
        Maximum number of samples.
    kept : mapping of str to sequence of str of length n_training_samples
        Columns that name the training samples for people.
    own : mapping of str to sequence of str of length n_samples
        Columns that name the samples for people.

    Returns
    -------
    dict
        ``names`` of the labels that occur in it; ``rows``, each with the number of the ``row``, its ``true`` and
        ``predicted`` labels as positions in `names`, the ``unknown`` ones of these if some labels of the data are,
        its most relevant ``labels``, its first ``neighbors``, the ``amounts`` of the scores of its first labels,
        ``n_neighbors`` in all, the ``rule`` of its decisions in words, what is ``kept`` of it, and the ``name`` made of
        that, empty if nothing is kept; ``n_rows`` of the data; ``kept_columns``, the names of the columns that name
        neighbours; ``pictures`` by row number, ``neighbor_pictures`` likewise, and their ``shape``, None if the samples
        are no pictures; ``explained``, whether neighbours are known; ``label_columns`` and ``neighbor_columns``,
        the columns of an explanation; ``change``, what would change a decision, in words.
    """
    chosen = np.unique(np.linspace(0, data.Y.shape[0] - 1, n_rows).round().astype(np.intp))
    explanations = explain(model, data.X[chosen]) if explains(model) else []
    first = explanations[0] if explanations else None
    explanations = [explanation.with_kept(kept) for explanation in explanations]
    names, columns = _Names(data.label_names), _label_columns(first)
    parts, decided = PartialLabels.of(data.Y[chosen]), sparse.csr_array(predicted[chosen])
    true, rows = sparse.csr_array(parts.labels), []
    for i, row in enumerate(chosen.tolist()):
        told = explanations[i].to_dict() if explanations else _UNEXPLAINED
        sets = true[[i]].indices, decided[[i]].indices
        facts = _row_facts(sets, None if scores is None else scores[row], told, columns, names)
        rows.append({"row": row, **_named(row, own), **facts, **_unknown_of(parts.unknown, i, sets[1], names)})
    return {
        "n_rows": int(data.Y.shape[0]),
        "names": names.used,
        "rows": rows,
        "explained": any(len(explanation.neighbors["row"]) > 0 for explanation in explanations),
        "label_columns": columns,
        "neighbor_columns": [] if first is None else [name for name in first.neighbors if name not in _OF_NEIGHBORS],
        "kept_columns": [] if not explanations else list(explanations[0].kept),
        "change": "" if first is None else first.change,
        **_pictures(data, chosen, training, rows),
    }


def _row_facts(
    sets: tuple[IntArray, IntArray],
    scores: FloatArray | None,
    explanation: Mapping[str, Any],
    columns: Sequence[str],
    names: _Names,
) -> dict[str, Any]:
    """Return the facts of one sample; `sets` are its true and predicted labels."""
    told = {one["label"]: one for one in explanation["labels"]}
    return {
        "true": names.positions(sets[0]),
        "predicted": names.positions(sets[1]),
        "novelty": explanation["novelty"],
        "rule": explanation["rule"],
        "labels": [
            {
                "label": names.position(label),
                **{key: told.get(label, {}).get(key) for key in columns},
                "score": None if scores is None or not np.isfinite(scores[label]) else float(scores[label]),
            }
            for label in _shown_labels(sets, scores).tolist()
        ],
        "neighbors": [
            {
                **{key: _in_short(value) for key, value in one.items() if key != "names"},
                "labels": names.positions(one["labels"]),
            }
            for one in explanation["neighbors"][:_MOST_NEIGHBORS_EXPLORED]
        ],
        "n_neighbors": len(explanation["neighbors"]),
        "amounts": _amounts(explanation, names),
    }


def _amounts(explanation: Mapping[str, Any], names: _Names) -> list[dict[str, Any]]:
    """Return the amounts of which the scores of the first labels are the sums; empty for most methods."""
    label_of = {one["name"]: one["label"] for one in explanation["labels"]}
    return [
        {
            "label": names.position(label_of[one["name"]]),
            "evidence": _in_short(one["evidence"]),
            "amount": one["amount"],
        }
        for one in explanation.get("terms", ())
        if "amount" in one
    ]


def _unknown_of(unknown: Matrix | None, i: int, decided: IntArray, names: _Names) -> dict[str, Any]:
    """Return which of the predicted labels are unknown, neither right nor wrong; empty if all cells are known."""
    if unknown is None:
        return {}
    of_row = unknown[[i]].toarray() if sparse.issparse(unknown) else unknown[[i]]
    return {"unknown": names.positions(decided[of_row[0, decided]])}


def _named(row: int, own: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the saved columns of a sample, and its name."""
    kept = {name: _in_short(values[row]) for name, values in own.items()}
    return {"kept": kept, "name": row_name(row, kept) if any(kept.values()) else ""}


class _Names:
    """The labels that occur, in the order of their first occurrence.

    A page contains each name once and refers to it by position: names may be long, and 200 samples have thousands of
    labels.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = tuple(names)
        self._position: dict[int, int] = {}

    def position(self, label: int) -> int:
        return self._position.setdefault(int(label), len(self._position))

    def positions(self, labels: Iterable[int]) -> list[int]:
        return [self.position(label) for label in sorted(labels)]

    @property
    def used(self) -> list[str]:
        return [str(self._names[label]) for label in self._position]


def _shown_labels(sets: tuple[IntArray, IntArray], scores: FloatArray | None) -> IntArray:
    """Return the labels of a sample to show: true and predicted ones, and those with the highest scores."""
    own = np.union1d(*sets)
    if scores is None:
        return own
    best = np.argsort(-scores, kind="stable")
    others = best[~np.isin(best, own)][: max(_MOST_LABELS - len(own), 2)]
    shown = np.concatenate([own, others])
    return shown[np.argsort(-scores[shown], kind="stable")]


def _label_columns(explanation: Explanation | None) -> list[str]:
    """Return the columns of an explanation to show: the common ones, then the method's own."""
    if explanation is None:
        return ["score"]
    common = [name for name in _COMMON_COLUMNS if name in explanation.labels]
    return [*common, *(name for name in explanation.shown if name not in common)]


def _in_short(value: Any) -> Any:
    return shortened(value, _LONGEST_TEXT) if isinstance(value, str) else value


def _pictures(data: Dataset, chosen: IntArray, training: Dataset | None, rows: list[dict[str, Any]]) -> dict[str, Any]:
    pictures = Pictures.of(data.X, data.feature_names)
    if pictures is None:
        return {"shape": None, "pictures": {}, "neighbor_pictures": {}}
    near = sorted({one["row"] for row in rows for one in row["neighbors"]}) if training is not None else []
    of_near = pictures.draw(training.X[near]) if training is not None and near else []
    return {
        "shape": [pictures.height, pictures.width],
        "pictures": dict(zip(map(str, chosen.tolist()), pictures.draw(data.X[chosen]), strict=True)),
        "neighbor_pictures": dict(zip(map(str, near), of_near, strict=True)),
    }


# Samples that are small images, with features named by row and column, such as ``pixel_0_3``.

_NAME = re.compile(r"(.*?)_?(\d+)_(\d+)")
_MOST_PIXELS = 1024  # so that a few hundred samples and their neighbours fit a page
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Drawing of samples as images.

    Parameters
    ----------
    height, width : int
        Size of an image.
    columns : ndarray of shape (height * width,)
        Columns of X, row by row of the image.
    low, high : float
        Smallest and largest value.
    """

    height: int
    width: int
    columns: IntArray
    low: float
    high: float

    @classmethod
    def of(cls, X: Matrix, names: Sequence[str]) -> Self | None:
        """Return the drawing for samples X (n_samples, n_features); None if the names are not those of pixels."""
        found = [_NAME.fullmatch(name) for name in names]
        places = [(one[1], int(one[2]), int(one[3])) for one in found if one]
        order = sorted(range(len(places)), key=places.__getitem__)
        grid = sorted({line for _, line, _ in places}), sorted({column for _, _, column in places})
        height, width = len(grid[0]), len(grid[1])
        whole = len(places) == len(names) == height * width == len(set(places)) <= _MOST_PIXELS
        if not whole or min(height, width) < 2 or len({prefix for prefix, _, _ in places}) != 1:
            return None
        return cls(height, width, np.array(order, dtype=np.intp), float(X.min()), float(X.max()))

    def draw(self, X: Matrix) -> list[str]:
        """Return each sample as one hexadecimal digit per pixel, 0 for the smallest value and f for the largest."""
        span = self.high - self.low or 1.0
        levels = np.clip(np.rint((as_dense(X)[:, self.columns] - self.low) / span * 15), 0, 15).astype(np.intp)
        return ["".join(_DIGITS[level] for level in row) for row in levels.tolist()]
