"""Samples with their label sets, scores and neighbours, for the explorer of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.inspection import explain, explains
from nearlabel.lazy import Explanation
from nearlabel.report._pictures import Pictures
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.row_names import row_name
from nearlabel.utils.truncate import shortened
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_MOST_LABELS, _MOST_NEIGHBORS = 12, 20
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
        its most relevant ``labels``, its first ``neighbors``,
        ``n_neighbors`` in all, the ``rule`` of its decisions in words, what is ``kept`` of it, and the ``name`` made of
        that, empty if nothing is kept; ``n_rows`` of the data; ``kept_columns``, the names of the columns that name
        neighbours; ``pictures`` by row number, ``neighbor_pictures`` likewise, and their ``shape``, None if the samples
        are no pictures; ``explained``, whether the model explains itself; ``label_columns`` and ``neighbor_columns``,
        the columns of an explanation; ``change``, what would change a decision, in words.
    """
    chosen = np.unique(np.linspace(0, data.Y.shape[0] - 1, n_rows).round().astype(np.intp))
    explanations = explain(model, data.X[chosen]) if explains(model) else None
    first = None if explanations is None else explanations[0]
    if explanations is not None:
        explanations = [explanation.with_kept(kept) for explanation in explanations]
    names = _Names(data.label_names)
    parts, decided = PartialLabels.of(data.Y[chosen]), sparse.csr_array(predicted[chosen])
    true = sparse.csr_array(parts.labels)
    rows = [
        {
            "row": row,
            **_named(row, own),
            **_row_facts(
                (true[[i]].indices, decided[[i]].indices),
                None if scores is None else scores[row],
                _UNEXPLAINED if explanations is None else explanations[i].to_dict(),
                _label_columns(first),
                names,
            ),
            **_unknown_of(parts.unknown, i, decided[[i]].indices, names),
        }
        for i, row in enumerate(chosen.tolist())
    ]
    return {
        "n_rows": int(data.Y.shape[0]),
        "names": names.used,
        "rows": rows,
        "explained": first is not None,
        "label_columns": _label_columns(first),
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
    return {
        "true": names.positions(sets[0]),
        "predicted": names.positions(sets[1]),
        "novelty": explanation["novelty"],
        "rule": explanation["rule"],
        "labels": _labels(_shown_labels(sets, scores), scores, explanation, columns, names),
        "neighbors": _neighbors(explanation, names),
        "n_neighbors": len(explanation["neighbors"]),
    }


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


def _labels(
    shown: IntArray,
    scores: FloatArray | None,
    explanation: Mapping[str, Any],
    columns: Sequence[str],
    names: _Names,
) -> list[dict[str, Any]]:
    told = {one["label"]: one for one in explanation["labels"]}
    return [
        {
            "label": names.position(label),
            **{key: told.get(label, {}).get(key) for key in columns},
            "score": None if scores is None or not np.isfinite(scores[label]) else float(scores[label]),
        }
        for label in shown.tolist()
    ]


def _neighbors(explanation: Mapping[str, Any], names: _Names) -> list[dict[str, Any]]:
    return [
        {
            **{key: _in_short(value) for key, value in one.items() if key != "names"},
            "labels": names.positions(one["labels"]),
        }
        for one in explanation["neighbors"][:_MOST_NEIGHBORS]
    ]


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
