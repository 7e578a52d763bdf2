"""Some samples with their label sets, scores and neighbours, which the reader of a report can look into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.lazy import Explanation, explain_samples
from nearlabel.report._pictures import Pictures
from nearlabel.utils.types import FloatArray, IntArray, Matrix

_MOST_LABELS, _MOST_NEIGHBORS = 12, 20
_COMMON_COLUMNS = ("votes", "score", "threshold", "flip")
_OF_NEIGHBORS = ("row", "labels", "names")  # shown of any neighbour, whatever else a method knows of it


def explorer_facts(
    model: Any, data: Dataset, predicted: Matrix, scores: FloatArray | None, training: Dataset | None, n_rows: int
) -> dict[str, Any]:
    """Return some samples, spread evenly over the data, with all that is known of them.

    Parameters
    ----------
    model : fitted classifier
        Neighbours are those of its `explain`, where it has that.
    data : Dataset
        Rows (n_samples, n_features) and their true label sets.
    predicted : ndarray or CSR of shape (n_samples, n_labels)
        Label sets that the model predicts.
    scores : ndarray of shape (n_samples, n_labels) or None
        Of the model.
    training : Dataset or None
        What the model was fitted to, for pictures of the neighbours.
    n_rows : int
        How many rows at most.

    Returns
    -------
    dict
        ``names`` of the labels that occur in it; ``rows``, each with the number of the ``row``, its ``true`` and
        ``predicted`` labels as positions in `names`, its most relevant ``labels``, its first ``neighbors``,
        ``n_neighbors`` in all, and the ``rule`` of its decisions in words; ``n_rows`` of the data; ``pictures`` by row
        number, ``neighbor_pictures`` likewise, and their ``shape``, None where rows are no pictures; ``explained``,
        whether the model explains itself; ``label_columns`` and ``neighbor_columns``, what an explanation shows of
        each; ``change``, what would turn a decision, in words.
    """
    chosen = np.unique(np.linspace(0, data.Y.shape[0] - 1, n_rows).round().astype(np.intp))
    explanations = explain_samples(model, data.X[chosen])
    first = None if explanations is None else explanations[0]
    columns = ("score",) if first is None else _label_columns(first)
    names = _Names(data.label_names)
    true, decided = sparse.csr_array(data.Y[chosen]), sparse.csr_array(predicted[chosen])
    rows = []
    for i, row in enumerate(chosen.tolist()):
        of_row = None if explanations is None else explanations[i].to_dict()
        sets = true[[i]].indices, decided[[i]].indices
        shown = _shown_labels(sets, None if scores is None else scores[row])
        rows.append(
            {
                "row": row,
                "true": names.positions(sets[0]),
                "predicted": names.positions(sets[1]),
                "doubt": None if of_row is None else of_row["doubt"],
                "rule": "" if of_row is None else of_row["rule"],
                "labels": _labels(shown, None if scores is None else scores[row], of_row, columns, names),
                "neighbors": [] if of_row is None else _neighbors(of_row, names),
                "n_neighbors": 0 if of_row is None else len(of_row["neighbors"]),
            }
        )
    return {
        "n_rows": int(data.Y.shape[0]),
        "names": names.used,
        "rows": rows,
        "explained": first is not None,
        "label_columns": list(columns),
        "neighbor_columns": [] if first is None else [name for name in first.neighbors if name not in _OF_NEIGHBORS],
        "change": "" if first is None else first.change,
        **_pictures(data, chosen, training, rows),
    }


class _Names:
    """The labels that occur, in order of their first occurrence."""

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
    """Return the labels of a row to show: its true and predicted ones, and those of highest score."""
    own = np.union1d(*sets)
    if scores is None:
        return own
    best = np.argsort(-scores, kind="stable")
    others = best[~np.isin(best, own)][: max(_MOST_LABELS - len(own), 2)]
    shown = np.concatenate([own, others])
    return shown[np.argsort(-scores[shown], kind="stable")]


def _label_columns(explanation: Explanation) -> list[str]:
    """Return the columns that the text of an explanation shows: what most methods have, then what is their own."""
    common = [name for name in _COMMON_COLUMNS if name in explanation.labels]
    return [*common, *(name for name in explanation.shown if name not in common)]


def _labels(
    shown: IntArray,
    scores: FloatArray | None,
    explanation: Mapping[str, Any] | None,
    columns: Sequence[str],
    names: _Names,
) -> list[dict[str, Any]]:
    told = {} if explanation is None else {one["label"]: one for one in explanation["labels"]}
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
        {**{key: value for key, value in one.items() if key != "names"}, "labels": names.positions(one["labels"])}
        for one in explanation["neighbors"][:_MOST_NEIGHBORS]
    ]


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
