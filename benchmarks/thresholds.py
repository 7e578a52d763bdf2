"""What does the global optimum of micro-averaged F cost, beside a sort, the paper's algorithm and scikit-learn's tuner?

Scores of n rows and L labels, five true labels a row, rare and frequent ones; true labels score higher. Each way gets
the same scores and label sets, and says which micro F1 it reaches on them:

- "sort": `numpy.sort` of every label's scores, once: an exact search over all cuts must know their order. "sort, by
  columns" is given the scores already transposed in memory, the least that a sort can take.
- "Algorithm 1": the paper's, as `PillaiAscent` has it, with prefix sums and every distinct score as candidate.
- "Algorithm 1, naive": the same moves, but F is computed anew for each candidate by scikit-learn's `f1_score`.
- "scikit-learn's tuner": `TunedThresholdClassifierCV`, which is binary, a label at a time: 100 thresholds for each, the
  label's own F1. What a user would write today; it does not maximise micro F.

"s" is the median of the fit alone; "ratio" that over MicroFOptimum's, "of least" the ratio of the least of each. That
no way reaches more than the optimum, and the paper's algorithm as much, is asserted.

Run: ``python benchmarks/thresholds.py``. The large problem takes 6 GB; ``--sizes 300x10 10000x100`` leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import f1_score
from sklearn.model_selection import TunedThresholdClassifierCV

from _harness import Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.metrics import micro_f1
from nearlabel.thresholds import GlobalCut, MicroFOptimum, PillaiAscent, SCut

SIZES = ("300x10", "10000x100", "100000x1000")
_MOST_CELLS = {"Algorithm 1, naive": 10_000, "scikit-learn's tuner": 2_000_000}

Stages = Mapping[str, Callable[[], Any]]


def problem(size: str) -> tuple[NDArray[np.float64], Any]:
    """Return scores (n, L) and label sets in CSR, the same ones each time."""
    n, n_labels = map(int, size.split("x"))
    rng = np.random.default_rng(0)
    share = 1 / np.arange(1, n_labels + 1) ** 0.7
    share *= 5 / share.sum()
    scores = rng.random((n, n_labels))
    rows, labels = [], []
    for label, p in enumerate(np.minimum(share, 0.9)):
        carriers = np.flatnonzero(rng.random(n) < p)
        scores[carriers, label] = np.sqrt(scores[carriers, label]) + 0.3 * rng.random(len(carriers))
        rows.append(carriers)
        labels.append(np.full(len(carriers), label))
    rows, labels = np.concatenate(rows), np.concatenate(labels)
    return scores, sparse.csr_array((np.ones(len(rows), dtype=np.int64), (rows, labels)), shape=(n, n_labels))


def prepare_strategy(size: str, strategy: Any) -> Stages:
    """Return the fit of one of our strategies."""
    scores, Y = problem(size)
    strategy.fit(scores[:50], Y[:50])
    return {"fit": lambda: strategy.fit(scores, Y), "value": lambda: micro_f1(Y, strategy.predict(scores))}


def prepare_sort(size: str, by_columns: bool) -> Stages:
    """Return a sort of each label's scores."""
    scores, _ = problem(size)
    if by_columns:
        scores = np.ascontiguousarray(scores.T)
    axis = 1 if by_columns else 0
    return {"fit": lambda: float(np.sort(scores, axis=axis).ravel()[0]), "value": lambda: None}


class Scored(ClassifierMixin, BaseEstimator):
    """A fitted binary classifier whose probability is its only feature."""

    classes_ = np.array([0, 1])

    def fit(self, X: Any, y: Any) -> Scored:
        """Nothing is learnt."""
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return both probabilities."""
        return np.column_stack([1 - X[:, 0], X[:, 0]])

    def __sklearn_is_fitted__(self) -> bool:
        """Always."""
        return True


def prepare_scikit_learn(size: str) -> Stages:
    """Return scikit-learn's binary tuner for each label."""
    scores, Y = problem(size)
    targets = Y.toarray()
    thresholds = np.empty(scores.shape[1])

    def fit() -> None:
        for label in range(scores.shape[1]):
            tuner = TunedThresholdClassifierCV(Scored(), scoring="f1", cv="prefit", refit=False)
            thresholds[label] = tuner.fit(scores[:, [label]], targets[:, label]).best_threshold_

    return {"fit": fit, "value": lambda: micro_f1(targets, (scores >= thresholds).astype(int))}


def prepare_naive(size: str) -> Stages:
    """Return Algorithm 1 with F computed anew for every candidate."""
    scores, Y = problem(size)
    truth = Y.toarray()
    reached: list[float] = []
    return {"fit": lambda: reached.append(naive_ascent(scores, truth)), "value": lambda: reached[-1]}


def naive_ascent(scores: NDArray[np.float64], truth: NDArray[np.int64]) -> float:
    """Return the micro F1 at the end of Algorithm 1."""
    thresholds = np.full(scores.shape[1], -np.inf)
    best = f1_score(truth, np.ones_like(truth), average="micro")
    updated = True
    while updated:
        updated = False
        for label in range(scores.shape[1]):
            predicted = (scores >= thresholds).astype(int)
            for cut in np.append(np.unique(scores[scores[:, label] >= thresholds[label], label]), np.inf):
                predicted[:, label] = scores[:, label] >= cut
                value = f1_score(truth, predicted, average="micro", zero_division=0.0)
                if value > best:
                    best, thresholds[label], updated = value, cut, True
    return float(best)


def jobs_of(size: str) -> list[Job]:
    """Return all ways that are not out of reach for a problem of this size."""
    n, n_labels = map(int, size.split("x"))
    jobs = [
        Job("MicroFOptimum", prepare_strategy, (size, MicroFOptimum())),
        Job("sort", prepare_sort, (size, False)),
        Job("sort, by columns", prepare_sort, (size, True)),
        Job("Algorithm 1", prepare_strategy, (size, PillaiAscent())),
        Job("Algorithm 1, naive", prepare_naive, (size,)),
        Job("scikit-learn's tuner", prepare_scikit_learn, (size,)),
        Job("SCut (each label's own F)", prepare_strategy, (size, SCut())),
        Job("GlobalCut (one threshold)", prepare_strategy, (size, GlobalCut())),
    ]
    return [job for job in jobs if n * n_labels <= _MOST_CELLS.get(job.name, n * n_labels)]


def describe(measured: Mapping[str, Measurement]) -> dict[str, Any]:
    """Return the figures of one size."""
    ours = measured["MicroFOptimum"]
    return {
        name: one.describe()
        | {
            "micro_f1": None if one.answer is None else round(float(one.answer), 5),
            "ratio": round(one.median("fit") / ours.median("fit"), 3),
            "ratio_of_minima": round(one.minimum("fit") / ours.minimum("fit"), 3),
        }
        for name, one in measured.items()
    }


def check(results: Mapping[str, Any]) -> None:
    """Raise unless no way reaches more than the optimum, and the paper's algorithm as much."""
    best = results["MicroFOptimum"]["micro_f1"]
    for name, one in results.items():
        if one["micro_f1"] is not None and one["micro_f1"] > best:
            raise AssertionError(f"{name} must not exceed the optimum {best}, got {one['micro_f1']}.")
        if name.startswith("Algorithm 1") and one["micro_f1"] != best:
            raise AssertionError(f"{name} must reach the optimum {best}, got {one['micro_f1']}.")


def table_of(size: str, results: Mapping[str, Any]) -> Table:
    """Return the table of one size."""
    headers = ("", "s", "ratio", "of least", "micro F1", "peak MiB", "processes/passes")
    rows = [
        (
            name,
            one["seconds"]["fit"]["wall_median"],
            one["ratio"],
            one["ratio_of_minima"],
            one["micro_f1"],
            one["peak_mib"],
            one["processes/passes"],
        )
        for name, one in results.items()
    ]
    return Table(f"{size} scores (rows x labels)", headers, rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison, print it and save it."""
    parser = parser_for(__doc__, "thresholds", repeats=3)
    parser.add_argument("--sizes", nargs="+", help=f"rows x labels ({' '.join(SIZES)})")
    options = parser.parse_args(arguments)
    print_facts()
    results, tables = {}, []
    for size in options.sizes or SIZES[: 1 if options.quick else None]:
        results[size] = describe(measure(jobs_of(size), options.repeats))
        check(results[size])
        tables.append(table_of(size, results[size]))
        show(tables[-1:])
    save(options, __doc__ or "", results, tables)


if __name__ == "__main__":
    main()
