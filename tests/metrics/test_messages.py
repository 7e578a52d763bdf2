"""What the user reads when an argument is wrong."""

import re

import numpy as np
import pytest
from scipy import sparse

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE

TRUE = [[1, 0], [0, 1]]
FUNCTIONS = [metric.function for metric in CATALOGUE.values()]
PREDICTION = [metric.function for metric in CATALOGUE.values() if metric.needs == "prediction"]
SCORE = [metric.function for metric in CATALOGUE.values() if metric.needs == "score"]


def assert_each_refuses(functions, message, *arguments, **options):
    """Assert that every function raises a ValueError with the message; list those that do not."""
    faults = {}
    for function in functions:
        try:
            faults[function.__name__] = f"returned {function(*arguments, **options)}"
        except ValueError as error:
            if not re.search(message, str(error)):
                faults[function.__name__] = str(error)
    assert not faults


def test_shapes_differ():
    """Both shapes are in the message."""
    message = r"must be of the same shape as y_true, \(2, 2\), got shape \(2, 3\)\."
    assert_each_refuses(FUNCTIONS, message, TRUE, [[0, 1, 0], [1, 0, 0]])


def test_true_label_sets_have_one_dimension():
    """A list of class numbers is no indicator matrix."""
    assert_each_refuses(FUNCTIONS, r"y_true must be an indicator matrix .* got shape \(2,\)\. Hint", [1, 0], TRUE)


@pytest.mark.parametrize("empty", [np.zeros((0, 2)), sparse.csr_array((0, 2))], ids=["dense", "sparse"])
def test_no_rows(empty):
    """A mean over no rows is refused."""
    assert_each_refuses(FUNCTIONS, r"y_true must have at least one row, got shape \(0, 2\)\.", empty, empty)


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_label_sets_hold_something_else(wrap):
    """Anything but 0, 1 and NaN in y_true is refused; -1, which others write for unknown, with a hint."""
    message = r"y_true must contain 0 and 1 only, got 2\."
    assert_each_refuses(FUNCTIONS, message, wrap([[1.0, 2.0], [0.0, 1.0]]), TRUE)
    hint = "y_true must contain 0, 1 and NaN only, got -1.* NaN that it is unknown"
    assert_each_refuses(FUNCTIONS, hint, wrap([[1.0, -1.0, 0.0], [np.nan, 1.0, 0.0]]), TRUE)


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_nothing_is_known(wrap):
    """A mean over no cell is refused."""
    assert_each_refuses(FUNCTIONS, "y_true must have a known cell .* got none", wrap([[np.nan, np.nan]] * 2), TRUE)


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_predictions_are_unknown(wrap):
    """Only the truth may be."""
    assert_each_refuses(PREDICTION, r"y_pred must contain 0 and 1 only", TRUE, wrap([[np.nan, 0.0], [0.0, 1.0]]))


def test_predictions_hold_scores():
    """Scores passed as predictions are refused."""
    assert_each_refuses(PREDICTION, r"y_pred must contain 0 and 1 only, got .*0\.7", TRUE, [[0.7, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
def test_scores_hold_nan(wrap):
    """The first column with a NaN is named."""
    message = r"y_score must not contain NaN, got NaN in column 1\."
    assert_each_refuses(SCORE, message, TRUE, wrap([[0.1, np.nan], [0.3, 0.2]]))


def test_scores_have_one_dimension():
    """Scores of one label are a column."""
    message = r"y_score must be of shape .* got shape \(2,\)\. Hint: a single"
    assert_each_refuses(SCORE, message, [[1], [0]], [0.1, 0.2])


@pytest.mark.parametrize("wrong", [[["a", "b"], ["c", "d"]], [[{}, 1], [2, 3]], [[1j, 1], [1, 1]]])
def test_scores_are_no_numbers(wrong):
    """Strings, objects and complex numbers are refused."""
    assert_each_refuses(SCORE, "y_score must contain numbers, got values of type", TRUE, wrong)


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


def test_unknown_rules():
    """The rules for equal scores and for trivial rows are listed."""
    message = r"ties must be one of \['average', 'high', 'low', 'optimistic', 'pessimistic'\], got 'random'"
    assert_each_refuses(SCORE, message, TRUE, TRUE, ties="random")
    assert_each_refuses(SCORE, r"trivial must be one of \['drop', 'keep'\], got 'skip'", TRUE, TRUE, trivial="skip")


@pytest.mark.parametrize("wrong", [0.5, "warn", None, True, np.inf])
def test_unknown_zero_division(wrong):
    """Only 0, 1 and nan say what 0/0 is."""
    with pytest.raises(ValueError, match=f"zero_division must be 0.0, 1.0 or nan, got {wrong!r}"):
        metrics.micro_f1(TRUE, TRUE, zero_division=wrong)


def test_beta_out_of_range():
    """Beta weighs recall and is above 0."""
    functions = [metrics.fbeta_examples, metrics.micro_fbeta, metrics.macro_fbeta]
    assert_each_refuses(functions, r"beta must be a finite number above 0, got 0\.", TRUE, TRUE, beta=0)


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
    """The missing argument and the metric are named."""
    given = {"y_score" if argument == "y_pred" else "y_pred": TRUE}
    with pytest.raises(ValueError, match=f"{argument} must be given for {name}, got None"):
        metrics.score_all(TRUE, **given, metrics=[name])


def test_score_all_with_one_name_instead_of_a_list():
    """One name is not a list of its letters."""
    with pytest.raises(ValueError, match=r"metrics must be a list of names, got 'micro_f1'\. Hint: \['micro_f1'\]"):
        metrics.score_all(TRUE, TRUE, metrics="micro_f1")
