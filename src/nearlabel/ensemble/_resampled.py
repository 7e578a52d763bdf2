"""The base class of ensembles of chains and of binary relevance: models of resampled data vote on each label."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.base import MetaClassifier, WithProbabilities
from nearlabel.decision import cut
from nearlabel.statistics.label_probabilities import chosen_classifier, seeded_classifier
from nearlabel.thresholds import PCut
from nearlabel.utils.fit_params import params_of_samples
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_flag, check_integer, check_positive

_VOTES = {"hard": "predict", "soft": "predict_proba"}


class ResampledEnsemble(MetaClassifier, WithProbabilities):
    """Multi-label models, each fitted to its own random samples; the score of a label is the mean of their votes.

    A subclass defines the kind of model in `_model`.
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
            raise ValueError(f"max_samples must be a share of the samples, at most 1, got {self.max_samples}.")
        check_flag("bootstrap", self.bootstrap)
        check_choice("voting", self.voting, _VOTES)
        _check_threshold(self.threshold)
        check_random_state(self.random_state)

    def _base_estimator(self) -> Any:
        return chosen_classifier(self.estimator)

    @abstractmethod
    def _model(self, estimator: Any, labels: IntArray, seed: int, random: RandomState) -> Any:
        """Return an unfitted multi-label model, made of a binary classifier."""

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(self._fitted_model)(X, labels, int(seed), params) for seed in seeds
        )
        self.threshold_ = self._fitted_threshold(X, labels, params.get("sample_weight"))

    def _fitted_model(self, X: Matrix, labels: Matrix, seed: int, params: Mapping[str, Any]) -> Any:
        """Fit one model to its own random samples; a label with one class among them is constant for the model."""
        random = RandomState(seed)
        rows = self._rows(X.shape[0], random)
        known = as_dense(labels[rows])
        classifier = seeded_classifier(self._base_estimator(), seed, probability=self.voting == "soft")
        model = self._model(classifier, known, seed, random)
        return model._fit(X[rows], known, **params_of_samples(params, rows, X.shape[0]))

    def _rows(self, n_samples: int, random: RandomState) -> IntArray:
        n_rows = max(1, round(self.max_samples * n_samples))
        drawn = random.randint(n_samples, size=n_rows) if self.bootstrap else random.permutation(n_samples)[:n_rows]
        return np.sort(drawn)  # all samples, in their original order

    def _fitted_threshold(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None) -> float:
        if self.threshold != "cardinality":
            return float(self.threshold)
        return float(PCut(per_label=False).fit(self._score(X), labels, sample_weight).thresholds_[0])

    def _score(self, X: Matrix) -> FloatArray:
        total = np.zeros((X.shape[0], len(self._varying)))
        for model in self.estimators_:
            total += getattr(model, _VOTES[self.voting])(X)
        return total / len(self.estimators_)

    def _decide(self, X: Matrix) -> Matrix:
        return cut(self._score(X), self.threshold_)


def _check_threshold(threshold: object) -> None:
    if isinstance(threshold, str):
        check_choice("threshold", threshold, {"cardinality"})
    elif check_positive("threshold", threshold) > 1:
        raise ValueError(f"threshold must be 'cardinality' or a number above 0, at most 1, got {threshold}.")
