"""The contracts of searches, samplers and metrics: ours keep them, and what breaks one is told which."""

from itertools import count

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_X_y

from nearlabel.metrics import CATALOGUE, Metric
from nearlabel.neighbors import ExactNeighbors
from nearlabel.testing import (
    METRIC_CHECKS,
    SAMPLER_CHECKS,
    SEARCH_CHECKS,
    check_metric,
    check_sampler,
    check_search,
    run_checks,
)
from nearlabel.utils.targets import as_label_matrix
from nearlabel.utils.validation import as_dense


class Search(BaseEstimator):
    """A search that can be broken in one place."""

    def __init__(self, broken=""):
        self.broken = broken

    def fit(self, X, y=None):
        """Index the rows."""
        if self.broken == "input":
            X[0] = 0
        if self.broken != "memory" or not hasattr(self, "X_"):
            self.X_ = np.array(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        """Return distances and indices."""
        exact = ExactNeighbors().fit(self.X_)
        if self.broken == "memory" and X is not None:
            X = X[:, : self.X_.shape[1]]
        if self.broken == "own row":
            X = self.X_ if X is None else X
        distances, indices = exact.kneighbors(X, n_neighbors)
        if self.broken == "order":
            return distances[:, ::-1], indices[:, ::-1]
        if self.broken == "shape":
            return distances, indices.T
        if self.broken == "calls" and len(distances) == 1:
            return distances, indices[:, ::-1]
        return distances, indices


@pytest.mark.parametrize(
    "search", [Search(), ExactNeighbors(metric="cosine"), NearestNeighbors(), NearestNeighbors(algorithm="brute")]
)
def test_searches_that_keep_the_contract(search):
    """Ours, scikit-learn's and a user's."""
    check_search(search)


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        ("shape", "check_search_returns_two_matrices"),
        ("order", "check_search_returns_two_matrices"),
        ("own row", "check_search_leaves_a_row_out_of_its_own_list"),
        ("calls", "check_search_answers_alike"),
        ("input", "check_search_changes_no_input"),
        ("memory", "check_search_forgets"),
    ],
)
def test_searches_that_break_the_contract(broken, check):
    """The message names the check and says its sentence; a check that is expected to fail is not run."""
    with pytest.raises(AssertionError, match=f"^{check}: "):
        check_search(Search(broken))
    expected = {each.__name__: "it is broken" for each in SEARCH_CHECKS if each.__name__ == check}
    if broken not in ("order", "shape", "input"):
        check_search(Search(broken), expected_failed_checks=expected)


CALLS = count()


class Copies(BaseEstimator):
    """A sampler that copies the first rows, and can be broken in one place."""

    def __init__(self, broken=""):
        self.broken = broken

    def fit_resample(self, X, y):
        """Return all rows, then the first five again."""
        if self.broken == "input":
            X[0] = 0
        if self.broken != "checks":
            check_X_y(X, as_dense(y), accept_sparse=True, multi_output=True)
            as_label_matrix(y)
        source = np.append(np.arange(X.shape[0]), np.arange(5))
        if self.broken == "order":
            source = source[::-1].copy()
        if self.broken == "draws":
            source[-1] = next(CALLS) % X.shape[0]
        self.sample_indices_ = source
        self.seed_indices_ = source if self.broken != "seeds" else np.zeros_like(source)
        taken = X[source]
        if self.broken == "container":
            taken = as_dense(taken)
        return taken, y[source]


def test_samplers_that_keep_the_contract():
    """A user's; ours have tests of their own."""
    check_sampler(Copies())


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        ("seeds", "check_sampler_says_where_rows_come_from"),
        ("order", "check_sampler_keeps_the_order"),
        ("draws", "check_sampler_answers_alike"),
        ("input", "check_sampler_changes_no_input"),
        ("container", "check_sampler_keeps_containers"),
        ("checks", "check_sampler_refuses_bad_input"),
    ],
)
def test_samplers_that_break_the_contract(broken, check):
    """Each breach is found by the check of that name."""
    (found,) = [each for each in SAMPLER_CHECKS if each.__name__ == check]
    with pytest.raises(AssertionError, match=f"^{check}: "):
        run_checks([found], lambda: Copies(broken))
    with pytest.raises(AssertionError):
        check_sampler(Copies(broken))


@pytest.mark.parametrize("name", CATALOGUE)
def test_metrics_of_the_catalogue_keep_the_contract(name):
    """Each of them, losses and ranking metrics included."""
    check_metric(name)


def right(y_true, y_pred, sample_weight=None):
    """The weighted share of equal cells."""
    return float(np.average(np.mean(y_true == y_pred, axis=1), weights=sample_weight))


def _changes(y_true, y_pred):
    value = right(y_true, y_pred)
    y_pred[0] = 0
    return value


@pytest.mark.parametrize(
    ("function", "check"),
    [
        (lambda y, p: "good", "check_metric_returns_a_number"),
        (lambda y, p: float("nan"), "check_metric_returns_a_number"),
        (lambda y, p: y[:, 3].sum(), "check_metric_returns_a_number"),
        (lambda y, p: 1 - right(y, p), "check_metric_is_best_for_the_truth"),
        (lambda y, p: 0.0, "check_metric_is_best_for_the_truth"),
        (lambda y, p: float((y == p).mean(axis=1) @ np.arange(len(y))), "check_metric_ignores_the_order_of_samples"),
        (_changes, "check_metric_changes_no_input"),
        (lambda y, p, sample_weight=None: right(y, p) / (1 if sample_weight is None else 2), "check_metric_weights_of"),
    ],
)
def test_metrics_that_break_the_contract(function, check):
    """The message names the check and says its sentence."""
    with pytest.raises(AssertionError, match=f"^{check}"):
        check_metric(Metric("mine", function))


def test_a_loss_and_a_weighted_metric():
    """The direction decides what is best; weights of one change nothing."""
    check_metric(right)
    check_metric(Metric("mine", lambda y, p: 1 - right(y, p), greater_is_better=False))
    check_metric(Metric("ranks", lambda y, s: float(((s > 0.5) == y).mean()), needs="score"))


def test_names_of_checks():
    """A name that is no check's is a mistake."""
    with pytest.raises(ValueError, match="expected_failed_checks must name some of check_metric_returns_a_number"):
        check_metric(right, expected_failed_checks={"check_other": "why not"})


def test_checks_that_start_too_late():
    """They are not run, and their names come back."""
    assert run_checks(METRIC_CHECKS, lambda: None, seconds=-1) == [check.__name__ for check in METRIC_CHECKS]
