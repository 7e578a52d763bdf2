"""Rules that a user may write: each kind that the engine can be told of, against loops and refits."""

from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import LabelSetClassifier, LazyClassifier, RowClassifier
from nearlabel.testing import check_multilabel_estimator


class Own(LazyClassifier):
    """The parameters that every rule has."""

    def __init__(self, n_neighbors=10, *, search=None):
        self.n_neighbors = n_neighbors
        self.search = search


class Two(Own):
    """The two labels of most votes, of equal ones the first: labels depend on each other."""

    def _decide_labels(self, scores, votes):
        chosen = np.zeros(scores.shape, dtype=int)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :2]
        np.put_along_axis(chosen, order, 1, axis=1)
        return chosen * (scores > 0)


class NearestSet(Own, LabelSetClassifier):
    """The label set of the nearest neighbour; a label's score is the share of neighbours with that label set."""

    def _score_votes(self, votes):
        number = votes.labelsets.number
        share = (number == number[:, :1]).mean(axis=1, keepdims=True)
        has = self.labelsets_[number[:, 0]]
        return (has.toarray() if sparse.issparse(has) else has) * share

    def _decide_labels(self, scores, votes):
        return self.labelsets_[votes.labelsets.number[:, 0]]


class CommonSet(Own, LabelSetClassifier):
    """The label set that most training rows have, of those of the neighbours; its scores are shares of votes."""

    takes_sparse_votes: ClassVar = True

    def _decide_labels(self, scores, votes):
        seen = votes.labelsets
        best = seen.frequency.argmax(axis=1)
        return self.labelsets_[seen.number[np.arange(len(best)), best]]


class Longest(Own, RowClassifier):
    """Votes count where the query is longer than the mean training row: a rule that sees rows."""

    def _learn_neighbors(self, neighbors):
        self.mean_length_ = _lengths(neighbors.rows).mean()

    def _score_votes(self, votes):
        return votes.count / votes.total * (_lengths(votes.rows) > self.mean_length_)[:, np.newaxis]

    def _decide_labels(self, scores, votes):
        return scores >= 0.5


def _lengths(rows):
    squares = rows.multiply(rows) if sparse.issparse(rows) else rows**2
    return np.sqrt(np.asarray(squares.sum(axis=1)).ravel())


RULES = [Two, NearestSet, CommonSet, Longest]


def by_loops(rule, X, Y, Q, k):
    """Scores and label sets, query by query."""
    scores, labels = [], []
    for query in Q:
        near = np.argsort(((X - query) ** 2).sum(axis=1), kind="stable")[:k]
        share = Y[near].mean(axis=0)
        if rule is Two:
            chosen = np.isin(np.arange(len(share)), np.argsort(-share, kind="stable")[:2]) & (share > 0)
        elif rule is NearestSet:
            share = Y[near[0]] * (Y[near] == Y[near[0]]).all(axis=1).mean()
            chosen = Y[near[0]]
        elif rule is CommonSet:
            chosen = Y[near[np.argmax([(Y[n] == Y).all(axis=1).sum() for n in near])]]
        else:
            share = share * (np.linalg.norm(query) > np.linalg.norm(X, axis=1).mean())
            chosen = share >= 0.5
        scores.append(share)
        labels.append(chosen)
    return np.array(scores), np.array(labels).astype(int)


@pytest.fixture(scope="module")
def rows():
    """30 training rows, 12 queries, and five labels that follow the place."""
    rng = np.random.default_rng(4)
    X = rng.integers(0, 6, (42, 3)).astype(float)
    Y = (X @ rng.normal(size=(3, 5)) + rng.normal(size=(42, 5)) > 2).astype(int)
    return X[:30], Y[:30], X[30:]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rule", RULES)
def test_equals_loops(rows, rule, store):
    """With dense and sparse label sets alike."""
    X, Y, Q = rows
    scores, labels = by_loops(rule, X, Y, Q, 4)
    model = rule(4).fit(X, store(Y))
    predicted = model.predict(Q)
    assert sparse.issparse(predicted) == (store is sparse.csr_array)
    np.testing.assert_array_equal(sparse.csr_array(predicted).toarray(), labels)
    np.testing.assert_allclose(model.predict_proba(Q), scores, rtol=1e-15)
    best, numbers = model.predict_topk(Q, 2)
    np.testing.assert_array_equal(best, np.take_along_axis(model.predict_proba(Q), numbers, axis=1))


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rule", [Two, NearestSet, CommonSet])
def test_leaving_out_equals_refits(rows, rule, store):
    """A label set's frequency, too, is that without the row."""
    X, Y, _ = rows
    model = rule(4).fit(X, store(Y))
    others = ~np.eye(len(X), dtype=bool)
    refits = [rule(4).fit(X[keep], store(Y[keep])) for keep in others]
    labels = [sparse.csr_array(refit.predict(X[[i]])).toarray()[0] for i, refit in enumerate(refits)]
    scores = [refit.predict_proba(X[[i]])[0] for i, refit in enumerate(refits)]
    np.testing.assert_array_equal(sparse.csr_array(model.loo_predict()).toarray(), labels)
    np.testing.assert_array_equal(model.loo_predict_proba(), scores)
    assert not hasattr(Longest(), "loo_predict")


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("rule", RULES)
def test_explanations(rows, rule, store):
    """They show the scores and label sets of the rule, by its own decision and by thresholds."""
    X, Y, Q = rows
    model = rule(4).fit(X, store(Y))
    scores, labels = model.predict_proba(Q), sparse.csr_array(model.predict(Q)).toarray()
    for others in ({}, {"thresholds": 0.4}):
        decided = scores >= 0.4 if others else labels == 1
        for query, explanation in enumerate(model.explain(Q, **others)):
            table = explanation.labels
            np.testing.assert_array_equal(table["score"], scores[query, table["label"]])
            np.testing.assert_array_equal(table["chosen"], decided[query, table["label"]])
            assert decided[query].sum() == table["chosen"].sum()
            assert len(table["flip"]) == len(table["label"])
            assert explanation.rule
            assert "flip" in str(explanation)


def test_no_flips_of_a_rule_on_label_sets(rows):
    """No number of votes says which label sets the neighbours would have, and the text says so."""
    X, Y, Q = rows
    (explanation,) = NearestSet(4).fit(X, Y).explain(Q[:1])
    assert set(explanation.labels["flip"]) == {None}
    assert str(explanation).endswith("flip: unknown, because the rule sees the neighbours' label sets")


def test_the_contract():
    """The checks for estimators of users pass."""
    check_multilabel_estimator(NearestSet(3))


@pytest.mark.parametrize("rule", RULES)
def test_the_number_of_neighbours_can_be_chosen(rows, rule):
    """By leave-one-out where the rule has it, else by folds."""
    X, Y, _ = rows
    model = rule("auto").fit(X, Y)
    assert model.n_neighbors_ in model.cv_results_["n_neighbors"]
    assert max(model.cv_results_["micro_f1"]) > 0
