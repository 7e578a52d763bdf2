"""The requirements for multi-label classifiers, searches, metrics and samplers, as checks for any estimator.

scikit-learn's checks apply too: `sklearn.utils.estimator_checks.check_estimator`, with the few exceptions that
`expected_failed_checks` lists with reasons. All public classifiers pass it with default parameters.

Examples
--------
>>> from nearlabel.lazy import MLkNN
>>> from nearlabel.testing import check_multilabel_estimator
>>> check_multilabel_estimator(MLkNN(n_neighbors=3))
"""

from __future__ import annotations

import inspect
import math
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.metrics import get_metric
from nearlabel.utils.optional import import_optional
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense

Check = Callable[[Any], None]

# Checks with few samples, and their numbers of samples.
_SAMPLES_OF_CHECKS = {
    "check_classifiers_one_label": 10,
    "check_estimators_nan_inf": 10,
    "check_fit2d_1feature": 10,
    "check_n_features_in_after_fitting": 10,  # in scikit-learn 1.7
    "check_classifier_data_not_an_array": 12,
}


def expected_failed_checks(
    *,
    min_samples: int = 1,
    scores_reach_0_and_1: bool = False,
    scores_tie: bool = False,
    labels_follow_scores: bool = True,
    draws_samples: bool = False,
) -> dict[str, str]:
    """Return the scikit-learn checks that a multi-label classifier cannot pass, each with its reason.

    Without arguments the result is empty: a classifier whose scores are probabilities inside (0, 1), rounded by
    `predict`, passes every check.

    Parameters
    ----------
    min_samples : int, default=1
        Minimum number of samples for `fit`; a method that counts k neighbours of each training sample needs k + 1.
    scores_reach_0_and_1 : bool, default=False
        Whether scores may be exactly 0 or 1, like shares of neighbours.
    scores_tie : bool, default=False
        Whether scores may be exactly one half, for which the label is predicted.
    labels_follow_scores : bool, default=True
        Whether `predict` rounds `predict_proba`; a method with another rule, such as joint decisions on labels, does
        not.
    draws_samples : bool, default=False
        Whether it supports `sample_weight` and draws samples at random, or assigns them to calibration folds at random:
        then a weight of 2 differs from a repeated sample.

    Returns
    -------
    dict of str to str
        For the argument `expected_failed_checks` of `sklearn.utils.estimator_checks.check_estimator`.

    Examples
    --------
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.testing import expected_failed_checks
    >>> reasons = expected_failed_checks(min_samples=11, scores_tie=True)  # 10 neighbours beside the sample itself
    >>> results = check_estimator(MLkNN(), expected_failed_checks=reasons, on_skip=None)
    >>> {result["check_name"] for result in results if result["status"] == "xfail"} <= set(reasons)
    True
    """
    reasons = {
        check: f"it fits to {n_samples} samples, this method needs {min_samples}"
        for check, n_samples in _SAMPLES_OF_CHECKS.items()
        if n_samples < min_samples
    }
    if scores_reach_0_and_1:
        reasons["check_classifiers_multilabel_output_format_predict_proba"] = (
            "it requires probabilities strictly between 0 and 1; a share of neighbours may be 0 or 1"
        )
    if scores_tie:
        for check in ("check_classifier_multioutput", "check_classifiers_train"):
            reasons[check] = "it requires a score of exactly one half to mean 0; here it predicts the label"
    if not labels_follow_scores:
        for check in ("check_classifier_multioutput", "check_classifiers_train"):
            reasons[check] = "it requires predict to round predict_proba; this method has another decision rule"
    if draws_samples:
        for container in ("dense", "sparse"):
            reasons[f"check_sample_weight_equivalence_on_{container}_data"] = (
                "it draws samples, or assigns them to folds, at random; a repeated sample is drawn twice"
            )
    return reasons


def check_multilabel_estimator(estimator: Any, *, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Run all checks on clones of an estimator.

    Parameters
    ----------
    estimator : object
        An unfitted multi-label classifier with `fit`, `predict` and `predict_proba` or `decision_function`.
    expected_failed_checks : mapping of str to str, default=None
        Names of checks to skip, with the reason why the method cannot pass each of them; for instance, a method that
        draws labels at random depends on their order.

    Raises
    ------
    AssertionError
        If a check fails; the message contains the name of the check and its requirement.
    ValueError
        If `expected_failed_checks` contains an unknown name.
    """
    unknown = set(expected_failed_checks or {}) - {check.__name__ for check in MULTILABEL_CHECKS}
    if unknown:
        raise ValueError(f"expected_failed_checks must name checks of MULTILABEL_CHECKS, got {sorted(unknown)}.")
    for check in MULTILABEL_CHECKS:
        if check.__name__ in (expected_failed_checks or {}):
            continue
        try:
            check(clone(estimator))
        except AssertionError as failure:
            raise AssertionError(f"{check.__name__}: {check.__doc__} {failure}".rstrip()) from failure


def check_constructor_only_stores(estimator: Any) -> None:
    """The constructor stores its parameters and nothing else; a clone has the same parameters."""
    assert set(vars(estimator)) == set(estimator.get_params(deep=False))
    assert repr(clone(estimator)) == repr(estimator)


def check_scores_are_one_array(estimator: Any) -> None:
    """Scores are one finite float array (n_samples, n_labels), also for one and for two labels."""
    for n_labels in (1, 2, 5):
        X, y = _problem(n_labels)
        scores = _scores(estimator.fit(X, y), X)
        assert isinstance(scores, np.ndarray)
        assert scores.dtype.kind == "f"
        assert scores.shape == y.shape
        assert np.isfinite(scores).all()


def check_predictions_are_label_sets(estimator: Any) -> None:
    """Predictions are 0 and 1, (n_samples, n_labels), also for one label."""
    for n_labels in (1, 2, 5):
        X, y = _problem(n_labels)
        labels = estimator.fit(X, y).predict(X)
        assert labels.shape == y.shape
        assert set(np.unique(labels)) <= {0, 1}


def check_container_of_labels_is_kept(estimator: Any) -> None:
    """Predictions have the container (array or sparse) and the type of y."""
    X, y = _problem()
    for dtype in (np.int64, np.int8, np.bool_, np.float64):
        labels = estimator.fit(X, y.astype(dtype)).predict(X)
        assert isinstance(labels, np.ndarray)
        assert labels.dtype == dtype
    for stored, returned in (
        (sparse.csr_array, sparse.csr_array),
        (sparse.csc_array, sparse.csr_array),
        (sparse.lil_matrix, sparse.csr_matrix),
        (sparse.csr_matrix, sparse.csr_matrix),
    ):
        assert isinstance(estimator.fit(X, stored(y)).predict(X), returned)


def check_sparse_equals_dense(estimator: Any) -> None:
    """Sparse X and sparse y, in every combination, give the same label sets as dense ones, and scores equal to 1e-9."""
    X, y = _problem()
    X[X < 0] = 0
    estimator.fit(X, y)
    scores, labels = _scores(estimator, X), estimator.predict(X)
    for rows, targets in (
        (sparse.csr_array(X), y),
        (X, sparse.csr_array(y)),
        (sparse.csc_matrix(X), sparse.csr_matrix(y)),
    ):
        estimator.fit(rows, targets)
        _assert_equal_scores(_scores(estimator, rows), scores)
        np.testing.assert_array_equal(as_dense(estimator.predict(rows)), labels)


def check_labels_with_one_class_are_constant(estimator: Any) -> None:
    """A label that all or no training samples have raises no error, and is predicted for all or no queries."""
    X, y = _problem()
    y[:, 1], y[:, 3] = 0, 1
    for targets in (y, sparse.csr_array(y)):
        labels = as_dense(estimator.fit(X, targets).predict(X + 0.1))
        assert (labels[:, 1] == 0).all()
        assert (labels[:, 3] == 1).all()


def check_labels_permute_with_columns(estimator: Any) -> None:
    """Reordering the labels reorders the scores, to 1e-9."""
    X, y = _problem()
    order = np.array([3, 0, 4, 2, 1])
    scores = _scores(estimator.fit(X, y), X)
    _assert_equal_scores(_scores(clone(estimator).fit(X, y[:, order]), X), scores[:, order])


def check_each_query_is_answered_by_itself(estimator: Any) -> None:
    """A query's label set does not depend on the other queries, nor do its scores, to 1e-9."""
    X, y = _problem()
    estimator.fit(X, y)
    labels, scores = estimator.predict(X), _scores(estimator, X)
    np.testing.assert_array_equal(np.vstack([estimator.predict(row) for row in X[:, np.newaxis]]), labels)
    _assert_equal_scores(_scores(estimator, X[::-1]), scores[::-1])


def check_predict_changes_nothing(estimator: Any) -> None:
    """Neither `fit` nor `predict` changes its input, and `predict` stores nothing on the estimator."""
    X, y = _problem()
    X_before, Y_before = X.copy(), y.copy()
    estimator.fit(X, y)
    before = pickle.dumps(estimator)
    estimator.predict(X)
    _scores(estimator, X)
    assert pickle.dumps(estimator) == before
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, Y_before)


def check_fit_forgets(estimator: Any) -> None:
    """A second `fit` leaves no trace of the first, even with nothing to learn; pickling preserves predictions."""
    X, y = _problem()
    labels = clone(estimator).fit(X, y).predict(X)
    estimator.fit(X[:30, :2], y[:30, :3])
    np.testing.assert_array_equal(estimator.fit(X, y).predict(X), labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).predict(X), labels)
    same = np.tile(y[:1], (len(y), 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a regression may warn that there is nothing to learn
        assert set(vars(estimator.fit(X, same))) == set(vars(clone(estimator).fit(X, same)))


def check_updates_equal_fits(estimator: Any) -> None:
    """After `partial_fit` and `forget`, it equals a fit to the current samples in their order, bit for bit."""
    if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "forget")):
        return
    X, y = _problem()
    estimator.fit(X[:40], y[:40]).partial_fit(X[40:], y[40:]).forget([0, 45, 7])
    left = np.delete(np.arange(len(X)), [0, 45, 7])
    if hasattr(estimator, "retune"):
        estimator.retune()
    expected = clone(estimator).fit(X[left], y[left])
    np.testing.assert_array_equal(_scores(estimator, X), _scores(expected, X))
    np.testing.assert_array_equal(estimator.predict(X), expected.predict(X))


def check_left_out_answers_follow_labels(estimator: Any) -> None:
    """`loo_with_neighbors` yields the leave-one-out predictions, and with other label sets those of a fit to them."""
    if not hasattr(estimator, "loo_with_neighbors"):
        return
    X, y = _problem()
    other = np.where(np.arange(len(y))[:, np.newaxis] % 7 == 3, 1 - y, y)
    left_out = estimator.fit(X, y).loo_with_neighbors()
    for answers, targets in ((left_out, y), (left_out.relabelled(other), other)):
        rows, labels, scores = zip(*answers.answers(), strict=True)
        expected = clone(estimator).fit(X, targets)
        np.testing.assert_array_equal(np.concatenate(rows), np.arange(len(y)))
        np.testing.assert_array_equal(np.vstack(labels), expected.loo_predict())
        np.testing.assert_array_equal(np.vstack(scores), expected.loo_predict_proba())


def check_one_dimensional_target(estimator: Any) -> None:
    """A one-dimensional y of two classes is one label; results have the form of scikit-learn's binary classifiers."""
    X, y = _problem(1)
    for classes in (np.array([0, 1]), np.array([False, True]), np.array([-1.0, 1.0]), np.array(["ham", "spam"])):
        target = classes[y[:, 0]]
        one_column = clone(estimator).fit(X, y)
        estimator.fit(X, target)
        np.testing.assert_array_equal(estimator.classes_, classes)
        labels = estimator.predict(X)
        assert labels.dtype == target.dtype
        np.testing.assert_array_equal(labels, classes[one_column.predict(X)[:, 0]])
        scores, expected = _scores(estimator, X), _scores(one_column, X)
        if _response_method(estimator) == "predict_proba":
            _assert_equal_scores(scores, np.hstack([1 - expected, expected]))
        else:
            _assert_equal_scores(scores, expected[:, 0])
        assert 0 <= estimator.score(X, target) <= 1


def check_data_frames(estimator: Any) -> None:
    """Data frames are accepted, and the columns of y name the labels."""
    pd = import_optional("pandas", extra="test", purpose="The check of data frames")
    X, y = _problem()
    frame = pd.DataFrame(y, columns=list("abcde"))
    estimator.fit(pd.DataFrame(X).add_prefix("x"), frame)
    labels = estimator.predict(pd.DataFrame(X).add_prefix("x"))
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, clone(estimator).fit(X, y).predict(X))
    assert estimator.label_names_.tolist() == list("abcde")


def check_scikit_learn_tools(estimator: Any) -> None:
    """Pipelines, grid search with scikit-learn's multi-label scorers, and `cross_val_predict` work."""
    folds = KFold(2)
    for n_labels in (2, 5):
        X, y = _problem(n_labels)
        model = make_pipeline(MinMaxScaler(), estimator)
        assert cross_val_predict(model, X, y, cv=folds, method=_response_method(estimator)).shape == y.shape
        for targets, scorers in (
            (y, _PREDICTION_SCORERS + _SCORE_SCORERS),
            (sparse.csr_array(y), _PREDICTION_SCORERS),  # scikit-learn's others do not support sparse targets
        ):
            assert cross_val_predict(model, X, targets, cv=folds).shape == y.shape
            search = GridSearchCV(model, {}, scoring=list(scorers), refit=False, cv=folds, error_score="raise")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UndefinedMetricWarning)  # some samples have no labels
                results = search.fit(X, targets).cv_results_
            for scorer in scorers:
                assert np.isfinite(results[f"mean_test_{scorer}"]).all(), scorer


def check_bad_input_is_refused(estimator: Any) -> None:
    """Malformed label matrices, different features and use before `fit` raise ValueError."""
    X, y = _problem()
    for bad in (
        np.arange(len(y)) % 3,
        y[:, 0] * 0.5,
        y[:-1],
        y + 1,
        y * np.nan,
        y.astype(str),
        np.zeros((len(y), 0)),
        None,
    ):
        _assert_raises(partial(clone(estimator).fit, X, bad))
    _assert_raises(lambda: clone(estimator).predict(X))
    _assert_raises(lambda: clone(estimator).fit(X, y).predict(X[:, :2]))
    _assert_raises(lambda: clone(estimator).fit(X * np.nan, y))


_AVERAGES = ("macro", "micro", "samples", "weighted")
_PREDICTION_SCORERS = (
    "accuracy",
    *(f"{measure}_{average}" for measure in ("f1", "jaccard", "precision", "recall") for average in _AVERAGES),
)
_SCORE_SCORERS = ("average_precision", "roc_auc")

MULTILABEL_CHECKS: tuple[Check, ...] = (
    check_constructor_only_stores,
    check_scores_are_one_array,
    check_predictions_are_label_sets,
    check_container_of_labels_is_kept,
    check_sparse_equals_dense,
    check_labels_with_one_class_are_constant,
    check_labels_permute_with_columns,
    check_each_query_is_answered_by_itself,
    check_predict_changes_nothing,
    check_fit_forgets,
    check_updates_equal_fits,
    check_left_out_answers_follow_labels,
    check_one_dimensional_target,
    check_data_frames,
    check_scikit_learn_tools,
    check_bad_input_is_refused,
)


def _problem(n_labels: int = 5) -> tuple[Matrix, IntArray]:
    """Return 60 samples without ties, and label sets that depend on them, each label with both classes."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 5))
    y = (X[:, :n_labels] + 0.3 * rng.standard_normal((60, n_labels)) > 0.2).astype(np.int64)
    return X, y


def _unequal_problem() -> tuple[Matrix, IntArray]:
    """Return 60 samples with 5 labels, from frequent to rare."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 5))
    return X, (X + 0.3 * rng.standard_normal(X.shape) > [-0.5, 0.0, 0.4, 0.9, 1.3]).astype(np.int64)


def _assert_equal_scores(actual: Any, expected: Any) -> None:
    """Compare to 1e-9: the order of summation, in a matrix product or a solver, may change the last bits."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


def _scores(estimator: Any, X: Matrix) -> Any:
    return getattr(estimator, _response_method(estimator))(X)


def _response_method(estimator: Any) -> str:
    return "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"


def _assert_raises(call: Callable[[], object]) -> None:
    try:
        call()
    except ValueError:
        return
    raise AssertionError("ValueError was expected, but the call succeeded.")


def check_search(search: Any, *, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Run all checks of neighbour searches on clones of a search.

    A search has `fit(X)` and `kneighbors(X=None, n_neighbors=None)`, which returns distances and training indices, both
    of shape (n_queries, n_neighbors), nearest first. ``X=None`` means the training samples, each without itself (by
    index): an equal sample is still its neighbour.

    Parameters
    ----------
    search : object
        An unfitted search, exact or approximate.
    expected_failed_checks : mapping of str to str, default=None
        Names of checks to skip, with the reason why the search cannot pass each of them.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name and the requirement of the check.
    ValueError
        If a name in `expected_failed_checks` is not one of `SEARCH_CHECKS`.

    Notes
    -----
    At equal distances, nearlabel's searches return the smallest training indices first. A search may use another rule,
    which its docstring should describe, as long as every call follows it.

    Examples
    --------
    >>> from nearlabel.neighbors import ExactNeighbors
    >>> from nearlabel.testing import check_search
    >>> check_search(ExactNeighbors(metric="manhattan"))
    """
    run_checks(SEARCH_CHECKS, lambda: clone(search, safe=False), expected_failed_checks)


def check_metric(metric: Any, *, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Run all checks of metrics on a metric.

    Parameters
    ----------
    metric : str, Metric or callable
        Any value that `nearlabel.metrics.get_metric` accepts.
    expected_failed_checks : mapping of str to str, default=None
        Names of checks to skip, with the reason why the metric cannot pass each of them.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name and the requirement of the check.
    ValueError
        If a name in `expected_failed_checks` is not one of `METRIC_CHECKS`, or `metric` is not a metric.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.testing import check_metric
    >>> def share_of_agreeing_cells(y_true, y_pred):
    ...     return float(np.mean(y_true == y_pred))
    >>> check_metric(share_of_agreeing_cells)
    """
    known = get_metric(metric)
    run_checks(METRIC_CHECKS, lambda: known, expected_failed_checks)


def check_sampler(sampler: Any, *, expected_failed_checks: Mapping[str, str] | None = None) -> None:
    """Run all checks of samplers on clones of a sampler.

    A sampler has `fit_resample(X, y)`, which returns samples and label sets. It then has, for each of them,
    `sample_indices_`, the row of X that was copied, or -1, and `seed_indices_`, the row from which it was created, or
    -1 if there is no single one.

    Parameters
    ----------
    sampler : object
        An unfitted sampler. A parameter `random_state` is set to 0.
    expected_failed_checks : mapping of str to str, default=None
        Names of checks to skip, with the reason why the sampler cannot pass each of them.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name and the requirement of the check.
    ValueError
        If a name in `expected_failed_checks` is not one of `SAMPLER_CHECKS`.

    Examples
    --------
    >>> from nearlabel.resampling import MLSMOTE
    >>> from nearlabel.testing import check_sampler
    >>> check_sampler(MLSMOTE(n_neighbors=3))
    """
    seeded = {"random_state": 0} if "random_state" in sampler.get_params() else {}
    run_checks(SAMPLER_CHECKS, lambda: clone(sampler).set_params(**seeded), expected_failed_checks)


def run_checks(
    checks: Iterable[Check],
    make: Callable[[], Any],
    expected_failed_checks: Mapping[str, str] | None = None,
    *,
    seconds: float = math.inf,
) -> list[str]:
    """Run checks, each on its own object; any error in a check means that it fails.

    Parameters
    ----------
    checks : iterable of callable
        Checks: functions that get an object and raise an error if it fails; their docstrings are the requirements.
    make : callable
        Function that returns the object to check.
    expected_failed_checks : mapping of str to str, default=None
        Names of checks to skip, with reasons.
    seconds : float, default=inf
        No check starts after this time.

    Returns
    -------
    list of str
        Names of the checks that were not started in time.

    Raises
    ------
    AssertionError
        If a check fails; the message begins with the name and the requirement of the check.
    ValueError
        If `expected_failed_checks` contains an unknown name.
    """
    by_name = {check.__name__: check for check in checks}
    expected = expected_failed_checks or {}
    unknown = sorted(set(expected) - set(by_name))
    if unknown:
        raise ValueError(f"expected_failed_checks must name some of {', '.join(by_name)}, got {', '.join(unknown)}.")
    end = time.monotonic() + seconds
    not_started = []
    for name, check in by_name.items():
        if name in expected:
            continue
        if time.monotonic() > end:
            not_started.append(name)
            continue
        try:
            check(make())
        except Exception as error:  # user code may raise anything
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            raise AssertionError(f"{name}: {check.__doc__} {kind}{error}".rstrip()) from error
    return not_started


def check_search_returns_two_matrices(search: Any) -> None:
    """`kneighbors` returns ascending, finite distances and distinct training indices, both (n_queries, n_neighbors)."""
    X, queries = _points()
    _assert_neighbors(search.fit(X).kneighbors(queries, 4), len(queries), 4, len(X))
    _assert_neighbors(search.kneighbors(queries[:1], 1), 1, 1, len(X))
    assert search.fit(X) is search, "fit must return the search itself."


def check_search_leaves_a_row_out_of_its_own_list(search: Any) -> None:
    """``X=None`` means the training samples, each without itself (by index): an equal sample is its neighbour."""
    X, _ = _points()
    distances, indices = search.fit(X).kneighbors(None, 3)
    _assert_neighbors((distances, indices), len(X), 3, len(X))
    itself = np.flatnonzero((indices == np.arange(len(X))[:, np.newaxis]).any(axis=1))
    assert not len(itself), f"training sample {itself[:1]} is in its own list."
    assert indices[0, 0] == 1, "rows 0 and 1 are equal, so each must be the other's first neighbour."


def check_search_answers_alike(search: Any) -> None:
    """A query's neighbours, also at equal distances, are the same in every call and for all other queries."""
    X, queries = _points()
    _, indices = search.fit(X).kneighbors(queries, 4)
    np.testing.assert_array_equal(search.kneighbors(queries, 4)[1], indices)
    np.testing.assert_array_equal(np.vstack([search.kneighbors(row, 4)[1] for row in queries[:, np.newaxis]]), indices)


def check_search_changes_no_input(search: Any) -> None:
    """Neither `fit` nor `kneighbors` changes its input."""
    X, queries = _points()
    X_before, queries_before = X.copy(), queries.copy()
    search.fit(X).kneighbors(queries, 4)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(queries, queries_before)


def check_search_forgets(search: Any) -> None:
    """A second `fit` leaves no trace of the first, and a clone or an unpickled copy finds the same neighbours."""
    X, queries = _points()
    _, indices = clone(search, safe=False).fit(X).kneighbors(queries, 4)
    search.fit(X[:20, :2])
    np.testing.assert_array_equal(search.fit(X).kneighbors(queries, 4)[1], indices)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(search)).kneighbors(queries, 4)[1], indices)


def check_search_updates_equal_fits(search: Any) -> None:
    """After `add` and `remove`, it finds the same as a fit to the current samples in their order, bit for bit."""
    if not (hasattr(search, "add") and hasattr(search, "remove")):
        return
    X, queries = _points()
    search.fit(X[:20]).add(X[20:]).remove([0, 5, 21])
    expected = clone(search, safe=False).fit(np.delete(X, [0, 5, 21], axis=0))
    for asked in (queries, None):
        for got, wanted in zip(search.kneighbors(asked, 4), expected.kneighbors(asked, 4), strict=True):
            np.testing.assert_array_equal(got, wanted)


def check_metric_returns_a_number(metric: Any) -> None:
    """The value is one finite number, also for two labels."""
    for n_labels in (5, 2):
        y, given = _answers(metric, n_labels)
        value = metric(y, given)  # TypeError if it is not a number
        assert np.isfinite(value), f"{value!r} is not finite."


def check_metric_is_best_for_the_truth(metric: Any) -> None:
    """No prediction is better than the true label sets, and their opposite is worse: `greater_is_better` is correct."""
    y, given = _answers(metric)
    sign = 1 if metric.greater_is_better else -1
    truth = y.astype(given.dtype)
    best, value, worst = (sign * metric(y, answer) for answer in (truth, given, 1 - truth))
    assert best >= value, f"the truth has {sign * best}, another prediction {sign * value}."
    assert best > worst, f"the truth has {sign * best}, its opposite {sign * worst}."


def check_metric_ignores_the_order_of_samples(metric: Any) -> None:
    """Another order of the samples gives the same value, to 1e-9."""
    y, given = _answers(metric)
    np.testing.assert_allclose(metric(y[::-1], given[::-1]), metric(y, given), rtol=0, atol=1e-9)


def check_metric_changes_no_input(metric: Any) -> None:
    """Neither argument is changed."""
    y, given = _answers(metric)
    y_before, given_before = y.copy(), given.copy()
    metric(y, given)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(given, given_before)


def check_metric_weights_of_one_change_nothing(metric: Any) -> None:
    """If the function supports `sample_weight`, weights of 1 give the value without weights, to 1e-9."""
    if "sample_weight" not in inspect.signature(metric.function).parameters:
        return
    y, given = _answers(metric)
    weighted = metric(y, given, sample_weight=np.ones(len(y)))
    np.testing.assert_allclose(weighted, metric(y, given), rtol=0, atol=1e-9)


def check_sampler_says_where_rows_come_from(sampler: Any) -> None:
    """`sample_indices_` and `seed_indices_` give a row of X, or -1, for each sample; rows of X are copied unchanged."""
    X, y = _unequal_problem()
    made, labels = sampler.fit_resample(X, y)
    source, seed = sampler.sample_indices_, sampler.seed_indices_
    assert made.shape == (len(source), X.shape[1]), f"X is of shape {made.shape}."
    assert labels.shape == (len(source), y.shape[1]), f"y is of shape {labels.shape}."
    assert len(seed) == len(source), "sample_indices_ and seed_indices_ differ in length."
    for rows in (source, seed):
        assert rows.dtype.kind == "i", f"rows are of type {rows.dtype}."
        assert ((rows >= -1) & (rows < len(X))).all(), "an index is not that of a row."
    taken = source >= 0
    np.testing.assert_array_equal(seed[taken], source[taken], err_msg="a row taken is its own seed.")
    np.testing.assert_array_equal(made[taken], X[source[taken]])
    assert set(np.unique(labels)) <= {0, 1}, "label sets contain more than 0 and 1."


def check_sampler_keeps_the_order(sampler: Any) -> None:
    """Rows of X come first, in their order, then copies of them, then new samples."""
    sampler.fit_resample(*_unequal_problem())
    source = sampler.sample_indices_
    taken = source[source >= 0]
    assert (source[: len(taken)] >= 0).all(), "a new sample comes before a row of X."
    kept = np.unique(taken)
    np.testing.assert_array_equal(taken[: len(kept)], kept)


def check_sampler_answers_alike(sampler: Any) -> None:
    """A second call, another object and a pickled copy give the same samples, even with other calls in between."""
    X, y = _unequal_problem()
    other = clone(sampler)
    made, labels = sampler.fit_resample(X, y)
    other.fit_resample(X[:30, :2], y[:30, :3])
    for again in (sampler, other, pickle.loads(pickle.dumps(sampler))):
        made_again, labels_again = again.fit_resample(X, y)
        np.testing.assert_array_equal(made_again, made)
        np.testing.assert_array_equal(labels_again, labels)
        np.testing.assert_array_equal(again.sample_indices_, sampler.sample_indices_)


def check_sampler_changes_no_input(sampler: Any) -> None:
    """Neither X nor y is changed, nor are the constructor's parameters."""
    X, y = _unequal_problem()
    X_before, y_before, parameters = X.copy(), y.copy(), repr(sampler)
    sampler.fit_resample(X, y)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert repr(clone(sampler)) == parameters


def check_sampler_keeps_containers(sampler: Any) -> None:
    """Sparse X and y, in every combination, give sparse results equal to dense ones; the type of y is preserved."""
    X, y = _unequal_problem()
    X[X < 0] = 0
    made, labels = sampler.fit_resample(X, y)
    for rows, targets in ((sparse.csr_array(X), y), (X, sparse.csr_array(y)), (sparse.csr_matrix(X), y == 1)):
        other, other_labels = sampler.fit_resample(rows, targets)
        assert type(other) is type(rows), f"X is of type {type(other).__name__}."
        assert type(other_labels) is type(targets), f"y is of type {type(other_labels).__name__}."
        assert other_labels.dtype == targets.dtype, f"y is of dtype {other_labels.dtype}."
        _assert_equal_scores(as_dense(other), made)
        np.testing.assert_array_equal(as_dense(other_labels), labels)


def check_sampler_refuses_bad_input(sampler: Any) -> None:
    """X and y of different lengths, and y that contains more than 0 and 1, raise errors."""
    X, y = _unequal_problem()
    _assert_raises(lambda: sampler.fit_resample(X[:-1], y))
    _assert_raises(lambda: sampler.fit_resample(X, y + 1))


SAMPLER_CHECKS: tuple[Check, ...] = (
    check_sampler_says_where_rows_come_from,
    check_sampler_keeps_the_order,
    check_sampler_answers_alike,
    check_sampler_changes_no_input,
    check_sampler_keeps_containers,
    check_sampler_refuses_bad_input,
)

SEARCH_CHECKS: tuple[Check, ...] = (
    check_search_returns_two_matrices,
    check_search_changes_no_input,
    check_search_leaves_a_row_out_of_its_own_list,
    check_search_answers_alike,
    check_search_forgets,
    check_search_updates_equal_fits,
)

METRIC_CHECKS: tuple[Check, ...] = (
    check_metric_returns_a_number,
    check_metric_changes_no_input,
    check_metric_is_best_for_the_truth,
    check_metric_ignores_the_order_of_samples,
    check_metric_weights_of_one_change_nothing,
)


def _points() -> tuple[Matrix, Matrix]:
    """Return 40 samples, of which the first two are equal, and 7 queries, of which the first is a training sample."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 5))
    X[1] = X[0]
    return X, np.vstack([X[5], rng.standard_normal((6, 5))])


def _assert_neighbors(answer: Any, n_queries: int, n_neighbors: int, n_samples: int) -> None:
    distances, indices = map(np.asarray, answer)
    shape = n_queries, n_neighbors
    assert distances.shape == indices.shape == shape, f"shapes {distances.shape} and {indices.shape} are not {shape}."
    assert np.isfinite(distances).all(), "a distance is not finite."
    assert (np.diff(distances, axis=1) >= 0).all(), "distances do not ascend."
    assert indices.dtype.kind in "iu", f"indices of type {indices.dtype} are not whole numbers."
    assert ((indices >= 0) & (indices < n_samples)).all(), "an index is not that of a training sample."
    assert all(len(set(row)) == n_neighbors for row in indices.tolist()), "a training sample is found twice."


def _answers(metric: Any, n_labels: int = 5) -> tuple[Matrix, Matrix]:
    """Return label sets, and partly wrong predictions or scores, whichever the metric needs."""
    _, y = _problem(n_labels)
    scores = 0.6 * y + 0.4 * np.random.RandomState(1).uniform(size=y.shape) * (1 + 0.5 * (1 - y))
    wrong = np.random.RandomState(2).uniform(size=y.shape) < 0.2
    scores[wrong] = 1 - scores[wrong]
    return y, scores if metric.needs == "score" else (scores >= 0.5).astype(np.int64)
