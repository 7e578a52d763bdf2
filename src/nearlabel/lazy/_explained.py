"""What `explain` of all lazy classifiers shares: the rule that decides, and from accounts to explanations."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from nearlabel.decision import cut
from nearlabel.lazy._explanation import Explanation
from nearlabel.lazy._flips import decided_by, least_changes
from nearlabel.lazy._plain import Table, column_of
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_label_matrix

CHANGE_OF_VOTES = "flip: the least change of the label's votes that turns its decision, all else as it is"


class Evidence(NamedTuple):
    """What is known of one query: its neighbours, the listed labels, who carries them, and which are chosen."""

    distances: FloatArray  # (n_neighbors,)
    indices: IntArray  # (n_neighbors,)
    row: Matrix | None  # (1, n_features), where the rows are at hand
    listed: IntArray  # column numbers (n_listed,), ascending
    carriers: IntArray  # (n_neighbors, n_listed), 0 and 1
    chosen: BoolArray  # (n_listed,)

    @property
    def votes(self) -> IntArray:
        """How many neighbours carry each listed label."""
        return np.asarray(self.carriers.sum(axis=0))


class Account(NamedTuple):
    """What a method says of one query: columns of the labels, the neighbours and so on, besides the common ones."""

    labels: Table
    rule: str
    shown: Sequence[str]
    neighbors: Table = MappingProxyType({})
    settings: Mapping[str, Any] = MappingProxyType({})
    labelsets: Table = MappingProxyType({})
    terms: Table = MappingProxyType({})
    change: str = CHANGE_OF_VOTES
    threshold: float = 0.5


class Rule:
    """What decides in the place of the method's own rule: thresholds, or a function from scores to label sets."""

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

    def apply_to(self, account: Account, listed: IntArray, scores: FloatArray) -> Account:
        """Return an account of which this rule decides; scores (n_labels,) are of all labels."""
        labels = {k: v for k, v in account.labels.items() if not k.startswith(("flip", "margin"))}
        if "score_at" in labels:
            table = labels["score_at"]
            simple = self.decide is None
            decided = (
                table >= self.thresholds[listed, np.newaxis] if simple else decided_by(self, scores, listed, table)
            )
            labels["flip"] = least_changes(decided, labels["votes"])
        given = "score >= threshold" if self.decide is None else "by a rule on all scores of the query"
        shown = [name for name in account.shown if name in labels and name != "flip"]
        last = ["threshold", "flip"] if "flip" in labels else ["threshold"]
        change = CHANGE_OF_VOTES if "flip" in labels else "no change of votes is known that turns a decision"
        return account._replace(labels=labels, rule=f"chosen: {given}", shown=[*shown, *last], change=change)


class Explained(ABC):
    """A classifier that can say why. A subclass defines `_explanations`."""

    label_names_: NDArray[Any]

    def explain(
        self, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
    ) -> list[Explanation]:
        """Explain the label set of every query.

        Says who the neighbours are, what they say of each label, how that became the score, what was decided, what
        would turn the decision, and how far the query is from what is known (`Explanation.doubt`).

        The doubt needs the neighbours of all training rows: `MLkNN`, `CMLkNN` and `IBLR` know how far those are since
        `fit`; all others search for them anew in each call, so explain many queries in one call. Nothing is stored.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        thresholds : float or array-like of shape (n_labels,), default=None
            Decide by these rather than by the method's rule: a label is chosen where its score is at least its own.
        decide : callable, default=None
            Decides rather than the method's rule: takes scores (n, n_labels) and returns label sets of that shape, row
            by row. It is tried on every number of votes of every label. If it comes with `thresholds`, they are only
            shown. Makes arrays over all labels, also of a sparse y, as do `thresholds`.

        Returns
        -------
        list of Explanation
            One a query.

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
        doubt 0.00: 0 % of the training rows are nearer to their neighbours
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
        flip: the least change of the label's votes that turns its decision, all else as it is
        """
        check_is_fitted(self)
        asked = thresholds is not None or decide is not None
        return list(self._explanations(X, Rule(thresholds, decide, len(self.label_names_)) if asked else None))

    @abstractmethod
    def _explanations(self, X: MatrixLike, rule: Rule | None) -> Iterator[Explanation]:
        """Yield the explanation of every query; the rule decides, if there is one."""

    def _explanation(
        self,
        account: Account,
        listed: IntArray,
        chosen: BoolArray,
        neighbors: Table,
        doubt: float | None,
        doubt_reason: str,
        rule: Rule | None,
    ) -> Explanation:
        """Put the common columns beside those of the method."""
        thresholds = np.full(len(listed), account.threshold) if rule is None else rule.thresholds[listed]
        head = {"label": listed, "name": self.label_names_[listed]}
        return Explanation(
            method=type(self).__name__,
            rule=account.rule,
            change=account.change,
            labels={**head, **account.labels, "threshold": thresholds, "chosen": chosen},
            neighbors={**neighbors, **account.neighbors},
            settings={"n_labels": len(self.label_names_), **account.settings},
            doubt=doubt,
            doubt_reason=doubt_reason,
            labelsets=dict(account.labelsets),
            terms=dict(account.terms),
            shown=account.shown,
        )


def labelset_columns(labelsets: Matrix, names: NDArray[Any]) -> Table:
    """Return the columns `labels` and `names` of label sets (n_sets, n_labels): tuples of numbers, and of names."""
    rows = sparse.csr_array(labelsets)
    rows.sort_indices()
    numbers = np.split(rows.indices, rows.indptr[1:-1])
    columns = [tuple(some.tolist()) for some in numbers], [tuple(names[some].tolist()) for some in numbers]
    return dict(zip(("labels", "names"), map(column_of, columns), strict=True))
