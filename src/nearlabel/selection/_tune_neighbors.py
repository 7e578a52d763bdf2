"""The number of neighbours with the best predictions for held-out samples, from one search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.lazy import LazyClassifier, NeighborsSweep
from nearlabel.metrics import Metric, MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS
from nearlabel.models.out_of_sample import Fold, of_groups, rows_of, splits_of, splitter_of
from nearlabel.utils.targets import PartialLabels, check_partial_target, refusal_of_unknown, require_labels
from nearlabel.utils.types import Matrix, MatrixLike
from nearlabel.utils.validation import check_groups


def tune_neighbors(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    n_neighbors: int | Iterable[int] = 30,
    scoring: MetricLike | Sequence[MetricLike] = "micro_f1",
    cv: Any = None,
    groups: ArrayLike | None = None,
) -> Any:
    """Fit a lazy classifier with the number of neighbours that predicts held-out samples best.

    Each training sample is predicted as by a fit to all other samples: for every number of neighbours from a single
    search, without a refit, and with results identical to refitting (`loo_predict`, `loo_predict_proba`).

    Parameters
    ----------
    estimator : lazy classifier or Pipeline
        One with `n_neighbors`, or a pipeline that ends in one; is cloned.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample.
    n_neighbors : int or iterable of int, default=30
        An int: every number from 1 up to it, or as far as the number of samples allows. An iterable: these numbers.
    scoring : str, Metric, callable or sequence of these, default="micro_f1"
        Metrics, as in `nearlabel.metrics.get_metric`; the first decides, the others are added to the table. Among the
        others may be "empty_predictions", the share of samples without a predicted label.
    cv : "loo", int, splitter or iterable of (training, validation) rows, default=None
        How samples are held out. None: "loo" where the classifier has leave-one-out predictions, else five folds of
        shuffled samples. "loo": one at a time; the other steps of a pipeline have then seen the sample. An int: this
        many folds, of consecutive samples. With folds, there is one search and one fit of the other steps for each
        fold; the predictions of all folds are scored together.
    groups : array-like of shape (n_samples,), default=None
        Names of groups of samples that are held out together, such as copies of a text or the images of one patient.
        "loo" leaves out whole groups, and needs as many additional neighbours as the largest group has samples: for few
        large groups ``cv=LeaveOneGroupOut()`` is better. An int or None makes folds of groups; a splitter gets the
        groups.

    Returns
    -------
    estimator : lazy classifier or Pipeline
        Fitted to all samples with the best number, the smallest of equally good ones, as its `n_neighbors`. The table
        is `cv_results_` of the classifier: "n_neighbors", and the values of each metric by its name, arrays
        (n_candidates,). The best value is optimistic: the samples that it is computed on chose the number.

    Raises
    ------
    TypeError
        If the estimator is no lazy classifier with `n_neighbors`, or `scoring` contains something that is no metric.
    ValueError
        If a number is out of range, a metric is unknown, `cv` is "loo" for a classifier without leave-one-out
        predictions, or X or y is malformed.

    See Also
    --------
    NeighborsPerLabel : A number of neighbours for each label.

    Notes
    -----
    scikit-learn's `GridSearchCV` searches again for each number and fold, and averages the folds.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.selection import tune_neighbors
    >>> digits = load_multidigits()
    >>> tuned = tune_neighbors(MLkNN(), digits.X[:500], digits.Y[:500], n_neighbors=(1, 3, 5))
    >>> tuned.n_neighbors, tuned.cv_results_["micro_f1"].round(3).tolist()
    (3, [0.567, 0.598, 0.58])
    """
    metrics = _metrics(scoring)
    tuned, classifier = _with_last_step(estimator)
    if cv is None and hasattr(classifier, "loo_predict"):
        cv = "loo"
    if isinstance(cv, str):
        _tune_left_out(tuned, classifier, X, y, n_neighbors, metrics, cv, groups)
    else:
        _tune_on_folds(tuned, classifier, X, y, n_neighbors, metrics, cv, groups)
    return tuned


def _tune_left_out(
    tuned: Any,
    classifier: Any,
    X: MatrixLike,
    y: MatrixLike,
    n_neighbors: Any,
    metrics: Sequence[Any],
    cv: str,
    groups: ArrayLike | None,
) -> None:
    """Fit the steps before the classifier to all rows, search once, and leave out each row or group in turn."""
    if cv != "loo" or not hasattr(classifier, "loo_predict"):
        raise ValueError(
            f"cv must be a number of folds or a splitter for {type(classifier).__name__}, got {cv!r}."
            + (" It has no leave-one-out predictions." if cv == "loo" else "")
        )
    rows = tuned[:-1].fit_transform(X, y) if _has_steps_before(tuned) else X
    NeighborsSweep.left_out(classifier, rows, y, n_neighbors, groups=groups).fit_best(metrics)
    classifier.set_params(n_neighbors=classifier.n_neighbors_)


def _tune_on_folds(
    tuned: Any,
    classifier: Any,
    X: MatrixLike,
    y: MatrixLike,
    n_neighbors: Any,
    metrics: Sequence[Any],
    cv: Any,
    groups: ArrayLike | None,
) -> None:
    """Score the predictions of all folds together, then fit to all samples."""
    require_labels(tuned, y)
    (labels, container, _), unknown = check_partial_target(tuned, y)
    if unknown is not None and not classifier._takes_unknown:
        raise refusal_of_unknown(classifier, int(unknown.sum()))
    labels = PartialLabels(labels, unknown).with_nan()
    numbers = None if groups is None else check_groups(groups, labels.shape[0])
    splitter = splitter_of(5 if cv is None else cv, labels.shape[0], 0 if cv is None else None, numbers)
    splits = splits_of(splitter, X, labels if unknown is not None else container.wrap(labels), **of_groups(numbers))
    folds = [_fold(tuned, X, labels, *split) for split in splits]
    sweep = NeighborsSweep.on_folds(classifier, folds, n_neighbors)
    table = sweep.table(metrics)
    classifier.set_params(n_neighbors=sweep.best(table, metrics[0]))
    tuned.fit(X, y)
    classifier.cv_results_ = table


def _fold(tuned: Any, X: MatrixLike, labels: Matrix, rows: Any, held: Any) -> Fold:
    """Return training and held-out samples and label sets, as a classifier behind the other steps gets them."""
    training, validation = rows_of(X, rows), rows_of(X, held)
    if _has_steps_before(tuned):
        steps = clone(tuned[:-1])
        training, validation = steps.fit_transform(training, labels[rows]), steps.transform(validation)
    return Fold(training, labels[rows], validation, labels[held])


def _has_steps_before(estimator: Any) -> bool:
    return isinstance(estimator, Pipeline) and len(estimator) > 1


def _with_last_step(estimator: Any) -> tuple[Any, LazyClassifier]:
    """Return a clone, and the lazy classifier in it."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, LazyClassifier):
        raise TypeError(
            "estimator must be a lazy classifier with n_neighbors, or a pipeline that ends in one,"
            f" got {type(last).__name__}."
        )
    copy = clone(estimator)
    return copy, copy[-1] if isinstance(copy, Pipeline) else copy


def _metrics(scoring: MetricLike | Sequence[MetricLike]) -> list[MetricLike]:
    """Return the metrics, the first of which decides."""
    if isinstance(scoring, str | Metric) or callable(scoring):
        scoring = [scoring]
    elif not isinstance(scoring, Iterable):
        raise TypeError(f"scoring must be a metric or a list of metrics, got {scoring!r}.")
    metrics = list(scoring)
    if not metrics:
        raise ValueError("scoring must name at least one metric, got none.")
    if metrics[0] == EMPTY_PREDICTIONS:
        raise ValueError(f"scoring must begin with a metric that can decide, got {EMPTY_PREDICTIONS!r} first.")
    for metric in metrics:
        if metric != EMPTY_PREDICTIONS:
            get_metric(metric)
    return metrics
