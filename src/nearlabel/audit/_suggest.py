"""Rows of a pool to label next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils.validation import _num_samples, check_is_fitted

from nearlabel.audit._cells import part_by_votes
from nearlabel.lazy import Explanation
from nearlabel.models import explain, explains
from nearlabel.models.unwrapped import unwrapped
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.votes import clone_search
from nearlabel.rivals import SoftVote
from nearlabel.utils.containers import checked_container
from nearlabel.utils.tables import ShownList, plain_value
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_integer, check_rows, row_blocks

STRATEGIES = ("representative", "random")
MOST_ROWS = 4_000  # of a pool that are compared with each other: 64 MB
_MOST_NAMED = 3  # labels in a reason


@dataclass(frozen=True)
class CloseLabel:
    """A label of a suggested row that changes if one neighbour votes differently.

    Parameters
    ----------
    label : object
        Name of the label.
    score : float
        Its score.
    threshold : float or None
        The least score at which the label is predicted; None where no threshold decides.
    carried_by, lacked_by : list of int
        The neighbours that vote for the label and against it: numbers of training samples, nearest first.
    """

    label: Any
    score: float
    threshold: float | None
    carried_by: list[int]
    lacked_by: list[int]


@dataclass(frozen=True)
class Suggestion:
    """A row to label; `suggest` returns them.

    Parameters
    ----------
    row : int
        Number of the row in the pool.
    score : float or None
        How many rows of the pool it represents, in addition to those that earlier suggestions and the labelled samples
        represent. None: drawn at random.
    close_labels : list of CloseLabel
        Labels that one vote can change, at most three, nearest to their thresholds first.
    """

    row: int
    score: float | None
    close_labels: list[CloseLabel]

    @property
    def reason(self) -> str:
        """Why it is suggested, and which labels it may decide, in words."""
        first = "drawn at random" if self.score is None else f"represents {self.score:.1f} rows of the pool"
        return "; ".join([first, *(_in_words(one) for one in self.close_labels)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON.

        Returns
        -------
        dict
            The fields, and the reason.
        """
        close = [{name: plain_value(value) for name, value in asdict(one).items()} for one in self.close_labels]
        return {"row": self.row, "score": self.score, "close_labels": close, "reason": self.reason}


def _in_words(close: CloseLabel) -> str:
    n_for, n_all = len(close.carried_by), len(close.carried_by) + len(close.lacked_by)
    return f"one vote decides {close.label}, which {n_for} of {n_all} neighbours carry"


def suggest(
    model: Any,
    X_pool: MatrixLike,
    n: int,
    *,
    X_labelled: MatrixLike | None = None,
    strategy: str = "representative",
    random_state: Any = 0,
    label_names: Sequence[Any] | None = None,
) -> list[Suggestion]:
    """Return rows of a pool that should be labelled next, each with the reason.

    "representative" selects one row after another: the row that increases a sum most. The sum is over the rows of the
    pool, of each row's similarity to the most similar row that is labelled or selected. The similarity of row i to row
    j is ``exp(-d(i, j) / s_i)`` for their distance d in the model's search, where s_i is the distance from i to its
    tenth nearest row. The model's predictions have no influence: this choice was better than a random one on four of
    five data sets, and criteria of the model's uncertainty were not (`docs/howto/what_to_label_next.md`).

    Parameters
    ----------
    model : fitted estimator
        A method by nearest neighbours, such as `MLkNN`, a pipeline that ends in one, or a search of parameters or tuned
        thresholds around one. In a mixture, the part that votes measures distances. It is not changed. With
        `X_labelled`, or "random", any model.
    X_pool : array-like, data frame or sparse container of shape (n_pool, n_features)
        Rows without labels, as for `model.predict`. Copies of training samples, and second copies within the pool, add
        nothing and so come last.
    n : int
        Number of rows to suggest.
    X_labelled : array-like, data frame or sparse container of shape (n_labelled, n_features), default=None
        The samples with labels. None: those that the model's search was fitted to. For a model without a search the
        distance is the Euclidean one of the features that its last step gets.
    strategy : {"representative", "random"}, default="representative"
        How rows are selected.
    random_state : int, RandomState instance or None, default=0
        Draws the rows of "random". If a pool has more than 4,000 rows, "representative" uses a sample of 4,000 (or n,
        if that is more), which this seed draws, in place of the pool.
    label_names : sequence of length n_labels, default=None
        Names of the labels. None: the names that the model knows.

    Returns
    -------
    list of Suggestion
        In the order of selection; of rows that add equally, the lower one first. The first m of n are the result of a
        call with m, unless n is above 4,000.

    Raises
    ------
    TypeError
        If the model has no search and `X_labelled` is not given, or n is no integer.
    ValueError
        If n is below 1 or above n_pool, the strategy is unknown, or X_pool is malformed.
    sklearn.exceptions.NotFittedError
        If the model is not fitted.

    Notes
    -----
    Sums of similarities are exact, as these are rounded to multiples of 2^-20, so the choice is the same on every
    machine up to the rounding of exp. Memory is 4 bytes for each pair of the compared rows.

    References
    ----------
    G. L. Nemhauser, L. A. Wolsey, M. L. Fisher: An analysis of approximations for maximizing submodular set functions.
    Mathematical Programming 14, 1978.
    K. Wei, R. Iyer, J. Bilmes: Submodularity in data subset selection and active learning. ICML 2015.

    Examples
    --------
    >>> from nearlabel.audit import suggest
    >>> from nearlabel.lazy import MLkNN
    >>> X, y = [[0], [1], [2], [3], [20]], [["sea"], ["sea"], ["sea"], ["hill"], ["hill"]]
    >>> model = MLkNN(n_neighbors=3).fit(X, y)
    >>> pool = [[1.5], [2.5], [9], [10], [10.5], [11], [12], [18]]  # a third of the line has no labels
    >>> for one in suggest(model, pool, n=2):
    ...     print(one.row, round(one.score, 1), [close.label for close in one.close_labels])
    4 2.3 ['hill', 'sea']
    2 0.2 ['hill', 'sea']
    """
    check_choice("strategy", strategy, STRATEGIES)
    (X_pool,) = indexable(checked_container("X_pool", X_pool))
    X_labelled = checked_container("X_labelled", X_labelled)
    wanted, n_pool = check_integer("n", n, low=1), _num_samples(X_pool)
    if wanted > n_pool:
        raise ValueError(f"n must be at most the {n_pool} rows of X_pool, got {wanted}.")
    random = check_random_state(random_state)
    if strategy == "random":
        rows, scores = random.choice(n_pool, wanted, replace=False), [None] * wanted
    else:
        looked_at, most = np.arange(n_pool), max(wanted, MOST_ROWS)
        if n_pool > most:
            looked_at = np.sort(random.choice(n_pool, most, replace=False))
        places, gains = most_representative(_coverage(model, X_pool, looked_at, X_labelled), wanted)
        rows, scores = looked_at[places], (gains * (n_pool / len(looked_at))).tolist()
    close = _close_labels(model, _safe_indexing(X_pool, rows), label_names)
    found = map(Suggestion, rows.tolist(), scores, close)
    return ShownList(found, ("row", "score", "reason"), "rows")


def _coverage(model: Any, X_pool: MatrixLike, looked_at: IntArray, X_labelled: MatrixLike | None) -> Coverage:
    """Return how well some rows of the pool, and the labelled samples, represent these rows of the pool."""
    classifier = _inmost(model)
    search = _search_of(model, classifier, required=X_labelled is None)
    some = X_pool if len(looked_at) == _num_samples(X_pool) else _safe_indexing(X_pool, looked_at)
    rows, labelled = (None if X is None else _as_searched(model, X) for X in (some, X_labelled))
    if labelled is None:
        return coverage(search, rows, classifier.training_labels().shape[0])
    return coverage(search_like(search).fit(labelled), rows, labelled.shape[0])


def _inmost(model: Any) -> Any:
    """Return the classifier in a model: the one that a choice selected, and the part of a mixture that votes."""
    classifier = unwrapped(model).classifier
    if isinstance(classifier, SoftVote):
        return _inmost(part_by_votes(classifier))
    return _inmost(classifier.best_estimator_) if hasattr(classifier, "best_estimator_") else classifier


def _as_searched(model: Any, X: MatrixLike) -> Any:
    """Return rows in the form that the inmost classifier gets."""
    found = unwrapped(model)
    rows = found.transformed(X)
    if isinstance(found.classifier, SoftVote):
        return _as_searched(part_by_votes(found.classifier), rows)
    if hasattr(found.classifier, "best_estimator_"):
        return _as_searched(found.classifier.best_estimator_, found.classifier._queries(rows))
    return check_rows(found.classifier, rows, reset=False)


def _search_of(model: Any, classifier: Any, *, required: bool) -> Any:
    """Return the fitted search of a classifier, or None."""
    check_is_fitted(classifier)
    search = getattr(classifier, "search_", None)
    if search is None and required:
        got, inner = type(model).__name__, type(classifier).__name__
        raise TypeError(
            "model must be a method by nearest neighbours, such as MLkNN, or a pipeline, a search of parameters or"
            f" thresholds around one, got {got if got == inner else f'{got} around {inner}'}."
            " Hint: X_labelled passes the labelled samples for any other model."
        )
    return search


def _close_labels(model: Any, X: MatrixLike, label_names: Sequence[Any] | None) -> list[list[CloseLabel]]:
    """Return, for each row, the labels that one vote can change; none where the model does not explain itself."""
    if not explains(model):
        return [[] for _ in range(_num_samples(X))]
    return [_close_in(explanation) for explanation in explain(model, X, label_names=label_names)]


def _close_in(explanation: Explanation) -> list[CloseLabel]:
    labels = explanation.labels
    if "flip" not in labels:  # a method without votes
        return []
    turned = [place for place, flip in enumerate(labels["flip"].tolist()) if flip is not None and abs(flip) <= 1]
    distance = np.nan_to_num(np.abs(labels["score"] - labels["threshold"]), posinf=1e9)
    distance = distance.round(9)  # 1/3 is as near to 1/2 as 2/3
    nearest = sorted(turned, key=lambda place: (distance[place], place))[:_MOST_NAMED]
    return [_close_label(explanation, place) for place in nearest]


def _close_label(explanation: Explanation, place: int) -> CloseLabel:
    labels, neighbors = explanation.labels, explanation.neighbors
    sides: dict[bool, list[int]] = {True: [], False: []}
    for row, carried in zip(neighbors["row"].tolist(), neighbors["labels"], strict=True):
        sides[labels["label"][place] in carried].append(row)
    name, score, threshold = (labels[column][place] for column in ("name", "score", "threshold"))
    threshold = None if np.isnan(threshold) else float(threshold)
    return CloseLabel(plain_value(name), float(score), threshold, sides[True], sides[False])


# Representative rows: greedy facility location, where similarity falls with the distance.
#
# Row i is as similar to row j as ``exp(-d(i, j) / s_i)``, where its scale s_i is the distance to its tenth nearest
# row: a row is well represented if a labelled one is about as near as its neighbours are, in dense and in sparse
# regions. The gain of a row is the increase that it brings to the sum of all rows' similarities to their most similar
# labelled sample.
#
# References ---------- G. L. Nemhauser, L. A. Wolsey, M. L. Fisher: An analysis of approximations for maximizing
# submodular set functions. Mathematical Programming 14, 1978 (the greedy choice reaches at least 1 - 1/e of the best
# sum). M. Minoux: Accelerated greedy algorithms for maximizing submodular set functions. Optimization Techniques,
# 1978 (a gain only falls, so that an old one is a bound).

N_SCALE = 10  # the scale of a row is the distance to its 10th nearest row
_STEPS = 2.0**20  # similarities are whole multiples of 1 / _STEPS: sums of them are exact, and equal gains tie


class Coverage(NamedTuple):
    """How well rows represent each other, and how well labelled samples represent them."""

    similarity: NDArray[np.float32]  # (n_candidates, n_rows): of each row to each candidate
    reached: NDArray[np.float32]  # (n_rows,): of each row to its most similar labelled sample


def coverage(search: Any, rows: Matrix, n_labelled: int) -> Coverage:
    """Return how well unlabelled samples represent each other; `search` is fitted to `n_labelled` labelled ones."""
    n_rows = rows.shape[0]
    among = search_like(search).fit(rows)
    similarity = np.empty((n_rows, n_rows), dtype=np.float32)
    reached = np.empty(n_rows, dtype=np.float32)
    for block in row_blocks(n_rows, 64 * n_rows):
        labelled = search.kneighbors(rows[block], min(N_SCALE, n_labelled))[0]
        distances, indices = among.kneighbors(rows[block], n_rows)  # the first is 0: the row itself, or its duplicate
        scales = _scales(np.hstack([distances[:, 1 : N_SCALE + 1], labelled]))
        np.put_along_axis(similarity[:, block], indices.T, similarities(distances, scales).T, axis=0)
        reached[block] = similarities(labelled[:, :1], scales)[:, 0]
    return Coverage(similarity, reached)


def most_representative(known: Coverage, n: int) -> tuple[IntArray, FloatArray]:
    """Return n rows, each the one of largest gain after those before it, lower rows first; and the gains."""
    similarity, reached = known
    bounds = _gains(similarity, reached)
    rows, gains = np.empty(n, dtype=np.intp), np.empty(n)
    for place in range(n):
        row = _best(similarity, reached, bounds)
        rows[place], gains[place] = row, bounds[row]
        bounds[row] = -1  # below all gains
        reached = np.maximum(reached, similarity[row])
    return rows, gains


def _best(similarity: NDArray[np.float32], reached: NDArray[np.float32], bounds: FloatArray) -> int:
    """Return the first row of largest gain; computed gains replace their bounds."""
    while True:
        row = int(bounds.argmax())
        gain = _gains(similarity[row : row + 1], reached)[0]
        if gain == bounds[row]:
            return row
        bounds[row] = gain


def _gains(similarity: NDArray[np.float32], reached: NDArray[np.float32]) -> FloatArray:
    """Return how much each candidate adds to the similarities; sums of multiples of a power of two are exact."""
    gains = np.empty(len(similarity))
    for block in row_blocks(len(similarity), 8 * len(reached)):
        more = np.maximum(similarity[block] - reached, 0)
        gains[block] = more.sum(axis=1, dtype=np.float64)
    return gains


def similarities(distances: FloatArray, scales: FloatArray) -> NDArray[np.float32]:
    """Return ``exp(-distance / scale)`` in whole steps; with the scale 0, 1 for a distance of 0 and else 0."""
    scale = np.broadcast_to(scales[:, np.newaxis], distances.shape)
    ratio = np.divide(distances, scale, out=np.where(distances > 0, np.inf, 0.0), where=scale > 0)
    rounded: NDArray[np.float32] = (np.rint(np.exp(-ratio) * _STEPS) / _STEPS).astype(np.float32)
    return rounded


def _scales(distances: FloatArray) -> FloatArray:
    """Return the N_SCALE-th smallest distance of each row, or the largest of fewer."""
    scales: FloatArray = np.sort(distances, axis=1)[:, :N_SCALE][:, -1]
    return scales


def search_like(search: Any) -> Any:
    """Return an unfitted search of the same distances; for None, of Euclidean ones.

    Exact where the metric has a name: an approximate index or a cluster is not meant for ranking all of a few rows.
    """
    if not hasattr(search, "metric"):
        return clone_search(search)
    return ExactNeighbors(metric=search.metric, metric_params=getattr(search, "metric_params", None))
