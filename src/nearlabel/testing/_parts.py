"""The requirements for searches, metrics and samplers, as checks; and the problems that all checks use."""

from __future__ import annotations

import inspect
import math
import pickle
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel.metrics import get_metric
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense

Check = Callable[[Any], None]


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
    >>> from nearlabel.preprocessing import MLSMOTE
    >>> from nearlabel.testing import check_sampler
    >>> check_sampler(MLSMOTE(n_neighbors=3))
    """
    seeded = {"random_state": 0} if "random_state" in sampler.get_params() else {}
    run_checks(SAMPLER_CHECKS, lambda: clone(sampler).set_params(**seeded), expected_failed_checks)


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
    check_sampler_says_where_rows_come_from, check_sampler_keeps_the_order, check_sampler_answers_alike,
    check_sampler_changes_no_input, check_sampler_keeps_containers, check_sampler_refuses_bad_input,
)  # fmt: skip

SEARCH_CHECKS: tuple[Check, ...] = (
    check_search_returns_two_matrices, check_search_changes_no_input, check_search_leaves_a_row_out_of_its_own_list,
    check_search_answers_alike, check_search_forgets, check_search_updates_equal_fits,
)  # fmt: skip

METRIC_CHECKS: tuple[Check, ...] = (
    check_metric_returns_a_number, check_metric_changes_no_input, check_metric_is_best_for_the_truth,
    check_metric_ignores_the_order_of_samples, check_metric_weights_of_one_change_nothing,
)  # fmt: skip


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


def _problem(n_labels: int = 5, thresholds: Any = 0.2) -> tuple[Matrix, IntArray]:
    """Return 60 samples without ties, and label sets that depend on them, each label with both classes."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 5))
    y = (X[:, :n_labels] + 0.3 * rng.standard_normal((60, n_labels)) > thresholds).astype(np.int64)
    return X, y


def _unequal_problem() -> tuple[Matrix, IntArray]:
    """Return 60 samples with 5 labels, from frequent to rare."""
    return _problem(thresholds=[-0.5, 0.0, 0.4, 0.9, 1.3])


def _assert_equal_scores(actual: Any, expected: Any) -> None:
    """Compare to 1e-9: the order of summation, in a matrix product or a solver, may change the last bits."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9)


def _assert_raises(call: Callable[[], object]) -> None:
    try:
        call()
    except ValueError:
        return
    raise AssertionError("ValueError was expected, but the call succeeded.")
