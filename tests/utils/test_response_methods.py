from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nearlabel.lazy import BRkNN
from nearlabel.utils.estimators import label_scores, response_method_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X + RNG.normal(size=(30, 3)) > [0, 0.5, -0.5]).astype(np.int64)
ONE_CLASS = np.column_stack([Y[:, 0], np.zeros(30, dtype=np.int64), np.ones(30, dtype=np.int64)])


def answering(answer, **attributes):
    """A fitted classifier whose probabilities are this answer, whatever the rows."""
    return SimpleNamespace(predict_proba=lambda _: answer, **attributes)


def of_each_label(make, labels, method):
    """One classifier a label: the scores of class 1."""
    columns = []
    for y in labels.T:
        scores = getattr(make().fit(X, y), method)(X)
        columns.append(scores if scores.ndim == 1 else scores[:, -1])
    return np.column_stack(columns)


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (("predict_proba", "decision_function"), "predict_proba"),
        (("decision_function", "predict_proba"), "decision_function"),
    ],
)
def test_the_first_method_that_there_is(methods, expected):
    """The order of the methods decides; by default probabilities come first."""
    assert response_method_of(LogisticRegression(), methods) == expected
    assert response_method_of(LogisticRegression()) == "predict_proba"
    assert response_method_of(OneVsRestClassifier(LinearSVC()), methods) == "decision_function"


def test_no_method():
    """What was looked for is named."""
    with pytest.raises(ValueError, match="estimator must have predict_proba or decision_function, got object"):
        response_method_of(object())
    with pytest.raises(ValueError, match="estimator must have predict_proba, got LinearSVC"):
        response_method_of(LinearSVC(), ("predict_proba",))


@pytest.mark.parametrize(
    ("classifier", "make", "method"),
    [
        (OneVsRestClassifier(LogisticRegression()), LogisticRegression, "predict_proba"),
        (OneVsRestClassifier(LinearSVC()), LinearSVC, "decision_function"),
        (MultiOutputClassifier(LogisticRegression()), LogisticRegression, "predict_proba"),
        (KNeighborsClassifier(4), lambda: KNeighborsClassifier(4), "predict_proba"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_shape_of_answer_is_one_column_a_label(classifier, make, method):
    """Array or list, the scores are those of a classifier for each label by itself."""
    scores = label_scores(classifier.fit(X, Y), X, 3, method)
    np.testing.assert_array_equal(scores, of_each_label(make, Y, method))


@pytest.mark.parametrize(
    "classifier", [RandomForestClassifier(3, random_state=0), DecisionTreeClassifier(), KNeighborsClassifier(4)]
)
def test_a_list_with_labels_of_one_class(classifier):
    """A label that no row carries has probability 0, one that all rows carry has 1."""
    answer = classifier.fit(X, ONE_CLASS).predict_proba(X)
    assert [part.shape[1] for part in answer] == [2, 1, 1]
    scores = label_scores(classifier, X, 3, "predict_proba")
    np.testing.assert_array_equal(scores, np.column_stack([answer[0][:, 1], np.zeros(30), np.ones(30)]))


@pytest.mark.parametrize("keep", [list, tuple])
def test_a_list_of_a_classifier_without_classes(keep):
    """Without classes_, the columns are those of class 0 and of class 1."""
    parts = keep([np.array([[0.2, 0.8], [0.6, 0.4]]), np.array([[1.0, 0.0], [0.5, 0.5]])])
    assert label_scores(answering(parts), X, 2, "predict_proba").tolist() == [[0.8, 0.0], [0.4, 0.5]]


def test_the_order_of_classes_decides():
    """The column of class 1 is taken, wherever classes_ has it."""
    parts = [np.array([[0.2, 0.8]]), np.array([[0.3, 0.7]])]
    classes = [np.array([1, 0]), np.array([False, True])]
    assert label_scores(answering(parts, classes_=classes), X, 2, "predict_proba").tolist() == [[0.2, 0.7]]


def test_a_list_keeps_single_precision():
    """Scores are not made longer than they are."""
    parts = [np.array([[0.2, 0.8]], dtype=np.float32)] * 2
    assert label_scores(answering(parts), X, 2, "predict_proba").dtype == np.float32


@pytest.mark.parametrize("store", [sparse.csr_array, sparse.csc_matrix])
def test_a_sparse_answer(store):
    """Sparse scores come back dense."""
    dense = np.array([[0.0, 0.5, 0.0], [0.25, 0.0, 0.0]])
    scores = label_scores(answering(store(dense)), X, 3, "predict_proba")
    assert isinstance(scores, np.ndarray)
    assert scores.tolist() == dense.tolist()


@pytest.mark.parametrize(
    "classifier",
    [
        BRkNN(4),
        DecisionTreeClassifier(max_depth=2, random_state=0),
        OneVsRestClassifier(LinearSVC()),
        OneVsRestClassifier(LogisticRegression()),
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
    ],
)
def test_a_single_label_is_one_column(classifier):
    """Whether the answer is (n,), (n, 1), (n, 2) or a list of one, a higher score says that the label is there."""
    method = response_method_of(classifier.fit(X, Y[:, :1]))
    scores = label_scores(classifier, X, 1, method)
    assert scores.shape == (30, 1)
    limit = 0.5 if method == "predict_proba" else 0
    assert ((scores > limit) == np.reshape(classifier.predict(X), (30, 1))).all()


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.parametrize(
    "classifier", [DecisionTreeClassifier(), MultiOutputClassifier(DecisionTreeClassifier()), BRkNN(4)]
)
def test_a_single_label_of_one_class(classifier, label):
    """The one column of probabilities is that of the one class, which may be 0."""
    scores = label_scores(classifier.fit(X, np.full((30, 1), label)), X, 1, "predict_proba")
    assert (scores == np.full((30, 1), label)).all()


def test_two_labels_are_not_two_classes():
    """An array (n_samples, 2) of two labels stays as it is."""
    scores = label_scores(answering(np.array([[0.9, 0.3]])), X, 2, "predict_proba")
    assert scores.tolist() == [[0.9, 0.3]]


@pytest.mark.parametrize(
    ("answer", "n_labels", "got"),
    [
        (np.zeros(4), 3, r"shape \(4,\)"),
        (np.zeros((4, 2)), 3, r"shape \(4, 2\)"),
        (np.zeros((4, 3)), 1, r"shape \(4, 3\)"),
        (np.zeros((3, 4, 2)), 3, r"shape \(3, 4, 2\)"),
        (sparse.csr_array((4, 2)), 3, r"shape \(4, 2\)"),
        ([np.zeros((4, 2))] * 2, 3, "a list of 2 and classes_ of 2"),
    ],
)
def test_a_wrong_shape_of_the_whole(answer, n_labels, got):
    """What is expected and what came are named, with classifier and method."""
    expected = rf"must answer with an array \(n_samples, {n_labels}\), or a list of {n_labels} arrays, got {got}\."
    with pytest.raises(ValueError, match=f"predict_proba of SimpleNamespace {expected}"):
        label_scores(answering(answer), X, n_labels, "predict_proba")


def test_too_few_classes():
    """A list of classes that is not one for each label is named."""
    with pytest.raises(ValueError, match="got a list of 2 and classes_ of 1"):
        label_scores(answering([np.zeros((4, 2))] * 2, classes_=[np.array([0, 1])]), X, 2, "predict_proba")


@pytest.mark.parametrize(
    ("part", "classes", "got"),
    [
        (np.zeros(4), [0, 1], r"shape \(4,\) for classes \[0, 1\]"),
        (np.zeros((4, 1)), [0, 1], r"shape \(4, 1\) for classes \[0, 1\]"),
        (np.zeros((4, 3)), [0, 1], r"shape \(4, 3\) for classes \[0, 1\]"),
        (np.zeros((4, 2)), 0, r"shape \(4, 2\) for classes 0"),
    ],
)
def test_a_wrong_shape_of_a_part(part, classes, got):
    """A label has a column for each of its classes."""
    message = f"must answer, for each label, with a column for each class of classes_, got {got}"
    with pytest.raises(ValueError, match=message):
        label_scores(answering([part], classes_=[classes]), X, 1, "predict_proba")
