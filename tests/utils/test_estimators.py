"""A classifier of one label that is given several gets a message that helps."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from nearlabel.utils.estimators import requiring_multilabel

X = np.random.default_rng(0).normal(size=(20, 3))
Y = (X[:, :2] > 0).astype(int)


@pytest.mark.filterwarnings("ignore:.*fits failed")
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        SVC(),
        GaussianNB(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_a_classifier_of_one_label_is_explained(estimator):
    """The message names the parameter, the class and the way out; scikit-learn's own is its cause."""
    expected = f"base must be a multi-label classifier, got {type(estimator).__name__}, which .*BinaryRelevance"
    with pytest.raises(ValueError, match=expected) as caught, requiring_multilabel(estimator, name="base"):
        estimator.fit(X, Y)
    assert "1d" in str(caught.value.__cause__)


def test_the_innermost_explanation_is_kept():
    """Of nested meta-estimators the one that holds the classifier is named."""
    with (
        pytest.raises(ValueError, match="inner must be a multi-label classifier, got SVC"),
        requiring_multilabel(GridSearchCV(SVC(), {})),
        requiring_multilabel(SVC(), name="inner"),
    ):
        SVC().fit(X, Y)


@pytest.mark.parametrize("error", [ValueError("Input X contains NaN."), TypeError("fit() got an unexpected keyword")])
def test_other_failures_pass(error):
    """What is not about y is raised as it is."""
    with pytest.raises(type(error)) as caught, requiring_multilabel(SVC()):
        raise error
    assert caught.value is error
