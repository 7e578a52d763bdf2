"""The requirements for multi-label classifiers, as checks."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.testing._parts import Check, _assert_equal_scores, _assert_raises, _problem
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import as_dense

# Checks with few samples, and their numbers of samples.
_SAMPLES_OF_CHECKS = {
    "check_classifiers_one_label": 10,
    "check_classifiers_one_label_sample_weights": 5,  # of a weight above 0
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
        Whether it supports `sample_weight` and draws samples at random, assigns them to calibration folds at random, or
        takes them as neighbours: then a weight of 2 differs from a repeated sample.

    Returns
    -------
    dict of str to str
        For the argument `expected_failed_checks` of `sklearn.utils.estimator_checks.check_estimator`.

    Examples
    --------
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.testing import expected_failed_checks
    >>> reasons = expected_failed_checks(min_samples=11, scores_tie=True, draws_samples=True)  # of 10 neighbours
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
                "it draws samples, assigns them to folds at random, or finds neighbours; a repeated sample counts twice"
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
    """After `partial_fit` and `forget`, it equals a fit to the current samples in their order, bit for bit.

    With landmarks, which stay, it equals the former fit to 1e-8 when the added samples are gone again.
    """
    if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "forget")):
        return
    X, y = _problem()
    if hasattr(estimator.fit(X[:40], y[:40]), "landmarks_"):
        expected = _scores(estimator, X)
        estimator.partial_fit(X[40:], y[40:]).forget(np.arange(40, len(X)))
        np.testing.assert_allclose(_scores(estimator, X), expected, rtol=0, atol=1e-8)
        return
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
    check_constructor_only_stores, check_scores_are_one_array, check_predictions_are_label_sets,
    check_container_of_labels_is_kept, check_sparse_equals_dense, check_labels_with_one_class_are_constant,
    check_labels_permute_with_columns, check_each_query_is_answered_by_itself, check_predict_changes_nothing,
    check_fit_forgets, check_updates_equal_fits, check_left_out_answers_follow_labels, check_one_dimensional_target,
    check_data_frames, check_scikit_learn_tools, check_bad_input_is_refused,
)  # fmt: skip


def _scores(estimator: Any, X: Matrix) -> Any:
    return getattr(estimator, _response_method(estimator))(X)


def _response_method(estimator: Any) -> str:
    return "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
