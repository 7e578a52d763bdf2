"""Out-of-sample predictions: leave-one-out, by folds, or by a model fitted before.

The choice of a number of neighbours, tuned thresholds, the choice among models and experiments use them.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import bdtr, bdtrc
from sklearn.model_selection import GroupKFold, KFold, check_cv

from nearlabel.neighbors import PrecomputedNeighbors
from nearlabel.neighbors.votes import as_search
from nearlabel.utils.containers import date_of, is_missing, require_dense
from nearlabel.utils.estimators import as_label_scores, label_scores, response_method_of
from nearlabel.utils.frames import plain_labels
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.targets import PartialLabels, has_unknown
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer

__all__ = [
    "EARLIER", "Answer", "Fold", "LeaveOneOut", "Needs", "join_answers", "largest_group", "later_half", "of_groups",
    "prefit_answer", "ranks_of", "rows_of", "split_at", "splits_of", "splitter_of",
]  # fmt: skip


class Needs(NamedTuple):
    """The needed results of a model: its label sets, its scores, or both; `sparse`: the latter as few as it has."""

    labels: bool = True
    scores: bool = True
    sparse: bool = False  # scores may be `SparseScores`


BOTH = Needs()


class Answer(NamedTuple):
    """Label sets and scores of rows, each (n_rows, n_labels); None where not needed."""

    labels: Any
    scores: Any


class _SharedSearch:
    """Rows whose neighbours are searched once for every model and every smaller number of neighbours."""

    def __init__(self, X: MatrixLike, y: Matrix, *queries: MatrixLike) -> None:
        self.X, self.y, self._queries = X, y, queries
        self._known: dict[str, PrecomputedNeighbors] = {}

    def neighbors(self, search: Any, n_neighbors: int, name: str = "") -> Any:
        """Return the neighbours of the rows by a search, which is copied and fitted.

        Later calls with the same name return the result of the first one. (The text of a search does not identify it:
        for a user's object it may contain its address, which another object can get later.)

        If label sets have unknown cells, the search itself is returned: each label has neighbours of its own, which may
        be farther than those found.
        """
        if has_unknown(self.y):
            return as_search(search)
        if name not in self._known:
            most = min(n_neighbors, self.y.shape[0] - 1)
            self._known[name] = PrecomputedNeighbors.from_search(
                as_search(search), self.X, *self._queries, n_neighbors=most, check_rows=False
            )
        return self._known[name]


class LeaveOneOut(_SharedSearch):
    """Each row is predicted as by a fit to all others, without a refit: by methods with `loo_predict`.

    With groups, a row is predicted from the rows of other groups.
    """

    def __init__(self, X: MatrixLike, y: Matrix, groups: IntArray | None = None) -> None:
        super().__init__(X, y)
        self.groups = groups

    def by_groups(self, groups: IntArray) -> LeaveOneOut:
        """Return the same rows, with their known neighbours, predicted from the rows of other groups."""
        other = LeaveOneOut(self.X, self.y, groups)
        other._known = self._known
        return other

    def answer(self, estimator: Any, needs: Needs = BOTH, **params: Any) -> Answer:
        """Fit the estimator, in place, to all rows, and return its leave-one-out predictions.

        Steps of a pipeline before the classifier have then seen each row.

        Raises
        ------
        ValueError
            If it has no leave-one-out predictions.
        """
        return left_out_answer(estimator.fit(self.X, self.y, **params), self.y.shape[1], needs, self.groups)


class Fold(_SharedSearch):
    """Some rows are held out, and predicted by models fitted to the others."""

    def __init__(self, X: MatrixLike, y: Matrix, held_out: MatrixLike, truth: Matrix = None) -> None:
        super().__init__(X, y, held_out)
        self.held_out, self.truth = held_out, truth

    @classmethod
    def of(cls, X: MatrixLike, y: Matrix, training: IntArray, held_out: IntArray) -> Fold:
        """Split rows by their numbers."""
        return cls(rows_of(X, training), y[training], rows_of(X, held_out), y[held_out])

    def answer(self, estimator: Any, needs: Needs = BOTH, **params: Any) -> Answer:
        """Fit the estimator, in place, to the other rows, and return its predictions for those held out."""
        return prefit_answer(estimator.fit(self.X, self.y, **params), self.held_out, self.y.shape[1], needs)


def prefit_answer(fitted: Any, X: MatrixLike, n_labels: int, needs: Needs = BOTH, method: str = "") -> Answer:
    """Return a fitted model's predictions for rows that it has not seen; `method` gives the scores, "" any it has."""
    scores = None
    if needs.scores:
        method = method or response_method_of(fitted)
        if needs.sparse and method == "predict_proba":
            last, rows = _last_step(fitted, X)
            if _is_of_sparse_labels(last):
                of_sparse: Answer = last._answer_queries(last._queries(rows), needs)
                return of_sparse
        scores = label_scores(fitted, X, n_labels, method)
    return Answer(plain_labels(fitted, X) if needs.labels else None, scores)


def _last_step(fitted: Any, X: MatrixLike) -> tuple[Any, MatrixLike]:
    """Return the classifier at the end of a fitted pipeline or search, and the rows that reach it."""
    while hasattr(fitted, "steps") or hasattr(fitted, "best_estimator_"):
        if hasattr(fitted, "steps") and len(fitted.steps) > 1:
            X = fitted[:-1].transform(X)
        fitted = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted.best_estimator_
    return fitted, X


def _is_of_sparse_labels(fitted: Any) -> bool:
    """Return whether a fitted model is one of our lazy classifiers, whose y is sparse."""
    return sparse.issparse(getattr(fitted, "_labels", None)) and hasattr(fitted, "_answer_left_out")


def left_out_answer(fitted: Any, n_labels: int, needs: Needs = BOTH, groups: IntArray | None = None) -> Answer:
    """Return the leave-one-out predictions of a fitted model: its own, of its last step, or of its best estimator.

    With groups, each row is predicted from the rows of other groups.

    Raises
    ------
    ValueError
        If it has none.
    """
    while hasattr(fitted, "steps") or hasattr(fitted, "best_estimator_"):
        _check_resamples_nothing(fitted)
        fitted = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted.best_estimator_
    if not hasattr(fitted, "loo_predict_proba"):
        raise ValueError(
            "cv='loo' needs probabilities of a classifier with loo_predict_proba, as in nearlabel.lazy,"
            f" got {type(fitted).__name__}. Hint: cv=LeaveOneOut() works for any classifier."
        )
    if needs.sparse and _is_of_sparse_labels(fitted):
        of_sparse: Answer = fitted._answer_left_out(needs, groups)
        return of_sparse
    scores = None
    if needs.scores:
        scores = as_label_scores(fitted.loo_predict_proba(**of_groups(groups)), fitted, n_labels, "predict_proba")
    return Answer(fitted.loo_predict(**of_groups(groups)) if needs.labels else None, scores)


def left_out_scores(
    fitted: Any, shape: tuple[int, int], groups: IntArray | None, params: Mapping[str, Any], *, stored: bool
) -> tuple[IntArray, Any]:
    """Return the training samples that have leave-one-out scores, those of a weight above 0, and these scores.

    Takes the shape of the label sets (n_samples, n_labels), groups, and the metadata that `fit` got.
    """
    rows, weights = np.arange(shape[0]), params.get("sample_weight")
    rows = rows if weights is None else rows[np.asarray(weights) != 0]
    needs, of_rows = Needs(labels=False, sparse=stored), None if groups is None else groups[rows]
    return rows, left_out_answer(fitted, shape[1], needs, of_rows).scores


def _check_resamples_nothing(pipeline: Any) -> None:
    """Raise ValueError if a step makes other training samples: the model would then predict samples that it made."""
    for _, step in getattr(pipeline, "steps", []):
        if hasattr(step, "fit_resample"):
            raise ValueError(
                f"cv='loo' needs a model without samplers, got {type(step).__name__} in a pipeline."
                f" Hint: ResampledClassifier(estimator, sampler) leaves samples out with all that were made from them."
            )


def join_answers(answers: Iterable[Answer]) -> Answer:
    """Return the predictions of several folds as one, dense, in the order of the folds."""
    labels, scores = zip(*answers, strict=True)
    return Answer(
        None if labels[0] is None else np.vstack([as_dense(part) for part in labels]),
        None if scores[0] is None else np.vstack(scores),
    )


def splitter_of(cv: Any, n_samples: int, random_state: int | RandomState | None, groups: IntArray | None = None) -> Any:
    """Return the splitter of a parameter `cv`; an int makes folds of rows, or of groups."""
    if not isinstance(cv, int | np.integer):
        return check_cv(cv)
    n_folds = check_integer("cv", cv, low=2)
    if n_folds > n_samples:
        raise ValueError(f"cv must be at most n_samples={n_samples}, got {n_folds}.")
    if groups is None:
        return KFold(n_folds, shuffle=random_state is not None, random_state=random_state)
    if n_folds > groups.max() + 1:
        raise ValueError(f"cv must be at most the {groups.max() + 1} groups, got {n_folds}.")
    return GroupKFold(n_folds, shuffle=random_state is not None, random_state=random_state)


def largest_group(groups: IntArray | None) -> int:
    """Return how many rows the largest group has; without groups, 1."""
    return 1 if groups is None else int(np.bincount(groups).max())


def of_groups(groups: IntArray | None) -> dict[str, IntArray]:
    """Return the keyword of `split` or of leave-one-out predictions: nothing without groups."""
    return {} if groups is None else {"groups": groups}


def splits_of(splitter: Any, X: MatrixLike, y: Matrix, **params: Any) -> list[tuple[IntArray, IntArray]]:
    """Return the splits as row numbers; a splitter may give masks. Warn if folds are consecutive rows in an order."""
    splits = [[_row_numbers(rows) for rows in split] for split in splitter.split(X, y, **params)]
    if not splits or not all(len(split) == 2 and len(split[1]) for split in splits):
        raise ValueError(
            "cv must give pairs of training and validation rows, neither of them empty, got"
            f" {len(splits)} splits. Hint: the first fit exhausts a generator; pass a list."
        )
    if isinstance(splitter, KFold) and not splitter.shuffle and len(y.shape) == 2:
        advise_if_ordered(y, [validation for _, validation in splits])
    return [(training, validation) for training, validation in splits]


def _row_numbers(rows: Any) -> IntArray:
    numbers = np.asarray(rows)
    return np.flatnonzero(numbers) if numbers.dtype == np.bool_ else numbers


def rows_of(X: MatrixLike, rows: IntArray) -> MatrixLike:
    """Return some rows of an array, sparse matrix, list, data frame or pyarrow.Table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "column_names"):
        return X.take(rows)
    return [X[row] for row in rows] if isinstance(X, list | tuple) else X[rows]


# A split by time: models learn on the earlier rows, and are evaluated on the later ones.

EARLIER = 0.8  # of the rows


def ranks_of(order: ArrayLike, n_samples: int) -> IntArray:
    """Return the place of each row's date or number among the distinct ones, from 0.

    Parameters
    ----------
    order : array-like of shape (n_samples,)
        Dates or numbers; dates as text in ISO 8601.
    n_samples : int
        Number of rows.

    Raises
    ------
    ValueError
        If the length is wrong, a value is missing or neither date nor number, or all are equal.
    """
    require_dense("order", order)
    values = np.asarray(order)
    if values.shape != (n_samples,):
        raise ValueError(f"order must be of shape ({n_samples},), one for each row, got {values.shape}.")
    missing = np.flatnonzero([is_missing(value) or (isinstance(value, str) and not value.strip()) for value in values])
    if len(missing):
        raise ValueError(
            f"order must have a value in each row, got {len(missing)} without, the first row {missing[0]}."
        )
    try:
        distinct, ranks = np.unique(_with_times(values), return_inverse=True)
    except TypeError as error:
        raise ValueError("order must be dates only or numbers only, all with a time zone or none.") from error
    if len(distinct) < 2:
        raise ValueError(f"order must have at least 2 distinct values, got {distinct[0]} only.")
    return np.asarray(ranks.ravel(), dtype=np.intp)


_YEAR_AND_MONTH = re.compile(r"\d{4}(-\d\d)?")  # which `datetime` does not read


def _with_times(values: NDArray[Any]) -> NDArray[Any]:
    """Return values with times for texts of dates, as others, such as 31.01.2026, would sort wrongly."""
    if values.dtype.kind not in "OSU":
        return values
    read = values.astype(object)
    for row, value in enumerate(values.tolist()):
        if isinstance(value, str | bytes):
            read[row] = _time(value, row)
    return read


def _time(value: str | bytes, row: int) -> Any:
    text = str(value)
    try:
        return date_of(text + "-01-01"[len(text) - 4 :] if _YEAR_AND_MONTH.fullmatch(text) else text)
    except ValueError as error:
        raise ValueError(
            f"order must be dates or numbers, as text only dates like 2026-01-31, got {value!r} in row {row}. Hint:"
            " pandas.to_datetime(order, format=...) reads other dates."
        ) from error


def split_at(ranks: IntArray, share: float = EARLIER) -> tuple[IntArray, IntArray]:
    """Return the earlier rows, about so large a share of all, and the later ones; rows of equal rank stay together."""
    n_until = np.cumsum(np.bincount(ranks))[:-1]  # rows up to each rank but the last
    last = int(np.abs(n_until - share * len(ranks)).argmin())
    return np.flatnonzero(ranks <= last), np.flatnonzero(ranks > last)


def later_half(ranks: IntArray) -> IntArray:
    """Return the later half of the rows; all of them if their ranks are equal."""
    return split_at(ranks + 1, 0.5)[1]


# Advice where folds of consecutive rows differ in their labels as ordered rows do.

_MOST_FOLDS = 100  # more folds are too small for the test
_CHANCE = 1e-6  # of a warning about rows in a random order


def advise_if_ordered(y: MatrixLike, folds: Sequence[IntArray]) -> None:
    """Warn if a fold has less than half or more than twice its share of a label, which chance hardly makes.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets.
    folds : sequence of ndarrays
        The validation rows of each fold.
    """
    if len(folds) > _MOST_FOLDS:
        return
    labels = PartialLabels.of(y).labels
    counts = np.vstack([np.asarray(labels[rows].sum(axis=0)).ravel() for rows in folds])
    n_rows = np.array([len(rows) for rows in folds])[:, np.newaxis]
    share, total = n_rows / n_rows.sum(), counts.sum(axis=0)
    few, many = counts < share * total / 2, counts > share * total * 2
    chances = np.where(few, bdtr(counts, total, share), np.where(many, bdtrc(counts - 1, total, share), 1.0))
    fold, label = np.unravel_index(chances.argmin(), chances.shape)
    if chances[fold, label] * chances.size < _CHANCE:
        n, n_here, n_all = int(n_rows[fold, 0]), int(counts[fold, label]), int(total[label])
        warnings.warn(
            f"The samples seem to be ordered: label {label} is in {n_here} of the {n} samples of a fold, and in"
            f" {n_all - n_here} of the other {n_rows.sum() - n}. Folds of consecutive samples then differ from each"
            " other. Hint: random_state=0 shuffles, as does cv=KFold(5, shuffle=True, random_state=0).",
            AdviceWarning,
            stacklevel=2,
        )
