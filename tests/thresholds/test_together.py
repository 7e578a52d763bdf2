"""With n_neighbors="auto" the number of neighbours and the thresholds are chosen together."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import IBLR, BRkNN, MLkNN
from nearlabel.metrics import hamming_loss
from nearlabel.thresholds import MCut, MicroFOptimum, SCut, TunedThresholdsClassifierCV


@pytest.fixture(scope="module")
def digits():
    """Some rows."""
    data = load_multidigits()
    return data.X[:200], data.Y[:200]


def reached(strategy, method, X, Y):
    """What the best thresholds reach on the leave-one-out scores of each number of neighbours."""
    scores = [method(k).fit(X, Y).loo_predict_proba() for k in range(1, 31)]
    return np.array([strategy.fit(of_k, Y).objective_ for of_k in scores])


@pytest.mark.parametrize("method", [BRkNN, MLkNN])
def test_the_number_that_reaches_most(digits, method):
    """It is not that which is best at the built-in cut, and the thresholds are those of its scores."""
    values = reached(MicroFOptimum(), method, *digits)
    tuned = TunedThresholdsClassifierCV(method("auto"), cv="loo").fit(*digits)
    assert tuned.estimator_.n_neighbors_ == 1 + values.argmax()
    assert tuned.objective_ == values.max()
    assert method("auto").fit(*digits).n_neighbors_ != tuned.estimator_.n_neighbors_
    assert tuned.estimator_.n_neighbors == "auto"
    np.testing.assert_array_equal(tuned.estimator_.cv_results_["value"], values)


def test_a_loss_is_made_small(digits):
    """The direction of the metric counts."""
    values = reached(SCut("hamming_loss"), BRkNN, *digits)
    tuned = TunedThresholdsClassifierCV(BRkNN("auto"), SCut("hamming_loss"), cv="loo").fit(*digits)
    assert tuned.estimator_.n_neighbors_ == 1 + values.argmin()


@pytest.mark.long
def test_in_pipelines_and_folds(digits):
    """The last step of a pipeline chooses; with folds, each fold by its own training rows."""
    X, Y = digits
    tuned = TunedThresholdsClassifierCV(make_pipeline(MinMaxScaler(), BRkNN("auto")), cv="loo").fit(X, Y)
    values = reached(MicroFOptimum(), BRkNN, MinMaxScaler().fit_transform(X), Y)
    assert tuned.estimator_[-1].n_neighbors_ == 1 + values.argmax()
    folds = TunedThresholdsClassifierCV(BRkNN("auto"), cv=3).fit(X, Y)
    assert folds.estimator_.n_neighbors_ == 1 + reached(MicroFOptimum(), BRkNN, X, Y).argmax()


@pytest.mark.long
def test_what_leaves_the_choice_alone(digits):
    """A rule that optimises no metric, a given number, and a method without leave-one-out scores."""
    X, Y = digits
    alone = BRkNN("auto").fit(X, Y).n_neighbors_
    assert TunedThresholdsClassifierCV(BRkNN("auto"), MCut(), cv="loo").fit(X, Y).estimator_.n_neighbors_ == alone
    assert TunedThresholdsClassifierCV(BRkNN(4), cv="loo").fit(X, Y).estimator_.n_neighbors_ == 4
    iblr = IBLR("auto", ridge=1.0)
    assert TunedThresholdsClassifierCV(iblr, cv=2).fit(X[:40], Y[:40, :3]).estimator_.cv_results_.keys() == {
        "n_neighbors", "micro_f1",
    }  # fmt: skip


def test_a_function_chooses(digits):
    """It takes label sets and scores; of equal values the smallest number."""
    X, Y = digits
    model = MLkNN(lambda labels, scores: -hamming_loss(labels, scores >= 0.3)).fit(X, Y)
    losses = [hamming_loss(Y, MLkNN(k).fit(X, Y).loo_predict_proba() >= 0.3) for k in range(1, 31)]
    assert model.n_neighbors_ == 1 + np.argmin(losses)
    assert MLkNN(lambda labels, scores: 0.0).fit(X, Y).n_neighbors_ == 1
