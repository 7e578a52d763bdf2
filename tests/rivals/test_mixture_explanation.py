"""The explanation of a mixture: amounts of training samples and features that sum to the score."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from nearlabel.lazy import MLMLM, BRkNN
from nearlabel.models import explain
from nearlabel.preprocessing import FeatureScaler
from nearlabel.rivals import BinaryRelevance, RandomForestPCT, SoftVote
from nearlabel.thresholds import TunedThresholdsClassifierCV

PARTS = {
    "votes": BRkNN(5, weights="distance"),
    "mlmlm": TunedThresholdsClassifierCV(MLMLM(), cv="loo", map_scores=True),
    "forest": make_pipeline(FeatureScaler("minmax"), RandomForestPCT(10, random_state=0)),
    "linear": TunedThresholdsClassifierCV(
        BinaryRelevance(LinearSVC(random_state=0), probability=False), map_scores=True, random_state=0
    ),
}


def problem(seed=0):
    """Return samples, three labels that depend on them, and queries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(70, 4))
    Y = (X @ random.normal(size=(4, 3)) + random.normal(size=(70, 3)) > 0.3).astype(int)
    return X[:60], Y[:60], X[60:]


@pytest.fixture(scope="module")
def vote():
    """Return a mixture of votes, ML-MLM, a forest and a linear model."""
    X, Y, _ = problem()
    return SoftVote(list(PARTS.items()), [0.4, 0.3, 0.2, 0.1], random_state=0).fit(X, Y)


def test_amounts_sum_to_the_score(vote):
    """So do the columns of the parts, for every explained label of every query."""
    _, _, queries = problem()
    for scores, chosen, explained in zip(
        vote.predict_proba(queries), vote.predict(queries), vote.explain(queries), strict=True
    ):
        labels, terms = explained.labels, explained.terms
        assert sum(labels[name] for name in PARTS) == pytest.approx(scores, abs=1e-12)
        assert (labels["score"] == scores).all()
        assert (labels["chosen"] == (chosen == 1)).all()
        named = set(terms["name"].tolist())
        assert named == (set(np.flatnonzero(chosen).tolist()) or {int(scores.argmax())})
        for label in named:
            own = [float(amount) for name, amount in zip(terms["name"], terms["amount"], strict=True) if name == label]
            assert sum(own) == pytest.approx(scores[label], abs=1e-12)
            assert min(own) >= -1e-15


def test_a_samples_amount_is_its_share():
    """Of votes alone, weighted, by hand: the amounts of the neighbours with the label, nearest first."""
    X, Y = [[0.0], [1.0], [3.0], [9.0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    parts = [("one", BRkNN(2, weights="distance")), ("two", BRkNN(1))]
    model = SoftVote(parts, [0.5, 0.5]).fit(X, Y)
    (explained,) = model.explain([[1.5]])
    # By distance, rows 1 and 0 have 3/4 and 1/4 of the votes; the nearest is row 1.
    lines = {(name, row): amount for name, row, _, amount in zip(*explained.terms.values(), strict=True)}
    assert lines == pytest.approx({(0, 1): 0.5 * 0.75 + 0.5, (0, 0): 0.5 * 0.25, (1, 1): 0.5 * 0.75 + 0.5})
    assert explained.neighbors["row"].tolist() == [1, 0]
    assert explained.neighbors["amount"] == pytest.approx([2 * (0.5 * 0.75 + 0.5), 0.125])


def test_features_of_a_linear_part():
    """The largest products of coefficient and value are named."""
    X, Y, queries = problem()
    rows = sparse.csr_array(np.round(np.maximum(X, 0), 1))
    parts = [("votes", BRkNN(3)), ("linear", PARTS["linear"])]
    model = SoftVote(parts, [0.5, 0.5], random_state=0).fit(rows, Y)
    query = sparse.csr_array(np.round(np.maximum(queries[:1], 0), 1))
    (explained,) = model.explain(query)
    label = explained.terms["name"][-1]
    coef = model.estimators_[1].estimator_.estimators_[label].coef_[0]
    products = query.toarray()[0] * coef
    largest = int(np.abs(products).argmax())
    assert f"x{largest} {products[largest]:+.2f}" in explained.terms["evidence"][-1]


def test_the_text_fits_80_columns(vote):
    """With kept titles, too, which name the samples."""
    _, _, queries = problem()
    titles = [f"a title of many words, number {row}" for row in range(60)]
    for explained in vote.explain(queries):
        text = str(explained.with_kept({"title": titles}))
        assert max(map(len, text.splitlines())) <= 80
        assert "row " in text
        assert "amount" in text
    plain = explained.with_kept({"title": titles}).to_dict()
    frame = pd.DataFrame({"title": titles}, index=range(59, -1, -1))
    assert explained.with_kept(frame).to_dict() == plain
    assert plain["neighbors"][0]["title"] == titles[plain["neighbors"][0]["row"]]
    assert any(titles[line["row"]][:8] in line["evidence"] for line in plain["terms"] if line["row"] is not None)


def test_logits_have_no_amounts():
    """Their mean is not a sum of shares."""
    X, Y, _ = problem()
    model = SoftVote([("one", BRkNN(3)), ("two", BRkNN(5))], space="logit").fit(X, Y)
    assert not hasattr(model, "explain")


def test_a_sparse_forest_and_a_weight_of_zero():
    """A part of weight 0 is not named; weights for each label are allowed."""
    X, Y, queries = problem()
    parts = [("votes", BRkNN(3)), ("forest", RandomForestPCT(5, random_state=0))]
    (explained,) = SoftVote(parts, [1, 0], cv=3).fit(X, Y).explain(queries[:1])
    assert "forest" not in explained.labels
    model = SoftVote(parts, "per_label", cv=3).fit(X, Y)
    (explained,) = model.explain(queries[:1])
    assert explained.labels["score"] == pytest.approx(model.predict_proba(queries[:1])[0], abs=1e-12)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_a_linear_model_alone(container):
    """The amounts of a label sum to its decision value: the largest products, the others, and the intercept."""
    X, Y, queries = problem()
    Y[:, 2] = 1  # one class
    model = BinaryRelevance(LinearSVC(random_state=0), probability=False)
    assert not hasattr(model, "explain")
    values = model.fit(container(X), Y).decision_function(container(queries))
    for query, explanation in enumerate(explain(model, container(queries))):
        assert explanation.labels["score"].tolist() == values[query].tolist()
        assert explanation.predicted == np.flatnonzero(model.predict(container(queries))[query]).tolist()
        assert len(explanation.neighbors["row"]) == 0
        terms = list(zip(*map(explanation.terms.get, ("name", "evidence", "amount")), strict=True))
        for label in {name for name, _, _ in terms}:
            of_label = {evidence: amount for name, evidence, amount in terms if name == label}
            assert sum(of_label.values()) == pytest.approx(values[query, label], abs=1e-12)
            for feature, coefficient in enumerate(np.ravel(getattr(model.estimators_[label], "coef_", []))):
                assert of_label[f"x{feature}"] == pytest.approx(coefficient * queries[query, feature])
    tuned = TunedThresholdsClassifierCV(model, map_scores=True, random_state=0).fit(X, Y)
    (mapped,) = explain(tuned, queries[:1])
    assert mapped.labels["score"] == pytest.approx(tuned.predict_proba(queries[:1])[0])
    assert mapped.predicted == np.flatnonzero(tuned.predict(queries[:1])[0]).tolist()
    assert not hasattr(BinaryRelevance(LinearSVC()).fit(X, Y), "explain")  # its scores are not linear


def test_no_sample_has_the_best_label():
    """Then there is no row of a sample, in the text and as plain data."""
    X = np.array([[0.0], [1.0], [10.0], [11.0]] * 5)
    Y = (X > 5).astype(int)
    parts = [("votes", BRkNN(2)), ("forest", RandomForestPCT(5, bootstrap=False, random_state=0))]
    explanation = SoftVote(parts, random_state=0).fit(X, Y).explain([[0.5]])[0]
    assert explanation.to_dict()["neighbors"] == []
    assert "votes: no sample has the label" in str(explanation)
