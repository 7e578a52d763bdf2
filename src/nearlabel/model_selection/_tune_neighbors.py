"""The number of neighbours that does best on rows held out, from one search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline

from nearlabel.lazy._base import LazyClassifier, fresh_search
from nearlabel.lazy._leave_one_out import LeaveOneOut
from nearlabel.lazy._sweep import N_FOLDS, SCORING, Fold, Needs, best_of, held_out, values_over
from nearlabel.metrics import get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS
from nearlabel.thresholds._cross_val import rows_of, splits_of, splitter_of
from nearlabel.utils.types import Matrix, MatrixLike
from nearlabel.utils.validation import LabelContainer, as_label_matrix, check_integer


def tune_neighbors(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    n_neighbors: int | Iterable[int] = 30,
    scoring: str | Sequence[str] = SCORING,
    cv: Any = None,
) -> Any:
    """Fit a lazy classifier with the number of neighbours that does best on rows held out.

    Each training row is judged by what a fit of all others would predict for it: for every number of neighbours from a
    single search, without a refit, and exactly (`loo_predict`, `loo_predict_proba`).

    Parameters
    ----------
    estimator : lazy classifier or Pipeline
        One with `n_neighbors`, or a pipeline that ends in one; is cloned.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training rows.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1.
    n_neighbors : int or iterable of int, default=30
        An int: every number from 1 up to it, or as far as the rows allow. Others: these.
    scoring : str or sequence of str, default="micro_f1"
        Keys of `nearlabel.metrics.CATALOGUE`; the first decides, the others stand beside it in the table. Among the
        others may be "empty_predictions", the share of rows for which no label is predicted.
    cv : "loo", int, splitter or iterable of (training, validation) rows, default=None
        How rows are held out. None: "loo" where the classifier has leave-one-out answers, else five folds of shuffled
        rows. "loo": one at a time; the other steps of a pipeline have then seen the row. An int: so many folds, of
        consecutive rows. With folds, one search and one fit of the other steps a fold; the answers of all folds are
        judged together.

    Returns
    -------
    estimator : lazy classifier or Pipeline
        Fitted to all rows with the best number, of equal ones the smallest, as its `n_neighbors`. The table is
        `cv_results_` of the classifier: "n_neighbors", and the values of each measure, arrays (n_candidates,). The best
        value is optimistic: the rows that it is judged on chose the number.

    Raises
    ------
    TypeError
        If the estimator is no lazy classifier with `n_neighbors`.
    ValueError
        If a number is out of range, a measure is unknown, `cv` is "loo" for a classifier without leave-one-out answers,
        or X or y is malformed.

    See Also
    --------
    NeighborsPerLabel : A number of its own for each label.

    Notes
    -----
    scikit-learn's `GridSearchCV` searches anew for each number and fold, and averages the folds.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.model_selection import tune_neighbors
    >>> digits = load_multidigits()
    >>> tuned = tune_neighbors(MLkNN(), digits.X[:500], digits.Y[:500], n_neighbors=(1, 3, 5))
    >>> tuned.n_neighbors, tuned.cv_results_["micro_f1"].round(3).tolist()
    (3, [0.567, 0.598, 0.58])
    """
    metrics = _metrics(scoring)
    tuned, classifier = _with_last_step(estimator)
    if cv is None and isinstance(classifier, LeaveOneOut):
        cv = "loo"
    if isinstance(cv, str):
        _tune_left_out(tuned, classifier, X, y, n_neighbors, metrics, cv)
    else:
        _tune_on_folds(tuned, classifier, X, y, n_neighbors, metrics, cv)
    return tuned


def _tune_left_out(
    tuned: Any, classifier: Any, X: MatrixLike, y: MatrixLike, n_neighbors: Any, metrics: Sequence[str], cv: str
) -> None:
    """Fit the steps before the classifier to all rows, search once, and leave out each row in turn."""
    if cv != "loo" or not isinstance(classifier, LeaveOneOut):
        raise ValueError(
            f"cv must be a number of folds or a splitter for {type(classifier).__name__}, got {cv!r}."
            + (" It has no leave-one-out answers." if cv == "loo" else "")
        )
    rows = tuned[:-1].fit_transform(X, y) if _has_steps_before(tuned) else X
    classifier.set_params(n_neighbors=1)
    with classifier._prepared(rows, y) as (checked, labels):
        candidates = candidates_of(n_neighbors, classifier._most_neighbors_held_out(), labels.shape[0])
        classifier._remember_neighbors(max(candidates))
        answers = classifier._sweep(checked, labels, candidates, Needs.of(metrics))
        classifier.cv_results_ = values_over(answers, metrics)
        classifier._use_neighbors(best_of(classifier.cv_results_, metrics[0]), checked, labels)
    classifier.set_params(n_neighbors=classifier.n_neighbors_)


def _tune_on_folds(
    tuned: Any, classifier: Any, X: MatrixLike, y: MatrixLike, n_neighbors: Any, metrics: Sequence[str], cv: Any
) -> None:
    """Judge the answers of all folds together, then fit to all rows."""
    labels = as_label_matrix(y)
    splitter = splitter_of(N_FOLDS if cv is None else cv, labels.shape[0], 0 if cv is None else None)
    splits = splits_of(splitter, X, LabelContainer.of(y).wrap(labels))
    fewest = min(len(rows) for rows, _ in splits)
    candidates = candidates_of(n_neighbors, fewest - 1, labels.shape[0])
    parts = [_fitted_part(tuned, X, labels, *split) for split in splits]
    folds = [Fold.of(*part, fresh_search(classifier.search), max(candidates)) for part in parts]
    table = values_over(held_out(classifier, folds, candidates, Needs.of(metrics)), metrics)
    classifier.set_params(n_neighbors=best_of(table, metrics[0]))
    tuned.fit(X, y)
    classifier.cv_results_ = table


def _fitted_part(
    tuned: Any, X: MatrixLike, labels: Matrix, rows: Any, held: Any
) -> tuple[MatrixLike, Matrix, MatrixLike, Matrix]:
    """Return rows and label sets to learn from and held out, as a classifier behind the other steps sees them."""
    training, validation = rows_of(X, rows), rows_of(X, held)
    if _has_steps_before(tuned):
        steps = clone(tuned[:-1])
        training, validation = steps.fit_transform(training, labels[rows]), steps.transform(validation)
    return training, labels[rows], validation, labels[held]


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


def candidates_of(n_neighbors: int | Iterable[int], most: int, n_samples: int) -> list[int]:
    """Return the numbers of neighbours to try, where fits without the rows held out can have `most`."""
    if most < 1:
        raise ValueError(
            f"X must have more rows to hold some out and find neighbours among the others, got n_samples={n_samples}."
        )
    if isinstance(n_neighbors, Iterable) and not isinstance(n_neighbors, str):
        candidates = [check_integer("n_neighbors", k, low=1) for k in dict.fromkeys(n_neighbors)]
    else:
        candidates = list(range(1, min(check_integer("n_neighbors", n_neighbors, low=1), most) + 1))
    if not candidates:
        raise ValueError("n_neighbors must name at least one number, got none.")
    if max(candidates) > most:
        raise ValueError(f"n_neighbors must be at most {most} where rows are held out, got {max(candidates)}.")
    return sorted(candidates)


def _metrics(scoring: str | Sequence[str]) -> list[str]:
    """Return the names of measures of the catalogue, each once, and of what else stands beside the first."""
    names = list(dict.fromkeys([scoring] if isinstance(scoring, str) else scoring))
    if not names:
        raise ValueError("scoring must name at least one measure, got none.")
    for name in names[:1] + [name for name in names[1:] if name != EMPTY_PREDICTIONS]:
        get_metric(name)
    return names
