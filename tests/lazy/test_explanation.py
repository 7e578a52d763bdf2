import json
import pickle
import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, Explanation, LPkNN, MLkNN
from nearlabel.lazy._cmlknn import MEMBERSHIPS, ONE
from nearlabel.lazy._engine import NeighborLabelSets
from nearlabel.lazy._lpknn import most_frequent
from nearlabel.models.decision import within_sizes
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.thresholds import FixedThresholdsClassifier, MCut, TunedThresholdsClassifierCV

TREE = DecisionTreeClassifier(max_depth=2, random_state=0)  # few different probabilities: ties in the label space
BY_SHARES = [
    BRkNN(4),
    BRkNN(5, majority="half"),
    BRkNN(4, weights="distance"),
    BRkNNa(4),
    BRkNNa(4, weights="distance"),
    BRkNNb(4),
    BRkNNb(5, rounding="half_up"),
    BRkNNb(4, weights="distance"),
]
LABELSETS = [LPkNN(5, ties=ties, random_state=0) for ties in ("nearest", "first", "frequent", "random")]
BY_BAYES = [MLkNN(4), MLkNN(3, smoothing=0.3), CMLkNN(4), CMLkNN(3, membership="mean", smoothing=0.3)]
WEIGHTED = [MLkNN(4, weights="distance"), DMLkNN(4, delta=2, weights="distance")]
IN_BOXES = [DMLkNN(4, delta=1), DMLkNN(3, delta=2, smoothing=0.3, cells="labels")]
LINEAR = [IBLR(4, ridge=0.1), IBLR(4, ridge=0.1, plus=True)]
PAIRED = [NLDD(TREE, random_state=0), NLDD(TREE, trials="authors", random_state=0)]
ALL = [*BY_SHARES, *LABELSETS, *BY_BAYES, *WEIGHTED, *IN_BOXES, *LINEAR, *PAIRED]


def name_of(estimator):
    """Short, telling parameters."""
    return repr(estimator).replace(" ", "").replace("\n", "")[:60]


def every(estimators):
    """Parametrize by estimators."""
    return pytest.mark.parametrize("estimator", estimators, ids=name_of)


def make(seed=0, n=30, n_labels=4, duplicates=True):
    """Rows on a grid (ties, duplicates), label sets with an empty label and one of all rows."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 3)).astype(float) if duplicates else rng.normal(size=(n, 3))
    Y = (rng.random((n, n_labels)) < rng.choice([0.15, 0.4, 0.6], n_labels)).astype(int)
    return X, Y, rng.integers(0, 3, (6, 3)) + rng.choice([0.0, 0.25], (6, 3))


def dense(matrix):
    """Return an array of either container."""
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@every(ALL)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_scores_and_label_sets_are_those_of_the_classifier(estimator, container):
    """To the last bit, ties included; whatever is not listed has no vote and is not chosen."""
    for seed in range(3):
        X, Y, queries = make(seed)
        model = clone(estimator).fit(container(X), container(Y))
        explanations = model.explain(container(queries))
        scores, labels = model.predict_proba(container(queries)), dense(model.predict(container(queries)))
        assert len(explanations) == len(queries)
        for row, one in enumerate(explanations):
            listed = one.labels["label"]
            np.testing.assert_array_equal(one.labels["score"], scores[row, listed])
            np.testing.assert_array_equal(one.labels["chosen"], labels[row, listed] == 1)
            assert labels[row].sum() == one.labels["chosen"].sum()
            assert one.predicted == np.flatnonzero(labels[row]).tolist()
            np.testing.assert_array_equal(dense(one.indicator), Y[one.neighbors["row"]])


def shares_of_parts(one):
    """BRkNN, LPkNN: summed weights over their total."""
    carried = dense(one.indicator)[:, one.labels["label"]]
    weights = one.neighbors.get("weight", np.ones(len(carried)))
    return np.array([sum(w * c for w, c in zip(weights, column, strict=True)) for column in carried.T]) / sum(weights)


@every([*BY_SHARES, *LABELSETS])
def test_shares_follow_from_the_neighbours(estimator):
    """Score, and the score at the present votes, from the neighbours' label sets and weights."""
    X, Y, queries = make(1)
    for one in clone(estimator).fit(X, Y).explain(queries):
        np.testing.assert_array_equal(one.labels["score"], shares_of_parts(one))
        votes = dense(one.indicator).sum(axis=0)
        np.testing.assert_array_equal(one.labels["votes"], votes)
        np.testing.assert_array_equal(one.labels["score_at"][np.arange(4), votes], one.labels["score"])


def settled(posterior, prior, with_at, without_at, n_with, n_without, smoothing, spread):
    """A posterior beside one half is put where it belongs by fractions."""
    if abs(posterior - 0.5) >= 1e-9:
        return posterior
    s = Fraction(smoothing)
    yes = (s + n_with) * (s + with_at) * (s * spread + n_without)
    no = (s + n_without) * (s + without_at) * (s * spread + n_with)
    return 0.5 if yes == no else max(posterior, 0.5) if yes > no else min(posterior, np.nextafter(0.5, 0))


@pytest.mark.long
@every(BY_BAYES)
def test_posteriors_follow_from_prior_and_likelihoods(estimator):
    """Counts give prior and likelihoods, these the posterior, to the last bit; also one half."""
    halves = 0
    for seed in range(12):
        X, Y, queries = make(seed, n=2 * (6 + seed))
        model = clone(estimator).fit(X, Y)
        for one in model.explain(queries):
            k, n, s = (one.settings[name] for name in ("n_neighbors", "n_samples", "smoothing"))
            for row in one.to_dict()["labels"]:
                c, c0, v = row["with_at"], row["without_at"], row["votes"]
                n1, n0 = sum(map(Fraction, c)), sum(map(Fraction, c0))
                assert n1 + n0 == n
                assert row["prior"] == (s + float(n1)) / (2 * s + n)
                assert row["prior_without"] == (s + float(n0)) / (2 * s + n)
                assert row["likelihood"] == (s + c[v]) / (s * (k + 1) + float(n1))
                assert row["likelihood_without"] == (s + c0[v]) / (s * (k + 1) + float(n0))
                yes = row["prior"] * row["likelihood"]
                posterior = yes / (row["prior_without"] * row["likelihood_without"] + yes)
                parts = (Fraction(c[v]), Fraction(c0[v]), n1, n0, s, k + 1)
                assert row["score"] == settled(posterior, row["prior"], *parts)
                halves += row["score"] == 0.5
    assert halves or isinstance(model, CMLkNN)


@every([CMLkNN(4), CMLkNN(3, membership="mean"), CMLkNN(4, membership="max"), CMLkNN(4, membership="hard")])
def test_memberships_follow_from_similar_labels(estimator):
    """Terms and neighbours' label sets give the support, the support the votes."""
    X, Y, queries = make(2)
    for one in clone(estimator).fit(X, Y).explain(queries):
        similarity = np.zeros((4, 4), dtype=np.int64)
        for term in one.to_dict()["terms"]:
            similarity[term["of"], term["label"]] = term["similarity"] * ONE
            assert term["neighbors"] == dense(one.indicator).sum(axis=0)[term["of"]] > 0
        support = MEMBERSHIPS[estimator.membership](one.indicator.astype(np.int64), similarity).sum(axis=0)
        np.testing.assert_array_equal(one.labels["support"], support / ONE)
        np.testing.assert_array_equal(one.labels["votes"], np.floor(support / ONE + 0.5 + 1e-9))


@every(LINEAR)
def test_logits_follow_from_terms(estimator):
    """Intercept plus the terms in their order is the logit, its logistic function the score."""
    X, Y, queries = make(3)
    Y[:, 1] = 1
    for one in clone(estimator).fit(X, Y).explain(queries):
        for label, row in enumerate(one.to_dict()["labels"]):
            logit = 0.0
            for t in range(len(one.terms["label"])):
                if one.terms["label"][t] == label:
                    logit += one.terms["value"][t] * one.terms["coefficient"][t]
            logit += one.labels["intercept"][label]
            assert logit == one.labels["logit"][label]
            assert row["score"] == expit(logit)
            assert row["share"] == row["votes"] / 4


@every(PAIRED)
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_losses_follow_from_the_two_distances(estimator):
    """The best pair of each label set, by loops over all rows; and what other sets lack."""
    for container in (np.asarray, sparse.csr_array):
        X, Y, queries = make(4, n_labels=3)
        model = clone(estimator).fit(container(X), container(Y))
        beta, scale = model.coef_, model._scaling.divisors
        losses = model.predict_loss(container(queries))
        for query, one in enumerate(model.explain(container(queries))):
            p = one.labels["score"]
            best = {}
            for row in range(len(X)):
                dx = np.sqrt(sum(((queries[query] / scale - X[row] / scale)[f]) ** 2 for f in range(3)))
                dy = np.sqrt(sum((p[label] - Y[row, label]) ** 2 for label in range(3)))
                key = (beta[1] * dx + beta[2] * dy, dy, dx, row)
                best[tuple(Y[row])] = min(best.get(tuple(Y[row]), key), key)
            ranked = sorted(best.values())
            assert one.neighbors["row"].tolist() == [key[3] for key in ranked]
            np.testing.assert_array_equal(one.neighbors["dy"], [key[1] for key in ranked])
            np.testing.assert_array_equal(one.neighbors["distance"], [key[2] for key in ranked])
            assert one.neighbors["loss"][0] == losses[query]
            logit = beta[0] + (beta[1] * one.neighbors["distance"] + beta[2] * one.neighbors["dy"])
            share = expit(logit) if model.trials == "labels" else np.exp(np.minimum(logit, 0))
            np.testing.assert_array_equal(one.neighbors["logit"], logit)
            np.testing.assert_array_equal(one.neighbors["share"], share)
            for label in range(3):
                rivals = [r for r, key in enumerate(ranked) if Y[key[3], label] != Y[ranked[0][3], label]]
                assert one.labels["flip_row"][label] == (ranked[rivals[0]][3] if rivals else None)
                if rivals:
                    assert one.labels["margin"][label] == share[rivals[0]] - share[0]
                    assert one.labels["margin"][label] >= 0
            for row, change in enumerate(one.neighbors["margin_dx"]):
                if change == change:  # moved by so much, it is as good as the winner
                    moved = beta[1] * (one.neighbors["distance"][row] + change) + beta[2] * one.neighbors["dy"][row]
                    assert moved == pytest.approx(ranked[0][0])


def decided(model, X, Y, query, label, indices, carriers):
    """Decide with other neighbours carrying one label: edit the training label sets, keep what was learnt."""
    edited = Y.copy()
    edited[indices, label] = carriers
    other = clone(model).fit(X, edited)
    for name in ("prior_", "likelihood_", "posterior_", "_counts", "coef_", "intercept_", "_probabilities"):
        if hasattr(model, name):
            setattr(other, name, getattr(model, name))
    return dense(other.predict(query[np.newaxis]))[0]


def fewest(model, X, Y, query, one, label, turned):
    """Try all sets of neighbours that carry the label; the least change of their number that turns `turned`."""
    indices, now = one.neighbors["row"], one.labels["votes"][label]
    changes = set()
    for pattern in range(2 ** len(indices)):
        carriers = [pattern >> place & 1 for place in range(len(indices))]
        present = Y[indices, label]
        gained, lost = np.sum(carriers > present), np.sum(carriers < present)
        if (gained == 0) == (lost == 0):
            continue
        if decided(model, X, Y, query, label, indices, carriers)[turned] != one.labels["chosen"][turned]:
            changes.add(int(gained or -lost))
    assert all(-now <= change <= len(indices) - now for change in changes)
    return changes


@pytest.mark.long
@every([*BY_SHARES, MLkNN(4), IBLR(4, ridge=0.1)])
def test_flips_by_trying_all_neighbours(estimator):
    """The fewest neighbours that must gain or lose a label, found by editing their label sets in every way."""
    turned = 0
    for seed in range(2):
        X, Y, queries = make(seed, n=14, n_labels=3)
        model = clone(estimator).fit(X, Y)
        for query in queries[:2]:
            (one,) = model.explain(query[np.newaxis])
            for label in range(3):
                changes = fewest(model, X, Y, query, one, label, label)
                flip = one.labels["flip"][label]
                if not changes:
                    assert flip is None
                    continue
                turned += 1
                assert flip in changes
                assert abs(flip) == min(map(abs, changes))
                if -flip in changes:
                    assert (flip < 0) == one.labels["chosen"][label]
    assert turned > 5


@every([CMLkNN(4), CMLkNN(3, membership="mean")])
def test_flips_of_rounded_memberships(estimator):
    """All numbers of votes are tried against the posterior's table."""
    X, Y, queries = make(5)
    model = clone(estimator).fit(X, Y)
    for one in model.explain(queries):
        for label, (votes, chosen, flip) in enumerate(
            zip(one.labels["votes"], one.labels["chosen"], one.labels["flip"], strict=True)
        ):
            turns = [v - votes for v, p in enumerate(model.posterior_[label]) if (p > 0.5) != chosen]
            assert flip == (min(turns, key=lambda change: (abs(change), (change > 0) == chosen)) if turns else None)


def test_flips_by_the_votes_of_any_label():
    """IBLR: trying all votes of all labels finds the same least change, the label's own first among equals."""
    X, Y, queries = make(6)
    model = IBLR(4, ridge=0.1).fit(X, Y)
    for one in model.explain(queries):
        shares, votes = one.labels["share"], one.labels["votes"]
        for label in range(4):
            found = []
            for by in range(4):
                for count in range(5):
                    changed = shares.copy()
                    changed[by] = count / 4
                    score = expit(model.intercept_[label] + changed @ model.coef_[label])
                    if (score >= 0.5) != one.labels["chosen"][label]:
                        found.append((abs(count - votes[by]), by != label, by, count - votes[by]))
            best = min(found, default=(None,) * 4)
            assert (one.labels["flip_by"][label], one.labels["flip_by_votes"][label]) == (best[2], best[3])


@every(LABELSETS)
def test_flips_of_label_sets_by_adding_neighbours(estimator):
    """`needed` further neighbours with a label set make it win, one less does not (for sure, where lots are drawn)."""
    X, Y, queries = make(7, n_labels=3)
    model = clone(estimator).fit(X, Y)
    for one in model.explain(queries):
        sets = [tuple(np.isin(range(3), labels).astype(int)) for labels in one.labelsets["labels"]]
        assert sets[0] == tuple(one.labels["chosen"].astype(int))
        assert one.labelsets["needed"][0] == 0
        for number, labelset in enumerate(sets[1:], start=1):
            example = np.flatnonzero((labelset == Y).all(axis=1))[0]
            needed = one.labelsets["needed"][number]
            wins = [
                wins_always(model, [*one.neighbors["row"], *[example] * more], labelset) for more in range(needed + 1)
            ]
            assert wins == [False] * needed + [True]
        for label in range(3):
            costs = [
                c for s, c in zip(sets, one.labelsets["needed"].tolist(), strict=True) if s[label] != sets[0][label]
            ]
            assert one.labels["flip"][label] == min(costs, default=None)
            if costs:
                assert one.labelsets["needed"][one.labels["flip_labelset"][label]] == min(costs)


def wins_always(model, indices, labelset):
    """Tell whether the label set wins, whatever is drawn."""
    labelset_of = model._labelset_of[np.array([indices])]
    frequency = model._frequency[labelset_of]
    draws = 30 if model.ties == "random" else 1
    seen = [NeighborLabelSets(labelset_of, frequency, np.random.RandomState(seed)) for seed in range(draws)]
    outcomes = [model.labelsets_[most_frequent(one, model._tie_break)[0]] for one in seen]
    return all(tuple(outcome) == labelset for outcome in outcomes)


def novelty_by_loops(X, query, k, distance):
    """The share of rows that are nearer, on average, to their k nearest others than the query to its own."""
    k = min(k, len(X) - 1)
    own = []
    for i in range(len(X)):
        others = sorted(distance(X[i], X[j]) for j in range(len(X)) if j != i)
        own.append(sum(others[:k]) / k)
    mine = sum(sorted(distance(query, row) for row in X)[:k]) / k
    return sum(one < mine for one in own) / len(X)


def euclidean(a, b):
    """√Σ(a - b)²."""
    return np.sqrt(sum((a - b) ** 2))


@every([BRkNN(1), BRkNN(4), LPkNN(11), BRkNN(12), LPkNN(12), MLkNN(1), MLkNN(4), MLkNN(11), IBLR(4), IBLR(11)])
@pytest.mark.filterwarnings("ignore:The regression of a label")
def test_novelty_by_loops(estimator):
    """Ties, duplicates at distance 0, k = n - 1, and k = n where the method can; the same from sparse rows."""
    X, Y, queries = make(8, n=12)
    X[3] = X[7]
    model = clone(estimator)
    expected = [novelty_by_loops(X, query, model.n_neighbors, euclidean) for query in queries]
    for container in (np.asarray, sparse.csr_array):
        model.fit(container(X), Y)
        assert [one.novelty for one in model.explain(container(queries))] == expected
    assert len(set(expected)) > 1


@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_novelty_of_nldd_is_of_the_nearest_row():
    """By Dx: on scaled features."""
    X, Y, queries = make(9, n=16, n_labels=3, duplicates=False)
    model = NLDD(TREE, random_state=0).fit(X, Y)
    spread = X.std(axis=0, ddof=1)
    expected = [novelty_by_loops(X / spread, query / spread, 1, euclidean) for query in queries]
    assert [one.novelty for one in model.explain(queries)] == expected
    other = NLDD(TREE, random_state=0, search=NearestNeighbors()).fit(X, Y).explain(queries)[0]
    assert other.novelty is None
    assert "one label set at a time" in other.novelty_reason
    alone = NLDD(TREE, random_state=0).fit(X[:1], Y[:1]).explain(queries)[0]
    assert (alone.novelty, alone.novelty_reason) == (None, "a single training sample has no neighbours.")


def test_novelty_with_other_searches():
    """Another metric, neighbours found before, a single training row."""
    X, Y, queries = make(10, duplicates=False)
    model = BRkNN(3, search=ExactNeighbors(metric="manhattan")).fit(X, Y)
    expected = [novelty_by_loops(X, query, 3, lambda a, b: sum(abs(a - b))) for query in queries]
    assert [one.novelty for one in model.explain(queries)] == expected
    cosine = BRkNN(3, search=ExactNeighbors(metric="cosine")).fit(X, Y).explain(3 * X[:4])
    assert [one.novelty for one in cosine] == [
        one.novelty
        for one in BRkNN(
            3, search=PrecomputedNeighbors.from_search(ExactNeighbors(metric="cosine"), X, 3 * X[:4], n_neighbors=3)
        )
        .fit(X, Y)
        .explain(3 * X[:4])
    ]
    (alone,) = BRkNN(1).fit(X[:1], Y[:1]).explain(queries[:1])
    assert (alone.novelty, alone.novelty_reason) == (None, "a single training sample has no neighbours.")
    assert "novelty unknown: a single training sample has no neighbours." in str(alone)


class QueriesOnly(BaseEstimator):
    """A search that cannot tell the neighbours of training rows."""

    def fit(self, X):
        """Index the rows."""
        self.search_ = ExactNeighbors().fit(X)
        return self

    def kneighbors(self, X, n_neighbors):
        """Answer for queries."""
        if X is None:
            raise NotImplementedError("queries only")
        return self.search_.kneighbors(X, n_neighbors)


def test_novelty_of_a_search_that_answers_queries_only():
    """None, with the reason; all else is there."""
    X, Y, queries = make(11)
    model = BRkNN(3, search=QueriesOnly()).fit(X, Y)
    for one, known in zip(model.explain(queries), BRkNN(3).fit(X, Y).explain(queries), strict=True):
        assert one.novelty is None
        assert one.novelty_reason.endswith("queries only")
        np.testing.assert_array_equal(one.labels["score"], known.labels["score"])


@every(ALL)
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_forms(estimator):
    """Plain data survives strict JSON, frames have a row a label, text names what is chosen; nothing is stored."""
    X, Y, queries = make(12)
    Y[:, 2] = 1  # an infinite intercept
    names = ["red", "blue", ("a", 1), 3.5]
    frame = pd.DataFrame(Y)
    frame.columns = pd.Index(names, tupleize_cols=False)
    model = clone(estimator).fit(X, frame)
    before = set(vars(model))
    one = model.explain(queries)[0]
    assert set(vars(model)) == before
    plain = one.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["method"] == type(model).__name__
    assert [row["name"] for row in plain["labels"]] == ["red", "blue", "('a', 1)", 3.5]
    assert len(plain["neighbors"]) == len(one.to_frame("neighbors")) == len(one.neighbors["row"])
    assert str(pickle.loads(pickle.dumps(one))) == str(one)
    assert repr(one).startswith(f"<Explanation of {type(model).__name__}: ")
    labels = one.to_frame()
    assert [names[label] for label in labels["label"]] == labels["name"].tolist()
    np.testing.assert_array_equal(labels["score"], one.labels["score"][labels["label"]])
    places = list(zip(~labels["chosen"], -labels["score"], labels["label"], strict=True))
    assert places == sorted(places)
    assert set(labels) == {name for name, column in one.labels.items() if column.ndim == 1}
    assert one.to_frame("terms").shape[0] == len(plain["terms"])
    text = str(one)
    assert text.count("\n") < 40
    assert max(map(len, text.splitlines())) <= 80
    for name in one.predicted:
        assert str(name) in text.splitlines()[0]


def test_frames_keep_whole_numbers():
    """Flips are of type Int64, missing ones are missing."""
    X, Y, queries = make(13)
    (one,) = MLkNN(4).fit(X, Y).explain(queries[:1])
    frame = one.to_frame()
    assert str(frame["flip"].dtype) == "Int64"
    assert frame["flip"].isna().tolist() == [one.labels["flip"][label] is None for label in frame["label"]]
    with pytest.raises(ValueError, match=r"table must be one of .*'labels'.*, got 'votes'"):
        one.to_frame("votes")


def test_text_of_many_labels_and_neighbours():
    """The rest is summarised; long names lose their middle."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 2)), pd.DataFrame((rng.random((60, 300)) < 0.7).astype(int))
    Y.columns = [f"a very long name of some label, which differs at its end only: {i}" for i in range(300)]
    text = str(BRkNN(40).fit(X, Y).explain(X[:1])[0])
    assert text.count("\n") < 40
    assert "... and 30 more neighbours" in text
    assert "of them chosen" in text
    assert max(map(len, text.splitlines())) < 160


def test_text_has_the_nearest_carrier_of_each_predicted_label():
    """Also where it is not among the nearest ten; the line on the others counts those with a predicted label."""
    X = np.arange(1.0, 41.0)[:, np.newaxis]
    Y = np.zeros((40, 3), dtype=int)
    Y[:12, 0] = 1
    Y[20::4, 1] = 1
    (one,) = BRkNN(40).fit(X, Y).explain([[0.0]], thresholds=[0.2, 0.1, 0.5])
    assert one.predicted == [0, 1]
    lines = str(one).splitlines()
    start = lines.index("neighbour  distance  labels")
    assert [int(line.split()[0]) for line in lines[start + 1 : start + 12]] == [*range(10), 20]
    assert lines[start + 11].split() == ["20", "21", "1"]
    assert lines[start + 12] == "... and 29 more neighbours, 6 with a predicted label"
    (none,) = BRkNN(40).fit(X, Y).explain([[0.0]], thresholds=0.9)
    assert "... and 30 more neighbours\n" in str(none)
    weighted = BRkNN(40, weights="distance").fit(X, Y)
    (one,) = weighted.explain([[0.0]], thresholds=[0.2, 0.03, 0.5])
    assert re.search(r"neighbours, which share 0\.\d\d, 6 with a predicted label\n", str(one))
    assert "\n       20        21" in str(one)


def test_label_sets_have_the_best_of_each_predicted_label():
    """Behind the ten of largest weight; a text shows it, too."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), [[9.0, 9.0]]])
    Y = np.zeros((61, 7), dtype=int)
    Y[:60, :6] = (np.arange(1, 61)[:, np.newaxis] >> np.arange(6)) & 1
    Y[60, 6] = 1
    (one,) = MLMLM().fit(X, Y).explain([[-1.0, -1.0]], thresholds=[0.3] * 6 + [0.0])
    assert one.predicted[-1] == 6
    assert len(one.neighbors["row"]) == 11
    assert (one.neighbors["row"][-1], one.neighbors["labels"][-1]) == (60, (6,))
    assert (np.diff(one.neighbors["share"]) <= 0).all()
    assert "\n       60 " in str(one)


def test_text_tells_a_score_and_a_threshold_apart():
    """A score just below the threshold does not look as if it reached it; one that reaches it is as short as ever."""
    X, Y, queries = make(14)
    model = MLkNN(4).fit(X, Y)
    scores = model.predict_proba(queries[:1])[0]
    (one,) = model.explain(queries[:1], thresholds=[np.nextafter(scores[0], 1), *scores[1:]])
    assert one.labels["chosen"].tolist() == [False, True, True, True]
    text = str(one)
    assert f"{float(scores[0])!r} {float(np.nextafter(scores[0], 1))!r}" in " ".join(text.split())
    assert all(repr(float(score)) not in text for score in scores[1:])


def test_a_hundred_thousand_labels():
    """With a sparse Y only labels with a vote or chosen are listed, whatever decides."""
    rng = np.random.default_rng(0)
    n, n_labels = 200, 100_000
    Y = sparse.random_array((n, n_labels), density=5 / n_labels, random_state=rng, format="csr")
    Y.data[:] = 1
    X = rng.normal(size=(n, 3))
    for model in (BRkNN(5), BRkNNa(5), BRkNNb(5), LPkNN(5), MLkNN(5)):
        model.fit(X, Y)
        for row, one in enumerate(model.explain(X[:3])):
            assert len(one.labels["label"]) < 60
            assert one.labels["label"][one.labels["chosen"]].tolist() == model.predict(X[:3])[[row]].indices.tolist()
    listed = model.explain(X[:1], thresholds=np.where(np.arange(n_labels) == 77, 0.0, 1.0))[0].labels["label"]
    assert 77 in listed
    assert len(listed) < 60


def test_thresholds_decide():
    """Given thresholds take the place of the rule; flips are by them."""
    X, Y, queries = make(14)
    model = MLkNN(4).fit(X, Y)
    thresholds = np.array([0.1, 0.9, 0.3, 0.2])
    for row, one in enumerate(model.explain(queries, thresholds=thresholds)):
        scores = model.predict_proba(queries)[row]
        np.testing.assert_array_equal(one.labels["threshold"], thresholds)
        np.testing.assert_array_equal(one.labels["chosen"], scores >= thresholds)
        for label, flip in enumerate(one.labels["flip"]):
            turns = [
                v
                for v, p in enumerate(model.posterior_[label])
                if (p >= thresholds[label]) != one.labels["chosen"][label]
            ]
            least = min((abs(v - one.labels["votes"][label]) for v in turns), default=None)
            assert (flip if flip is None else abs(flip)) == least


def test_any_rule_decides():
    """A rule on the whole row: each number of votes is tried with the other scores as they are."""
    X, Y, queries = make(15)
    model = BRkNN(4).fit(X, Y)

    def one_label(scores):
        return within_sizes((scores > 0.5).astype(int), scores, at_least=1, at_most=1)

    scores = model.predict_proba(queries)
    for row, one in enumerate(model.explain(queries, decide=one_label)):
        assert one.labels["chosen"].sum() == 1
        for label in range(4):
            turns = []
            for votes in range(5):
                changed = scores[[row]].copy()
                changed[0, label] = votes / 4
                if one_label(changed)[0, label] != one.labels["chosen"][label]:
                    turns.append(abs(votes - one.labels["votes"][label]))
            flip = one.labels["flip"][label]
            assert (flip if flip is None else abs(flip)) == min(turns, default=None)


@every([MLkNN(4), BRkNNb(4), LPkNN(4), CMLkNN(4), IBLR(4, ridge=0.1), NLDD(TREE, random_state=0), MLMLM()])
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_wrappers_with_thresholds_explain(estimator):
    """What the wrapper predicts is what the explanation says, with its thresholds."""
    X, Y, queries = make(16)
    for wrapper, rule in (
        (FixedThresholdsClassifier(estimator, [0.2, 0.6, 0.3, 0.4]), "score >= threshold"),
        (FixedThresholdsClassifier(estimator, 0.3, at_least=1, at_most=2), "by a rule on all scores of the query"),
        (TunedThresholdsClassifierCV(estimator, cv=3), "score >= threshold"),
        (TunedThresholdsClassifierCV(estimator, MCut(), cv=3), "by a rule on all scores of the query"),
    ):
        wrapper.fit(X, Y)
        explanations = wrapper.explain(queries)
        chosen = np.array([one.labels["chosen"] for one in explanations])
        np.testing.assert_array_equal(chosen, wrapper.predict(queries) == 1)
        shown = explanations[0].labels["threshold"]
        np.testing.assert_array_equal(shown, getattr(wrapper, "thresholds_", np.full(4, np.nan)))
        scores, _, decided = explanations[0].rule.rpartition("chosen: ")
        assert decided == rule
        assert scores.endswith("; ") == ("score = " in scores) == (not isinstance(estimator, NLDD))
    named = FixedThresholdsClassifier(estimator).fit(X, pd.DataFrame(Y, columns=list("abcd")))
    assert named.explain(queries)[0].labels["name"].tolist() == list("abcd")
    assert not hasattr(FixedThresholdsClassifier(LogisticRegression()), "explain")


@every([BRkNN(), NLDD(), MLkNN()])
def test_bad_input(estimator):
    """Not fitted, one row as a vector, and rules that are none."""
    X, Y, queries = make(17, duplicates=False)
    with pytest.raises(NotFittedError):
        clone(estimator).explain(queries)
    model = clone(estimator).fit(X, Y)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array instead"):
        model.explain(queries[0])
    with pytest.raises(TypeError, match=r"decide must be a function from scores to label sets, got 0\.5"):
        model.explain(queries, decide=0.5)
    with pytest.raises(ValueError, match="thresholds must be one number or one for each of the 4 labels"):
        model.explain(queries, thresholds=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"decide must return label sets of shape \(6, 4\), got \(6,\)"):
        model.explain(queries, decide=lambda scores: scores[:, 0])


@every([*BY_SHARES, *LABELSETS, MLkNN(4)])
def test_sparse_label_sets_change_no_flip(estimator):
    """What is not listed counts all the same: the first label is the best of labels without a vote."""
    X, Y, queries = make(19, n_labels=5)
    Y[:, :2] = 0
    Y[:, 3:] &= Y[:, [2]] & (np.arange(30) % 5 == 0)[:, np.newaxis]
    for wide, lean in zip(
        clone(estimator).fit(X, Y).explain(queries),
        clone(estimator).fit(X, sparse.csr_array(Y)).explain(queries),
        strict=True,
    ):
        listed = lean.labels["label"]
        assert lean.labels["flip"].tolist() == wide.labels["flip"][listed].tolist()
        np.testing.assert_array_equal(np.union1d(listed, np.flatnonzero(wide.labels["votes"])), listed)


def test_equal_explanations_whatever_the_storage():
    """Dense and sparse rows give the same text."""
    X, Y, queries = make(18)
    for model in (MLkNN(4), CMLkNN(4), IBLR(4, ridge=0.1, plus=True), BRkNNb(4, weights="distance")):
        texts = [str(one) for one in model.fit(X, Y).explain(queries)]
        assert texts == [str(one) for one in model.fit(sparse.csr_array(X), Y).explain(sparse.csr_array(queries))]


def test_by_hand():
    """Four points on a line: two of the three nearest carry label 0, one carries label 1."""
    (one,) = BRkNN(3).fit([[0], [1], [2], [9]], [[1, 0], [1, 0], [0, 1], [0, 0]]).explain([[1]])
    assert isinstance(one, Explanation)
    assert one.neighbors["row"].tolist() == [1, 0, 2]
    assert one.neighbors["distance"].tolist() == [0, 1, 1]
    assert one.neighbors["names"].tolist() == [(0,), (0,), (1,)]
    assert one.labels["votes"].tolist() == [2, 1]
    assert one.labels["flip"].tolist() == [-1, 1]
    # Mean distances of the training rows to their three nearest others: 4, 10/3, 10/3, 8; of the query: 2/3.
    assert one.novelty == 0.0


def test_a_rule_must_return_label_sets():
    """Scores that were not cut are no label sets."""
    X, Y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    with pytest.raises(ValueError, match="the result of decide must"):
        BRkNN(n_neighbors=3).fit(X, Y).explain([[1.0]], decide=lambda scores: scores)


@pytest.mark.parametrize("estimator", [MLkNN(4), LPkNN(4), NLDD(random_state=0)], ids=lambda e: type(e).__name__)
def test_what_a_notebook_shows(estimator):
    """The tables of the text, cell by cell; names are no markup; elements are nested."""
    X, Y, queries = make(0)
    columns = ["<script>", "a & b", *map(str, range(2, Y.shape[1]))]
    (one, *_) = clone(estimator).fit(X, pd.DataFrame(Y, columns=columns)).explain(queries[:1])
    page = ET.fromstring(one._repr_html_())
    rows = [["".join(cell.itertext()) for cell in row] for row in page.iter("tr")]
    text = str(one)
    for row in rows:
        assert "  ".join(filter(None, row)).split() in [line.split() for line in text.splitlines()]
    assert "<script>" in [cell for row in rows for cell in row]
    paragraphs = ["".join(paragraph.itertext()) for paragraph in page.iter("p")]
    assert {one.rule, one.change} <= set(paragraphs)


@pytest.mark.parametrize(
    ("estimator", "rule"),
    [
        (BRkNNa(4), "score > 0.5, else the label of highest score (by majority)"),
        (BRkNNa(4, majority="half"), "score >= 0.5, else the label of highest score (by majority)"),
        (BRkNNb(3), "as many of highest score as the neighbours have on average, 2, rounded: 2"),
        (BRkNNb(4), "as many of highest score as the neighbours have on average, 1.75, rounded: 2"),
        (LPkNN(3), "the label set of most neighbours"),
        (
            LPkNN(2, ties="first"),
            "the label set of most neighbours (2 tie with 1 votes each; ties='first' decides)",
        ),
    ],
    ids=name_of,
)
def test_the_rule_by_hand(estimator, rule):
    """Label sets {0, 1} twice, {0, 2}, {2}; the query is nearest to the second sample, then to the third."""
    X, Y = [[0], [1], [2], [9]], [[1, 1, 0], [1, 1, 0], [1, 0, 1], [0, 0, 1]]
    (explanation,) = estimator.fit(X, Y).explain([[1.2]])
    assert explanation.rule.endswith(f"chosen: {rule}")
    if isinstance(estimator, BRkNNa):
        assert explanation.labels["threshold"].tolist() == [0.5] * 3


@pytest.mark.parametrize(
    "cls", [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN, DMLkNN, CMLkNN, IBLR], ids=lambda cls: cls.__name__
)
def test_ten_neighbours_are_the_default(cls):
    """As Zhang and Zhou (2007) take."""
    assert cls().n_neighbors == 10
