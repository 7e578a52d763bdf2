"""Facts of reports about labels, predictions to check, audits, and findings in the data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.pipeline import Pipeline

from nearlabel import labels
from nearlabel.audit import Audit, SuspectCell, audit, review
from nearlabel.datasets import Dataset, Examination, Finding, examine
from nearlabel.experiments import Problem, made_with, make_preparation, make_search, usual_search
from nearlabel.metrics.counts import Comparison, Counts
from nearlabel.models.out_of_sample import Answer
from nearlabel.models.unwrapped import Unwrapped, unwrapped
from nearlabel.neighbors import ExactNeighbors
from nearlabel.thresholds import CalibratedLabels
from nearlabel.utils.estimators import as_label_scores
from nearlabel.utils.tables import names_of_rows, row_name
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

_OF_NEIGHBOR = ("row", "name", "distance", "value")
_MOST_ROWS_OF_A_GROUP = 20  # maximum of near copies
_MOST_ROWS, _MOST_CELLS = 20_000, 10  # maximum for the page of a model, which has other content too


def audit_facts(
    found: Audit,
    *,
    name: str,
    by: str = "",
    id_column: str | None = None,
    ids: Sequence[Any] | None = None,
    by_number: bool = True,
) -> dict[str, Any]:
    """Return the facts of an audit.

    Parameters
    ----------
    found : Audit
        The result of `nearlabel.audit.audit`; `Audit.named` sets names of samples.
    name : str
        Name of the data.
    by : str, default=""
        Description of the method.
    id_column : str, default=None
        Name of the column of `ids` in the corrections that the page saves. None: samples are identified by row number.
    ids : sequence of length n_rows, default=None
        Id of each training sample.
    by_number : bool, default=True
        Whether row numbers are those of the data. False: the page saves corrections without row numbers, and cannot
        save any without ids.

    Returns
    -------
    dict
        Plain data for `nearlabel.report.write_report`.

    Raises
    ------
    ValueError
        If there is not one id per sample, or only one of `id_column` and `ids` is given.

    Examples
    --------
    >>> from nearlabel.audit import audit
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.report import audit_facts
    >>> X = [[0], [1], [2], [3], [10], [11], [12], [13]]
    >>> y = [["calm"], ["calm"], ["loud"], ["calm"], ["loud"], ["loud"], ["loud"], ["loud"]]
    >>> facts = audit_facts(audit(BRkNN(n_neighbors=3).fit(X, y)), name="songs")
    >>> facts["cells"][0]["row"], facts["cells"][0]["label"], facts["cells"][0]["n_against"]
    (2, 'calm', 3)
    """
    if (id_column is None) != (ids is None):
        raise ValueError(f"id_column must go with ids, got {id_column!r} and {ids if ids is None else 'ids'}.")
    ids = None if ids is None else list(ids)  # by place, also of a Series
    if ids is not None and len(ids) != found.n_rows:
        raise ValueError(f"ids must be {found.n_rows}, one for each row, got {len(ids)}.")
    figures = {name: value for name, value in found.to_dict().items() if not isinstance(value, list)}
    return {
        "kind": "audit",
        "name": name,
        "by": by,
        "made_with": [made_with()],
        **figures,
        "id_column": id_column,
        "by_number": by_number,
        "cells": [cell_facts(cell, "" if ids is None else str(ids[cell.row])) for cell in found.cells],
        "rows": found.to_records("rows"),
        "conflicts": [
            one | {name: one[name][:_MOST_ROWS_OF_A_GROUP] for name in ("rows", "names")} | {"n_rows": len(one["rows"])}
            for one in found.to_records("conflicts")
        ],
        "label_pairs": found.to_records("label_pairs"),
        "hubs": found.to_records("hubs"),
    }


def suspicious_labels(
    model: Any, training: Dataset | None, label_names: Sequence[str], kept: Mapping[str, Sequence[str]]
) -> dict[str, Any] | None:
    """Return the most suspicious cells of a model's training samples; None if they or the model cannot be audited.

    `kept` are columns that name the samples. If there are too many samples to search for a page, a note is returned
    instead.
    """
    if training is None:
        return None
    n_rows = training.Y.shape[0]
    if n_rows > _MOST_ROWS:
        told = f"The {n_rows:,} training samples are too many for this page. nearlabel audit MODEL examines them all."
        return {"note": told, "n_issues": 0, "cells": []}
    try:
        found = audit(model, n_cells=_MOST_CELLS, n_rows=0, n_effects=_MOST_CELLS, label_names=label_names)
    except (TypeError, ValueError):  # no votes of neighbours, or too few samples for leave-one-out
        return None
    named = found.named(names_of_rows(kept)) if kept else found
    return {"note": "", "n_issues": found.n_issues, "cells": [cell_facts(cell) for cell in named.cells]}


def cell_facts(cell: SuspectCell, row_id: str = "") -> dict[str, Any]:
    """Return a suspicious cell with its neighbours, and how many of them contradict it."""
    known = [one.value for one in cell.neighbors if one.value is not None]
    return {
        "row": cell.row,
        "name": cell.name,
        "id": row_id,
        "label": str(cell.label_name),
        **{name: getattr(cell, name) for name in ("given", "suggested", "probability", "is_issue")},
        "n_against": sum(value != cell.given for value in known),
        "n_known": len(known),
        **{name: getattr(cell, name) for name in ("disagreement", "n_lists", "n_righted", "n_wronged")},
        "neighbors": [{name: getattr(one, name) for name in _OF_NEIGHBOR} for one in cell.neighbors],
    }


# Predictions to check: those with the largest expected loss, for samples that are not training samples.

_MOST = 10


def doubtful_predictions(model: Any, data: Dataset, kept: Mapping[str, Sequence[str]]) -> list[dict[str, Any]] | None:
    """Return the predictions with the largest expected loss, with the true labels; None without probabilities."""
    if not hasattr(model, "predict_proba"):
        return None
    truth = PartialLabels.of(data.Y).with_nan()
    found = review(model, data.X, _MOST, label_names=list(range(len(data.label_names))))
    return [
        {
            "row": one.row,
            "name": row_name(one.row, {name: texts[one.row] for name, texts in kept.items()}),
            "predicted": [str(data.label_names[label]) for label in one.predicted],
            "expected": one.expected_loss,
            "doubts": [
                {
                    "label": str(data.label_names[doubt.label]),
                    "predicted": doubt.predicted,
                    "probability_wrong": doubt.probability_wrong,
                    "is_wrong": _is_wrong(truth[one.row, doubt.label], doubt.predicted),
                }
                for doubt in one.doubts
            ],
        }
        for one in found
    ]


def _is_wrong(true: float, predicted: bool) -> bool | None:
    """Return whether the prediction of a label is wrong; None if unknown."""
    return None if np.isnan(true) else bool(true) != predicted


# Leave-one-out predictions of a model for its training samples.


def left_out_predictions(model: Any, shape: tuple[int, int]) -> Answer | None:
    """Return the leave-one-out predictions of a fitted model; None if it does not support them.

    Thresholds, calibration and the steps of a pipeline stay fitted to all samples. `shape` is the shape of the label
    sets: if the training samples have changed since, the model has predictions for other samples.
    """
    found = unwrapped(model)
    if not _knows_its_samples(found):
        return None
    try:
        scores = as_label_scores(found.classifier.loo_predict_proba(), found.classifier, shape[1], "predict_proba")
        labels: Matrix = None if found.around else found.classifier.loo_predict()
    except ValueError:  # too few samples for leave-one-out
        return None
    for part in reversed(found.around):
        labels = part.label_sets_of(scores)
        scores = part.calibrated(scores) if isinstance(part, CalibratedLabels) else part.mapped(scores)
    return Answer(labels, scores) if np.shape(labels) == scores.shape == shape else None


def _knows_its_samples(found: Unwrapped) -> bool:
    """Return whether the classifier was fitted to the samples themselves, not to resampled ones."""
    steps = (step for before in found.before for _, step in before.steps)
    by_probability = all(part.response_method_ == "predict_proba" for part in found.around)
    resampled = any(hasattr(step, "fit_resample") for step in steps)
    return hasattr(found.classifier, "loo_predict_proba") and by_probability and not resampled


# Precision-recall curves of the labels with the lowest F1.

_MOST_CURVES, _MOST_POINTS = 6, 150
_LEAST_SAMPLES = 5  # samples of a label; with fewer the curve is not informative


def label_curves(compared: Comparison, scores: FloatArray | None, label_names: Sequence[str]) -> dict[str, Any]:
    """Return the curves of the labels with the lowest F1, lowest first; empty without scores.

    A label has a curve if it has at least `_LEAST_SAMPLES` positive samples, a negative one, and finite scores.
    """
    if scores is None:
        return {"n_labels": 0, "curves": []}
    counts = compared.per_label
    enough = (counts.true >= _LEAST_SAMPLES) & (counts.true < counts.size) & np.isfinite(scores).all(axis=0)
    labels = np.flatnonzero(enough)
    f1 = 2 * counts.hits[labels] / (counts.true[labels] + counts.predicted[labels])
    worst = labels[np.lexsort((-counts.true[labels], f1))][:_MOST_CURVES]
    return {"n_labels": len(labels), "curves": [_curve(compared, scores, label, label_names) for label in worst]}


def _curve(compared: Comparison, scores: FloatArray, label: int, label_names: Sequence[str]) -> dict[str, Any]:
    known = ~_column(compared.unknown, label) if compared.unknown is not None else np.ones(len(scores), dtype=bool)
    true, of_label = _column(compared.true, label)[known], scores[known, label]
    precision, recall, _ = precision_recall_curve(true, of_label)
    shown = np.unique(np.linspace(0, len(recall) - 1, _MOST_POINTS).round().astype(np.intp))[::-1]
    counts = compared.per_label
    hits, predicted, support = (int(count[label]) for count in (counts.hits, counts.predicted, counts.true))
    return {
        "name": str(label_names[label]),
        "recall": recall[shown].tolist(),
        "precision": precision[shown].tolist(),
        "average_precision": float(average_precision_score(true, of_label)),
        "share": support / int(known.sum()),
        "precision_of_model": hits / predicted if predicted else None,
        "recall_of_model": hits / support,
        "f1": 2 * hits / (predicted + support),
    }


def _column(matrix: Matrix, label: int | IntArray) -> NDArray[np.bool_]:
    return np.asarray(as_dense(matrix[:, [label]]), dtype=bool)[:, 0]


# Facts of label sets for a report: statistics, label frequencies and co-occurrence.


def labelset_facts(y: MatrixLike, names: Sequence[str], *, most_paired: int = 40) -> dict[str, Any]:
    """Return the facts of label sets in a report.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)
        Dense or sparse; NaN in unknown cells.
    names : sequence of str of length n_labels
        Names of the labels.
    most_paired : int, default=40
        Maximum number of labels of which all pairs are counted.

    Returns
    -------
    dict
        ``figures``, those of `nearlabel.labels.describe`, undefined ones None; ``counts``, rows of each label; and
        ``co_occurrence``: ``names`` of the most frequent labels that occur, most frequent first, ties by column, and
        ``counts``, the number of samples of each pair of them.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> from nearlabel.report._facts import labelset_facts
    >>> facts = labelset_facts([[1, 0, 1], [1, 0, 0]], ["red", "green", "blue"])
    >>> facts["counts"], facts["co_occurrence"]
    ([2, 0, 1], {'names': ['red', 'blue'], 'counts': [[2, 1], [1, 1]]})
    """
    matrix = PartialLabels.of(y).with_nan()
    most = labels.most_frequent(matrix, most_paired)
    pairs = as_dense(labels.co_occurrence(matrix[:, most])).tolist() if len(most) else []
    return {
        "figures": {name: finite(value) for name, value in labels.describe(matrix).items()},
        "counts": labels.frequencies(matrix).tolist(),
        "co_occurrence": {"names": [str(names[label]) for label in most], "counts": pairs},
    }


def finite(value: float | None) -> float | None:
    """Return a finite number, or None, since JSON has no other numbers."""
    return value if value is not None and np.isfinite(value) else None


# The headline metrics of a model, compared with a constant prediction.


def headline_facts(compared: Comparison) -> dict[str, Any]:
    """Return the headline metrics; 0/0 is None, and so are exact matches if some labels are unknown."""
    each, total = compared.per_example, compared.in_total
    exact = (each.hits == each.true) & (each.hits == each.predicted)
    true, predicted, hits = (int(count[0]) for count in (total.true, total.predicted, total.hits))
    return {
        "true": true,
        "predicted": predicted,
        "hits": hits,
        "n_exact": int(exact.sum()) if compared.unknown is None else None,
        "f1": 2 * hits / (true + predicted) if true + predicted else None,
        "constant_f1": constant_f1(compared.per_label),
    }


def constant_f1(per_label: Counts) -> float | None:
    """Return the largest micro F1 of a constant label set, predicted for every sample; None without true labels.

    The best label set consists of the labels with the largest shares of positives; all prefixes of that order are
    tried.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.metrics.counts import Counts
    >>> none = np.zeros(2, dtype=int)
    >>> constant_f1(Counts(none, none, np.array([3, 1]), 4))  # the first label alone: 2 * 3 / (4 + 4)
    0.75
    """
    true = np.asarray(per_label.true, dtype=np.float64)
    if not true.sum():
        return None
    known = np.broadcast_to(np.asarray(per_label.size, dtype=np.float64), true.shape)
    order = np.argsort(-true / np.maximum(known, 1), kind="stable")
    return float((2 * true[order].cumsum() / (known[order].cumsum() + true.sum())).max())


# What in the data keeps neighbours from being good ones: the findings of `examine`, for a model or a run.


_MOST_SEARCHED = 20_000  # maximum of samples to search, which takes about ten seconds
_OF_RAW_COLUMNS = ("id_like", "date_like", "constant_columns")  # findings that scaling hides
_NAME_COLUMNS = ("leaking_features", "leaking_pairs", "later_rows_differ")  # findings whose columns an encoder replaces
_MENDED = ("missing_values", "infinite_values")  # findings that cannot occur if there is a model
_OF_DISTANCES = ("ranges_far_apart", "empty_rows")


def examination_of_model(model: Any, data: Dataset, training: Dataset | None, *, seen: bool) -> dict[str, Any]:
    """Return the findings in the training data of a fitted model if available, or else in the data of its page."""
    steps, method = _taken_apart(model)

    def prepare(X: Matrix) -> Matrix:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # an array
            for step in steps:
                X = step.transform(X)
        return X

    rows, test = (data, None) if training is None or seen else (training, data)
    search = _search_like(method) if hasattr(method, "explain") else None
    found = examination(rows, prepare if steps else None, search, test=test)
    return {"training": seen or training is not None, **found}


def examination_of_run(problem: Problem, plans: Sequence[Mapping[str, Any]], *, by_neighbors: bool) -> dict[str, Any]:
    """Return the findings in the data of a run, imputed and scaled as in its plans if these agree."""
    data, test = problem if isinstance(problem, tuple) else (problem, None)
    settings = {(plan.get("scale", "none"), plan.get("impute")) for plan in plans}
    scale, impute = settings.pop() if len(settings) == 1 else ("none", None)
    preparation = make_preparation(data, impute=impute, scale=scale, out_of_range="keep")
    prepare = None if preparation is None else preparation.fit(data.X).transform
    search = make_search(usual_search(scale)) if by_neighbors else None
    return {"training": test is not None, **examination(data, prepare, search, test=test)}


def examination(
    data: Dataset, prepare: Callable[[Matrix], Matrix] | None, search: Any, *, test: Dataset | None = None
) -> dict[str, Any]:
    """Return the findings in a data set as plain data.

    Parameters
    ----------
    data : Dataset
        Samples and their label sets.
    prepare : callable or None
        Function that returns the samples, and those of `test`, prepared as for the method: encoded, imputed, scaled.
        None: unchanged.
    search : ExactNeighbors or None
        Finds neighbours as the method does; None: no method uses neighbours.
    test : Dataset, default=None
        Samples to predict.

    Returns
    -------
    dict
        ``name`` and ``n_rows`` of the data; ``findings``, the most severe first, each with ``kind``, ``severity``,
        ``sentence``, ``remedy`` and ``evidence``, without findings that the preparation fixes; ``notes`` on parts that
        were not examined.
    """
    rows = data.X if prepare is None else prepare(data.X)
    test_rows = None if test is None else test.X if prepare is None else prepare(test.X)
    found = examine(
        rows,
        data.Y,
        X_test=test_rows,
        search=False if search is None else search,
        max_rows=_MOST_SEARCHED,
        feature_names=data.feature_names if rows.shape[1] == len(data.feature_names) else None,
        label_names=data.label_names,
    )
    hidden = _hidden(data, search)
    findings = [one for one in found if one.kind not in hidden]
    if prepare is not None:
        kinds = _NAME_COLUMNS if data.X.dtype.kind == "O" else (*_OF_RAW_COLUMNS, *_NAME_COLUMNS)
        findings = _with_raw_columns(findings, data, kinds)
    return {
        "name": data.name,
        "n_rows": int(data.X.shape[0]),
        "findings": [asdict(one) for one in Examination(findings)],
        "notes": list(found.notes),
    }


def _with_raw_columns(findings: list[Finding], data: Dataset, kinds: tuple[str, ...]) -> list[Finding]:
    """Return findings, those of some kinds from the unprepared data: a scaled identifier looks like a feature."""
    raw = examine(data, search=False)
    return [*(one for one in findings if one.kind not in kinds), *(one for one in raw if one.kind in kinds)]


def _hidden(data: Dataset, search: Any) -> set[str]:
    """Return the kinds of findings that the preparation fixes, or that do not concern the method."""
    hidden = {*_MENDED, *(_OF_DISTANCES if search is None else ())}
    if getattr(search, "metric", None) == "cosine":
        hidden.add("empty_rows")
    if data.groups is not None:  # the samples of a group are held out together
        hidden.add("duplicates")
    return hidden


def _taken_apart(model: Any) -> tuple[list[Any], Any]:
    """Return the fitted steps before a method, and the method, possibly inside a threshold classifier."""
    if isinstance(model, Pipeline):
        steps, method = _taken_apart(model[-1])
        return [*([model[:-1]] if len(model) > 1 else []), *steps], method
    inner = getattr(model, "estimator_", None)
    return _taken_apart(inner) if isinstance(inner, Pipeline) or hasattr(inner, "explain") else ([], model)


def _search_like(method: Any) -> ExactNeighbors:
    """Return an exact search with the distance of a method's search."""
    search = getattr(method, "search", None)
    if isinstance(search, ExactNeighbors):
        return search
    return ExactNeighbors(metric="cosine" if getattr(search, "metric", None) == "cosine" else "euclidean")
