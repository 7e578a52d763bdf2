"""Which predictions a person should check: those expected to be most wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from nearlabel.inspection import unwrapped
from nearlabel.thresholds import ExpectedF
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.response_methods import label_scores
from nearlabel.utils.tables import plain_value
from nearlabel.utils.types import FloatArray, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_integer

_MOST_NAMED = 3  # labels in a reason
_BYTES_PER_ROW = 2**13  # what the predictions of a row are taken to need


class _Predicted(NamedTuple):
    """Scores and label sets of some rows, and the probability that each cell is wrong; (n_rows, n_labels)."""

    scores: FloatArray
    labels: Any

    @property
    def wrong(self) -> FloatArray:
        """Return the probability that each decision is wrong, as the model sees it."""
        return np.where(self.labels, 1 - self.scores, self.scores)


def _labels_wrong(predicted: _Predicted) -> FloatArray:
    expected: FloatArray = predicted.wrong.sum(axis=1)
    return expected


def _set_wrong(predicted: _Predicted) -> FloatArray:
    return np.asarray(1 - np.prod(1 - predicted.wrong, axis=1))


def _f1_lost(predicted: _Predicted) -> FloatArray:
    return np.asarray(1 - ExpectedF().expected(predicted.scores))


_LOSSES: Mapping[str, Callable[[_Predicted], FloatArray]] = {
    "labels": _labels_wrong,
    "subset": _set_wrong,
    "f1": _f1_lost,
}
LOSSES = tuple(_LOSSES)


@dataclass(frozen=True)
class LabelDoubt:
    """A label of a row that may be wrong.

    Parameters
    ----------
    label : object
        Its name.
    predicted : bool
        Whether it is predicted.
    probability_wrong : float
        That the decision is wrong, by the model's own probability of the label.
    """

    label: Any
    predicted: bool
    probability_wrong: float


@dataclass(frozen=True)
class DoubtfulRow:
    """A prediction to be checked; made by `review`.

    Parameters
    ----------
    row : int
        Number of the row.
    expected_loss : float
        What `expected_loss` says of it.
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
        """What may be wrong, in words."""
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
    """Return the expected loss of what a fitted model predicts for each row, by its own probabilities.

    Parameters
    ----------
    model : fitted estimator
        A multi-label classifier with `predict_proba`, a pipeline, or tuned thresholds around one.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Rows, as `model.predict` takes them. They are predicted in blocks.
    loss : {"labels", "subset", "f1"}, default="labels"
        "labels": the expected number of wrong labels, which asks for nothing but probabilities that are right one by
        one. "subset": the probability that any label is wrong, and "f1": 1 less the largest expected F1 of any label
        set; these two take labels to be independent given their probabilities. F1 is 0 where a row has no label and
        none is predicted, as in `nearlabel.thresholds.ExpectedF`, so that rows without labels rank high by "f1".

    Returns
    -------
    ndarray of shape (n_samples,)
        From 0; larger is worse.

    Raises
    ------
    ValueError
        If `loss` is unknown, X is malformed, or the model has no `predict_proba`.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    See Also
    --------
    review : The rows of largest expected loss, with reasons.

    Examples
    --------
    >>> from nearlabel.active import expected_loss
    >>> from nearlabel.lazy import BRkNN
    >>> model = BRkNN(n_neighbors=2).fit([[0], [1], [2], [3]], [[1, 0], [1, 0], [0, 0], [1, 1]])
    >>> expected_loss(model, [[0.4], [2.4]])
    array([0., 1.])
    """
    check_choice("loss", loss, LOSSES)
    (X,) = indexable(X)
    return np.concatenate([_LOSSES[loss](part) for part in _blocks(model, X)])


def review(
    model: Any, X: MatrixLike, n: int, *, loss: str = "labels", label_names: Sequence[Any] | None = None
) -> list[DoubtfulRow]:
    """Return the rows whose predictions a person should check first: those of largest expected loss.

    Parameters
    ----------
    model : fitted estimator
        As for `expected_loss`.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Rows, as `model.predict` takes them. They are predicted in blocks.
    n : int
        How many rows; all, if there are fewer.
    loss : {"labels", "subset", "f1"}, default="labels"
        As for `expected_loss`.
    label_names : sequence of length n_labels, default=None
        Names of the labels. None: those that the model knows, else column numbers.

    Returns
    -------
    list of DoubtfulRow
        Largest loss first; of equal ones the lower row.

    Raises
    ------
    ValueError
        As `expected_loss`; if n is below 1, or the names are not one for each label.
    TypeError
        If n is no integer.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    "labels" and "subset" rank alike for this purpose, above entropy, margins and distances (measured on five data
    sets, `docs/howto/what_to_label_next.md`). Probabilities that are wrong throughout still rank rows.

    Examples
    --------
    >>> from nearlabel.active import review
    >>> from nearlabel.lazy import BRkNN
    >>> model = BRkNN(n_neighbors=2).fit([[0], [1], [2], [3]], [["sea"], ["sea"], [], ["sea", "hill"]])
    >>> for one in review(model, [[0.4], [2.4]], n=1):
    ...     print(one.row, one.expected_loss, one.reason)
    1 1.0 hill is not predicted, wrong with 50%; sea is not predicted, wrong with 50%
    """
    wanted = check_integer("n", n, low=1)
    (X,) = indexable(X)
    losses = expected_loss(model, X, loss=loss)
    rows = np.argsort(-losses, kind="stable")[:wanted]
    predicted = _predicted(model, _safe_indexing(X, rows))
    names = _names(model, label_names, predicted.scores.shape[1])
    return [_doubtful(int(row), float(losses[row]), predicted, place, names) for place, row in enumerate(rows.tolist())]


def _doubtful(row: int, loss: float, predicted: _Predicted, place: int, names: Sequence[Any]) -> DoubtfulRow:
    wrong, chosen = predicted.wrong[place], predicted.labels[place]
    likeliest = [label for label in np.argsort(-wrong, kind="stable")[:_MOST_NAMED].tolist() if wrong[label] > 0]
    doubts = [LabelDoubt(names[label], bool(chosen[label]), float(wrong[label])) for label in likeliest]
    return DoubtfulRow(row, loss, [names[label] for label in np.flatnonzero(chosen).tolist()], doubts)


def _blocks(model: Any, X: MatrixLike) -> Iterator[_Predicted]:
    """Yield predictions for some rows at a time; of no rows the model says itself that there are none."""
    n_rows = _num_samples(X)
    for block in row_blocks(n_rows, _BYTES_PER_ROW) if n_rows else [slice(0, 0)]:
        is_all = block.stop - block.start == n_rows
        yield _predicted(model, X if is_all else _safe_indexing(X, np.arange(block.start, block.stop)))


def _predicted(model: Any, X: MatrixLike) -> _Predicted:
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"model must have predict_proba, got {type(model).__name__}."
            " Hint: nearlabel.calibration.CalibratedLabels makes probabilities of decision values."
        )
    labels = model.predict(X)
    if np.ndim(labels) == 1:  # of a one-dimensional y: the second class is the label
        labels = np.equal(labels, model.classes_[-1])[:, np.newaxis]
    labels = as_dense(labels).astype(bool)
    return _Predicted(label_scores(model, X, labels.shape[1], "predict_proba"), labels)


def _names(model: Any, given: Sequence[Any] | None, n_labels: int) -> list[Any]:
    known = getattr(unwrapped(model).decides, "label_names_", range(n_labels)) if given is None else given
    if len(known) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(known)}.")
    return [plain_value(name) for name in known]
