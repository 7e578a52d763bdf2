"""Explain mixed scores: the amounts that parts, training samples and features add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.lazy.explain import OtherRule
from nearlabel.models import LeafShares, training_shares
from nearlabel.models.explanation import Explanation
from nearlabel.models.leaf_shares import has_leaf_shares
from nearlabel.models.unwrapped import inmost, unwrapped
from nearlabel.utils import tables
from nearlabel.utils.messages import shortened
from nearlabel.utils.tables import column_of, labelset_columns
from nearlabel.utils.types import CSR, FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

_MOST_SAMPLES, _MOST_LABELS, _MOST_OF_LABEL, _MOST_FEATURES = 10, 5, 5, 3
_TERMS = ("name", "row", "evidence", "amount")
_LEAST = 0.01  # of the votes: the least amount of a sample that is named
_LONGEST, _LONGEST_OF_PART = 52, 36  # letters of evidence
_RULE = "score = sum over the parts of weight * probability; chosen: {}"


@dataclass(frozen=True, eq=False, repr=False)
class MixtureExplanation(Explanation):
    """Why a mixture predicts the label set of one query; returned by `SoftVote.explain`.

    - `labels` has a column for each part, by its name: its weight times its probability. Their sum is the `score`.
    - `neighbors` are the training samples with the largest `amount` in the scores that `terms` explains.
    - `terms` has rows `name` (of a label), `row` (of a training sample, or None), `evidence` and `amount`: the score of
      each predicted label, or of the best one, in amounts that sum to it. A training sample gets what parts by votes
      add, in proportion to its share among those that have the label; a linear part names its largest terms,
      coefficient times feature.
    """

    def with_kept(self, kept: Mapping[str, Sequence[Any]]) -> Explanation:
        """Add columns that identify training samples, such as titles, see `Explanation.with_kept`.

        Parameters
        ----------
        kept : mapping of str to sequence of length n_samples
            Columns of the training samples. `terms` names samples by the last one.

        Returns
        -------
        MixtureExplanation
        """
        known = super().with_kept(kept)
        if not kept:
            return known
        titles = [*kept.values()][-1]
        rows = self.terms["row"].tolist()
        named = [
            words if row is None else shortened(f"{words}: {titles[row]}", _LONGEST)
            for row, words in zip(rows, self.terms["evidence"].tolist(), strict=True)
        ]
        return replace(known, terms={**self.terms, "evidence": column_of(named)})

    def _grids(self) -> Iterator[tables.Grid]:
        names = [name for name in self.neighbors if name not in tables.OF_LABELSETS]
        rest = self.settings["rest"]
        besides = f"... and other samples with {tables.share_in_words(rest)}" if rest > 0 else ""
        if len(self.neighbors["row"]):
            yield tables.grid(self.neighbors, [*names, "names"], "neighbours", besides=besides, shares=("amount",))
        order = np.lexsort((self.labels["label"], -self.labels["score"], ~self.labels["chosen"]))
        n_chosen = int(self.labels["chosen"].sum())
        scores = [name for name in ("raw_score", "score", "threshold") if name in self.labels]
        shown, shares = ["name", *self.shown, *scores, "chosen"], (*self.shown, *scores)
        yield tables.grid(self.labels, shown, "labels", order=order, n_first=n_chosen, shares=shares)
        columns = ["name", "evidence", "amount"]
        yield tables.grid(self.terms, columns, "amounts", at_most=len(self.terms["name"]), shares=("amount",))


class _Part(NamedTuple):
    """A part of a mixture for some queries: what it adds to scores, and the shares of training samples or None."""

    name: str
    weight: float  # the mean over labels, to be printed
    terms: FloatArray  # (n_queries, n_labels)
    shares: CSR | None
    votes: FloatArray | None  # (n_queries, n_labels): its own scores, of which the shares are
    linear: _Linear | None


class _Linear(NamedTuple):
    """The rows of queries as linear models of each label get them, and the names of the features."""

    rows: Matrix
    models: Sequence[Any]
    names: NDArray[Any] | None

    def products(self, query: int, label: int) -> FloatArray:
        """Return coefficient times value of each feature; all 0 for a label with one class."""
        coef = getattr(self.models[label], "coef_", np.zeros(self.rows.shape[1]))
        return np.asarray(np.ravel(as_dense(self.rows[[query]])) * np.ravel(coef))

    def largest_of(self, products: FloatArray, at_most: int) -> list[tuple[str, float]]:
        """Return the names of the features with the largest products, and these."""
        order = np.argsort(-np.abs(products), kind="stable")[:at_most]
        return [(self._name(place), float(products[place])) for place in order.tolist() if products[place]]

    def largest(self, query: int, label: int, longest: int) -> str:
        """Return the features with the largest products, and these, in words, as many as fit into some letters."""
        if not hasattr(self.models[label], "coef_"):
            return "a constant"
        named = self.largest_of(self.products(query, label), _MOST_FEATURES)
        words = [f"{name} {product:+.2f}" for name, product in named]
        fitting = [n for n in range(1, len(words) + 1) if len(", ".join(words[:n])) <= longest]
        return ", ".join(words[: max(fitting, default=1)]) or "no feature"

    def _name(self, place: int) -> str:
        """Return the name of a feature; of one that is no word after its group, as in numbers:age."""
        name = f"x{place}" if self.names is None else str(self.names[place])
        return name.removeprefix("text__").removeprefix("text_").replace("__", ":", 1)


def leaf_shares_of(part: Any, X: MatrixLike) -> LeafShares | None:
    """Return what the shares of a fitted part need of its training samples; None for one that is no forest."""
    return LeafShares.of(part, X) if has_leaf_shares(inmost(part)[0]) else None


def explain(
    self: Any, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
) -> list[MixtureExplanation]:
    """Explain the label set of every query by the amounts of its parts and of the training samples.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries.
    thresholds : float or array-like of shape (n_labels,), default=None
        Decide by these instead of the mixture's own: a label is predicted if its score is at least its threshold.
    decide : callable, default=None
        Takes scores (n, n_labels), and returns label sets of that shape.

    Returns
    -------
    list of MixtureExplanation
        With ``space="probability"`` only.
    """
    scores = self._score(X)  # which needs a fit
    other = None if thresholds is None and decide is None else OtherRule(thresholds, decide, scores.shape[1])
    chosen = as_dense(self.strategy_.predict(scores) if other is None else other(scores)) == 1
    rule = ("by a rule on all scores", np.nan) if other is None else (other.words, other.thresholds)
    if other is None and hasattr(self, "thresholds_"):
        rule = "score >= threshold", self.thresholds_
    parts = [_part(self, place, X) for place in range(len(self.estimators_)) if np.any(self.weights_[..., place])]
    return [_of_query(self, parts, query, scores[query], chosen[query], rule) for query in range(len(scores))]


def is_linear(classifier: Any) -> bool:
    """Return whether a fitted classifier has a linear model, or a constant, for each label."""
    models = getattr(classifier, "estimators_", None)
    return models is not None and all(isinstance(one, float) or hasattr(one, "coef_") for one in models)


def explain_linear(
    self: Any, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
) -> list[MixtureExplanation]:
    """Explain the label set of every query by the features that add most to each decision value.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries.
    thresholds : float or array-like of shape (n_labels,), default=None
        Decide by these: a label is predicted if its decision value is at least its threshold.
    decide : callable, default=None
        Takes decision values (n, n_labels), and returns label sets of that shape.

    Returns
    -------
    list of MixtureExplanation
        `terms` has the decision value of each predicted label, or of the best one, in amounts that sum to it: the
        products of coefficient and feature, the largest first, and the intercept. There are no neighbours. A label with
        one class has no terms; where thresholds are around the classifier, its score is infinite, as there.
    """
    rows = self._queries(X)
    values = self._probabilities.decision_values(rows)
    other = None if thresholds is None and decide is None else OtherRule(thresholds, decide, values.shape[1])
    chosen = as_dense(self._decide(rows) if other is None else other(values)) == 1
    linear = _Linear(rows, self.estimators_, getattr(self, "_feature_names", lambda: None)())
    limits = np.zeros(values.shape[1]) if other is None else other.thresholds
    if other is not None:
        values = np.where([isinstance(one, float) for one in self.estimators_], values * np.inf, values)
    rule = "score = intercept + sum of coefficient * feature; chosen: "
    rule += "score > 0" if other is None else other.words
    return [_of_linear(self, linear, query, values[query], chosen[query], limits, rule) for query in range(len(values))]


def _of_linear(
    classifier: Any,
    linear: _Linear,
    query: int,
    values: FloatArray,
    chosen: NDArray[Any],
    limits: FloatArray,
    rule: str,
) -> MixtureExplanation:
    labels, names = np.arange(len(values)), classifier.label_names_
    lines: list[tuple[Any, None, str, float]] = []
    for label in np.lexsort((labels, -values, ~chosen))[: max(1, min(_MOST_LABELS, int(chosen.sum())))].tolist():
        if isinstance(linear.models[label], float):
            continue
        products = linear.products(query, label)
        shown = linear.largest_of(products, _MOST_OF_LABEL)
        added = float(sum(product for _, product in shown))
        n_others = int(np.count_nonzero(products)) - len(shown)
        rest = [(f"{n_others} other features", float(products.sum()) - added)] if n_others else []
        intercept = ("intercept", float(values[label]) - float(products.sum()))
        lines += [(names[label], None, evidence, amount) for evidence, amount in (*shown, *rest, intercept)]
    return MixtureExplanation(
        method=type(classifier).__name__,
        rule=rule,
        change="",
        labels={"label": labels, "name": names, "score": values, "threshold": limits, "chosen": chosen},
        neighbors={"row": np.empty(0, dtype=np.intp), **labelset_columns(np.empty((0, len(values))), names)},
        settings={"n_labels": len(values), "rest": 0.0},
        novelty=None,
        novelty_reason="a linear model has no neighbours.",
        terms={name: column_of([line[at] for line in lines]) for at, name in enumerate(_TERMS)},
        shown=[],
    )


def _part(mixture: Any, place: int, X: MatrixLike) -> _Part:
    name, fitted = mixture._parts()[place][0], mixture.estimators_[place]
    terms = mixture.weights_[..., place] * mixture._terms(place, X)
    leaves, shares, votes, linear = mixture._leaf_shares[place], None, None, None
    inner, (rows,) = inmost(fitted, X)
    if leaves is not None:
        shares = leaves.shares(fitted, X)
    elif hasattr(inner, "_training_shares"):
        shares = training_shares(fitted, X)
    elif is_linear(inner):
        linear = _Linear(rows, inner.estimators_, unwrapped(fitted).feature_names())
    if shares is not None:
        votes = as_dense(shares @ mixture._training_labels)
    return _Part(name, float(np.mean(mixture.weights_[..., place])), terms, shares, votes, linear)


def _of_query(
    mixture: Any,
    parts: Sequence[_Part],
    query: int,
    scores: FloatArray,
    chosen: NDArray[Any],
    rule: tuple[str, Any],
) -> MixtureExplanation:
    labels, names = np.arange(len(scores)), mixture.label_names_
    best = np.lexsort((labels, -scores, ~chosen))[: max(1, min(_MOST_LABELS, int(chosen.sum())))]
    by_votes = {label: _of_samples(mixture, parts, query, label) for label in best.tolist()}
    lines = [line for label, each in by_votes.items() for line in _amounts(mixture, parts, query, label, each)]
    of_rows = np.sum(list(by_votes.values()), axis=0)
    rows = np.argsort(-of_rows, kind="stable")[:_MOST_SAMPLES]
    rows = rows[of_rows[rows] > 0]
    of_parts = {part.name: part.terms[query] for part in parts}
    weights = ", ".join(f"{part.weight:.2g} {part.name}" for part in parts)
    return MixtureExplanation(
        method=f"{type(mixture).__name__} of {weights}",
        rule=_RULE.format(rule[0]),
        change="",
        labels={
            "label": labels,
            "name": names,
            **of_parts,
            "score": scores,
            "threshold": np.broadcast_to(np.asarray(rule[1], dtype=np.float64), len(scores)),
            "chosen": chosen,
        },
        neighbors={"row": rows, "amount": of_rows[rows], **labelset_columns(mixture._training_labels[rows], names)},
        settings={"n_labels": len(scores), "rest": float(np.delete(of_rows, rows).sum())},
        novelty=None,
        novelty_reason="a mixture has no neighbours of its own.",
        terms={name: column_of([line[at] for line in lines]) for at, name in enumerate(_TERMS)},
        shown=[part.name for part in parts],
    )


def _of_samples(mixture: Any, parts: Sequence[_Part], query: int, label: int) -> FloatArray:
    """Return what each training sample adds to the score of a label (n_training,).

    A part by votes adds its term, shared out over the samples that have the label in proportion to their shares.
    """
    carriers = mixture._training_labels[:, [label]].toarray()[:, 0]
    each: FloatArray = np.zeros(len(carriers))
    for part in parts:
        if part.shares is not None and part.votes is not None and part.votes[query, label] > 0:
            of_query = part.shares[[query]]
            scale = part.terms[query, label] / part.votes[query, label]
            each[of_query.indices] += of_query.data * carriers[of_query.indices] * scale
    return each


def _amounts(
    mixture: Any, parts: Sequence[_Part], query: int, label: int, each: FloatArray
) -> Iterator[tuple[Any, int | None, str, float]]:
    """Yield the name of a label, a row or None, the evidence, and its amount of the score: samples first."""
    name, added = mixture.label_names_[label], float(each.sum())
    order = np.argsort(-each, kind="stable")[:_MOST_OF_LABEL]
    order = order[each[order] > _LEAST * added]
    for row in order.tolist():
        yield name, row, f"row {row}", float(each[row])
    if n_others := int(np.count_nonzero(each)) - len(order):
        yield name, None, f"{n_others} other samples", added - float(each[order].sum())
    for part in parts:
        term = float(part.terms[query, label])
        if part.votes is None:
            longest = _LONGEST_OF_PART - len(part.name) - 2
            words = "" if part.linear is None else f": {part.linear.largest(query, label, longest)}"
            yield name, None, f"{part.name}{words}", term
        elif not part.votes[query, label] > 0:
            yield name, None, f"{part.name}: no sample has the label", term
