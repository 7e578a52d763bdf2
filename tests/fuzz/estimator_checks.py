"""What an estimator owes any problem: the right answer or a clear error, the same from every container and process."""

from __future__ import annotations

import copy
import os
import pickle
import re
import signal
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from fuzz.estimator_models import Model
from fuzz.estimator_problems import CONTAINERS, LABEL_CONTAINERS, Problem

_CLOSE, _CLOSE_OF_SOLVERS = 1e-9, 1e-6  # what scores of different containers may differ by
_UNDEFINED_FOR_SOME_ROWS = ("braycurtis", "correlation", "mahalanobis")  # empty, constant or dependent ones
_PATIENCE = 20  # seconds that a forked child has
# Texts of libraries that say nothing to a user.
_UNCLEAR = re.compile(
    r"Please do report|could not be broadcast|could not broadcast|zero-size array|out of bounds for axis|NoneType"
    r"|object has no attribute|not aligned|reduction operation|math domain|division by zero|dimension mismatch"
    r"|mismatch in its core dimension|unexpected keyword|SVD did not|Singular matrix|arange: cannot"
    r"|overflow encountered|cannot convert float"
)


class WrongError(AssertionError):
    """An estimator broke its promise; the text says which."""


def check(problem: Problem, model: Model, *, processes: bool = True) -> str:
    """Return "answered", or "refused: ..." with the error's text; raise WrongError where a promise is broken.

    `processes` says whether workers of joblib may be started, which takes a second.
    """
    with tempfile.TemporaryDirectory() as folder, _strict_about_numbers():
        rows, labels = CONTAINERS["array"](problem.rows, "f8", Path(folder)), _labels_of(problem)
        first = _tried(lambda: _Fitted(model.make(problem.k), rows, labels, problem.queries))
        stored = _tried(lambda: _stored(problem, model, Path(folder)))
        if not (model.dense_only and problem.container.startswith("C")):
            _compare(problem, model, first, stored)
        if isinstance(first, Exception):
            _check_refusal(problem, model, first)
            return f"refused: {first}"
        _check_answer(problem, model, first)
        _check_copies(problem, first, processes=processes)
    return "answered"


@contextmanager
def _strict_about_numbers() -> Any:
    """Make warnings of numpy errors: what overflows unnoticed is wrong. Advice, and slow convergence, are no fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning)
        warnings.filterwarnings("ignore", category=ConvergenceWarning)
        yield


class _Fitted:
    """An estimator fitted to rows, and its answers to queries."""

    def __init__(self, estimator: Any, rows: Any, labels: Any, queries: Any) -> None:
        self.estimator, self.rows, self.labels, self.queries = estimator, rows, labels, queries
        before = [_fingerprint(part) for part in (rows, labels, queries)]
        estimator.fit(rows, labels)
        self.answer = _answers(estimator, queries)
        if [_fingerprint(part) for part in (rows, labels, queries)] != before:
            raise WrongError("fit or predict has changed its input.")


def _answers(estimator: Any, queries: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return label sets, one column for each label that y had, and scores."""
    labels = _dense(estimator.predict(queries))
    method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    return labels, _dense(getattr(estimator, method)(queries))


def _dense(matrix: Any) -> np.ndarray:
    return np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)


def _tried(work: Callable[[], _Fitted]) -> _Fitted | Exception:
    """Return what is made, or the error; WrongError, and errors of other types than users are told of, are raised."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError) and not type(error).__module__.startswith("nearlabel"):
            raise WrongError(f"raw {type(error).__name__}: {error}") from error
        if len(str(error).split()) < 4 or _UNCLEAR.search(str(error)):
            raise WrongError(f"unclear {type(error).__name__}: {error}") from error
        return error
    except WrongError:
        raise
    except Exception as error:
        raise WrongError(f"raw {type(error).__name__}: {error}") from error


def _labels_of(problem: Problem) -> Any:
    return LABEL_CONTAINERS["int64"](problem.labels)


def _stored(problem: Problem, model: Model, folder: Path) -> _Fitted:
    """Return a fit to the same numbers in the problem's containers; labels that no row has are unknown to tags."""
    rows = CONTAINERS[problem.container](problem.rows, problem.dtype, folder)
    labels = LABEL_CONTAINERS[problem.label_container](problem.labels)
    queries = CONTAINERS[problem.container](problem.queries, problem.dtype, folder)
    return _Fitted(model.make(problem.k), rows, labels, queries)


def _compare(problem: Problem, model: Model, first: _Fitted | Exception, stored: _Fitted | Exception) -> None:
    """Raise WrongError unless both were refused, or both answered alike."""
    odd = problem.rows.size == 0 or (
        problem.label_container == "tags" and not problem.labels.any()
    )  # a list of nothing
    if isinstance(first, Exception) or isinstance(stored, Exception):
        if isinstance(first, Exception) != isinstance(stored, Exception) and not odd:
            refused = first if isinstance(first, Exception) else stored
            if refused is stored and "squared norm" in str(refused):
                return  # scaling moves a constant feature of 1e156 to 0 in an array only: zeros of sparse rows stay
            if "ridge must be larger" in str(refused) and not problem.is_ordinary:
                return  # 0.01 beside squares of 1e300 is lost, so rounding decides whether equations can be solved
            which = "an array" if isinstance(first, Exception) else f"{problem.container}, {problem.label_container}"
            raise WrongError(f"only {which} was refused: {refused}")
        return
    known = (
        problem.labels.any(axis=0)
        if problem.label_container == "tags"
        else np.ones(problem.labels.shape[1], dtype=bool)
    )
    if not known.all():
        return  # other label sets: labels that all methods see together are fewer
    if model.has_solver and not problem.is_well_conditioned:
        return
    for what, ours, theirs in zip(("label sets", "scores"), first.answer, stored.answer, strict=True):
        tolerance = 0 if what == "label sets" else _CLOSE_OF_SOLVERS if model.has_solver else _CLOSE
        if not np.allclose(ours, theirs, rtol=tolerance, atol=tolerance):
            raise WrongError(f"{what} of an array and of {problem.container}, {problem.label_container} differ.")


def _check_refusal(problem: Problem, model: Model, error: Exception) -> None:
    may_be_undefined = problem.model.endswith(_UNDEFINED_FOR_SOME_ROWS)
    if problem.is_ordinary and not may_be_undefined and not _may_refuse_few(problem):
        raise WrongError(f"an ordinary problem was refused: {error}")


def _may_refuse_few(problem: Problem) -> bool:
    """Return whether folds or resampling may have nothing to learn from.

    So few rows carry, or lack, a label; or all rows are equal, and MRSP3 makes one prototype of them.
    """
    counts = problem.labels.sum(axis=0)
    is_one_place = problem.model.endswith("MRSP3") and (problem.rows == problem.rows[0]).all()
    return bool((np.minimum(counts, len(problem.labels) - counts) < 4).any() or is_one_place)


def _check_answer(problem: Problem, model: Model, fitted: _Fitted) -> None:
    if problem.bad_cell and not _takes_gaps(problem):
        raise WrongError("a value that is NaN or infinite was taken.")
    labels, scores = fitted.answer
    if labels.shape != (len(problem.queries), problem.labels.shape[1]):
        raise WrongError(f"label sets are of shape {labels.shape}.")
    if not np.isin(labels, (0, 1)).all():
        raise WrongError("label sets contain more than 0 and 1.")
    if not np.isfinite(scores).all():
        raise WrongError("scores are not finite.")
    if hasattr(fitted.estimator, "predict_proba") and ((scores < 0) | (scores > 1)).any():
        raise WrongError("probabilities are not between 0 and 1.")
    _check_reference(problem, model, fitted)


def _takes_gaps(problem: Problem) -> bool:
    return problem.model in ("BRkNN by heom", "BRkNN by nan_euclidean") and not np.isinf(problem.rows).any()


def _check_reference(problem: Problem, model: Model, fitted: _Fitted) -> None:
    """Compare with loops over the definition, on small whole numbers in place of their multiples by a power of two."""
    rows, queries = (np.ldexp(some, -problem.exponent) for some in (problem.rows, problem.queries))
    if model.scale_free and problem.exponent:
        near = _Fitted(model.make(problem.k), rows, _labels_of(problem), queries)
        if not np.array_equal(near.answer[0], fitted.answer[0]):
            raise WrongError("label sets change when all features are multiplied by a power of two.")
    if model.reference is None or (problem.exponent and not model.scale_free):
        return
    labels, scores = model.reference(rows, problem.labels, queries, problem.k)
    if labels is not None and not np.array_equal(labels, fitted.answer[0]):
        raise WrongError("label sets are not those of the slow reference.")
    if scores is not None and not np.allclose(scores, fitted.answer[1], rtol=1e-9, atol=1e-9):
        raise WrongError("scores are not those of the slow reference.")


def _check_copies(problem: Problem, fitted: _Fitted, *, processes: bool) -> None:
    """Ask eight threads at once, a copy, a forked child, and and rarely a worker of joblib: all give the same bits."""
    estimator, queries = fitted.estimator, fitted.queries
    answers = {
        "eight threads": lambda: _in_threads(estimator, queries),
        "pickle": lambda: [_answers(pickle.loads(pickle.dumps(estimator)), queries)],
        "deepcopy": lambda: [_answers(copy.deepcopy(estimator), queries)],
        "a clone fitted again": lambda: [_answers(clone(estimator).fit(fitted.rows, fitted.labels), queries)],
    }
    if hasattr(os, "fork"):
        answers["a forked child"] = lambda: [_in_child(estimator, queries)]
    if processes and problem.seed % 50 == 0:
        answers["a worker of joblib"] = lambda: Parallel(n_jobs=2)(
            delayed(_answers)(estimator, queries) for _ in range(2)
        )
    for who, ask in answers.items():
        for answer in ask():
            if not all(np.array_equal(ours, theirs) for ours, theirs in zip(fitted.answer, answer, strict=True)):
                raise WrongError(f"{who} answered otherwise.")


def _in_threads(estimator: Any, queries: Any, n_threads: int = 8) -> list[Any]:
    """Let threads begin together."""
    barrier = Barrier(n_threads)

    def ask() -> Any:
        barrier.wait()
        return _answers(estimator, queries)

    with ThreadPoolExecutor(n_threads) as pool:
        return [task.result() for task in [pool.submit(ask) for _ in range(n_threads)]]


def _in_child(estimator: Any, queries: Any) -> Any:
    """Return the answers of a forked child; WrongError if it hangs or dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # nothing may leave this branch
        try:
            _end_in_time()
            with os.fdopen(writing, "wb") as stream:
                pickle.dump(_answers(estimator, queries), stream)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        content = stream.read()
    os.waitpid(child, 0)
    if not content:
        raise WrongError("a forked child died, hung or failed.")
    return pickle.loads(content)


def _end_in_time() -> None:
    """Let the system end this process if it does not end by itself: what hangs in compiled code heeds nothing else."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_PATIENCE)


def _fingerprint(part: Any) -> Any:
    """Return what tells whether a container was changed: its arrays as bytes, or its values."""
    if isinstance(part, np.ndarray):
        return part.tobytes() if part.dtype != object else part.tolist(), part.dtype, part.shape
    if sparse.issparse(part):
        names = [name for name in ("data", "indices", "indptr", "row", "col", "coords", "rows") if hasattr(part, name)]
        return [_fingerprint(np.asarray(getattr(part, name))) for name in names], part.shape
    return repr(part) if isinstance(part, list) else _fingerprint(part.to_numpy())
