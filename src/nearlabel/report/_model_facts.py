"""Facts of a model on labelled samples: all numbers of its report are computed here."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.datasets import Dataset
from nearlabel.experiments import made_with
from nearlabel.metrics import CATALOGUE, calibration_bins, score_all
from nearlabel.metrics.counts import Comparison, Counts
from nearlabel.report import _facts
from nearlabel.report._error_facts import Errors, compare_all, explorer_facts, label_confusions, wrong_samples
from nearlabel.thresholds import MicroPRFrontier, micro_pr_frontier
from nearlabel.utils.containers import named_columns
from nearlabel.utils.estimators import label_scores
from nearlabel.utils.frames import plain_labels
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import check_integer

_MOST_POINTS = 300  # maximum of points of the frontier
_MOST_LABELS = 2000  # maximum of labels in the table


def model_facts(
    model: Any,
    data: Dataset,
    *,
    card: Mapping[str, Any],
    training: Dataset | None = None,
    seen: bool = False,
    n_rows: int = 200,
    kept: Mapping[str, Sequence[str]] | None = None,
    kept_of_data: Mapping[str, Sequence[str]] | None = None,
) -> dict[str, Any]:
    """Return the facts of a fitted classifier on a data set.

    Parameters
    ----------
    model : fitted classifier
        Any classifier that predicts indicator matrices; scores, probabilities and neighbours are shown if it has them.
    data : Dataset
        Samples with their label sets, with features and labels in the model's order.
    card : mapping
        The card of the model: `ModelCard.to_json`, parsed.
    training : Dataset, default=None
        Training data of the model, for findings in the data and images of the neighbours.
    seen : bool, default=False
        Whether `data` are the training data. Then all figures except the explorer use leave-one-out predictions if the
        model supports them (``left_out`` of the facts): each sample is predicted from all others.
    n_rows : int, default=200
        Maximum number of samples in the explorer; they are spread evenly over the data.
    kept : mapping of str to sequence of str of length n_training_samples, default=None
        Columns of the training samples, such as ids and titles, with which the explorer names neighbours, as
        `nearlabel.persistence.read_kept` returns them. Texts of more than 200 characters are shortened.
    kept_of_data : mapping of str to sequence of str of length n_samples, default=None
        Such columns of `data`, with which the explorer names samples. None: `kept` if `seen`, otherwise no columns.

    Returns
    -------
    dict
        Plain data for `nearlabel.report.write_report`: numbers, texts, lists and dictionaries; undefined values are
        None.

    Raises
    ------
    ValueError
        If the model was fitted to another number of features or labels, the data have no rows, or `kept` or
        `kept_of_data` do not match the samples.
    TypeError
        If `n_rows` is not an integer, or the model is not a classifier.

    Notes
    -----
    Precision is None for a label that is never predicted, recall is None for one that never occurs, and F1 is None for
    one that neither occurs nor is predicted. The metrics above the table use 0 for 0/0, as `nearlabel.metrics` does.

    Examples
    --------
    >>> import json
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.report import model_facts
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.persistence import ModelCard
    >>> digits = load_multidigits()
    >>> model = MLkNN().fit(digits.X, digits.Y)
    >>> card = json.loads(ModelCard.of(model, data=digits).to_json())
    >>> facts = model_facts(model, digits, card=card, seen=True, n_rows=3)
    >>> facts["labels"][0]["name"], facts["labels"][0]["support"], len(facts["explorer"]["rows"])
    ('0', 612, 3)
    """
    n_rows = check_integer("n_rows", n_rows, low=1)
    if not hasattr(model, "predict"):
        raise TypeError(f"model must be a classifier, got {type(model).__name__}.")
    data, training = data.with_arrays(), None if training is None else training.with_arrays()
    Y = PartialLabels.of(data.Y).with_nan()
    kept = named_columns("kept", {} if kept is None else kept, None)
    own = _columns_of_data(kept if seen else {}, kept_of_data, Y.shape[0])
    of_labels = _facts.labelset_facts(Y, data.label_names)
    decided, given, method = _answers(model, data.X, Y.shape)
    left_out = _facts.left_out_predictions(model, Y.shape) if seen else None
    predicted, scores = (decided, given) if left_out is None else left_out
    frontier = None if scores is None or not of_labels["co_occurrence"]["names"] else micro_pr_frontier(scores, Y)
    compared = compare_all(Y, predicted)
    return {
        "kind": "model",
        "card": dict(card),
        "made_with": [made_with()],
        "data": {"name": data.name, "features": int(data.X.shape[1]), **of_labels["figures"]},
        "seen": seen,
        "left_out": left_out is not None,
        "headline": _facts.headline_facts(compared),
        "metrics": _metrics(Y, predicted, scores, card),
        "labels": _of_labels(data.label_names, compared.per_label, card["thresholds"], frontier),
        "n_labels": int(Y.shape[1]),
        **_errors(compared, scores, model, data, own=own, kept=kept, seen=seen),
        "calibration": _calibration(scores, Y) if scores is not None and method == "predict_proba" else None,
        "frontier": None if frontier is None else _frontier(frontier, compared.in_total),
        "co_occurrence": of_labels["co_occurrence"],
        "notes": [],
        "examination": _facts.examination_of_model(model, data, training, seen=seen),
        "doubtful": None if seen else _facts.doubtful_predictions(model, data, own),
        "suspects": _facts.suspicious_labels(model, data if seen else training, data.label_names, kept),
        "explorer": explorer_facts(model, data, decided, given, training, n_rows, kept=kept, own=own),
    }


def _errors(
    compared: Comparison, scores: FloatArray | None, model: Any, data: Dataset, **told: Any
) -> dict[str, dict[str, Any]]:
    """Return the errors in samples, those that occur together, and the curves of the worst labels."""
    errors, names = Errors(compared), data.label_names
    return {
        "wrong": wrong_samples(errors, scores, model, data.X, names, **told),
        "confusions": label_confusions(errors, names),
        "label_curves": _facts.label_curves(compared, scores, names),
    }


def _answers(model: Any, X: Matrix, shape: tuple[int, int]) -> tuple[Matrix, FloatArray | None, str]:
    """Return label sets, scores (or None) and the method that returned the scores."""
    method = next((name for name in ("predict_proba", "decision_function") if hasattr(model, name)), "")
    with warnings.catch_warnings():
        # Samples from a file have no column names that scikit-learn could compare; the caller has ordered the columns.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        labels, scores = plain_labels(model, X), label_scores(model, X, shape[1], method) if method else None
    if np.shape(labels) != shape:
        raise ValueError(f"model must predict label sets of shape {shape}, got {np.shape(labels)}.")
    return labels, scores, method


def _columns_of_data(
    kept: Mapping[str, Sequence[str]], kept_of_data: Mapping[str, Sequence[str]] | None, n_rows: int
) -> Mapping[str, Sequence[str]]:
    """Return the columns that name the samples of the data: `kept_of_data`, or else those of the training samples."""
    parameter, own = ("kept", kept) if kept_of_data is None else ("kept_of_data", kept_of_data)
    return named_columns(parameter, own, n_rows, "samples")


def _metrics(Y: Matrix, predicted: Matrix, scores: FloatArray | None, card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all metrics of the catalogue, with the values on the card."""
    values = score_all(Y, predicted, scores)
    return [
        {
            "name": name,
            "title": CATALOGUE[name].title,
            "greater_is_better": CATALOGUE[name].greater_is_better,
            "value": _facts.finite(value),
            "at_training": card["scores"].get(name),
        }
        for name, value in values.items()
    ]


def _of_labels(
    names: Sequence[str], counts: Counts, thresholds: Sequence[Any] | None, frontier: MicroPRFrontier | None
) -> list[dict[str, Any]]:
    """Return the metrics of the most frequent labels, in the order of the columns."""
    best = None if frontier is None else frontier.thresholds(frontier.best_point())
    most = np.sort(np.argsort(-counts.true, kind="stable")[:_MOST_LABELS])
    return [
        {
            "name": str(names[label]),
            **_ratios(int(counts.hits[label]), int(counts.predicted[label]), int(counts.true[label])),
            "threshold": None if thresholds is None else _plain(thresholds[label]),
            "best_threshold": None if best is None else _plain(best[label]),
        }
        for label in most.tolist()
    ]


def _ratios(hits: int, predicted: int, true: int) -> dict[str, Any]:
    return {
        "support": true,
        "predicted": predicted,
        "hits": hits,
        "precision": hits / predicted if predicted else None,
        "recall": hits / true if true else None,
        "f1": 2 * hits / (predicted + true) if predicted + true else None,
    }


def _plain(threshold: Any) -> float | str:
    """Return a threshold for JSON; infinite numbers become text."""
    return float(threshold) if np.isfinite(float(threshold)) else str(float(threshold))


def _calibration(scores: FloatArray, Y: Matrix) -> dict[str, Any]:
    """Return the bins of the probabilities as plain data; undefined values of empty bins are None."""
    bins = calibration_bins(Y, scores)
    columns = zip(bins.edges, bins.edges[1:], bins.counts, bins.mean_probability, bins.true_share, strict=False)
    each = [
        {"low": float(low), "high": float(high), "count": int(count), "mean_score": _facts.finite(float(mean)),
         "true_share": _facts.finite(float(share))}
        for low, high, count, mean, share in columns
    ]  # fmt: skip
    return {"bins": each, "error": bins.error}


def _frontier(frontier: MicroPRFrontier, total: Counts) -> dict[str, Any]:
    """Return points of the frontier, as many as a figure can show, with the best point and the model's point."""
    best = frontier.best_point()
    shown = np.unique(np.linspace(0, len(frontier.recall) - 1, _MOST_POINTS).round().astype(np.intp))
    shown = np.union1d(shown, [best])
    ratios = _ratios(int(total.hits[0]), int(total.predicted[0]), int(total.true[0]))
    at_best = float(frontier.precision[best]), float(frontier.recall[best])
    return {
        "precision": frontier.precision[shown].tolist(),
        "recall": frontier.recall[shown].tolist(),
        "n_points": len(frontier.recall),
        "model": {name: ratios[name] for name in ("precision", "recall", "f1")},
        "best": {"precision": at_best[0], "recall": at_best[1], "f1": 2 * at_best[0] * at_best[1] / sum(at_best)},
    }
