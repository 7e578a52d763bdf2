"""Which method wins where: all methods, with thresholds, on all data sets of the catalogue that are found.

Each method is fitted once to each data set: to the published training part, or to two thirds of the shuffled rows, and
judged on the others. At most 500 training and 1,000 test rows are drawn and shuffled, with a fixed seed. Words and
flags (no value below 0, at most a quarter of the values other than 0) get weights by tf-idf and rows of length 1,
unless their rows have length 1 already, and neighbours are those by the cosine; other features are min-max scaled.
`NeighborsClassifierCV` gets the features as they are, and chooses. Methods by neighbours have 10 of them; what is
random has the seed 0. Thresholds (``@micro-f``) are tuned on leave-one-out scores, or on those of five folds.

A fit with its predictions that takes more seconds of a core than the limit is ended, in a process of its own: a method
that was not done in time, or that cannot do a data set, ranks last there. Data sets come in the order of their numbers
of labels; after three that were not done a method is not tried on those that follow.

Makes the tables of ``docs/figures/which_method.md`` and its diagram. Results are kept in
``benchmarks/results/which_method.jsonl``, a line for each data set and method: a second run goes on where the first
stopped; ``--again METHOD`` forgets a method's lines.

Run: ``python benchmarks/which_method.py``; about an hour on one core. ``--sets emotions,scene`` for some.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from _harness import add_record, read_records, write_figures, write_records
from nearlabel import NeighborsClassifierCV
from nearlabel.comparison import FriedmanTest, PairedValues, compare, paired_tests, paired_values
from nearlabel.datasets import catalogue, fetch_dataset
from nearlabel.experiments import Candidate
from nearlabel.metrics import get_metric, score_all
from nearlabel.plots import CriticalDifferenceDisplay
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.types import FloatArray

RESULTS = Path(__file__).parent / "results" / "which_method.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "figures" / "which_method.md"
DIAGRAM = PAGE.parents[1] / "_static" / "which_method.svg"
METRICS = ("micro_f1", "macro_f1", "hamming_loss", "average_precision", "ranking_loss")
_REPEATED = ("meka-", "reuters21578-terms")  # rows of other sets once more
_FOUND = [name for name in catalogue() if not name.startswith(_REPEATED)]
SETS = tuple(sorted(_FOUND, key=lambda name: catalogue()[name].labels))
MOST_ROWS = {"training": 500, "test": 1_000}
MOST_FILLED = 0.25  # of the values of words and flags
N_NEIGHBORS = 10
SECONDS = 20.0  # of a core, for a fit and its predictions
TOO_LONG, NOT_TRIED = "took more than {seconds:g} s", "not tried, after three like it"
WORST = {True: -1.0, False: 2.0}  # of a method that was not done: worse than any value, by whether greater is better
TITLES = dict(zip(METRICS, ("micro F1", "macro F1", "Hamming loss", "average precision", "ranking loss"), strict=True))
NUMBERS = ("emotions", "scene", "yeast", "image", "cal500")  # the others are words and flags, as `are_words` finds
YARDSTICK = "mlknn@micro-f"
_LEAST_SECONDS = 0.001  # less cannot be told from nothing
CHOOSES = "NeighborsClassifierCV()"

# Cheap ones first, so that a run that is stopped has many on all data sets: the page is of those. Without an @: a
# method's own decision. That is what BRkNN-a, BRkNN-b, LPkNN, SMBR and NLDD are; their scores are those of BRkNN and of
# binary relevance.
TIERS = (
    (
        "mlknn@micro-f",
        "mlknn",
        "brknn@micro-f",
        "brknn",
        "brknn-a",
        "brknn-b",
        "lpknn",
        "brknn:weights=distance@micro-f",
        "dmlknn@micro-f",
        "cmlknn@micro-f",
        "mlmlm@micro-f",
        CHOOSES,
        "iblr@micro-f",
        "br:estimator=logistic@micro-f",
        "nldd:estimator=logistic",
    ),
    ("br@micro-f", "smbr", "nldd", "rakeld@micro-f", "lp@micro-f", "rfpct@micro-f", "interpolation@micro-f"),
    ("ecc:estimator=logistic@micro-f",),
    ("rakelo@micro-f",),
    ("ecc@micro-f",),
    ("ebr@micro-f",),
    ("homer@micro-f",),
    ("bpmll@micro-f",),
    ("adaboostmh@micro-f",),
    ("cbm@micro-f",),
    ("adtboostmh@micro-f",),
    ("ranksvm@micro-f",),
)
METHODS = tuple(method for tier in TIERS for method in tier)
SHOWN = (
    "mlknn@micro-f",
    "mlmlm@micro-f",
    CHOOSES,
    "br:estimator=logistic@micro-f",
    "rfpct@micro-f",
    "interpolation@micro-f",
)


class Parts(NamedTuple):
    """Training and test rows of a data set."""

    X: Any
    Y: Any
    X_test: Any
    Y_test: Any


@lru_cache(1)
def parts_of(name: str) -> Parts:
    """Return the rows of a data set that are used, as they are."""
    if "train" in catalogue()[name].subsets:
        training, test = (fetch_dataset(name, subset) for subset in ("train", "test"))
        parts = Parts(training.X, training.Y, test.X, test.Y)
    else:
        data = fetch_dataset(name)
        order = np.random.default_rng(0).permutation(data.X.shape[0])
        first, last = order[: 2 * len(order) // 3], order[2 * len(order) // 3 :]
        parts = Parts(data.X[first], data.Y[first], data.X[last], data.Y[last])
    return Parts(*_drawn(*parts[:2], MOST_ROWS["training"]), *_drawn(*parts[2:], MOST_ROWS["test"]))


def _drawn(X: Any, Y: Any, most: int) -> tuple[Any, Any]:
    rows = np.random.default_rng(0).permutation(X.shape[0])[:most]
    return X[rows], Y[rows].toarray() if sparse.issparse(Y) else np.asarray(Y[rows])


def candidate_for(X: Any, method: str) -> Candidate:
    """Return a method with the scaling and the distance that are sensible for some training rows."""
    if not are_words(X):
        return Candidate(method, N_NEIGHBORS, "minmax", "exact")
    lengths = np.sqrt(np.asarray(sparse.csr_array(X).power(2).sum(axis=1)))
    scale = "none" if np.allclose(lengths[lengths > 0], 1) else "tfidf"
    return Candidate(method, N_NEIGHBORS, scale, "exact:metric=cosine")


def are_words(X: Any) -> bool:
    """Return whether training rows look like words or flags: no value below 0, few others than 0."""
    rows = sparse.csr_array(X)
    return bool(rows.min() >= 0 and rows.count_nonzero() <= MOST_FILLED * np.prod(rows.shape))


def measure(name: str, method: str, parts: Parts, seconds: float) -> dict[str, Any]:
    """Fit a method to a data set, and return its record; the process ends if that takes more seconds of a core."""
    warnings.simplefilter("ignore")
    record: dict[str, Any] = {"set": name, "method": method}
    model = NeighborsClassifierCV() if method == CHOOSES else candidate_for(parts.X, method).make()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        start = time.process_time()
        model.fit(parts.X, parts.Y)
        fitted = time.process_time()
        predicted = model.predict(parts.X_test)
        record |= {"fit": round(fitted - start, 4), "predict": round(time.process_time() - fitted, 4)}
        scores = label_scores(model, parts.X_test, parts.Y.shape[1], response_method_of(model))
    except Exception as error:  # noqa: BLE001  # a method that cannot do a data set is a result
        return record | {"not_done": f"{type(error).__name__}: {error}".splitlines()[0]}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return record | score_all(parts.Y_test, predicted, scores, METRICS)


class Worker:
    """Measures in a process of its own, which is replaced when it has ended."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._pool: ProcessPoolExecutor | None = None

    def measure(self, name: str, method: str, parts: Parts) -> dict[str, Any]:
        """Return the record of a method and a data set."""
        self._pool = self._pool or ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        try:
            return self._pool.submit(measure, name, method, parts, self.seconds).result()
        except BrokenProcessPool:
            self.end()
            return {"set": name, "method": method, "not_done": TOO_LONG.format(seconds=self.seconds)}

    def end(self) -> None:
        """End the process."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def missing_records(known: Iterable[Mapping[str, Any]], arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the records of data sets and methods that are wanted and not known yet."""
    found = {(record["set"], record["method"]): record for record in known}
    wanted = arguments.methods.split(",")
    worker = Worker(arguments.seconds)
    for tier, name in product(TIERS, arguments.sets.split(",")):
        for method in (method for method in tier if method in wanted and (name, method) not in found):
            if is_hopeless(name, method, found):
                record = {"set": name, "method": method, "not_done": NOT_TRIED}
            else:
                record = worker.measure(name, method, parts_of(name))
            found[name, method] = record
            yield record
    worker.end()


def is_hopeless(name: str, method: str, found: Mapping[tuple[str, str], Mapping[str, Any]]) -> bool:
    """Return whether a method was not done on the three data sets before this one, which have fewer labels."""
    before = SETS[: SETS.index(name)][-3:]
    return len(before) == 3 and all("not_done" in found.get((other, method), {}) for other in before)


def page(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page that are made of records."""
    records = complete(records)
    tests = ranked(records)
    ranks = tests[METRICS[0]].mean_ranks
    missing = ", ".join(f"`{method}`" for method in METHODS if method not in ranks)
    left_out = f" Not measured on all of them yet, and left out: {missing}." if missing else ""
    yield f"{len(_sets_of(records))} data sets, {len(ranks)} methods.{left_out}\n\n"
    yield from _rank_table(records, tests)
    yield from _difference_table(tests[METRICS[0]])
    yield from _duel_table(records)
    yield from _kind_table(records)
    yield from _set_table(records)
    yield from _not_done_table(records)


def ranked(records: Sequence[Mapping[str, Any]]) -> dict[str, FriedmanTest]:
    """Return Friedman's test of each metric over the data sets."""
    comparison = compare(list(_flat(records)), test="friedman", over="datasets", metrics=METRICS)
    return {test.metric: test for test in comparison.friedman}


def complete(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the records of the methods that were tried on all data sets, in the order of sets and methods."""
    by_place = {(record["set"], record["method"]): record for record in records}
    names = _sets_of(records)
    tried = [method for method in METHODS if all((name, method) in by_place for name in names)]
    return [by_place[name, method] for name in names for method in tried]


def _sets_of(records: Iterable[Mapping[str, Any]]) -> list[str]:
    found = {record["set"] for record in records}
    return [name for name in SETS if name in found]


def _flat(records: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a record for each value, as `compare` takes them; of what was not done the worst."""
    for record in records:
        for metric in METRICS:
            value = record.get(metric, WORST[get_metric(metric).greater_is_better])
            names = {"dataset": record["set"], "fold": 0, "method": record["method"], "metric": metric}
            yield names | {"value": value}


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |\n"


def _head(first: str, *others: str) -> str:
    return _line(first, *others) + "|---|" + "---:|" * len(others) + "\n"


def _rank_table(records: Sequence[Mapping[str, Any]], tests: Mapping[str, FriedmanTest]) -> Iterator[str]:
    """Yield the mean ranks of each method by each metric, best first, and its cost beside ML-kNN's."""
    ranks = tests[METRICS[0]].mean_ranks
    best = {metric: min(test.mean_ranks.values()) for metric, test in tests.items()}
    yield "## Mean ranks, and cost\n\n"
    yield _head("method", *(TITLES[metric] for metric in METRICS), "not done", "fit", "predict")
    for method in sorted(ranks, key=lambda one: ranks[one]):
        of_method = [tests[metric].mean_ranks[method] for metric in METRICS]
        shown = [(f"{rank:.1f}", f"{best[metric]:.1f}") for rank, metric in zip(of_method, METRICS, strict=True)]
        marked = [f"**{rank}**" if rank == least else rank for rank, least in shown]
        n_left = sum("not_done" in record for record in records if record["method"] == method)
        cost = (f"{_times(records, method, what):.3g}" for what in ("fit", "predict"))
        yield _line(f"`{method}`", *marked, n_left or "", *cost)
    yield _line(
        "*critical difference*", *(f"{tests[metric].critical_difference:.1f}" for metric in METRICS), "", "", ""
    )
    yield "\n"


def _times(records: Sequence[Mapping[str, Any]], method: str, what: str) -> float:
    """Return the median over data sets of the seconds of a method, divided by those of ML-kNN."""
    seconds = {
        (record["set"], record["method"]): max(record[what], _LEAST_SECONDS) for record in records if what in record
    }
    names = [name for name, one in seconds if one == method]
    return float(np.median([seconds[name, method] / seconds[name, YARDSTICK] for name in names]))


def _difference_table(test: FriedmanTest) -> Iterator[str]:
    """Yield the groups of methods that do not differ, as the diagram shows them."""
    yield f"## What differs by more than chance\n\n![Mean ranks](../_static/{DIAGRAM.name})\n\n"
    yield (
        f"Micro F1, Friedman's test in the form of Iman and Davenport: F = {test.f_statistic:.1f},"
        f" p = {test.f_p_value:.1g}. Of two methods that are {test.critical_difference:.1f} mean ranks or more apart"
        " the better one is significantly better (Nemenyi, 5 %). Groups in which no two methods differ"
        " significantly:\n\n"
    )
    yield _line("best of the group", "rank", "to", "rank", "methods") + "|---|---:|---|---:|---:|\n"
    for group in test.not_different():
        first, last = group[0], group[-1]
        ranks = (f"{test.mean_ranks[method]:.1f}" for method in (first, last))
        yield _line(f"`{first}`", next(ranks), f"`{last}`", next(ranks), len(group))
    yield "\n"


def _duel_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield on how many data sets `NeighborsClassifierCV` is ahead of each method, and behind it."""
    values = _micro_f1(records, _sets_of(records))
    others = [method for method in values.methods if method != CHOOSES]
    tests = paired_tests(values, "wilcoxon", [(CHOOSES, other) for other in others])
    yield f"## Wins and losses of `{CHOOSES}`\n\n"
    yield (
        "Data sets on which its micro F1 is higher, and lower, than the other's; the median of the differences; p of"
        " Wilcoxon's signed ranks, not corrected for the number of pairs.\n\n"
    )
    yield _head("compared with", "wins", "losses", "median", "p")
    rows = [(values.difference(CHOOSES, other), test) for other, test in zip(others, tests, strict=True)]
    for difference, test in sorted(rows, key=lambda row: int(np.sign(row[0]).sum())):
        wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
        yield _line(f"`{test.methods[1]}`", wins, losses, f"{np.median(difference):+.3f}", f"{test.p_value:.2g}")
    yield "\n"


def _kind_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the best methods of each kind of data, by their mean rank in micro F1 among these data sets."""
    yield "## Which kind of data\n\n"
    yield "The five best of each kind, by mean rank in micro F1 on its data sets, with mean micro F1.\n\n"
    yield _line("kind", "data sets", "best", "2", "3", "4", "5") + "|---|---:|---|---|---|---|---|\n"
    for kind, names in kinds(_sets_of(records)).items():
        values = _micro_f1(records, names)
        order = np.argsort(values.ranks().mean(axis=0), kind="stable")
        five = [f"`{values.methods[one]}` {_mean(values.values[:, one])}" for one in order[:5]]
        yield _line(kind, len(names), *five)
    yield "\n"


def _micro_f1(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> PairedValues:
    return paired_values([one for one in _flat(records) if one["dataset"] in names], "datasets", METRICS[:1])[0]


def kinds(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the data sets of each kind; one may be of several."""
    entries = catalogue()
    words = [name for name in names if name not in NUMBERS]
    most = MOST_ROWS["training"]
    by_kind = {
        "numbers, few of them 0": [name for name in names if name in NUMBERS],
        "words and flags": words,
        "the same without the 11 of Yahoo": [name for name in words if not name.startswith("yahoo")],
        "fewer than 20 labels": [name for name in names if entries[name].labels < 20],
        "90 labels or more": [name for name in names if entries[name].labels >= 90],
        f"fewer than {most} training rows": [name for name in names if n_training(name) < most],
    }
    return {kind: some for kind, some in by_kind.items() if some}


def n_training(name: str) -> int:
    """Return how many training rows there are before some are drawn."""
    subsets = catalogue()[name].subsets
    return subsets["train"].instances if "train" in subsets else 2 * subsets["all"].instances // 3


def _set_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the micro F1 of some methods on each data set, and the best of all."""
    names, entries = _sets_of(records), catalogue()
    values = _micro_f1(records, names)
    shown = [method for method in SHOWN if method in values.methods]
    yield "## Set by set\n\nMicro F1 on test rows.\n\n"
    yield _head("data set", "training rows", "features", "labels", *(f"`{method}`" for method in shown), "best")
    for name, row in zip(names, values.values, strict=True):
        facts = min(n_training(name), MOST_ROWS["training"]), entries[name].features, entries[name].labels
        of = dict(zip(values.methods, row, strict=True))
        best = max(of, key=lambda method: of[method])
        yield _line(name, *facts, *(_value(of[method]) for method in shown), f"`{best}` {_value(of[best])}")
    means = (_mean(values.values[:, values.methods.index(method)]) for method in shown)
    yield _line("mean", "", "", "", *means, "") + "\n"


def _mean(column: FloatArray) -> str:
    """Return the mean of values as text, or on how many data sets there is none."""
    n_left = int((column < 0).sum())
    return f"({n_left} not done)" if n_left else f"{column.mean():.3f}"


def _value(value: float) -> str:
    return "–" if value < 0 else f"{value:.3f}"


def _not_done_table(records: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which methods were not done on which data sets, and why."""
    left = [record for record in records if "not_done" in record]
    if left:
        yield "## What was not done\n\n" + _line("method", "why", "data sets") + "|---|---|---|\n"
    by_reason: dict[tuple[str, str], list[str]] = {}
    for record in sorted(left, key=lambda one: METHODS.index(one["method"])):
        by_reason.setdefault((record["method"], record["not_done"]), []).append(record["set"])
    for (method, reason), names in by_reason.items():
        yield _line(f"`{method}`", reason, ", ".join(names))


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--again", default="")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments = parser.parse_args()
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    known = [record for record in read_records(RESULTS) if record["method"] != arguments.again]
    write_records(RESULTS, known)
    for record in missing_records(known, arguments):
        add_record(RESULTS, record)
        print(record, flush=True)
    records = read_records(RESULTS)
    CriticalDifferenceDisplay.of(ranked(complete(records))[METRICS[0]]).write(DIAGRAM)
    write_figures(PAGE, page(records))


if __name__ == "__main__":
    main()
