"""Facts of wrong predictions: the samples with the most wrong labels, and the labels that are wrong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.inspection import explain, explains
from nearlabel.metrics.counts import Comparison
from nearlabel.metrics.inputs import check_predicted
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.row_names import names_of_rows, row_name
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike

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
            "row": int(row),
            "name": row_name(int(row), {name: texts[row] for name, texts in own.items()}),
            "missed": _names(errors.missed, row, label_names),
            "added": _names(errors.added, row, label_names),
            "neighbors": near[place],
        }
        for place, row in enumerate(rows)
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
