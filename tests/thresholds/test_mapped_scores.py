"""Scores that people read are mapped to probabilities; every decision is on the scores themselves."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import RidgeClassifier

from nearlabel.datasets import fetch_dataset, load_multidigits
from nearlabel.lazy import MLMLM, BRkNN, MLkNN
from nearlabel.metrics import log_loss
from nearlabel.persistence import load_model, save_model
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import FixedThresholdsClassifier, MCut, RCut, SCut, TunedThresholdsClassifierCV, _fixed

DIGITS = load_multidigits()
X, Y, QUERIES = DIGITS.X[:300], DIGITS.Y[:300], DIGITS.X[300:380]
NESTED = TunedThresholdsClassifierCV(BRkNN(3), cv="loo", map_scores=True)
MAPPED = [
    TunedThresholdsClassifierCV(BRkNN(3), cv="loo"),
    TunedThresholdsClassifierCV(MLMLM(), SCut(), cv="loo", at_least=1, at_most=2),
    TunedThresholdsClassifierCV(MLkNN(5), MCut(), cv=3),
    TunedThresholdsClassifierCV(RidgeClassifier(), RCut(), cv=2),
    TunedThresholdsClassifierCV(BRkNN(3), cv=2, response_method="predict_proba", at_least=2),
    TunedThresholdsClassifierCV(NESTED, cv=2),
]


@pytest.mark.parametrize("estimator", MAPPED, ids=str)
def test_label_sets_are_those_of_the_scores(estimator):
    """Bit for bit, and the order of the scores of a label stays."""
    plain = clone(estimator).fit(X, Y)
    mapped = clone(estimator).set_params(map_scores=True).fit(X, Y)
    np.testing.assert_array_equal(plain.predict(QUERIES), mapped.predict(QUERIES))
    scores, p = plain._scores(QUERIES, plain.response_method_), mapped.predict_proba(QUERIES)
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_array_equal(p, mapped.mapped(scores))
    assert_same_order(scores, p)
    if hasattr(plain, "predict_proba"):
        assert log_loss(Y, mapped.predict_proba(X)) < np.inf
        assert (plain.mapped(scores) == scores).all()


def assert_same_order(scores, mapped):
    """Of all labels together, up to rounding."""
    before, after = scores.ravel(), mapped.ravel()
    order = np.argsort(before, kind="stable")
    assert (np.diff(after[order]) >= -1e-15).all()
    ties = np.diff(before[order]) == 0
    np.testing.assert_allclose(np.diff(after[order])[ties], 0, atol=1e-15)


def test_decision_values_become_probabilities():
    """A classifier without probabilities has them with a map; its decision values stay."""
    ridge = RidgeClassifier()
    plain = TunedThresholdsClassifierCV(ridge, cv=2).fit(X, Y)
    mapped = TunedThresholdsClassifierCV(ridge, cv=2, map_scores=True)
    assert hasattr(mapped, "predict_proba")
    assert not hasattr(plain, "predict_proba")
    mapped.fit(X, Y)
    np.testing.assert_array_equal(mapped.decision_function(QUERIES), plain.decision_function(QUERIES))
    assert log_loss(DIGITS.Y[300:380], mapped.predict_proba(QUERIES)) < 0.5


def test_thresholds_are_mapped_with_the_scores():
    """Infinite ones stay infinite."""
    model = TunedThresholdsClassifierCV(BRkNN(10), SCut(), cv="loo", map_scores=True)
    model.fit(X, np.column_stack([Y, np.zeros(len(Y), int)]))
    assert model.mapped_thresholds_[-1] == model.thresholds_[-1] == np.inf
    np.testing.assert_array_equal(model.predict_proba(QUERIES) >= model.mapped_thresholds_, model.predict(QUERIES))
    fixed = FixedThresholdsClassifier(BRkNN(10), 0.3).fit(X, Y)
    assert (fixed.mapped_thresholds_ == 0.3).all()


def test_weights_weight_the_map():
    """A sample of weight 0 does not count."""
    weights = (np.arange(len(X)) % 3 > 0).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        strategy = SCut().set_fit_request(sample_weight=True)
        frozen = FrozenEstimator(MLkNN(5).fit(DIGITS.X[600:900], DIGITS.Y[600:900]))
        model = TunedThresholdsClassifierCV(frozen, strategy, cv="prefit", map_scores=True)
        weighted = clone(model).fit(X, Y, sample_weight=weights)
        some = clone(model).fit(X[weights > 0], Y[weights > 0], sample_weight=weights[weights > 0])
    np.testing.assert_allclose(weighted.predict_proba(QUERIES), some.predict_proba(QUERIES), rtol=1e-9)


def test_updates_keep_the_map_and_retune_learns_it_again():
    """After retune it is that of a fit to all samples."""
    model = TunedThresholdsClassifierCV(MLkNN(5), cv="loo", map_scores=True).fit(X[:200], Y[:200])
    before = model.score_map_
    model.partial_fit(X[200:], Y[200:])
    assert model.score_map_ is before
    model.retune()
    fresh = TunedThresholdsClassifierCV(MLkNN(5), cv="loo", map_scores=True).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(QUERIES), fresh.predict_proba(QUERIES))
    kept = fresh.score_map_
    assert fresh.forget([0]).score_map_ is kept
    assert not hasattr(fresh.set_params(map_scores=False).fit(X, Y), "score_map_")


@pytest.mark.parametrize("method", [BRkNN(5), MLkNN(5)], ids=str)
def test_retune_with_many_labels_learns_the_map_of_a_fit(method, monkeypatch):
    """From the same rows: a fit to a sparse y with many cells learns it from some rows."""
    monkeypatch.setattr(_fixed, "_MOST_CELLS", 1000)
    y = sparse.csr_array(Y)
    model = TunedThresholdsClassifierCV(method, cv="loo", map_scores=True).fit(X[:200], y[:200])
    model.partial_fit(X[200:], y[200:]).retune()
    fresh = TunedThresholdsClassifierCV(method, cv="loo", map_scores=True).fit(X, y)
    np.testing.assert_array_equal(model.thresholds_, fresh.thresholds_)
    np.testing.assert_array_equal(model.predict_proba(QUERIES), fresh.predict_proba(QUERIES))


def test_the_map_is_saved_with_the_model(tmp_path):
    """And the card has the mapped thresholds."""
    model = NeighborsClassifierCV(methods={"mlmlm": MLMLM()}, scales=("minmax",), metrics=("euclidean",)).fit(X, Y)
    again = load_model(save_model(model, tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict_proba(QUERIES), model.predict_proba(QUERIES))
    np.testing.assert_array_equal(again.predict(QUERIES), model.predict(QUERIES))


def test_explanations_have_mapped_and_raw_scores():
    """Those that are shown equal `predict_proba`; flips are of the decisions, which are on the raw ones."""
    plain = TunedThresholdsClassifierCV(MLkNN(5), cv="loo").fit(X, Y)
    mapped = clone(plain).set_params(map_scores=True).fit(X, Y)
    for one, same, p in zip(
        mapped.explain(QUERIES[:5]), plain.explain(QUERIES[:5]), mapped.predict_proba(QUERIES), strict=False
    ):
        np.testing.assert_array_equal(one.labels["score"], p)
        np.testing.assert_array_equal(one.labels["threshold"], mapped.mapped_thresholds_)
        for name in ("score", "threshold"):
            np.testing.assert_array_equal(one.labels[f"raw_{name}"], same.labels[name])
        assert one.labels["flip"].tolist() == same.labels["flip"].tolist()
        at = one.labels["score_at"][np.arange(10), one.labels["votes"]]
        np.testing.assert_allclose(at, p)
        text = str(one)
        assert max(map(len, text.splitlines())) <= 80
        assert "raw_score = prior · likelihood / (prior" in text
        assert "score: probability of the raw score, by a rising curve" in text.replace("\n    ", " ")
        (head,) = (line.split() for line in text.splitlines() if line.startswith("label"))
        assert head[-5:] == ["raw", "score", "threshold", "flip", "chosen"]
        assert one.to_dict()["labels"][0]["raw_score"] == same.labels["score"][0]


def test_explanations_of_sparse_label_sets():
    """Only labels with votes are listed."""
    model = TunedThresholdsClassifierCV(BRkNN(3), cv="loo", map_scores=True).fit(X, sparse.csr_array(Y))
    (one,) = model.explain(QUERIES[:1])
    listed = one.labels["label"]
    assert len(listed) < Y.shape[1]
    np.testing.assert_array_equal(one.labels["score"], model.predict_proba(QUERIES[:1])[0, listed])


_SHARED = (
    "bibtex", "cal500", "corel5k", "emotions", "enron", "genbase", "image", "medical", "rcv1subset1", "reuters-k500",
    "scene", "yahoo-arts", "yahoo-science", "yeast",
)  # fmt: skip


@pytest.mark.long
@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("name", _SHARED)
def test_the_map_moves_no_decision_on_shared_data(name):
    """And no ranking; the probabilities are better than the scores, by log loss clipped at 0.001."""
    data = fetch_dataset(name)
    order = np.random.default_rng(0).permutation(data.X.shape[0])[:900]
    rows, test = order[:-200], order[-200:]
    labels = np.asarray(data.Y.todense() if hasattr(data.Y, "todense") else data.Y)
    model = NeighborsClassifierCV().fit(data.X[rows], labels[rows])
    predicted, mapped = model.predict(data.X[test]), model.predict_proba(data.X[test])
    decides = model.best_estimator_[-1] if hasattr(model.best_estimator_, "steps") else model.best_estimator_
    del decides.score_map_
    scores = model.predict_proba(data.X[test])
    np.testing.assert_array_equal(model.predict(data.X[test]), predicted)
    assert_same_order(scores, mapped)
    losses = [log_loss(labels[test], np.clip(p, 0.001, 0.999)) for p in (mapped, scores)]
    assert losses[0] <= losses[1] + 0.005
