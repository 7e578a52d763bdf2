"""Explanations and names of labels through pipelines, searches and thresholds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from _classifiers import SMALL, default_classifiers
from nearlabel.lazy import IBLR, NLDD, BRkNN, LPkNN, MLkNN
from nearlabel.models import explain, explains, predict_labels
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.rivals import BinaryRelevance, RAkELo
from nearlabel.thresholds import FixedThresholdsClassifier, MicroFOptimum, TunedThresholdsClassifierCV

_RNG = np.random.default_rng(0)
X = pd.DataFrame(_RNG.normal(size=(40, 3)) * [1, 10, 100], columns=["kg", "cm", "euro"])
Y = pd.DataFrame((X / [1, 10, 100] > 0.3).astype(int).to_numpy(), columns=["calm", "sad", "zany"])


def piped(last):
    """Return a pipeline that scales."""
    return make_pipeline(StandardScaler(), last)


MODELS = {
    "classifier": MLkNN(3),
    "pipeline": piped(MLkNN(3)),
    "pipeline in a pipeline": make_pipeline(MinMaxScaler(), piped(LPkNN(3))),
    "thresholds": FixedThresholdsClassifier(MLkNN(3), 0.2),
    "pipeline of thresholds": piped(TunedThresholdsClassifierCV(MLkNN(3), cv="loo")),
    "thresholds of a pipeline": TunedThresholdsClassifierCV(piped(NLDD()), MicroFOptimum(), cv=3),
    "thresholds of thresholds": FixedThresholdsClassifier(FixedThresholdsClassifier(piped(BRkNN(4)), 0.9), 0.3),
    "sizes": FixedThresholdsClassifier(piped(BRkNN(4)), 0.3, at_least=1, at_most=2),
    "search": GridSearchCV(piped(MLkNN()), {"mlknn__n_neighbors": [2, 5]}, scoring="f1_micro", cv=2),
    "thresholds of a search": FixedThresholdsClassifier(
        RandomizedSearchCV(BRkNN(), {"n_neighbors": [2, 3]}, n_iter=1, scoring="f1_micro", cv=2, random_state=0), 0.4
    ),
    "search of thresholds": GridSearchCV(
        FixedThresholdsClassifier(piped(IBLR(plus=True)), 0.4), {"thresholds": [0.3, 0.5]}, scoring="f1_micro", cv=2
    ),
    "frozen": FixedThresholdsClassifier(FrozenEstimator(piped(MLkNN(3)).fit(X, Y)), 0.4),
    "frozen pipeline": FrozenEstimator(piped(TunedThresholdsClassifierCV(MLkNN(3))).fit(X, Y)),
}


@pytest.mark.parametrize("name", MODELS)
def test_whatever_is_around_it(name):
    """What is explained is what the model predicts and scores, by the names of the labels; the model is not changed."""
    model = clone(MODELS[name]).fit(X, Y)
    before = repr(vars(model))
    explanations, predicted = explain(model, X[:5]), model.predict(X[:5])
    expected = [tuple(Y.columns[row == 1]) for row in predicted]
    assert [tuple(one.predicted) for one in explanations] == expected
    assert predict_labels(model, X[:5]) == expected
    assert explains(model)
    assert repr(vars(model)) == before
    scores = [one.labels["score"][np.argsort(one.labels["label"])] for one in explanations if "score" in one.labels]
    np.testing.assert_allclose(scores, model.predict_proba(X[:5]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("store", [list, pd.Series])
def test_tags(store):
    """Tags go through pipelines and thresholds, and come back."""
    tags = store([list(Y.columns[row == 1]) for row in Y.to_numpy()])
    for model in (piped(BRkNN(1)), piped(FixedThresholdsClassifier(BRkNN(1))), piped(BinaryRelevance())):
        names = predict_labels(model.fit(X, tags), X)
        assert {name for one in names for name in one} == set(Y.columns)
        if explains(model):
            assert names == [tuple(one) for one in tags] == [tuple(one.predicted) for one in explain(model, X)]


@pytest.mark.long
@pytest.mark.parametrize("name", default_classifiers() | SMALL)
def test_names_of_every_classifier(name):
    """The last step of a pipeline, fitted to a Series of lists, names what the pipeline predicts."""
    classifier = clone((default_classifiers() | SMALL)[name])
    tags = pd.Series([list(Y.columns[row == 1]) for row in Y.to_numpy()], index=np.arange(40)[::-1])
    model = piped(classifier).fit(X, tags)
    assert predict_labels(model, X[:7]) == [tuple(Y.columns[row == 1]) for row in model.predict(X[:7])]


@pytest.mark.parametrize("name", default_classifiers())
def test_what_is_not_fitted_says_so(name):
    """Whatever is asked for: NotFittedError, with no private attribute in it."""
    model, X, y = clone(default_classifiers()[name]), np.eye(4), np.eye(4, dtype=int)
    asked = {"predict": (X,), "predict_proba": (X,), "decision_function": (X,), "predict_labels": (X,), "score": (X, y)}
    for method, arguments in (asked | {"loo_predict": (), "loo_predict_proba": ()}).items():
        if hasattr(model, method):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                getattr(model, method)(*arguments)


def test_names_of_features():
    """They are those that the steps give; with a step that gives none, the numbers of the columns."""
    encoded = make_pipeline(MixedFeaturesEncoder(), IBLR(3, plus=True))
    scaled = make_pipeline(MinMaxScaler(), StandardScaler(), IBLR(3, plus=True))
    unnamed = make_pipeline(FunctionTransformer(np.asarray), IBLR(3, plus=True))
    framed = make_pipeline(StandardScaler(), IBLR(3, plus=True)).set_output(transform="pandas")
    by_number = make_pipeline(PCA(2), clone(scaled))
    names = {}
    for key, model in {
        "encoded": encoded,
        "scaled": scaled,
        "unnamed": unnamed,
        "framed": framed,
        "pca": by_number,
    }.items():
        (explanation,) = explain(model.fit(X, Y), X[:1])
        names[key] = [name for name in dict.fromkeys(explanation.terms["of"]) if name.startswith("feature")]
    columns = [f"feature {name}" for name in X.columns]
    assert names["scaled"] == names["framed"] == columns
    assert names["encoded"] == [f"feature numbers__{name}" for name in X.columns]
    assert names["unnamed"] == ["feature 0", "feature 1", "feature 2"]
    assert names["pca"] == ["feature pca0", "feature pca1"]


def test_kept_rows():
    """Neighbours get the names of training rows."""
    titles = [f"row {number}" for number in range(40)]
    (explanation,) = explain(piped(MLkNN(2)).fit(X, Y), X[3:4])
    neighbors = explanation.with_kept({"title": titles}).to_dict()["neighbors"]
    assert neighbors[0]["title"] == "row 3"


@pytest.mark.parametrize("model", [MLkNN(3), piped(FixedThresholdsClassifier(MLkNN(3)))])
def test_names_for_a_model_without(model):
    """A model that was fitted to arrays can be told the names; it does not remember them."""
    model.fit(X.to_numpy(), Y.to_numpy())
    assert explain(model, X.to_numpy()[:1])[0].labels["name"].tolist() == [0, 1, 2]
    named = explain(model, X.to_numpy()[:1], label_names=["a", "b", "c"])[0]
    assert named.labels["name"].tolist() == ["a", "b", "c"]
    assert explain(model, X.to_numpy()[:1])[0].labels["name"].tolist() == [0, 1, 2]
    expected = [tuple(np.array(["a", "b", "c"])[row == 1]) for row in model.predict(X.to_numpy())]
    assert predict_labels(model, X.to_numpy(), label_names=["a", "b", "c"]) == expected
    with pytest.raises(ValueError, match="label_names must be 3 names, one for each label, got 2"):
        explain(model, X.to_numpy()[:1], label_names=["a", "b"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (piped(RAkELo(random_state=0)), r"got Pipeline around RAkELo\. Hint: use a method of nearlabel\.lazy"),
        (FixedThresholdsClassifier(BinaryRelevance()), "got FixedThresholdsClassifier around BinaryRelevance"),
        (RandomForestClassifier(2), r"explains itself, .*, got RandomForestClassifier\."),
        (
            GridSearchCV(MLkNN(), {"n_neighbors": [2]}, scoring="f1_micro", cv=2, refit=False),
            r"got GridSearchCV\. Hint: refit=True keeps the best model of a search\.",
        ),
    ],
)
def test_what_does_not_explain_itself(model, message):
    """The error names what is inside."""
    model.fit(X, Y)
    assert not explains(model)
    with pytest.raises(TypeError, match=message):
        explain(model, X)


def test_what_has_no_names():
    """scikit-learn's classifiers do not remember them, but thresholds around them do."""
    with pytest.raises(TypeError, match=r"knows the names of labels, .*, got Pipeline around RandomForestClassifier"):
        predict_labels(piped(RandomForestClassifier(2)).fit(X, Y), X)
    model = FixedThresholdsClassifier(piped(RandomForestClassifier(5, random_state=0)), 0.5)
    for around in (model, piped(clone(model))):
        expected = [tuple(Y.columns[row == 1]) for row in around.fit(X, Y).predict(X)]
        assert predict_labels(around, X) == expected
    assert not explains(model)


@pytest.mark.parametrize("model", [clone(model) for name, model in MODELS.items() if "frozen" not in name])
def test_not_fitted(model):
    """It is said."""
    with pytest.raises(NotFittedError):
        explain(model, X)


def test_thresholds_point_to_the_function():
    """The method of thresholds around a pipeline does not exist, and its error says what does."""
    model = FixedThresholdsClassifier(piped(MLkNN(3))).fit(X, Y)
    assert not hasattr(model, "explain")
    with pytest.raises(AttributeError) as raised:
        model.explain(X)
    assert "Hint: nearlabel.models.explain(model, X)" in str(raised.value.__cause__)
    nested = FixedThresholdsClassifier(FixedThresholdsClassifier(BRkNN(4), 0.9), 0.3).fit(X, Y)
    assert [one.predicted for one in nested.explain(X[:3])] == [list(one) for one in nested.predict_labels(X[:3])]


def test_names_of_features_are_asked_for_by_those_who_show_them(monkeypatch):
    """Texts have many words: an explanation by neighbours names none, IBLR+ names those of its terms."""
    X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [9.0, 2.0]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    asked, names_of = [], MinMaxScaler.get_feature_names_out
    monkeypatch.setattr(MinMaxScaler, "get_feature_names_out", lambda *given: asked.append(1) or names_of(*given))
    explain(make_pipeline(MinMaxScaler(), MLkNN(2)).fit(X, y), [[1, 1]])
    assert not asked
    (one,) = explain(make_pipeline(MinMaxScaler(), IBLR(2, plus=True, ridge=0.1)).fit(X, y), [[1, 1]])
    assert asked
    assert {"feature x0", "feature x1"} <= set(one.terms["of"].tolist())
