"""Predictions that a person should check: those with the largest expected errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from nearlabel.models.unwrapped import unwrapped
from nearlabel.thresholds import ExpectedF
from nearlabel.utils.containers import checked_container
from nearlabel.utils.estimators import label_scores
from nearlabel.utils.frames import plain_labels
from nearlabel.utils.tables import ShownList, plain_value
from nearlabel.utils.types import FloatArray, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_integer, row_blocks

_MOST_NAMED = 3  # labels in a reason
_BYTES_PER_ROW = 2**13  # assumed for the predictions of a row


class _Predicted(NamedTuple):
    """Scores and label sets of some rows, and the probability that each cell is wrong; (n_rows, n_labels)."""

    scores: FloatArray
    labels: Any

    @property
    def wrong(self) -> FloatArray:
        """Return the probability that each decision is wrong, according to the model."""
        return np.where(self.labels, 1 - self.scores, self.scores)


_LOSSES: Mapping[str, Callable[[_Predicted], FloatArray]] = {
    "labels": lambda predicted: np.asarray(predicted.wrong.sum(axis=1)),
    "subset": lambda predicted: np.asarray(1 - np.prod(1 - predicted.wrong, axis=1)),
    "f1": lambda predicted: np.asarray(1 - ExpectedF().expected(predicted.scores)),
}
LOSSES = tuple(_LOSSES)


@dataclass(frozen=True)
class LabelDoubt:
    """A predicted or missing label of a sample that may be wrong.

    Parameters
    ----------
    label : object
        Name of the label.
    predicted : bool
        Whether it is predicted.
    probability_wrong : float
        Probability that the decision is wrong, from the model's own probability of the label.
    """

    label: Any
    predicted: bool
    probability_wrong: float


@dataclass(frozen=True)
class DoubtfulRow:
    """A prediction to check; `review` returns them.

    Parameters
    ----------
    row : int
        Number of the sample.
    expected_loss : float
        Expected loss of the prediction, as `expected_loss` returns it.
    predicted : list
        Names of the predicted labels.
    doubts : list of LabelDoubt
        The labels most likely to be wrong, at most three, likeliest first.
    """

    row: int
    expected_loss: float
    predicted: list[Any]
    doubts: list[LabelDoubt]

    @property
    def reason(self) -> str:
        """The uncertain labels, in words."""
        return "; ".join(
            f"{one.label} {'is' if one.predicted else 'is not'} predicted, wrong with {one.probability_wrong:.0%}"
            for one in self.doubts
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON.

        Returns
        -------
        dict
            The fields, and the reason.
        """
        return asdict(self) | {"reason": self.reason}


def expected_loss(model: Any, X: MatrixLike, *, loss: str = "labels") -> FloatArray:
    """Return the expected loss of a fitted model's prediction for each sample, by its own probabilities.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier with `predict_proba`, a pipeline, or tuned thresholds around one.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples, as for `model.predict`. They are predicted in blocks.
    loss : {"labels", "subset", "f1"}, default="labels"
        "labels": the expected number of wrong labels, which needs only that the probability of each label is right.
        "subset": the probability that any label is wrong. "f1": 1 minus the largest expected F1 of any label set. The
        last two assume that labels are independent given their probabilities. F1 is 0 where a sample has no label and
        none is predicted, as in `nearlabel.thresholds.ExpectedF`, so that samples without labels rank high by "f1".

    Returns
    -------
    ndarray of shape (n_samples,)
        At least 0; larger is worse.

    Raises
    ------
    ValueError
        If `loss` is unknown, X is malformed, or the model has no `predict_proba`.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    review : The samples of largest expected loss, with reasons.

    Examples
    --------
    >>> from nearlabel.audit import expected_loss
    >>> from nearlabel.lazy import BRkNN
    >>> model = BRkNN(n_neighbors=2).fit([[0], [1], [2], [3]], [[1, 0], [1, 0], [0, 0], [1, 1]])
    >>> expected_loss(model, [[0.4], [2.4]])
    array([0., 1.])
    """
    check_choice("loss", loss, LOSSES)
    (X,) = indexable(checked_container("X", X))
    return np.concatenate([_LOSSES[loss](part) for part in _blocks(model, X)])


def review(
    model: Any, X: MatrixLike, n: int, *, loss: str = "labels", label_names: Sequence[Any] | None = None
) -> list[DoubtfulRow]:
    """Return the samples whose predictions a person should check first: those of largest expected loss.

    Parameters
    ----------
    model : fitted estimator
        As for `expected_loss`.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples, as for `model.predict`. They are predicted in blocks.
    n : int
        Number of samples to return; all, if there are fewer.
    loss : {"labels", "subset", "f1"}, default="labels"
        As for `expected_loss`.
    label_names : sequence of length n_labels, default=None
        Names of the labels. None: the names that the model knows, else column numbers.

    Returns
    -------
    list of DoubtfulRow
        Largest loss first; of equal ones the lower sample number.

    Raises
    ------
    ValueError
        As `expected_loss`; if n is below 1, or the number of names is not that of labels.
    TypeError
        If n is no integer.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    "labels" and "subset" rank about equally well for this purpose, above entropy, margins and distances (on five data
    sets, `docs/howto/what_to_label_next.md`). Biased probabilities are still useful for ranking.

    Examples
    --------
    >>> from nearlabel.audit import review
    >>> from nearlabel.lazy import BRkNN
    >>> model = BRkNN(n_neighbors=2).fit([[0], [1], [2], [3]], [["sea"], ["sea"], [], ["sea", "hill"]])
    >>> for one in review(model, [[0.4], [2.4]], n=1):
    ...     print(one.row, one.expected_loss, one.reason)
    1 1.0 hill is not predicted, wrong with 50%; sea is not predicted, wrong with 50%
    """
    wanted = check_integer("n", n, low=1)
    (X,) = indexable(checked_container("X", X))
    losses = expected_loss(model, X, loss=loss)
    rows = np.argsort(-losses, kind="stable")[:wanted]
    predicted = _predicted(model, _safe_indexing(X, rows))
    names = _names(model, label_names, predicted.scores.shape[1])
    found = (_doubtful(row, float(losses[row]), predicted, place, names) for place, row in enumerate(rows.tolist()))
    return ShownList(found, ("row", "expected_loss", "predicted", "reason"), "rows")


def _doubtful(row: int, loss: float, predicted: _Predicted, place: int, names: Sequence[Any]) -> DoubtfulRow:
    wrong, chosen = predicted.wrong[place], predicted.labels[place]
    likeliest = [label for label in np.argsort(-wrong, kind="stable")[:_MOST_NAMED].tolist() if wrong[label] > 0]
    doubts = [LabelDoubt(names[label], bool(chosen[label]), float(wrong[label])) for label in likeliest]
    return DoubtfulRow(row, loss, [names[label] for label in np.flatnonzero(chosen).tolist()], doubts)


def _blocks(model: Any, X: MatrixLike) -> Iterator[_Predicted]:
    """Yield predictions for blocks of rows; without rows, the model itself raises an error."""
    n_rows = _num_samples(X)
    for block in row_blocks(n_rows, _BYTES_PER_ROW) if n_rows else [slice(0, 0)]:
        is_all = block.stop - block.start == n_rows
        yield _predicted(model, X if is_all else _safe_indexing(X, np.arange(block.start, block.stop)))


def _predicted(model: Any, X: MatrixLike) -> _Predicted:
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"model must have predict_proba, got {type(model).__name__}."
            " Hint: nearlabel.thresholds.CalibratedLabels computes probabilities from decision values."
        )
    labels = plain_labels(model, X)
    if np.ndim(labels) == 1:  # of a one-dimensional y: the second class is the label
        labels = np.equal(labels, model.classes_[-1])[:, np.newaxis]
    labels = as_dense(labels).astype(bool)
    return _Predicted(label_scores(model, X, labels.shape[1], "predict_proba"), labels)


def _names(model: Any, given: Sequence[Any] | None, n_labels: int) -> list[Any]:
    known = getattr(unwrapped(model).decides, "label_names_", range(n_labels)) if given is None else given
    if len(known) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(known)}.")
    return [plain_value(name) for name in known]
