"""What the user reads when an argument is wrong."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE

TRUE = [[1, 0], [0, 1]]
FUNCTIONS = [metric.function for metric in CATALOGUE.values()]
PREDICTION = [metric.function for metric in CATALOGUE.values() if metric.needs == "prediction"]
SCORE = [metric.function for metric in CATALOGUE.values() if metric.needs == "score"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_shapes_differ(function):
    """Both shapes are in the message."""
    with pytest.raises(ValueError, match=r"must be of the same shape as y_true, \(2, 2\), got shape \(2, 3\)\."):
        function(TRUE, [[0, 1, 0], [1, 0, 0]])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_true_label_sets_have_one_dimension(function):
    """A list of class numbers is no indicator matrix."""
    with pytest.raises(ValueError, match=r"y_true must be an indicator matrix .* got shape \(2,\)\. Hint"):
        function([1, 0], TRUE)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("empty", [np.zeros((0, 2)), sparse.csr_array((0, 2))])
def test_no_rows(function, empty):
    """A mean over no rows is refused."""
    with pytest.raises(ValueError, match=r"y_true must have at least one row, got shape \(0, 2\)\."):
        function(empty, empty)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("value", "got"), [(2.0, "2.0"), (np.nan, "(?i:nan)")])
@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_true_label_sets_hold_something_else(function, value, got, wrap):
    """Anything but 0 and 1 in y_true is refused."""
    with pytest.raises(ValueError, match=f"y_true must hold 0 and 1 only, got .*{got}"):
        function(wrap([[1.0, value], [0.0, 1.0]]), TRUE)


@pytest.mark.parametrize("function", PREDICTION)
def test_predictions_hold_scores(function):
    """Scores passed as predictions are refused."""
    with pytest.raises(ValueError, match=r"y_pred must hold 0 and 1 only, got .*0\.7"):
        function(TRUE, [[0.7, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("function", SCORE)
@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_scores_hold_nan(function, wrap):
    """The first column with a NaN is named."""
    with pytest.raises(ValueError, match=r"y_score must not hold NaN, got NaN in column 1\."):
        function(TRUE, wrap([[0.1, np.nan], [0.3, 0.2]]))


@pytest.mark.parametrize("function", SCORE)
def test_scores_have_one_dimension(function):
    """Scores of one label are a column."""
    with pytest.raises(ValueError, match=r"y_score must be of shape .* got shape \(2,\)\. Hint: a single"):
        function([[1], [0]], [0.1, 0.2])


@pytest.mark.parametrize("function", SCORE)
@pytest.mark.parametrize("wrong", [[["a", "b"], ["c", "d"]], [[{}, 1], [2, 3]], [[1j, 1], [1, 1]]])
def test_scores_are_no_numbers(function, wrong):
    """Strings, objects and complex numbers are refused."""
    with pytest.raises(ValueError, match="y_score must hold numbers, got values of type"):
        function(TRUE, wrong)


def test_scores_are_ragged():
    """Rows of unequal length are refused."""
    with pytest.raises(ValueError, match=r"y_score must be of shape .* got rows of unequal length"):
        metrics.coverage(TRUE, [[0.1, 0.2], [0.3]])


def test_scores_are_a_list_of_arrays():
    """The list that predict_proba of scikit-learn's neighbours gives is refused, with the way out."""
    probabilities = [np.array([[0.2, 0.8], [0.5, 0.5]]), np.array([[0.1, 0.9], [0.4, 0.6]])]
    with pytest.raises(
        ValueError, match=r"y_score must be one array .* got a list of 2 arrays\. Hint: np\.column_stack"
    ):
        metrics.average_precision(TRUE, probabilities)


@pytest.mark.parametrize("function", SCORE)
def test_unknown_tie_rule(function):
    """The tie rules are listed."""
    with pytest.raises(ValueError, match=r"ties must be one of \['index', 'optimistic', 'pessimistic'\], got 'random'"):
        function(TRUE, TRUE, ties="random")


@pytest.mark.parametrize("function", SCORE)
def test_unknown_trivial_rule(function):
    """The rules for trivial rows are listed."""
    with pytest.raises(ValueError, match=r"trivial must be one of \['drop', 'keep'\], got 'skip'"):
        function(TRUE, TRUE, trivial="skip")


@pytest.mark.parametrize("wrong", [0.5, "warn", None, True, np.inf])
def test_unknown_zero_division(wrong):
    """Only 0, 1 and nan say what 0/0 is."""
    with pytest.raises(ValueError, match=f"zero_division must be 0.0, 1.0 or nan, got {wrong!r}"):
        metrics.micro_f1(TRUE, TRUE, zero_division=wrong)


@pytest.mark.parametrize("function", [metrics.fbeta_examples, metrics.micro_fbeta, metrics.macro_fbeta])
def test_beta_out_of_range(function):
    """Beta weighs recall and is above 0."""
    with pytest.raises(ValueError, match=r"beta must be a finite number above 0, got 0\."):
        function(TRUE, TRUE, beta=0)


def test_unknown_metric_with_near_matches():
    """A misspelt name gets the nearest names."""
    with pytest.raises(ValueError, match=r"got 'hamming'\. Did you mean 'hamming_loss'"):
        metrics.get_metric("hamming")


def test_unknown_metric_without_near_matches():
    """A name like no other gets the list."""
    with pytest.raises(ValueError, match=r"got 'xyz'\. Known: hamming_loss, subset_accuracy, "):
        metrics.get_scorer("xyz")


def test_score_all_without_predictions_and_scores():
    """There must be something to score."""
    with pytest.raises(ValueError, match="y_pred or y_score must be given, got neither"):
        metrics.score_all(TRUE)


@pytest.mark.parametrize(("name", "argument"), [("micro_f1", "y_pred"), ("coverage", "y_score")])
def test_score_all_lacks_what_a_metric_needs(name, argument):
    """The missing argument and the measure are named."""
    given = {"y_score" if argument == "y_pred" else "y_pred": TRUE}
    with pytest.raises(ValueError, match=f"{argument} must be given for {name}, got None"):
        metrics.score_all(TRUE, **given, metrics=[name])


def test_score_all_with_one_name_instead_of_a_list():
    """One name is not a list of its letters."""
    with pytest.raises(ValueError, match=r"metrics must be a list of names, got 'micro_f1'\. Hint: \['micro_f1'\]"):
        metrics.score_all(TRUE, TRUE, metrics="micro_f1")
