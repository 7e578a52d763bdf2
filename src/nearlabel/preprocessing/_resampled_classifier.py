"""A classifier that is fitted to resampled samples, with leave-one-out predictions for the original ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from nearlabel.models import MetaClassifier
from nearlabel.models.out_of_sample import Answer, Needs, left_out_answer, prefit_answer
from nearlabel.preprocessing._sampler import stacked
from nearlabel.utils import estimators
from nearlabel.utils.frames import framed
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import check_groups

# Parameters that methods choose by leave-one-out predictions where they are "auto"; and numbers to try instead.
_TO_TRY = {"n_neighbors": [5, 10, 20], "delta": [0, 2, 4], "power": [8, 16, 32]}


def _if_estimator_has(method: str) -> Callable[[estimators.Method], estimators.Method]:
    """Return a decorator that hides a method that the base classifier does not have."""
    return estimators.available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


def _leaves_out(self: ResampledClassifier) -> bool:
    """Return whether the base classifier, alone or in a pipeline, has leave-one-out predictions for known seeds."""
    steps = getattr(self.estimator, "steps", [(None, self.estimator)])
    return hasattr(steps[-1][1], "loo_predict_proba") and getattr(self.sampler, "_names_seeds", True)


class ResampledClassifier(MetaEstimatorMixin, MetaClassifier):
    """Fit a classifier to resampled samples; tune and evaluate it on the original ones.

    The sampler is applied only to the training samples of `fit`. Leave-one-out predictions are for the original
    samples, each left out together with all that were made from it. So thresholds may be tuned around this classifier,
    by ``TunedThresholdsClassifierCV(ResampledClassifier(MLkNN(), MLSMOTE()), cv="loo")`` or by folds, within which it
    resamples again. Prototypes (`MRSP3`) are made of several samples and cannot be left out with one of them: use
    folds.

    Parameters
    ----------
    estimator : multi-label classifier
        Cloned and fitted to the resampled samples, which it gets as arrays or CSR. Copies would bias its own choices by
        leave-one-out or folds. So where samples were added, every estimator inside it with a parameter `cv` raises an
        error (tuned thresholds, calibration, `GridSearchCV`), and so does "auto" as `n_neighbors`, `delta` or `power`.
    sampler : object with `fit_resample`, `sample_indices_` and `seed_indices_`
        A sampler of this module, or another one; cloned.

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    sampler_ : sampler
        The fitted sampler; ``sampler_.seed_indices_[row]`` is the original sample from which a row of the fit was made.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.thresholds.TunedThresholdsClassifierCV : To be used around this classifier.
    imblearn.pipeline.Pipeline : Also takes the samplers; has no leave-one-out predictions.

    Notes
    -----
    A fit without a sample would also have resampled without it. Here, samples made from other samples do not change,
    though the sample left out may have been their reference or one of the neighbours that voted on their labels
    (`MLSMOTE`), and counted in the imbalance ratios. So leave-one-out predictions are not exactly those of refits.
    After `MLSMOTE` they are too good, the more so the fewer neighbours vote: on the data set emotions micro F1 of
    ``MLkNN(1)`` is 0.73 by leave-one-out and 0.63 by ten folds, of ``MLkNN(10)`` 0.70 and 0.66. Choose a number of
    neighbours by folds (``cv=5``), which have no such leak.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. MLSMOTE: approaching imbalanced multilabel learning through
    synthetic instance generation. Knowledge-Based Systems 89, 2015.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.metrics import micro_f1
    >>> from nearlabel.preprocessing import MLSMOTE, ResampledClassifier
    >>> from nearlabel.thresholds import TunedThresholdsClassifierCV
    >>> digits = load_multidigits()
    >>> resampled = ResampledClassifier(MLkNN(), MLSMOTE(random_state=0))
    >>> model = TunedThresholdsClassifierCV(resampled, cv="loo").fit(digits.X[:1500], digits.Y[:1500])
    >>> [round(f1, 3) for f1 in (model.objective_, micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])))]
    [0.69, 0.672]
    """

    _takes_constant_labels = True
    estimator_: Any
    sampler_: Any
    _deleted: IntArray  # numbers of the samples that the sampler deleted
    _deleted_rows: Matrix

    def __init__(self, estimator: Any, sampler: Any) -> None:
        self.estimator = estimator
        self.sampler = sampler

    def _check_parameters(self) -> None:
        if not hasattr(self.sampler, "fit_resample"):
            raise TypeError(f"sampler must have fit_resample, like MLSMOTE(), got {self.sampler!r}.")

    def _base_estimator(self) -> Any:
        return self.estimator

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        self.sampler_ = clone(self.sampler)
        rows, label_sets = self.sampler_.fit_resample(X, labels)
        seeds = self.sampler_.seed_indices_
        has_unknown = bool((seeds < 0).any())
        if has_unknown or len(np.unique(seeds)) < len(seeds):
            _check_chooses_nothing(self.estimator)
        if has_unknown and params:
            raise ValueError(f"{', '.join(params)} must be None with samples made of several, got {self.sampler!r}.")
        self.estimator_ = clone(self.estimator)
        with estimators.requiring_multilabel(self.estimator):
            self.estimator_.fit(rows, label_sets, **estimators.params_of_samples(params, seeds, X.shape[0]))
        # Where seeds are unknown no sample is left out, and a model of few prototypes should not store all samples.
        n_kept = 0 if has_unknown else X.shape[0]
        self._deleted = np.setdiff1d(np.arange(n_kept), self.sampler_.sample_indices_)
        self._deleted_rows = X[self._deleted]

    def _score(self, X: Matrix) -> FloatArray:
        method = estimators.response_method_of(self.estimator_)
        return estimators.label_scores(self.estimator_, X, self._n_labels, method)

    def _decide(self, X: Matrix) -> Matrix:
        return self.estimator_.predict(X)

    @_if_estimator_has("predict_proba")
    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of every label, by the classifier fitted to resampled samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, whatever the shape of the base classifier's result. For a one-dimensional y, a column for each
            class.
        """
        queries = self._queries(X)
        scores = estimators.label_scores(self.estimator_, queries, self._n_labels, "predict_proba")
        return self._container.probabilities(scores)

    @_if_estimator_has("decision_function")
    @framed
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the decision value of every label, by the classifier fitted to resampled samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries,)
            One array, whatever the shape of the base classifier's result. For a one-dimensional y, the decision value
            of its second class.
        """
        queries = self._queries(X)
        scores = estimators.label_scores(self.estimator_, queries, self._n_labels, "decision_function")
        return self._container.decisions(scores)

    @estimators.available_if(_leaves_out)
    def loo_predict_proba(self, groups: ArrayLike | None = None) -> FloatArray:
        """Return leave-one-out scores of the original samples, each left out with all that were made from it.

        A sample that the sampler deleted is no neighbour of itself: its scores are those of `predict_proba`. The
        sampler has seen all samples; see the notes of the class.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            Names of the original samples' groups, which are left out together with all that were made from them. None:
            each sample is a group.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels) or (n_samples, n_classes)
            In the order of the original samples that were fitted with a weight above 0.

        Raises
        ------
        ValueError
            As the base classifier; or if a sample was deleted and others of its group were not.
        """
        scores = self._answer_left_out(Needs(labels=False), groups).scores  # which needs a fit
        return self._container.probabilities(scores)

    @estimators.available_if(_leaves_out)
    def loo_predict(self, groups: ArrayLike | None = None) -> LabelSets:
        """Return leave-one-out label sets of the original samples, each left out with all that were made from it.

        Parameters
        ----------
        groups : array-like of shape (n_samples,), default=None
            As in `loo_predict_proba`.

        Returns
        -------
        labels : ndarray or CSR of shape (n_samples, n_labels), or (n_samples,) for a one-dimensional y
            In the container and of the type of y.

        Raises
        ------
        ValueError
            As `loo_predict_proba`.
        """
        labels = self._answer_left_out(Needs(scores=False), groups).labels
        return self._container.wrap(labels)

    def _answer_left_out(self, needs: Needs, groups: ArrayLike | None) -> Answer:
        check_is_fitted(self)
        sources, first = np.unique(self.sampler_.sample_indices_, return_index=True)
        first, sources = first[sources >= 0], sources[sources >= 0]
        group_of = self._groups_of_fit(len(sources) + len(self._deleted), groups)
        answers = [left_out_answer(self.estimator_, self._n_labels, needs, group_of)]
        answers = [Answer(*(None if part is None else part[first] for part in answers[0]))]
        if len(self._deleted):
            answers.append(prefit_answer(self.estimator_, self._deleted_rows, self._n_labels, needs))
        order = np.argsort(np.append(sources, self._deleted))
        parts = zip(*answers, strict=True)
        return Answer(*(None if part[0] is None else stacked(list(part))[order] for part in parts))

    def _groups_of_fit(self, n_samples: int, groups: ArrayLike | None) -> IntArray:
        """Return the group of each resampled row: that of its seed."""
        seeds = self.sampler_.seed_indices_
        if (seeds < 0).any():
            raise ValueError(
                f"sampler must have a seed for each row to leave samples out, got {self.sampler!r}."
                " Hint: cv=5 in place of cv='loo'."
            )
        names = np.arange(n_samples) if groups is None else check_groups(groups, n_samples)
        not_left_out = self._deleted[np.isin(names[self._deleted], names[seeds])]
        if len(not_left_out):
            raise ValueError(
                f"sampler must keep or delete groups as a whole, got row {not_left_out[0]} deleted and"
                " others of its group not. Hint: cv=5 in place of cv='loo'."
            )
        return cast(IntArray, names[seeds])


def _check_chooses_nothing(estimator: Any) -> None:
    """Raise ValueError if a classifier would choose parameters by samples whose copies it is fitted to."""
    for name, value in estimator.get_params().items():
        parameter = name.rpartition("__")[2]
        if parameter == "cv" and not (isinstance(value, str) and value == "prefit"):
            raise ValueError(
                "estimator must not use folds or leave-one-out predictions where samples were added, whose copies would"
                f" bias it, got {name}={value!r}. Hint: around ResampledClassifier(...) it uses the original samples,"
                " as TunedThresholdsClassifierCV, CalibratedLabels and GridSearchCV do."
            )
        if parameter in _TO_TRY and (isinstance(value, str) or callable(value)):
            raise ValueError(
                f"estimator must have a number as {name} where samples were added, whose copies would bias the choice,"
                f" got {value!r}. Hint: GridSearchCV(ResampledClassifier(...),"
                f" {{'estimator__{name}': {_TO_TRY[parameter]}}})."
            )
