"""Explain queries where some cells of y are unknown: each label by the neighbours that know it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy._votes import Neighbors, Votes
from nearlabel.lazy.explain._account import Account, Evidence
from nearlabel.lazy.explain._explain import OtherRule, account_of, evidence_of, make_explanation, novelty_of
from nearlabel.lazy.explain._explanation import Explanation
from nearlabel.lazy.explain._flips import FLIP
from nearlabel.out_of_sample import Answer, Needs
from nearlabel.utils.tables import labelset_columns
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, MatrixLike, Table
from nearlabel.utils.validation import as_dense

NO_FLIP = "flip: unknown, because the rule uses the scores of all labels"
_ALWAYS = {"votes": np.intp, "known": np.intp, "score": np.float64}


def explain_known_cells(classifier: Any, X: MatrixLike, other: OtherRule | None) -> Iterator[Explanation]:
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
    evidence = evidence_of(rule, among, np.flatnonzero(chosen[labels]))
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
    votes, nobody = Votes(scores, 1, np.arange(len(scores))), np.zeros((0, len(scores)), dtype=np.intp)
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
