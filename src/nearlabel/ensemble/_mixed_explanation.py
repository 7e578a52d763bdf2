"""Explanations of mixed scores: those of the neighbours, with the model's contribution to each score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from nearlabel.ensemble._weighted_mean import WeightedMean
from nearlabel.lazy import Explanation
from nearlabel.utils.types import FloatArray, Matrix, Table

MODEL, NEIGHBORS = 0, 1  # positions of the parts
BY_THRESHOLDS, BY_RULE = "score >= threshold", "by a rule on all scores of the query"
_MIXED = {
    "probability": "score = model_weight * model_score + (1 - model_weight) * neighbors_score",
    "logit": "score = model_weight * model_score + (1 - model_weight) * neighbors_score, each as a logit",
}


class MixedExplainer(NamedTuple):
    """Explains the mixed scores of a query.

    Parameters
    ----------
    method : str
        Name of the mixture.
    lazy : classifier
        The fitted neighbour method, which has `explain`.
    mean : WeightedMean
        Mixes the scores.
    weights : ndarray of shape (2,) or (n_labels, 2)
        Of the model and of the neighbours.
    decide : callable
        Gets mixed scores (n, n_labels) and returns label sets.
    thresholds : ndarray of shape (n_labels,)
        Thresholds to show; NaN if another rule is used.
    words : str
        Description of the decision rule.
    """

    method: str
    lazy: Any
    mean: WeightedMean
    weights: FloatArray
    decide: Callable[..., Any]
    thresholds: FloatArray
    words: str

    def explain(self, query: Matrix, model: FloatArray) -> Explanation:
        """Explain one query (1, n_features), given the model's terms (n_labels,)."""
        explained: Explanation = self.lazy.explain(
            query, decide=lambda scores: self.decide(self._mixed(model, scores))
        )[0]
        listed = explained.labels["label"]
        columns = {**self._columns(explained.labels, model), "threshold": self.thresholds[listed]}
        before = [name for name in explained.shown if name not in (*columns, "flip")]
        after = [name for name in explained.shown if name == "flip"]
        return replace(
            explained,
            method=self.method,
            rule=f"{_MIXED[self.mean.space]}; chosen: {self.words}",
            labels={**explained.labels, **columns},
            shown=[*before, *(name for name in columns if name != "score_at"), *after],
        )

    def _columns(self, of_neighbors: Table, model: FloatArray) -> dict[str, Any]:
        """Return the columns of the listed labels that replace or extend the neighbours' columns."""
        listed = of_neighbors["label"]
        columns = {
            "model_weight": np.broadcast_to(self.weights[..., MODEL], model.shape)[listed],
            "model_score": self.mean([model[listed]], np.ones(1)),
            "neighbors_score": of_neighbors["score"],
            "score": self._mixed(model, of_neighbors["score"], listed),
        }
        if "score_at" in of_neighbors:  # (n_listed, n_counts)
            columns["score_at"] = self._mixed(model, of_neighbors["score_at"].T, listed).T
        return columns

    def _mixed(self, model: FloatArray, neighbors: FloatArray, labels: Any = slice(None)) -> FloatArray:
        """Return the neighbours' scores (..., n_listed) mixed with the model's terms (n_labels,)."""
        weights = self.weights[labels] if self.weights.ndim > 1 else self.weights
        return self.mean([np.broadcast_to(model[labels], neighbors.shape), self.mean.terms(neighbors)], weights)
