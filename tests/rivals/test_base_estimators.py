"""Which kind of classifier a meta-estimator is made of, and what it says of another kind."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from nearlabel.lazy import BRkNN
from nearlabel.rivals import (
    HOMER,
    SMBR,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    LabelPowerset,
    RAkELd,
    RAkELo,
)

BINARY = [BinaryRelevance, SMBR, ClassifierChain, EnsembleOfBinaryRelevance, EnsembleOfClassifierChains]
MULTI_CLASS = [LabelPowerset, RAkELo, RAkELd]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = (X @ RNG.normal(size=(3, 4)) + RNG.normal(size=(40, 4)) > 0).astype(int)


def name(value):
    """Return the name of a class as the id of a case."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize("method", [*BINARY, *MULTI_CLASS, HOMER], ids=name)
def test_what_is_no_classifier(method):
    """A regressor, a class and a name are refused, each with what it is or a hint."""
    for estimator, message in (
        (LinearRegression(), r"estimator must be a classifier, got LinearRegression\(\)\. Hint: .* it is a regressor"),
        (LogisticRegression, r"estimator must be a classifier, got <class .* Hint: .* LogisticRegression\(\)"),
        ("svm", "estimator must be a classifier, got 'svm'"),
    ):
        with pytest.raises(ValueError, match=message):
            method(estimator).fit(X, Y)


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.long)])
def test_homer_of_a_binary_classifier(n_jobs):
    """A classifier of one label is refused with what to put around it; a multi-label one serves."""
    expected = "estimator must be a multi-label classifier, got LogisticRegression, .* Hint: .*BinaryRelevance"
    with pytest.raises(ValueError, match=expected):
        HOMER(LogisticRegression(), n_jobs=n_jobs, random_state=0).fit(X, Y)
    assert HOMER(KNeighborsClassifier(3), random_state=0).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize("method", MULTI_CLASS, ids=name)
def test_label_sets_of_a_binary_classifier(method):
    """A classifier of two classes is refused where there are more label sets, and serves where there are two."""
    with pytest.raises(ValueError, match="estimator must be a multi-class classifier, got BRkNN, which takes two"):
        method(BRkNN(3), random_state=0).fit(X, Y)
    assert method(OneVsRestClassifier(LogisticRegression()), random_state=0).fit(X, Y).predict(X).shape == Y.shape
    two = np.column_stack([Y[:, 0], 1 - Y[:, 0]])
    np.testing.assert_array_equal(method(BRkNN(1), random_state=0).fit(X, two).predict(X), two)


@pytest.mark.parametrize("method", BINARY, ids=name)
def test_a_lazy_classifier_as_binary_classifier(method):
    """A method of ours is a binary classifier too."""
    assert method(BRkNN(3), random_state=0).fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize("method", [*BINARY, *MULTI_CLASS, HOMER], ids=name)
def test_base_classifiers_that_take_no_sparse_rows(method):
    """Sparse X for a classifier that takes dense rows only: it is named, with a hint."""
    base = BinaryRelevance(GaussianNB()) if method is HOMER else GaussianNB()
    with pytest.raises(TypeError, match=r"X must be dense for GaussianNB, .* Hint: X\.toarray\(\)"):
        method(base, random_state=0).fit(sparse.csr_array(X), Y)
