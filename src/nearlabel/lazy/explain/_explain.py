"""Explain the label sets of queries by their neighbours; flips are found by trial, for every rule alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.decision import cut
from nearlabel.lazy import _engine
from nearlabel.lazy._counts import cells_of
from nearlabel.lazy._sparse_scores import SparseScores
from nearlabel.lazy._votes import LabelSets, Neighbors, Votes, exact_weights
from nearlabel.lazy.explain._account import (
    Account,
    Evidence,
    column_of,
    labelset_columns,
    mean_distances,
    share_nearer,
)
from nearlabel.lazy.explain._explanation import Explanation
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike, Table
from nearlabel.utils.validation import as_dense, as_label_matrix

FLIP = "flip: smallest change in the label's own votes that would change this decision"
FLIP_BY = "; flip by, flip by votes: the label whose votes need the smallest change, and that change"
FLIP_LABELSET = (
    "flip, needed: the fewest further neighbours with one other label set (flip_labelset) that would change it"
)


class OtherRule:
    """A rule that decides instead of the method's own: thresholds, or a function from scores to label sets."""

    def __init__(self, thresholds: ArrayLike | None, decide: Callable[..., Any] | None, n_labels: int) -> None:
        if decide is not None and not callable(decide):
            raise TypeError(f"decide must be a function from scores to label sets, got {decide!r}.")
        given = np.asarray(np.nan if thresholds is None else thresholds, dtype=np.float64)
        if thresholds is not None:
            cut(np.zeros((0, n_labels)), given)  # refuses what are no thresholds
        self.thresholds: FloatArray = np.broadcast_to(given, n_labels)
        self.decide = decide

    def __call__(self, scores: FloatArray) -> Matrix:
        """Return the label sets of dense scores (n_queries, n_labels)."""
        if self.decide is None:
            return cut(scores, self.thresholds)
        labels = self.decide(scores)
        if np.shape(labels) != scores.shape:
            raise ValueError(f"decide must return label sets of shape {scores.shape}, got {np.shape(labels)}.")
        return as_label_matrix(labels, name="what decide returns")

    @property
    def words(self) -> str:
        """Return the rule in words."""
        return "score >= threshold" if self.decide is None else "by a rule on all scores of the query"

    def decided_at(self, listed: IntArray, scores: FloatArray, scores_at: FloatArray) -> BoolArray:
        """Return its decision on each listed label at every number of votes, (n_listed, n_counts).

        Takes all scores of the query (n_labels,); a function sees them with one label's score changed at a time.
        """
        if self.decide is None:
            return scores_at >= self.thresholds[listed, np.newaxis]
        n_counts = scores_at.shape[1]
        decided = np.empty(scores_at.size, dtype=np.bool_)
        for block in row_blocks(scores_at.size, 32 * len(scores)):
            each, own = np.arange(block.stop - block.start), listed[np.arange(block.start, block.stop) // n_counts]
            changed = np.tile(scores, (len(each), 1))
            changed[each, own] = scores_at.ravel()[block]
            decided[block] = as_dense(self(changed))[each, own] == 1
        return decided.reshape(scores_at.shape)


def explain(
    self: Any, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
) -> list[Explanation]:
    """Explain the label set of every query.

    Shows the neighbours, their votes for each label, how votes became the score, what was decided, which change in
    votes would change the decision, and how far the query is from the training samples (`Explanation.novelty`).

    The novelty needs the neighbours of all training samples: `MLkNN`, `CMLkNN` and `IBLR` know these distances since
    `fit`; all others search for them in each call, so explain many queries in one call. Nothing is stored.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries.
    thresholds : float or array-like of shape (n_labels,), default=None
        Decide by these instead of the method's rule: a label is chosen where its score is at least its threshold.
    decide : callable, default=None
        Decides instead of the method's rule: takes scores (n, n_labels) and returns label sets of that shape, row by
        row. It is tried on every number of votes of every label. With `decide`, `thresholds` are only shown. Makes
        arrays over all labels, also of a sparse y, as do `thresholds`.

    Returns
    -------
    list of Explanation
        One for each query.

    Raises
    ------
    ValueError
        If X is malformed, thresholds are not one for each label, or `decide` returns another shape.
    TypeError
        If `decide` is not callable.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> (explanation,) = BRkNN(n_neighbors=3).fit(X, y).explain([[1]])
    >>> print(explanation)
    BRkNN: 0, 1
    novelty 0.00: farther from its neighbours than 0 % of the training samples
    <BLANKLINE>
    neighbour  distance  labels
            1         0  0, 1
            0         1  0
            2         1  1
    <BLANKLINE>
    label  votes   score  flip  chosen
        0      2  0.6667    -1  yes
        1      2  0.6667    -1  yes
    <BLANKLINE>
    score = votes / 3; chosen: score > 0.5
    flip: smallest change in the label's own votes that would change this decision
    """
    check_is_fitted(self)
    asked = thresholds is not None or decide is not None
    rule = OtherRule(thresholds, decide, len(self.label_names_)) if asked else None
    return list(self._explanations(X, rule))


def explain_votes(classifier: Any, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
    """Yield the explanation of every query by a rule of votes, or by another rule on its scores."""
    neighbors = classifier._find_neighbors(classifier._queries(X))
    novelty, reason = _novelty(classifier, neighbors.distances)
    for block, votes, scores in _engine.answers(classifier, neighbors):
        if other is None:
            labels = _engine.decide(classifier, scores, votes)
        else:
            scores = scores.toarray() if isinstance(scores, SparseScores) else scores
            labels = other(scores)
        labels = sparse.csr_array(labels)
        for row, query in enumerate(range(block.start, block.stop)):
            evidence = _evidence(classifier, neighbors[query : query + 1], labels[[row]].indices)
            scores_of_query = scores[row] if other is not None else None
            yield _explain_query(classifier, evidence, other, scores_of_query, novelty[query], reason)


def _evidence(classifier: Any, query: Neighbors, chosen: IntArray) -> Evidence:
    """List the labels of one query: all, or, with sparse votes, those with a vote or chosen."""
    carried = sparse.csr_array(classifier._labels[query.indices[0]])
    whole = _engine.votes_of(classifier, query)
    listed = np.union1d(carried.indices, chosen) if sparse.issparse(whole.count) else np.arange(whole.count.shape[1])
    count = as_dense(whole.count[:, listed])[0]
    carriers = carried[:, listed].toarray().astype(np.intp)
    n_votes = count.astype(np.intp) if _is_uniform(classifier) else carriers.sum(axis=0)
    total = np.ravel(whole.total)[0]
    votes = Votes(
        count, total, listed, whole.rows, whole.labelsets and LabelSets(*(a[0] for a in whole.labelsets[:2]), None)
    )
    return Evidence(query, votes, carriers, n_votes, np.isin(listed, chosen))


def _explain_query(
    classifier: Any,
    evidence: Evidence,
    other: OtherRule | None,
    scores_of_query: FloatArray | None,
    novelty: float | None,
    reason: str,
) -> Explanation:
    account, votes, uniform = classifier._account(evidence), evidence.votes, _is_uniform(classifier)
    weights = exact_weights(evidence.neighbors.distances, classifier.weights, classifier._most_added)[0]
    counts_at = _counts_at(classifier, evidence, weights)
    trial = Trial(classifier, evidence, counts_at)
    now = np.arange(len(votes.label)), evidence.n_votes
    columns: dict[str, Any] = {"votes": evidence.n_votes}
    has_weights = "weights" in vars(classifier)  # a parameter of the method
    columns |= {"weight": counts_at[now]} if has_weights else {}
    columns |= {**account.columns, "score": trial.scores_at[now], "score_at": trial.scores_at}
    sums = f"votes / {votes.total:.6g}" if uniform else "summed weight / total_weight"
    settings = {"n_neighbors": classifier.n_neighbors_, **({"total_weight": votes.total} if has_weights else {})}
    if other is None:
        flips, change = trial.flips(account)
        rule = f"{account.scores or f'score = {sums}'}; chosen: {account.rule}"
    else:
        decided = other.decided_at(votes.label, scores_of_query, trial.scores_at)
        flips, change, rule = {"flip": least_changes(decided, evidence.n_votes)}, FLIP, f"chosen: {other.words}"
    shown = [
        "votes",
        *([] if uniform else ["weight"]),
        *account.shown,
        "score",
        *(["threshold"] if other else []),
        *flips,
    ]
    neighbors = {
        "row": evidence.neighbors.indices[0],
        "distance": evidence.neighbors.distances[0],
        **labelset_columns(classifier._labels[evidence.neighbors.indices[0]], classifier.label_names_),
        **({} if uniform else {"weight": weights}),
    }
    return make_explanation(
        classifier,
        account,
        votes.label,
        {**columns, **flips},
        evidence.chosen,
        neighbors,
        settings={**settings, **account.settings},
        rule=rule,
        change=change,
        shown=shown,
        other=other,
        novelty=(novelty, reason),
    )


class Trial:
    """Every number of votes of every listed label, tried with all other votes as they are."""

    def __init__(self, rule: Any, evidence: Evidence, counts_at: FloatArray) -> None:
        self.rule, self.evidence, self.counts_at = rule, evidence, counts_at
        n_listed, n_counts = counts_at.shape
        self.scores_at = np.empty((n_listed, n_counts))
        self._decided_at = np.empty((n_listed, n_counts), dtype=np.bool_)
        self._by_any = FlipsByAny(evidence.chosen, evidence.n_votes, n_counts) if rule.sees == "rows" else None
        if rule.labels_are_independent or rule.sees == "label sets":
            cells = Votes(counts_at, evidence.votes.total, evidence.votes.label[:, np.newaxis])
            self.scores_at[:] = rule._score_votes(cells)
            if rule.labels_are_independent:
                self._decided_at[:] = rule._decide_labels(self.scores_at, cells)
        else:
            self._try_whole_queries()

    def flips(self, account: Account) -> tuple[dict[str, NDArray[Any]], str]:
        """Return columns of the smallest changes that flip each decision, and their meaning in words."""
        if self.rule.sees == "label sets":
            return _flips_by_label_set(self.evidence.votes.label, account.labelsets), FLIP_LABELSET
        flips = {"flip": least_changes(self._decided_at, self.evidence.n_votes)}
        if self._by_any is None:
            return flips, FLIP
        return {**flips, **self._by_any.columns(self.rule.label_names_)}, FLIP + FLIP_BY

    def _try_whole_queries(self) -> None:
        """Score and decide the query anew with each change: labels may depend on each other's votes."""
        n_listed, n_counts = self.counts_at.shape
        rows = self.evidence.votes.rows
        n_columns = self.rule._labels.shape[1] + (0 if rows is None else rows.shape[1])
        for block in row_blocks(n_listed, 64 * n_counts * n_columns):
            labels = np.repeat(np.arange(block.start, block.stop), n_counts)
            votes = self._changed(labels, self.counts_at[block].ravel())
            scores = _engine.score(self.rule, votes)
            decided = _engine.decide(self.rule, scores, votes)
            cells = np.arange(len(labels)), self.evidence.votes.label[labels]
            stored = scores.stored if isinstance(scores, SparseScores) else scores
            self.scores_at[block] = cells_of(stored, *cells).reshape(-1, n_counts)
            self._decided_at[block] = cells_of(decided, *cells).reshape(-1, n_counts) == 1
            if self._by_any is not None:
                self._by_any.look_at(block, as_dense(decided).reshape(-1, n_counts, decided.shape[1]) == 1)

    def _changed(self, labels: IntArray, counts: FloatArray) -> Votes:
        """Return the votes of one query for each change: a listed label, by its place, gets another count."""
        votes, n_rows, n_labels = self.evidence.votes, len(labels), self.rule._labels.shape[1]
        count = np.tile(votes.count.astype(counts.dtype), (n_rows, 1))
        count[np.arange(n_rows), labels] = counts
        if len(votes.label) < n_labels or (sparse.issparse(self.rule._labels) and self.rule.takes_sparse_votes):
            row, place = np.nonzero(count)
            count = sparse.csr_array((count[row, place], (row, votes.label[place])), shape=(n_rows, n_labels))
        rows = votes.rows
        if rows is not None:
            rows = sparse.vstack([rows] * n_rows, format="csr") if sparse.issparse(rows) else np.tile(rows, (n_rows, 1))
        return Votes(count, np.full((n_rows, 1), votes.total), np.arange(n_labels), rows)


class FlipsByAny:
    """The smallest change of the votes of any one label that flips each label's decision.

    Of changes of as many votes the label's own comes first, then the label of lower number, then the loss.
    """

    def __init__(self, chosen: BoolArray, votes: IntArray, n_counts: int) -> None:
        self.chosen = chosen
        self.changes = np.arange(n_counts) - votes[:, np.newaxis]
        self.best = np.full(len(votes), np.iinfo(np.intp).max)
        self.by, self.by_change = np.zeros((2, len(votes)), dtype=np.intp)

    def look_at(self, block: slice, decided: BoolArray) -> None:
        """Take the decisions (n_block, n_counts, n_labels) at every number of votes of a block of labels."""
        for label, of_all in zip(range(block.start, block.stop), decided, strict=True):
            cost = np.repeat(2 * np.abs(self.changes[label])[:, np.newaxis] + 1, len(self.chosen), axis=1)
            cost[:, label] -= 1
            cost[of_all == self.chosen] = np.iinfo(np.intp).max
            count, least = cost.argmin(axis=0), cost.min(axis=0)
            better = least < self.best
            self.best[better], self.by[better] = least[better], label
            self.by_change[better] = self.changes[label, count[better]]

    def columns(self, names: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """Return the name of the label whose votes need the smallest change, and that change."""
        flips = self.best < np.iinfo(np.intp).max
        columns = {"flip_by": names[self.by].tolist(), "flip_by_votes": self.by_change.tolist()}
        return {name: _where(flips, values) for name, values in columns.items()}


def least_changes(decided: BoolArray, votes: IntArray) -> NDArray[Any]:
    """Return for each label the smallest change of its votes that flips the decision, or None.

    Takes the decision at every number of votes (n_labels, n_counts), and the votes (n_labels,). Of a gain and a loss
    of as many votes it is the gain for a label that is not chosen, the loss for one that is.
    """
    now = decided[np.arange(len(votes)), votes][:, np.newaxis]
    change = np.arange(decided.shape[1]) - votes[:, np.newaxis]
    cost = 2 * np.abs(change) + (np.where(now, -change, change) < 0)
    cost[decided == now] = np.iinfo(cost.dtype).max
    best = cost.argmin(axis=1)[:, np.newaxis]
    return _where((decided != now).any(axis=1), np.take_along_axis(change, best, axis=1).ravel().tolist())


def _flips_by_label_set(listed: IntArray, candidates: Table) -> dict[str, NDArray[Any]]:
    """Return, for each listed label, the least `needed` of a label set that has it otherwise, and which one that is."""
    has = np.array([np.isin(listed, labels) for labels in candidates["labels"]])
    other = has != has[0]  # the first is the one that was chosen
    best = np.where(other, candidates["needed"][:, np.newaxis], np.iinfo(np.intp).max).argmin(axis=0)
    flips = other.any(axis=0)
    return {"flip": _where(flips, candidates["needed"][best].tolist()), "flip_labelset": _where(flips, best.tolist())}


def _where(condition: BoolArray, values: list[Any]) -> NDArray[Any]:
    """Return a column of the values, None where the condition does not hold."""
    return column_of([one if holds else None for one, holds in zip(values, condition, strict=True)])


def _is_uniform(classifier: Any) -> bool:
    return isinstance(classifier.weights, str) and classifier.weights == "uniform"


def _counts_at(classifier: Any, evidence: Evidence, weights: FloatArray) -> FloatArray:
    """Return the count of each listed label if it had 0, 1, ... votes, (n_listed, n_counts).

    Weighted votes are gained from the heaviest neighbours that do not carry the label, and lost from the heaviest that
    do: so the fewest votes move the most weight.
    """
    carriers = evidence.carriers
    if _is_uniform(classifier):
        n_counts = classifier._units().n_counts(classifier.n_neighbors_) if classifier.counts_rows else len(weights) + 1
        return np.tile(np.arange(n_counts), (carriers.shape[1], 1))
    weighed = np.broadcast_to(weights[:, np.newaxis], carriers.shape)
    order = np.lexsort((np.where(carriers, weighed, -weighed), 1 - carriers), axis=0)
    sums = np.cumsum(np.take_along_axis(weighed, order, axis=0), axis=0)
    return np.vstack([np.zeros((1, carriers.shape[1])), sums]).T


def _novelty(classifier: Any, distances: FloatArray) -> tuple[Sequence[float | None], str]:
    """Return the novelty of queries from their distances (n_queries, n_neighbors); or why there is none."""
    k = min(classifier.n_neighbors_, classifier._n_samples - 1)
    if k == 0:
        return [None] * len(distances), "a single training row has no neighbours."
    usual = getattr(classifier, "_training_distances", None)
    if usual is None:
        try:
            usual = np.sort(mean_distances(classifier._ask_search(None, k)[0]))
        except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
            return [None] * len(distances), f"the search does not tell the training rows' neighbours: {error}"
    return share_nearer(distances[:, :k], usual).tolist(), ""


def make_explanation(
    classifier: Any,
    account: Account,
    listed: IntArray,
    columns: Table,
    chosen: BoolArray,
    neighbors: Table,
    *,
    rule: str,
    change: str,
    shown: Sequence[str],
    settings: dict[str, Any],
    other: OtherRule | None,
    novelty: tuple[float | None, str],
) -> Explanation:
    """Put the columns that all explanations have beside those of the method."""
    thresholds = np.full(len(listed), account.threshold) if other is None else other.thresholds[listed]
    head = {"label": listed, "name": classifier.label_names_[listed]}
    return Explanation(
        method=type(classifier).__name__,
        rule=rule,
        change=change,
        labels={**head, **columns, "threshold": thresholds, "chosen": chosen},
        neighbors={**neighbors, **account.neighbors},
        settings={"n_labels": len(classifier.label_names_), **settings},
        novelty=novelty[0],
        novelty_reason=novelty[1],
        labelsets=dict(account.labelsets),
        terms=dict(account.terms),
        shown=shown,
    )


def explain_samples(model: Any, X: Matrix, label_names: Sequence[str] | None = None) -> list[Explanation] | None:
    """Explain what a fitted model predicts for each sample.

    The last step of a pipeline explains, of the samples as that step sees them. A classifier with thresholds around a
    pipeline explains with those thresholds.

    Parameters
    ----------
    model : fitted classifier or Pipeline
        One with `explain`, or a pipeline of which the last step has it.
    X : array-like or sparse container of shape (n_samples, n_features)
        Samples.
    label_names : sequence of str of length n_labels, default=None
        Names of the labels, for a model that was fitted to arrays without names. None: those that the model knows.

    Returns
    -------
    list of Explanation or None
        One for each sample; None if no part of the model has `explain`.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> from nearlabel.lazy import MLkNN, explain_samples
    >>> X, y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> model = make_pipeline(MinMaxScaler(), MLkNN(n_neighbors=2)).fit(X, y)
    >>> (explanation,) = explain_samples(model, [[1]], ["sea", "beach"])
    >>> explanation.predicted
    ['sea', 'beach']
    """
    if isinstance(model, Pipeline):
        return explain_samples(model[-1], _before_last(model, X), label_names)
    inner = getattr(model, "estimator_", None)
    if isinstance(inner, Pipeline):
        # The thresholds of a copy are put around the last step, which sees what the steps before it make of X.
        outer = copy(model)
        outer.estimator = outer.estimator_ = inner[-1]
        return explain_samples(outer, _before_last(inner, X), label_names)
    if not hasattr(model, "explain"):
        return None
    if label_names is not None:
        model = copy(model)
        model.label_names_ = np.array(label_names, dtype=object)
    explanations: list[Explanation] = model.explain(X)
    return explanations


def _before_last(pipeline: Pipeline, X: Matrix) -> Matrix:
    return pipeline[:-1].transform(X) if len(pipeline) > 1 else X
