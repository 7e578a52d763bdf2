"""The estimator that mixes neighbours, linear models and trees, and the choice of its weights."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from conftest import CHECKS
from nearlabel import BRkNN, NeighborsClassifierCV
from nearlabel.datasets import Dataset
from nearlabel.experiments import Tuning
from nearlabel.metrics import get_metric, micro_f1
from nearlabel.models import training_shares
from nearlabel.persistence import load_model, save_model
from nearlabel.rivals import SoftVote
from nearlabel.selection import MixtureClassifierCV
from nearlabel.selection._mixing import MixtureChoice
from nearlabel.selection.automatic import NeighborsChoice, usual_scales
from nearlabel.selection.data import as_dataset
from nearlabel.selection.later import fit_for_later, later_scores
from nearlabel.selection.mixed import MixedCandidate, scores_by_folds
from nearlabel.thresholds import MicroFOptimum
from nearlabel.utils.validation import as_dense

QUICK = {"methods": {"distance": BRkNN(weights="distance")}, "n_neighbors": (3, 5), "scales": ("minmax",)}


def numbers(n_samples=80, seed=0):
    """Return samples, four labels that depend on them, and queries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples + 20, 5))
    Y = ((X @ random.normal(size=(5, 4))) + random.normal(size=(n_samples + 20, 4)) > 0.7).astype(int)
    return X[:n_samples], Y[:n_samples], X[n_samples:]


def words(n_samples=120, n_words=60, seed=0):
    """Return counts of words as CSR, four labels that some words announce, and queries."""
    random = np.random.default_rng(seed)
    X = random.poisson(0.12, size=(n_samples + 20, n_words)).astype(float)
    Y = (X[:, :12].reshape(-1, 4, 3).sum(axis=2) + random.normal(size=(n_samples + 20, 4)) / 2 > 0.6).astype(int)
    return sparse.csr_array(X[:n_samples]), Y[:n_samples], sparse.csr_array(X[n_samples:])


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The contract of a multi-label classifier."""
    check(MixtureClassifierCV(**QUICK, metrics=("euclidean",), families=("neighbors", "linear")))


def slow_choice(scores, Y):
    """Return weights and cross-fitted value by the text of METHODS3, B.1."""

    def value(weights, rows, judged=None):
        mixed = sum(weight * of for weight, of in zip(weights, scores, strict=True))
        thresholds = MicroFOptimum().fit(mixed[rows], Y[rows])
        judged = rows if judged is None else judged
        return micro_f1(Y[judged], thresholds.predict(mixed[judged])), thresholds.predict(mixed[judged])

    def weights_of(way, rows):
        n = len(scores)
        order = sorted(range(n), key=lambda one: -value(np.eye(n)[one], rows)[0])
        if way:
            return sum(np.eye(n)[one] for one in order[:way]) / way
        counts = np.eye(n)[order[0]]
        best = value(counts, rows)[0]
        for _ in range(20):
            tried = [value((counts + one) / (counts.sum() + 1), rows)[0] for one in np.eye(n)]
            if round(max(tried), 9) <= round(best, 9):
                break
            best, counts = max(tried), counts + np.eye(n)[int(np.argmax(tried))]
        return counts / counts.sum()

    reached = {}
    for way in (*range(1, len(scores) + 1), 0):
        predicted = np.empty_like(Y)
        for others, part in KFold(5, shuffle=True, random_state=0).split(Y):
            predicted[part] = value(weights_of(way, others), others, part)[1]
        reached[way] = micro_f1(Y, predicted)
    best = max(reached, key=lambda way: round(reached[way], 9))
    return weights_of(best, np.arange(len(Y))), reached[best]


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_those_of_the_definition(seed):
    """Equal weights and greedy selection, each cross-fitted, by a slow transcription."""
    random = np.random.default_rng(seed)
    Y = (random.random((60, 3)) < 0.4).astype(int)
    scores = [np.clip(Y * gain + random.random(Y.shape) * (1 - gain), 0, 1) for gain in (0.3, 0.25, 0.05)]
    found = MixtureChoice(scores, Y, get_metric("micro_f1"), MicroFOptimum()).best()
    weights, value = slow_choice(scores, Y)
    assert found.weights == pytest.approx(weights, abs=1e-12)
    assert found.crossfit_value == pytest.approx(value, abs=1e-12)
    assert found.scores == pytest.approx(sum(w * of for w, of in zip(weights, scores, strict=True)), abs=1e-12)
    assert found.value == micro_f1(Y, found.strategy.predict(found.scores))


def test_equal_models_give_the_first_alone():
    """Ties go to fewer models."""
    Y = (np.random.default_rng(0).random((40, 3)) < 0.4).astype(int)
    scores = np.random.default_rng(1).random(Y.shape)
    assert MixtureChoice([scores, scores], Y, get_metric("micro_f1"), MicroFOptimum()).best().weights.tolist() == [1, 0]


def test_a_group_is_decided_as_a_whole():
    """Rows of a group are in one part: other groups give another cross-fitted value."""
    Y = (np.random.default_rng(0).random((40, 3)) < 0.4).astype(int)
    scores = [np.random.default_rng(seed).random(Y.shape) for seed in (1, 2)]
    alone, together = (
        MixtureChoice(scores, Y, get_metric("micro_f1"), MicroFOptimum(), groups).best().crossfit_value
        for groups in (None, np.arange(40) // 4)
    )
    assert alone != together
    few = MixtureChoice(scores, Y, get_metric("micro_f1"), MicroFOptimum(), np.arange(40) // 20).best()
    assert np.isnan(few.crossfit_value)
    assert few.weights.tolist() in ([1, 0], [0, 1])


def test_trees_for_numbers_and_a_linear_model_for_words():
    """What is tried depends on the features and on `families`."""
    X, Y, _ = numbers()
    counts, of_counts, _ = words()
    for rows, labels, tried in ((X, Y, {"forest", "extra trees"}), (counts, of_counts, {"svm"})):
        every = set(MixtureClassifierCV().fit(rows, labels).cv_results_["method"])
        alone = set(MixtureClassifierCV(families=("neighbors",)).fit(rows, labels).cv_results_["method"])
        assert {name.partition(":")[0] for name in every - alone} == tried
        assert "mlmlm" in alone


def test_a_larger_penalty_that_gains_ends_the_search():
    """Three values of C are tried unless the smallest is better than the middle one."""
    ends = set()
    for seed in range(8):
        X, Y, _ = words()
        noisy = np.where(np.random.default_rng(seed).random(Y.shape) < 0.07 * seed, 1 - Y, Y)
        found = MixtureClassifierCV().fit(X, noisy).cv_results_
        of = {m: v for m, v in zip(found["method"].tolist(), found["score"], strict=True) if m.startswith("svm")}
        assert list(of)[:2] == ["svm:C=0.25", "svm:C=0.0625"]
        assert ("svm:C=1" in of) == (of["svm:C=0.0625"] <= of["svm:C=0.25"])
        ends.add("svm:C=1" in of)
    assert ends == {False, True}


def test_kernel_votes_are_candidates():
    """Gaussian weights for numbers, powers of the similarity for words."""
    X, Y, _ = numbers()
    counts, of_counts, _ = words()
    assert "brknn:weights=gaussian-2" in NeighborsClassifierCV().fit(X, Y).cv_results_["method"]
    found = NeighborsClassifierCV().fit(counts, of_counts).cv_results_
    assert {metric for metric, name in zip(found["metric"], found["method"], strict=True) if "similarity" in name} == {
        "cosine"
    }


@pytest.mark.parametrize("problem", [numbers, words])
def test_the_mixture_is_that_of_its_parts(problem):
    """Its probabilities are the weighted sum of the mapped ones of its parts, whose weights sum to 1."""
    X, Y, queries = problem()
    model = MixtureClassifierCV().fit(X, Y)
    vote = model.best_estimator_
    assert isinstance(vote, SoftVote)
    assert sum(part["weight"] for part in model.parts_) == pytest.approx(1)
    mixed = sum(
        part["weight"] * fitted.predict_proba(queries)
        for part, fitted in zip(model.parts_, vote.estimators_, strict=True)
    )
    assert model.predict_proba(queries) == pytest.approx(mixed, abs=1e-14)
    assert (model.predict(queries) == (model.predict_proba(queries) >= vote.thresholds_)).all()
    assert model.best_params_ == {name: model.parts_[0][name] for name in model.best_params_}
    assert model.crossfit_score_ <= 1


def test_a_single_family_is_the_choice_among_neighbours():
    """Then the model is that of `NeighborsClassifierCV`, and can be updated."""
    X, Y, queries = numbers()
    alone = NeighborsClassifierCV(**QUICK).fit(X, Y)
    mixture = MixtureClassifierCV(**QUICK, families=("neighbors",)).fit(X, Y)
    assert (mixture.predict_proba(queries) == alone.predict_proba(queries)).all()
    assert mixture.parts_ == [{"weight": 1.0, **alone.best_params_}]
    assert hasattr(mixture.partial_fit(X[:3], Y[:3]), "forget")


def test_a_mixture_cannot_be_updated():
    """There is no `partial_fit`."""
    X, Y, _ = words()
    model = MixtureClassifierCV().fit(X, Y)
    assert isinstance(model.best_estimator_, SoftVote)
    assert not hasattr(model, "partial_fit")


def test_labels_with_one_class_one_label_tags_and_groups():
    """They belong to what works."""
    X, Y, queries = words()
    constant = np.column_stack([Y, np.ones(len(Y), dtype=int), np.zeros(len(Y), dtype=int)])
    predicted = MixtureClassifierCV().fit(X, constant).predict(queries)
    assert predicted[:, 4].all()
    assert not predicted[:, 5].any()
    assert set(MixtureClassifierCV().fit(X, Y[:, 0]).predict(queries)) <= {0, 1}
    tags = [[f"tag{label}" for label in np.flatnonzero(row)] for row in Y]
    assert len(MixtureClassifierCV().fit(X, tags).predict_labels(queries)) == 20
    groups = np.arange(len(Y)) // 3
    assert MixtureClassifierCV().fit(X, Y, groups).predict(queries).shape == (20, 4)
    stored = MixtureClassifierCV().fit(X, sparse.csr_array(Y)).predict(queries)
    assert (as_dense(stored) == MixtureClassifierCV().fit(X, Y).predict(queries)).all()


def test_the_later_samples_decide():
    """With an order, weights and thresholds are those of the later samples, by fits to the earlier ones."""
    X, Y, queries = words()
    model = MixtureClassifierCV().fit(X, Y, order=np.arange(len(Y)))
    assert model.predict(queries).shape == (20, 4)
    assert model.n_candidates_ > 3


@pytest.mark.parametrize("problem", [numbers, words])
@pytest.mark.parametrize("grouped", [False, True])
def test_parts_are_fitted_to_all_samples(problem, grouped):
    """Also if the choice is made on a draw of them: each part explains by, and predicts from, all."""
    X, Y, queries = problem()
    groups = np.arange(len(Y)) // 2 if grouped else None
    model = MixtureClassifierCV(max_samples=50).fit(X, Y, groups)
    assert set(model.cv_results_["n_samples"]) == {50}
    shares = [
        training_shares(part, queries, X).shape
        for part, of in zip(
            getattr(model.best_estimator_, "estimators_", [model.best_estimator_]), model.parts_, strict=True
        )
        if not of["method"].startswith(("svm", "mlknn"))
    ]
    assert set(shares) <= {(20, len(Y))}
    if isinstance(model.best_estimator_, SoftVote):
        assert len(model.explain(queries)) == 20


def test_a_mixed_table():
    """A frame with texts has a linear model; numbers and categories alone have trees or nothing."""
    X, Y, queries = words()
    texts = [" ".join(f"w{word}" for word in np.flatnonzero(row)) for row in X.toarray()]
    frame = pd.DataFrame({"text": texts, "size": np.arange(len(texts))})
    from nearlabel.preprocessing import MixedFeaturesEncoder

    model = MixtureClassifierCV(scales={"minmax": MixedFeaturesEncoder(text=["text"])}).fit(frame, Y)
    assert "svm:C=0.25" in model.cv_results_["method"]
    assert model.feature_names_in_.tolist() == ["text", "size"]
    assert queries.shape[0] == 20


def test_little_time():
    """What is not tried is named; the model is there."""
    X, Y, queries = words()
    model = MixtureClassifierCV(time_limit=1e-9).fit(X, Y)
    assert "svm" in " ".join(model.left_out_)
    assert model.timed_out_
    assert model.predict(queries).shape == (20, 4)


@pytest.mark.parametrize("families", [("linear",), ("neighbors", "forests"), ()])
def test_wrong_families(families):
    """They must contain neighbours, and be known."""
    with pytest.raises(ValueError, match="families must"):
        MixtureClassifierCV(families=families).fit(*numbers()[:2])


@pytest.mark.parametrize("problem", [numbers, words])
def test_files(problem, tmp_path):
    """A pickle and a model file predict the same."""
    X, Y, queries = problem()
    model = MixtureClassifierCV().fit(X, Y)
    save_model(model, tmp_path / "model.skops")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model.skops")):
        assert (other.predict_proba(queries) == model.predict_proba(queries)).all()
        assert str(other.explain(queries[:2])[1]) == str(model.explain(queries[:2])[1])


# As a candidate of the command line.


def data_of_words():
    """Return words as a data set, and queries."""
    X, Y, queries = words()
    return Dataset(X, Y, tuple(f"w{word}" for word in range(X.shape[1])), ("a", "b", "c", "d"), "words"), queries


def test_the_choice_for_words_is_a_mixture():
    """Its candidate can be fitted again: without warnings, with the same parts and weights."""
    data, queries = data_of_words()
    chosen = NeighborsChoice(with_linear=True).run(data)
    assert isinstance(chosen.candidate, MixedCandidate)
    assert chosen.candidate.method.count("svm") == 1
    assert chosen.scores["micro_f1"] == pytest.approx(chosen.crossfit_score, abs=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = chosen.candidate.fit(data)
    assert again.weights_ == pytest.approx(chosen.model.weights_)
    assert again.predict_proba(queries) == pytest.approx(chosen.model.predict_proba(queries), abs=0.02)
    alone = NeighborsChoice(with_linear=True, updatable=True).run(data)
    assert not isinstance(alone.candidate, MixedCandidate)


def test_texts_are_compared_alone():
    """Of a table with texts, a scaling is "tfidf": the texts alone, where a column of noise does not matter."""
    X, Y, _ = words()
    noise = np.random.default_rng(0).choice(["u", "v", "w", "x"], (len(Y), 3))
    texts = [" ".join(f"w{word}" for word in np.flatnonzero(row)) for row in X.toarray()]
    cells = np.column_stack([np.array(texts, dtype=object), noise])
    kinds = ("text", "category", "category", "category")
    data = Dataset(cells, Y, ("text", "p", "q", "r"), ("a", "b", "c", "d"), "texts", kinds)
    chosen = NeighborsChoice().run(data)
    assert chosen.candidate.scale == "tfidf"
    assert chosen.candidate.search in (None, "exact:metric=cosine")
    other = np.column_stack([cells[:, 0], noise[::-1]])
    assert (chosen.model.predict_proba(other) == chosen.model.predict_proba(cells)).all()
    alone = replace(data, X=cells[:, :1], feature_names=("text",), feature_kinds=("text",))
    assert usual_scales(data) == ("minmax", "tfidf")
    assert usual_scales(alone) == ("tfidf",)


def test_estimates_of_a_mixture():
    """By folds, and on later rows."""
    data, queries = data_of_words()
    candidate = NeighborsChoice(with_linear=True).run(data).candidate
    scores, measured = scores_by_folds(candidate, data, 3, get_metric("micro_f1"))
    assert measured == "3-fold cross-validation"
    assert 0.3 < scores["micro_f1"] < 1
    ranks = np.arange(len(data.Y))
    for by_time in (False, True):
        later = later_scores(candidate, data, ranks, get_metric("micro_f1"), by_time=by_time)
        assert 0.3 < later["micro_f1"] < 1
    assert fit_for_later(candidate, data, ranks).predict(queries).shape == (20, 4)


# The mixture at the end of a tuning.

TRIED = ("brknn:weights=distance@micro-f", "mlmlm@micro-f", "rfpct:n_estimators=10@micro-f", "brknn")


def test_a_tuning_ends_with_a_mixture(tmp_path):
    """A resumed tuning, and a fit of the mixture, have the same parts and weights."""
    X, Y, queries = numbers()
    tuning = Tuning(TRIED, n_neighbors=5, scales=("minmax",), mix=True)
    tuned = tuning.run((X, Y), state=tmp_path / "state.npz")
    assert tuned.mixture is not None
    assert tuned.best is tuned.mixture
    assert tuned.mixture_value > tuned.trials[0].value
    assert tuned.scores["micro_f1"] == pytest.approx(tuned.mixture_value, abs=0.05)
    again = tuning.run((X, Y), state=tmp_path / "state.npz")
    assert again.mixture == tuned.mixture
    assert again.scores == tuned.scores
    model = tuned.best.fit(as_dataset("data", (X, Y)))
    assert model.weights_ == pytest.approx([weight for weight, _ in tuned.mixture.parts])
    assert model.predict(queries).shape == (20, 4)


def test_a_tuning_without_a_mixture():
    """By default there is none; nor if it is not better, or without tuned thresholds."""
    X, Y, _ = numbers()
    assert Tuning(TRIED, n_neighbors=3).run((X, Y)).mixture is None
    assert Tuning(("brknn", "mlknn"), n_neighbors=3, mix=True).run((X, Y)).mixture is None
    assert Tuning(("brknn@micro-f", "mlknn@micro-f"), n_neighbors=3, mix=True).run((X, Y)).mixture is None
