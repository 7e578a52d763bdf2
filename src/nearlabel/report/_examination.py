"""Findings of the doctor in the data of a page, prepared as for the method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sklearn.pipeline import Pipeline

from nearlabel.datasets import Dataset, Examination, Finding, examine
from nearlabel.experiments import Problem, make_preparation, make_search, usual_search
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.types import Matrix

_MOST_ROWS = 20_000  # maximum of samples to search, which takes about ten seconds
_OF_RAW_COLUMNS = ("id_like", "date_like", "constant_columns")  # findings that scaling hides
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
    preparation = make_preparation(data, impute=impute, scale=scale)
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
        max_rows=_MOST_ROWS,
        feature_names=data.feature_names if rows.shape[1] == len(data.feature_names) else None,
        label_names=data.label_names,
    )
    hidden = _hidden(data, search)
    findings = [one for one in found if one.kind not in hidden]
    if prepare is not None and data.X.dtype.kind != "O":
        findings = _with_raw_columns(findings, data)
    return {
        "name": data.name,
        "n_rows": int(data.X.shape[0]),
        "findings": [asdict(one) for one in Examination(findings)],
        "notes": list(found.notes),
    }


def _with_raw_columns(findings: list[Finding], data: Dataset) -> list[Finding]:
    """Return findings, with those on columns from the unprepared data: a scaled identifier looks like a feature."""
    raw = examine(data.X, feature_names=data.feature_names, search=False)
    return [
        *(one for one in findings if one.kind not in _OF_RAW_COLUMNS),
        *(one for one in raw if one.kind in _OF_RAW_COLUMNS),
    ]


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
