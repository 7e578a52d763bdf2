"""What does it cost to choose everything, beside the searches that it takes and beside ML-kNN with its k chosen?

Seeded clusters. `NeighborsClassifierCV()` is timed as it is, and without ML-MLM, which makes no search; beside it the
searches that it takes (90 neighbours of at most 20,000 rows, one for each scaling and metric), and `MLkNN("auto")` on
min-max scaled features, the default so far. 100,000 rows are chosen for by a sample of 20,000, and all tune the
thresholds. ML-MLM by itself has 2,000 landmarks on 100,000 rows.

"Stages" says where the CPU time of `NeighborsClassifierCV()` goes, on tables with few and many labels. Each stage is
without the ones inside it: "scale" prepares features, "search" finds neighbours, "votes" counts and scores them,
"thresholds" finds the best ones, "ML-MLM" is that method's fit and left-out scores, "estimate" is the cross-fitted
value, "fit" is the best candidate on all rows. Tags are Zipf-like, five a row on average, those of a row's cluster in
the main.

Ratios are of CPU time: seconds by the clock depend on what else the cores do.

Run: ``python benchmarks/choosing.py``; ``--quick`` for a look. The table is written into ``docs/best_by_default.md``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from _harness import Goal, Job, Measurement, Table, as_text, measure, parser_for, print_facts, save, show
from nearlabel import BRkNN, FeatureScaler, MLkNN, NeighborsClassifierCV
from nearlabel.lazy import MLMLM
from nearlabel.models import out_of_sample
from nearlabel.neighbors import ExactNeighbors
from nearlabel.selection import _neighbors_classifier_cv, _trials
from nearlabel.selection._spaces import prepared_in, spaces_of
from nearlabel.selection._trials import KERNEL_NUMBERS  # what is asked of the searches
from nearlabel.thresholds.best_value import BestThresholds

PAGE = Path(__file__).parents[1] / "docs" / "best_by_default.md"
BEGIN, END = "<!-- cost: begin -->\n", "<!-- cost: end -->\n"
WHATS = ("searches", "ML-kNN", "without ML-MLM", "everything")
METHODS = {"brknn": BRkNN(), "mlknn": MLkNN(), "brknn:weights=distance": BRkNN(weights="distance")}
N_CLUSTERS, SHARE, NOISE, N_LANDMARKS, N_QUERIES = 200, 0.1, 0.03, 2000, 1000
SAMPLE, LIMIT = NeighborsClassifierCV().max_samples, 60


def clusters(n_rows: int, n_features: int, n_labels: int, noise: float = NOISE) -> tuple[Any, Any]:
    """Return rows around centres, each with the label set of its centre, some labels of which are turned."""
    rng = np.random.default_rng(0)
    centres, labelsets = rng.normal(size=(N_CLUSTERS, n_features)), rng.random((N_CLUSTERS, n_labels)) < SHARE
    cluster = rng.integers(0, N_CLUSTERS, n_rows)
    turned = rng.random((n_rows, n_labels)) < noise
    return centres[cluster] + 0.5 * rng.normal(size=(n_rows, n_features)), (labelsets[cluster] ^ turned).astype(int)


def search_all(X: Any) -> None:
    """Search the neighbours that the choice asks for, in each of its spaces."""
    for space in spaces_of(X):
        rows, _ = prepared_in(space, X, None)
        ExactNeighbors(metric=space.metric).fit(rows).kneighbors(n_neighbors=KERNEL_NUMBERS[-1])


def prepare_choice(problem: Any, what: str) -> Mapping[str, Callable[[], Any]]:
    """Return one job on fresh rows."""
    X, Y = clusters(*problem)
    jobs = {
        "searches": lambda: search_all(X[:SAMPLE]),
        "ML-kNN": lambda: MLkNN("auto").fit(FeatureScaler("minmax").fit_transform(X), Y),
        "without ML-MLM": lambda: NeighborsClassifierCV(methods=METHODS).fit(X, Y),
        "everything": lambda: NeighborsClassifierCV().fit(X, Y),
    }
    return {what: lambda: jobs[what]() and None}


def tags(n_rows: int, n_features: int, n_labels: int) -> tuple[Any, Any]:
    """Return rows around centres in single precision, and their tags as CSR: most of their cluster's, and some more."""
    rng = np.random.default_rng(0)
    n_clusters = max(20, min(2_000, n_labels // 2))
    share = 1 / np.arange(1, n_labels + 1) ** 0.7
    share /= share.sum()
    centres = rng.normal(size=(n_clusters, n_features)).astype(np.float32)
    own, cluster = rng.choice(n_labels, size=(n_clusters, 6), p=share), rng.integers(0, n_clusters, n_rows)
    X = centres[cluster] + rng.normal(size=(n_rows, n_features)).astype(np.float32) * np.float32(0.9)
    row, place = np.nonzero(rng.random((n_rows, 6)) < 0.75)
    further = np.flatnonzero(rng.random(n_rows) < 0.5)
    of_rows = np.append(row, further), np.append(own[cluster[row], place], rng.choice(n_labels, len(further), p=share))
    Y = sparse.csr_array((np.ones(len(of_rows[0]), dtype=np.int64), of_rows), shape=(n_rows, n_labels))
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


STAGES = {
    "scale": (_neighbors_classifier_cv, "prepared_in"),
    "search": (out_of_sample.LeaveOneOut, "neighbors"),
    "votes": (_neighbors_classifier_cv, "try_numbers"),
    "thresholds": (BestThresholds, "tuned"),
    "ML-MLM": (MLMLM, "_fit_left_out"),
    "estimate": (_trials.Trials, "crossfit"),
    "fit": (NeighborsClassifierCV, "_fit_best"),
}


class Stopwatch:
    """CPU seconds of each stage, without those of the stages inside it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._inner = [0.0]

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose calls are measured."""

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.process_time() - start
                self.seconds[stage] += whole - self._inner.pop()
                self._inner[-1] += whole

        return call


def prepare_stages(problem: Any, is_sparse: bool) -> Mapping[str, Callable[[], Any]]:
    """Return one choice on fresh rows; the answer is the CPU seconds of each stage, and what was chosen."""
    X, Y = tags(*problem) if is_sparse else clusters(*problem)
    watch = Stopwatch()
    for stage, (owner, name) in STAGES.items():
        setattr(owner, name, watch.timed(stage, getattr(owner, name)))

    def choose() -> Any:
        model = NeighborsClassifierCV(time_limit=LIMIT).fit(X, Y)
        return {**watch.seconds, "chosen": model.best_params_["method"], "value": model.crossfit_score_}

    return {"everything": choose}


def prepare_mlmlm(problem: Any) -> Mapping[str, Callable[[], Any]]:
    """Return fit, leave-one-out scores and predictions of ML-MLM; the answer is the number of label sets."""
    X, Y = clusters(*problem)
    model = MLMLM(n_landmarks=N_LANDMARKS)

    def predict(n_queries: int) -> int:
        model.predict(X[:n_queries])
        return int(model.labelsets_.shape[0])

    return {
        "fit": lambda: model.fit(X, Y) and None,
        "left out": lambda: model.loo_predict_proba() is None,
        "predict": partial(predict, N_QUERIES),
    }


def main() -> None:
    """Time choices, searches and ML-MLM; print, save and publish the figures."""
    warnings.simplefilter("ignore")
    parser = parser_for(__doc__, "choosing", repeats=1)
    parser.add_argument("--only", default="", help="the stages of tables with this in their name; nothing is written")
    options = parser.parse_args()
    part = 20 if options.quick else 1
    problems: dict[str, Any] = {
        "5,000 x 100, 20 labels": (5_000 // part, 100, 20),
        "100,000 x 64, 20 labels": (100_000 // part, 64, 20),
    }
    regressions = {"few label sets": (100_000 // part, 64, 20, 0.0)}
    staged: dict[str, Any] = {
        "20,000 x 1,000, 10 labels": ((20_000 // part, 1_000, 10), False),
        "5,000 x 64, 1,000 tags": ((5_000 // part, 64, 1_000), True),
        "45,000 x 384, 3,000 tags": ((45_000 // part, 384, 3_000), True),
        "100,000 x 384, 50,000 tags": ((100_000 // part, 384, 50_000), True),
    }
    staged = {name: one for name, one in staged.items() if not options.only or options.only in name}
    if options.only:
        problems, regressions = {}, {}
    print_facts()
    jobs = [
        Job(f"{name}: {what}", prepare_choice, (problem, what)) for name, problem in problems.items() for what in WHATS
    ]
    jobs += [Job(name, prepare_mlmlm, (problem,)) for name, problem in regressions.items()]
    jobs += [Job(name, prepare_stages, problem) for name, problem in staged.items()]
    measured = measure(jobs, options.repeats)
    stages = stage_table(list(staged), measured)
    cpu, peak = ({row[0]: row[place] for row in stages.rows} for place in (1, 3))
    goals = [
        Goal(f"CPU s of the choice, {name}", "at most", most, cpu[name])
        for name, most in (("5,000 x 64, 1,000 tags", 12.0), ("45,000 x 384, 3,000 tags", 120.0))
        if name in cpu
    ]
    goals += [Goal(f"peak MiB, {name}", "at most", 2048.0, peak[name]) for name in peak if name.startswith("45,000")]
    if options.only:
        show([stages], goals)
        return
    tables = [choice_table(list(problems), measured), regression_table(list(regressions), measured), stages]
    largest = tables[0].rows[-1]
    goals.append(Goal("CPU time of everything over that of ML-kNN, 100,000 rows", "at most", 3.0, largest[6]))
    show(tables, goals)
    save(options, __doc__, {name: one.describe() for name, one in measured.items()}, tables, goals)
    if not options.quick:
        write_page(tables)


def choice_table(names: list[str], measured: Mapping[str, Measurement]) -> Table:
    """Return the table of choices: CPU seconds, ratios, the peak of memory."""
    headers = (
        "rows", *(f"{what}, CPU s" for what in WHATS), "without ML-MLM / searches", "everything / ML-kNN",
        "everything, s", "peak, MiB",
    )  # fmt: skip
    rows = []
    for name in names:
        found = {what: measured[f"{name}: {what}"] for what in WHATS}
        searches, plain, neighbors, everything = (one.median(what, "cpu") for what, one in found.items())
        whole = found["everything"]
        ratios = (neighbors / searches, everything / plain)
        rows.append((name, searches, plain, neighbors, everything, *ratios, whole.median(), whole.peak_mib()))
    return Table("Choosing everything", headers, rows)


def stage_table(names: list[str], measured: Mapping[str, Measurement]) -> Table:
    """Return the table of stages: CPU seconds of each."""
    headers = (
        "rows", "all, CPU s", f"all, s (limit {LIMIT})", "peak, MiB", *(f"{stage}, CPU s" for stage in STAGES),
        "chosen", "micro F1",
    )  # fmt: skip
    rows = []
    for name in names:
        one = measured[name]
        found: dict[str, Any] = one.answer
        seconds = [found[stage] for stage in STAGES]
        whole = one.median("everything", "cpu")
        rows.append((name, whole, one.median(), one.peak_mib(), *seconds, found["chosen"], found["value"]))
    return Table("Stages of the choice", headers, rows)


def regression_table(names: list[str], measured: Mapping[str, Measurement]) -> Table:
    """Return the table of ML-MLM."""
    headers = (
        "100,000 x 64, 20 labels", "label sets", "fit, CPU s", "left out, CPU s", f"predict {N_QUERIES:,}, CPU s",
        "all, s", "peak, MiB",
    )  # fmt: skip
    rows = []
    for name in names:
        one = measured[name]
        seconds = (one.median(stage, "cpu") for stage in ("fit", "left out", "predict"))
        rows.append((name, one.answer, *seconds, one.median(), one.peak_mib()))
    return Table(f"ML-MLM, {N_LANDMARKS:,} landmarks", headers, rows)


def write_page(tables: list[Table]) -> None:
    """Put the tables between their marks of the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n".join(map(_markdown, tables)) + END + after)


def _markdown(table: Table) -> str:
    lines = [table.headers, ["---"] + ["---:"] * (len(table.headers) - 1)]
    lines += [[as_text(value) for value in row] for row in table.rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


if __name__ == "__main__":
    main()
