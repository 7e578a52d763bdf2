"""Models of resampled rows that vote on each label: what ensembles of chains and of binary relevance share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.base import WithProbabilities
from nearlabel.decision import cut
from nearlabel.statistics.label_probabilities import Platt, chosen_classifier, with_seed
from nearlabel.thresholds import PCut
from nearlabel.utils.response_methods import RESPONSE_METHODS, label_scores, response_method_of
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_flag, check_integer, check_positive

_METHODS = {"hard": ("predict",), "soft": RESPONSE_METHODS}


class ResampledEnsemble(WithProbabilities):
    """Several multi-label models, each of its own random rows; the score of a label is the mean of their votes.

    A subclass defines `_model`: the kind of model.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        max_samples: float = 0.67,
        bootstrap: bool = False,
        voting: str = "hard",
        threshold: float | str = 0.5,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.voting = voting
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)
        if check_positive("max_samples", self.max_samples) > 1:
            raise ValueError(f"max_samples must be a share of the rows, at most 1, got {self.max_samples}.")
        check_flag("bootstrap", self.bootstrap)
        check_choice("voting", self.voting, _METHODS)
        _check_threshold(self.threshold)
        check_random_state(self.random_state)

    @abstractmethod
    def _model(self, estimator: Any, n_labels: int, random: RandomState) -> Any:
        """Return an unfitted model of so many labels, made of a binary classifier."""

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        self._members = Parallel(n_jobs=self.n_jobs)(delayed(self._member)(X, labels, int(seed)) for seed in seeds)
        self.estimators_ = [member.model for member in self._members]
        self.threshold_ = self._fitted_threshold(X, labels)

    def _member(self, X: Matrix, labels: Matrix, seed: int) -> _Member:
        """Fit one model to the labels that vary in its rows; the others are constant to it."""
        random = RandomState(seed)
        rows = self._rows(X.shape[0], random)
        known = as_dense(labels[rows])
        varying = np.flatnonzero(np.ptp(known, axis=0))
        method, estimator = self._voter(seed)
        model = None
        if len(varying):
            model = self._model(estimator, len(varying), random).fit(X[rows], known[:, varying])
        return _Member(model, method, varying, known[0].astype(np.float64))

    def _rows(self, n_samples: int, random: RandomState) -> IntArray:
        n_rows = max(1, round(self.max_samples * n_samples))
        drawn = random.randint(n_samples, size=n_rows) if self.bootstrap else random.permutation(n_samples)[:n_rows]
        return np.sort(drawn)  # all rows drawn are the rows as they came

    def _voter(self, seed: int) -> tuple[str, Any]:
        """Return the method that votes, and the binary classifier; decision values are calibrated to vote softly."""
        estimator = with_seed(chosen_classifier(self.estimator), seed)
        method = response_method_of(estimator, _METHODS[self.voting])
        return ("predict_proba", Platt(estimator, seed)) if method == "decision_function" else (method, estimator)

    def _fitted_threshold(self, X: Matrix, labels: Matrix) -> float:
        if self.threshold != "cardinality":
            return float(self.threshold)
        return float(PCut(per_label=False).fit(self._score(X), labels).thresholds_[0])

    def _score(self, X: Matrix) -> FloatArray:
        total = np.zeros((X.shape[0], len(self._varying)))
        for member in self._members:
            total += member.votes(X)
        return total / len(self._members)

    def _decide(self, X: Matrix) -> Matrix:
        return cut(self._score(X), self.threshold_)


@dataclass(frozen=True)
class _Member:
    """A model of the labels that vary in its rows, and the value of the other labels there."""

    model: Any  # None: no label varies
    method: str
    varying: IntArray
    values: FloatArray  # (n_labels,), of no meaning for a label that varies

    def votes(self, X: Matrix) -> FloatArray:
        """Return what the model says of each label (n_queries, n_labels)."""
        votes = np.tile(self.values, (X.shape[0], 1))
        if len(self.varying):
            votes[:, self.varying] = label_scores(self.model, X, len(self.varying), self.method)
        return votes


def _check_threshold(threshold: object) -> None:
    if isinstance(threshold, str):
        check_choice("threshold", threshold, {"cardinality"})
    elif check_positive("threshold", threshold) > 1:
        raise ValueError(f"threshold must be 'cardinality' or a number above 0, at most 1, got {threshold}.")
