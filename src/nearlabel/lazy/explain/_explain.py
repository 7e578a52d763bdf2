"""Explain the label sets of queries by their neighbours; flips are found by trial, for every rule in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy import _engine
from nearlabel.lazy.explain._flips import FLIP, Account, Evidence, Trial, least_changes, share_nearer
from nearlabel.models.decision import cut
from nearlabel.models.explanation import Explanation
from nearlabel.models.out_of_sample import Answer, Needs
from nearlabel.neighbors.usual import searched_distances, usual_distances
from nearlabel.neighbors.votes import Neighbors
from nearlabel.utils.containers import require_dense
from nearlabel.utils.tables import labelset_columns
from nearlabel.utils.targets import as_label_matrix
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike, Table
from nearlabel.utils.validation import as_dense, entry_rows, row_blocks


class OtherRule:
    """A rule that decides instead of the method's own: thresholds, or a function from scores to label sets."""

    def __init__(self, thresholds: ArrayLike | None, decide: Callable[..., Any] | None, n_labels: int) -> None:
        if decide is not None and not callable(decide):
            raise TypeError(f"decide must be a function from scores to label sets, got {decide!r}.")
        require_dense("thresholds", thresholds)
        given = np.asarray(np.nan if thresholds is None else thresholds, dtype=np.float64)
        if thresholds is not None:
            cut(np.zeros((0, n_labels)), given)  # rejects invalid thresholds
        self.thresholds: FloatArray = np.broadcast_to(given, n_labels)
        self.decide = decide

    def __call__(self, scores: FloatArray) -> Matrix:
        """Return the label sets of dense scores (n_queries, n_labels)."""
        if self.decide is None:
            return cut(scores, self.thresholds)
        labels = self.decide(scores)
        if np.shape(labels) != scores.shape:
            raise ValueError(f"decide must return label sets of shape {scores.shape}, got {np.shape(labels)}.")
        return as_label_matrix(labels, name="the result of decide")

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

    The novelty needs the neighbours of all training samples: `MLkNN`, `DMLkNN`, `CMLkNN` and `IBLR` know these
    distances since `fit`; all others search for them at the first call after `fit`, after an update, or after a model
    is loaded, and keep them in memory, not in files. A service with many training samples can explain one query before
    it answers any.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries.
    thresholds : float or array-like of shape (n_labels,), default=None
        Decide by these instead of the method's rule: a label is predicted if its score is at least its threshold.
    decide : callable, default=None
        Replaces the method's rule: takes scores (n, n_labels) and returns label sets of that shape, computed row by
        row. It is called for every number of votes of every label. With `decide`, `thresholds` are only shown. `decide`
        and `thresholds` create arrays over all labels even if y is sparse.

    Returns
    -------
    list of Explanation
        One for each query.

    Raises
    ------
    ValueError
        If X is malformed, the number of thresholds is wrong, or `decide` returns another shape.
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
    label  votes  score  flip  chosen
        0      2   0.67    -1  yes
        1      2   0.67    -1  yes
    <BLANKLINE>
    score = votes / 3; chosen: score > 0.5
    flip: smallest change in the label's own votes that would change this decision
    """
    check_is_fitted(self)
    asked = thresholds is not None or decide is not None
    rule = OtherRule(thresholds, decide, len(self.label_names_)) if asked else None
    return list(self._explanations(X, rule))


def explanations(self: Any, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
    """Return the explanation of every query by a rule of votes, or by another rule on its scores."""
    return _explain_votes(self, X, other) if self._cells is None else _explain_known_cells(self, X, other)


def _explain_votes(classifier: Any, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
    neighbors = classifier._find_neighbors(classifier._queries(X))
    novelty, reason = novelty_of(classifier, neighbors)
    for block, votes, scores in _engine.answers(classifier, neighbors):
        dense: Any = None if other is None else _engine.dense_scores(scores)
        labels = _engine.decide(classifier, scores, votes) if other is None else other(dense)
        for row, query in enumerate(range(block.start, block.stop)):
            evidence = evidence_of(
                classifier, neighbors[query : query + 1], votes.of_query(row), _chosen_in(labels, row)
            )
            account = account_of(classifier, evidence, other, None if dense is None else dense[row])
            yield make_explanation(classifier, account, evidence.votes.label, evidence.chosen, (novelty[query], reason))


def _chosen_in(labels: Matrix, row: int) -> IntArray:
    """Return the columns of the labels in one row of label sets."""
    if not sparse.issparse(labels):
        return np.flatnonzero(labels[row])
    chosen: IntArray = labels.indices[labels.indptr[row] : labels.indptr[row + 1]]
    return chosen


def evidence_of(classifier: Any, query: Neighbors, whole: _engine.Votes, chosen: IntArray) -> Evidence:
    """List the labels of one query: all, or, with sparse votes, those with a vote and the predicted ones."""
    carried = classifier._labels[query.indices[0]]
    is_short = sparse.issparse(whole.count)
    listed = np.union1d(carried.indices, chosen).astype(np.intp) if is_short else np.arange(whole.count.shape[1])
    count = _columns_among(whole.count, listed)[0]
    carriers = _columns_among(carried, listed).astype(np.intp)
    weights = classifier._vote_weights(query)
    n_votes = count.astype(np.intp) if weights is None else carriers.sum(axis=0)
    votes = _engine.Votes(count, np.ravel(whole.total)[0], listed, whole.rows, whole.labelsets)
    is_chosen = np.zeros(len(listed), dtype=np.bool_)
    is_chosen[np.searchsorted(listed, chosen)] = True
    return Evidence(query, votes, None if weights is None else weights[0], carriers, n_votes, is_chosen)


def _columns_among(matrix: Matrix, columns: IntArray) -> NDArray[Any]:
    """Return some columns, ascending, as a dense array; scipy's own selection looks at all columns."""
    if not sparse.issparse(matrix):
        return np.asarray(matrix[:, columns])
    places = np.searchsorted(columns, matrix.indices)
    is_among = np.append(columns, -1)[places] == matrix.indices
    dense = np.zeros((matrix.shape[0], len(columns)), dtype=matrix.dtype)
    dense[entry_rows(matrix)[is_among], places[is_among]] = matrix.data[is_among]
    return dense


def account_of(classifier: Any, evidence: Evidence, other: OtherRule | None, scores_of_query: Any) -> Account:
    """Return the account of the rule with votes, scores and flips; `other` decides by all scores of the query."""
    account: Account = classifier._account(evidence)
    query, listed = evidence.neighbors, evidence.votes.label
    trial = Trial(classifier, evidence, _counts_at(classifier, evidence))
    flips, change, rule = _decision(trial, account, other, scores_of_query)
    now = np.arange(len(listed)), evidence.n_votes
    votes: dict[str, Any] = {"votes": evidence.n_votes}
    settings = {"n_neighbors": classifier.n_neighbors_}
    if "weights" in vars(classifier) or evidence.weights is not None:  # as a parameter, or of samples
        votes["weight"], settings["total_weight"] = trial.counts_at[now], evidence.votes.total
    sets = labelset_columns(evidence.carriers, classifier.label_names_[listed], listed)
    neighbors = {"row": query.indices[0], "distance": query.distances[0], **sets}
    before = ["votes"] if evidence.weights is None else ["votes", "weight"]
    after = ["score", "threshold"] if other else ["score"]
    return account._replace(
        rule=rule,
        change=change,
        columns={**votes, **account.columns, "score": trial.scores_at[now], "score_at": trial.scores_at, **flips},
        neighbors=neighbors if evidence.weights is None else {**neighbors, "weight": evidence.weights},
        settings={**settings, **account.settings},
        shown=[*before, *account.shown, *after, *flips],
        threshold=other.thresholds[listed] if other else account.threshold,
    )


def _decision(trial: Trial, account: Account, other: OtherRule | None, scores_of_query: Any) -> tuple[Table, str, str]:
    """Return the columns of flips, their meaning in words, and the rule in words."""
    uniform = trial.evidence.weights is None
    sums = f"votes / {trial.evidence.votes.total:.6g}" if uniform else "summed weight / total_weight"
    scores = account.scores or f"score = {sums}"
    if other is not None:
        decided = other.decided_at(trial.evidence.votes.label, scores_of_query, trial.scores_at)
        return {"flip": least_changes(decided, trial.evidence.n_votes)}, FLIP, f"{scores}; chosen: {other.words}"
    flips, change = trial.flips(account)
    return flips, change, f"{scores}; chosen: {account.rule}"


def _counts_at(classifier: Any, evidence: Evidence) -> FloatArray:
    """Return the count of each listed label if it had 0, 1, ... votes, (n_listed, n_counts).

    Weighted votes are gained from the heaviest neighbours that do not carry the label, and lost from the heaviest that
    do: so the fewest votes move the most weight.
    """
    k, carriers = classifier.n_neighbors_, evidence.carriers
    if evidence.weights is None:
        n_counts = classifier._units().n_counts(k) if classifier.counts_rows else k + 1
        return np.broadcast_to(np.arange(n_counts), (carriers.shape[1], n_counts))
    weighed = np.broadcast_to(evidence.weights[:, np.newaxis], carriers.shape)
    order = np.lexsort((np.where(carriers, weighed, -weighed), 1 - carriers), axis=0)
    sums = np.cumsum(np.take_along_axis(weighed, order, axis=0), axis=0)
    return np.vstack([np.zeros((1, carriers.shape[1])), sums]).T


def novelty_of(classifier: Any, neighbors: Neighbors) -> tuple[Sequence[float | None], str]:
    """Return the novelty of queries or why there is none."""
    k = min(classifier.n_neighbors_, classifier._n_samples - 1)
    if k == 0:
        return [None] * len(neighbors.indices), "a single training sample has no neighbours."

    def ask(n_asked: int, n_reserved: int) -> Neighbors:
        found: Neighbors = classifier._ask_search(None, n_asked, n_reserved)
        return found

    def find() -> FloatArray:
        known: FloatArray | None = getattr(classifier, "_training_distances", None)
        return searched_distances(classifier.search_, k, ask) if known is None else known

    try:
        usual = usual_distances(classifier.search_, k, find)
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        return [None] * len(neighbors.indices), f"no neighbours of the training samples: {error}"
    return share_nearer(neighbors.nearest(k).mean_distances(), usual).tolist(), ""


def make_explanation(
    classifier: Any, account: Account, listed: IntArray, chosen: BoolArray, novelty: tuple[float | None, str]
) -> Explanation:
    """Join the parts that all explanations have with the account of the method; `listed` are the labels by number."""
    head = {"label": listed, "name": classifier.label_names_[listed]}
    tail = {"threshold": np.full(len(listed), account.threshold), "chosen": chosen}
    return Explanation(
        method=type(classifier).__name__,
        rule=account.rule,
        change=account.change,
        labels={**head, **account.columns, **tail},
        neighbors=account.neighbors,
        settings={"n_labels": len(classifier.label_names_), **account.settings},
        novelty=novelty[0],
        novelty_reason=novelty[1],
        labelsets=dict(account.labelsets),
        terms=dict(account.terms),
        shown=account.shown,
    )


# Explain queries where some cells of y are unknown: each label by the neighbours that know it.

NO_FLIP = "flip: unknown, because the rule uses the scores of all labels"
_ALWAYS = {"votes": np.intp, "known": np.intp, "score": np.float64}


def _explain_known_cells(classifier: Any, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
    """Yield the explanation of every query by the rules of groups of labels that the same rows know."""
    cells = classifier._cells
    for neighbors in cells.blocks(classifier, classifier._queries(X), weighs=True):
        answer = cells.answer_block(classifier, neighbors, Needs(labels=other is None))
        if other is not None:
            answer = Answer(other(answer.scores), answer.scores)
        novelty, reason = novelty_of(classifier, neighbors.lists)
        of_groups = list(cells.neighbors_of_groups(neighbors))
        for query in range(len(neighbors)):
            own = [(labels, rule, among[query : query + 1]) for labels, rule, among in of_groups]
            chosen = as_dense(answer.labels[[query]])[0] == 1
            yield _of_query(classifier, own, answer.scores[query], chosen, other, (novelty[query], reason))


def _of_query(
    classifier: Any,
    of_groups: Sequence[tuple[IntArray, Any, Neighbors]],
    scores: FloatArray,
    chosen: BoolArray,
    other: OtherRule | None,
    novelty: tuple[float | None, str],
) -> Explanation:
    """Join the accounts of all groups; a label without a voting neighbour has no votes and the score 0."""
    parts = [_account_of_group(classifier, *group, chosen, other) for group in of_groups]
    account = _account_of_rule(classifier, [part for _, part in parts], scores, chosen, other)
    listed = np.arange(len(scores))
    columns = _beside([(labels, part.columns) for labels, part in parts], len(scores))
    if sparse.issparse(classifier._labels):
        listed = np.flatnonzero((columns["votes"] > 0) | chosen)
    flips = [name for name in columns if name == "flip"]
    account = account._replace(
        columns={name: column[listed] for name, column in columns.items()},
        neighbors=_voters(classifier, [among for _, _, among in of_groups]),
        settings={"n_neighbors": classifier.n_neighbors_, **account.settings},
        shown=["votes", "known", "score", *(["threshold"] if other else []), *flips],
        threshold=other.thresholds[listed] if other else account.threshold,
    )
    return make_explanation(classifier, account, listed, chosen[listed], novelty)


def _account_of_group(
    classifier: Any, labels: IntArray, rule: Any, among: Neighbors, chosen: BoolArray, other: OtherRule | None
) -> tuple[IntArray, Account]:
    """Return the listed labels of a group, and its account; `known` is how many neighbours vote, all know the label."""
    thresholds = OtherRule(other.thresholds[labels], None, len(labels)) if other and other.decide is None else None
    evidence = evidence_of(rule, among, _engine.votes_of(rule, among), np.flatnonzero(chosen[labels]))
    account = account_of(rule, evidence, thresholds, None)
    listed = evidence.votes.label
    extra: dict[str, Any] = {"known": np.full(len(listed), rule.n_neighbors_)}
    if evidence.weights is not None:
        extra["total_weight"] = np.full(len(listed), evidence.votes.total)
    columns = {**account.columns, **extra}
    if thresholds is None and (other is not None or not classifier.labels_are_independent):
        columns.pop("flip")  # which is of the group alone, whereas the rule sees the labels of all groups
    return labels[listed], account._replace(columns=columns)


def _account_of_rule(
    classifier: Any, parts: Sequence[Account], scores: FloatArray, chosen: BoolArray, other: OtherRule | None
) -> Account:
    """Return the account of all labels together: in words how they are predicted, and by which numbers."""
    if other is not None:
        change = FLIP if other.decide is None else NO_FLIP
        return Account(rule=f"chosen: {other.words}", change=change)
    if classifier.labels_are_independent:
        first = parts[0] if parts else Account()
        return Account(rule=first.rule, change=first.change, threshold=first.threshold)
    votes, nobody = _engine.Votes(scores, 1, np.arange(len(scores))), np.zeros((0, len(scores)), dtype=np.intp)
    account: Account = classifier._account(Evidence(Neighbors(scores, nobody), votes, None, nobody, nobody, chosen))
    return account._replace(rule=f"score = votes / known; chosen: {account.rule}", change=NO_FLIP)


def _beside(parts: Sequence[tuple[IntArray, Table]], n_labels: int) -> dict[str, NDArray[Any]]:
    """Return the columns of all labels; 0 votes and score 0, or a missing value, where a part does not list a label."""
    columns: dict[str, NDArray[Any]] = {name: np.zeros(n_labels, dtype) for name, dtype in _ALWAYS.items()}
    for labels, part in parts:
        for name, column in part.items():
            if name not in columns or columns[name].shape[1:] < column.shape[1:]:
                columns[name] = _widened(columns.get(name), n_labels, column)
            where: Any = (labels, slice(column.shape[1])) if column.ndim == 2 else labels
            columns[name][where] = column
    return columns


def _widened(known: NDArray[Any] | None, n_labels: int, like: NDArray[Any]) -> NDArray[Any]:
    """Return a column of missing values that has room for another one, with the known values filled in."""
    column = np.full((n_labels, *like.shape[1:]), None if like.dtype.kind == "O" else np.nan)
    if known is not None:
        column[:, : known.shape[1]] = known
    return column


def _voters(classifier: Any, of_groups: Sequence[Neighbors]) -> Table:
    """Return the rows that vote for some label, nearest first; `unknown` is how many labels a row does not know."""
    if not of_groups:
        return {"row": np.zeros(0, dtype=np.intp), "distance": np.zeros(0)}
    rows, first = np.unique(np.concatenate([among.indices[0] for among in of_groups]), return_index=True)
    distances = np.concatenate([among.distances[0] for among in of_groups])[first]
    order = np.lexsort((rows, distances))
    rows = rows[order]
    sets = labelset_columns(classifier._labels[rows], classifier.label_names_)
    return {"row": rows, "distance": distances[order], **sets, "unknown": classifier._cells.n_unknown(rows)}
