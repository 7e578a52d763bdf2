"""What do prototypes in the place of all rows cost in micro F1, and what do they buy in speed?

Five folds of five sets, features scaled to [0, 1] by the training part. Each reduction stands beside a random subset of
as many rows. Thresholds are micro-F optima in every column: of scores by three folds within the training part, of which
each time the others are reduced anew. BRkNN and LPkNN have the same scores, so with thresholds they are one. "At ½":
the same scores of ML-kNN without thresholds. With noise, so many of the training rows exchange their label sets at
random; test rows keep theirs; three of the five folds.

Then speed, on seeded clusters of rows: CPU seconds of the reduction and of ML-kNN, 10 neighbours, by all rows and by
the prototypes.

Run: ``python benchmarks/prototypes.py``; ``--quick`` for a look. Data sets where ``NEARLABEL_DATA`` has them. Tables go
into ``docs/howto/smaller_models.md``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

from _harness import (
    Goal,
    Job,
    Measurement,
    Table,
    as_text,
    facts_as_text,
    machine_facts,
    measure,
    parser_for,
    print_facts,
    save,
    show,
    write_figures,
)
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import hamming_loss, micro_f1
from nearlabel.models.decision import cut
from nearlabel.preprocessing import MRHC, MRSP1, MRSP2, MRSP3, MChen
from nearlabel.thresholds import MicroFOptimum

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "smaller_models.md"
SETS = ("emotions", "scene", "yeast", "medical", "enron")
NOISY, NOISES = ("emotions", "yeast"), (0.2, 0.4)
ALL = "all rows"
REDUCTIONS: Mapping[str, Any] = {
    "MRHC": MRHC(),
    "MRSP3": MRSP3(),
    "MChen, 10 %": MChen(0.1),
    "MChen, 30 %": MChen(0.3),
    "MRSP1, 10 %": MRSP1(0.1),
    "MRSP2, 10 %": MRSP2(0.1),
}
BY_SHARES, MAIN, AT_HALF = "BRkNN and LPkNN 10", "ML-kNN 10", "ML-kNN 10 at ½"
CLASSIFIERS: Mapping[str, Any] = {"BRkNN 1": BRkNN(1), BY_SHARES: BRkNN(10), MAIN: MLkNN(10)}
COLUMNS = (*CLASSIFIERS, AT_HALF)
N_FOLDS, N_NOISY_FOLDS, N_INNER_FOLDS = 5, 3, 3
N_CLUSTERS, N_QUERIES = 200, 5000
SPEED = ("MRHC", "MRSP3", "MChen, 10 %")


def random_subset(X: Any, Y: Any, n_rows: int) -> tuple[Any, Any]:
    """Return so many rows, drawn with the seed 0."""
    rows = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:n_rows])
    return X[rows], Y[rows]


def reduced(X: Any, Y: Any, seconds: dict[str, float]) -> Iterator[tuple[str, Any, Any]]:
    """Yield all rows, each reduction of them and the random subset beside it, under the names of the ways."""
    yield ALL, X, Y
    for name, sampler in REDUCTIONS.items():
        start = time.process_time()
        fewer = clone(sampler).fit_resample(X, Y)
        seconds[name] = time.process_time() - start
        yield name, *fewer
        yield f"random as {name}", *random_subset(X, Y, fewer[0].shape[0])


def scores_by(X: Any, Y: Any, queries: Any) -> Iterator[tuple[str, Any]]:
    """Yield the scores of the queries by each classifier."""
    for name, classifier in CLASSIFIERS.items():
        k = min(classifier.n_neighbors, X.shape[0] - 1)
        yield name, clone(classifier).set_params(n_neighbors=k).fit(X, Y).predict_proba(queries)


def thresholds_within(X: Any, Y: Any) -> dict[tuple[str, str], Any]:
    """Return the thresholds of each way and classifier, tuned by folds within the rows."""
    pooled: dict[tuple[str, str], Any] = {}
    for train, test in KFold(N_INNER_FOLDS, shuffle=True, random_state=1).split(X):
        for way, *rows in reduced(X[train], Y[train], {}):
            for name, scores in scores_by(*rows, X[test]):
                pooled.setdefault((way, name), np.empty(Y.shape))[test] = scores
    return {key: MicroFOptimum().fit(scores, Y).thresholds_ for key, scores in pooled.items()}


def with_exchanged(Y: Any, share: float) -> Any:
    """Return label sets of which so many rows, drawn with the seed 0, are permuted."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(Y))[: int(share * len(Y))]
    noisy = Y.copy()
    noisy[rows] = Y[rng.permutation(rows)]
    return noisy


def records_of(name: str, noise: float, n_folds: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each outer fold, way and column."""
    data = fetch_dataset(name)
    X, Y = data.X, data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    folds = list(KFold(N_FOLDS, shuffle=True, random_state=0).split(X))[:n_folds]
    for fold, (train, test) in enumerate(folds):
        scaler = (MaxAbsScaler() if sparse.issparse(X) else MinMaxScaler()).fit(X[train])
        rows, queries, labels = scaler.transform(X[train]), scaler.transform(X[test]), with_exchanged(Y[train], noise)
        thresholds, seconds = thresholds_within(rows, labels), {}
        for way, *fewer in reduced(rows, labels, seconds):
            of_way = {"set": name, "noise": noise, "fold": fold, "way": way, "size": fewer[0].shape[0] / len(train)}
            of_way["seconds"] = seconds.get(way)
            for column, scores in scores_by(*fewer, queries):
                yield {**of_way, "column": column, **measures(Y[test], scores, thresholds[way, column])}
                if column == MAIN:
                    yield {**of_way, "column": AT_HALF, **measures(Y[test], scores, 0.5)}


def measures(Y: Any, scores: Any, thresholds: Any) -> dict[str, float]:
    """Return micro F1 and Hamming loss of the label sets that thresholds choose."""
    predicted = cut(scores, thresholds)
    return {"micro_f1": float(micro_f1(Y, predicted)), "hamming_loss": float(hamming_loss(Y, predicted))}


def over_folds(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record of means for each set, noise, way and column."""
    keys, figures = ("set", "noise", "way", "column"), ("size", "seconds", "micro_f1", "hamming_loss")
    groups: dict[Any, list[Mapping[str, Any]]] = {}
    for record in records:
        groups.setdefault(tuple(record[key] for key in keys), []).append(record)
    return [
        dict(zip(keys, key, strict=True))
        | {name: float(np.mean([one[name] for one in group])) for name in figures if group[0][name] is not None}
        for key, group in groups.items()
    ]


class Means:
    """Tables of the means of records over folds."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records = over_folds(records)

    def of(self, measure: str, name: str, noise: float, way: str, column: str = MAIN) -> float:
        """Return the mean of one measure."""
        wanted = {"set": name, "noise": noise, "way": way, "column": column}
        (found,) = (one[measure] for one in self.records if all(one[key] == value for key, value in wanted.items()))
        return float(found)

    def beside_random(self, measure: str, name: str, noise: float, way: str, column: str) -> str:
        """Return the mean of a reduction, and in brackets that of the random subset."""
        found = f"{self.of(measure, name, noise, way, column):.3f}"
        if way == ALL:
            return found
        return f"{found} ({self.of(measure, name, noise, f'random as {way}', column):.3f})"

    def table(self, title: str, cases: Sequence[tuple[str, float]]) -> Table:
        """Return the table of some sets and shares of noise."""
        headers = ("set", "rows from", "size, %", *COLUMNS, "Hamming loss", "reduction, CPU s")
        rows: list[Sequence[Any]] = []
        for name, noise in cases:
            title_of_case = f"{name}, noise {100 * noise:.0f} %" if noise else name
            for way in (ALL, *REDUCTIONS):
                size = f"{100 * self.of('size', name, noise, way):.1f}"
                f1 = [self.beside_random("micro_f1", name, noise, way, column) for column in COLUMNS]
                loss = self.beside_random("hamming_loss", name, noise, way, MAIN)
                seconds = None if way == ALL else round(self.of("seconds", name, noise, way), 3)
                rows.append((title_of_case, way, size, *f1, loss, seconds))
                title_of_case = ""
        return Table(title, headers, rows)

    def summary(self, title: str, cases: Sequence[tuple[str, float]]) -> Table:
        """Return the table of means over sets, by shares of votes and by posteriors."""
        rows: list[Sequence[Any]] = []
        for way in (ALL, *REDUCTIONS):
            ways = (way,) if way == ALL else (way, f"random as {way}")
            found = [
                f"{np.mean([self.of('micro_f1', *case, one, column) for case in cases]):.3f}"
                for column in (BY_SHARES, MAIN)
                for one in ways
            ]
            cells = [found[0], None, found[1], None] if way == ALL else found
            rows.append((way, f"{100 * np.mean([self.of('size', *case, way) for case in cases]):.0f}", *cells))
        return Table(title, ("rows from", "size, %", BY_SHARES, "random", MAIN, "random"), rows)


def prepare(n_rows: int, way: str) -> Mapping[str, Callable[[], Any]]:
    """Return reduction, fit and prediction of one way on seeded clusters; the answer is the size."""
    rng = np.random.default_rng(0)
    centres, labelsets = rng.normal(size=(N_CLUSTERS, 50)), rng.random((N_CLUSTERS, 20)) < 0.15
    cluster = rng.integers(0, N_CLUSTERS, n_rows + N_QUERIES)
    X = centres[cluster] + rng.normal(size=(len(cluster), 50))
    Y = (labelsets[cluster] ^ (rng.random((len(cluster), 20)) < 0.03)).astype(np.int64)
    made: dict[str, Any] = {}
    MLkNN().fit(X[:100], Y[:100]).predict(X[:10])  # imports are not timed

    def reduce() -> None:
        rows = X[:n_rows], Y[:n_rows]
        made["rows"] = rows if way == ALL else clone(REDUCTIONS[way]).fit_resample(*rows)

    def fit() -> None:
        made["model"] = MLkNN(10).fit(*made["rows"])

    def predict() -> float:
        made["model"].predict(X[n_rows:])
        return len(made["rows"][0]) / n_rows

    return {"reduce": reduce, "fit": fit, "predict": predict}


def speed_table(n_rows: int, measured: Mapping[str, Measurement]) -> Table:
    """Return CPU seconds, and the queries that a CPU second answers."""
    headers = ("rows from", "size, %", "reduction, CPU s", "fit, CPU s", "queries / CPU s", "times as many")
    slowest = measured[ALL].median("predict", "cpu")
    rows = []
    for way, one in measured.items():
        reduction, fit, predict = (one.median(stage, "cpu") for stage in ("reduce", "fit", "predict"))
        done = None if way == ALL else reduction
        rows.append((way, 100 * one.answer, done, fit, N_QUERIES / predict, slowest / predict))
    return Table(f"{n_rows:,} rows of 50 features, 20 labels, {N_CLUSTERS} clusters", headers, rows)


def goals_of(means: Means, sets: Sequence[str], speed: Table) -> list[Goal]:
    """Return what reductions are for: hardly worse than all rows, better than random ones, and fast."""
    goals = []
    for column in (BY_SHARES, MAIN):
        f1 = {(way, name): means.of("micro_f1", name, 0.0, way, column) for name in sets for way in _ways()}
        for way in REDUCTIONS:
            n_better = sum(f1[way, name] >= f1[f"random as {way}", name] for name in sets)
            goals.append(Goal(f"{way}, {column}: sets on which a random subset is not better", "at least", 4, n_better))
        for way in ("MRHC", "MRSP3"):
            lost = float(np.mean([f1[ALL, name] - f1[way, name] for name in sets]))
            goals.append(Goal(f"{way}, {column}: micro F1 lost beside all rows, mean", "at most", 0.02, lost))
    by_way = {row[0]: row for row in speed.rows}
    for way in SPEED:
        _, size, reduction, _, _, faster = by_way[way]
        goals.append(
            Goal(f"{way}: queries / CPU s by those of all rows, times its size", "at least", 0.7, faster * size / 100)
        )
        goals.append(Goal(f"{way}: reduction, CPU s", "at most", 60.0, reduction))
    return goals


def _ways() -> Iterator[str]:
    yield ALL
    for way in REDUCTIONS:
        yield from (way, f"random as {way}")


def write_page(tables: Sequence[Table]) -> None:
    """Put the tables between the marks of the page."""
    lines = [f"Machine: {facts_as_text(machine_facts())}.\n\n"]
    for table in tables:
        lines.append(f"**{table.title}**\n\n")
        cells = [table.headers, ["---", "---"] + ["---:"] * (len(table.headers) - 2), *table.rows]
        lines += ["| " + " | ".join(map(as_text, row)) + " |\n" for row in cells]
        lines.append("\n")
    write_figures(PAGE, lines)


def main() -> None:
    """Measure quality and speed; print, save and publish the figures."""
    warnings.simplefilter("ignore")
    options = parser_for(__doc__, "prototypes", repeats=1).parse_args()
    sets, n_folds, n_rows = (NOISY, 1, 5_000) if options.quick else (SETS, N_FOLDS, 50_000)
    cases = [(name, 0.0) for name in sets]
    noisy = [(name, noise) for name in NOISY for noise in NOISES]
    print_facts()
    records = [record for case in cases for record in records_of(*case, n_folds)]
    records += [record for case in noisy for record in records_of(*case, min(n_folds, N_NOISY_FOLDS))]
    measured = measure([Job(way, prepare, (n_rows, way)) for way in (ALL, *SPEED)], options.repeats)
    means, speed = Means(records), speed_table(n_rows, measured)
    tables = [
        means.summary(f"Micro F1, mean of {len(cases)} sets", cases),
        means.table("Micro F1 (in brackets: of a random subset of the same size)", cases),
        means.table("The same, where label sets are exchanged", noisy),
        speed,
    ]
    goals = goals_of(means, sets, speed)
    show(tables, goals)
    save(
        options,
        __doc__,
        {"means": means.records, "speed": {n: m.describe() for n, m in measured.items()}},
        tables,
        goals,
    )
    if not options.quick:
        write_page(tables)


if __name__ == "__main__":
    main()
