"""How fast is the search, and ML-kNN with it, on real data, beside scikit-learn and scikit-multilearn-ng?

The published splits of yeast, scene, image and emotions (dense), bibtex, rcv1subset1 and Reuters (reuters-k500; all
sparse), 10 neighbours. One thread searches for the neighbours of all test rows, and of each training row among the
others (leave one out). Dense rows are searched by each level of the kernels that this processor runs ("off": numpy's
engine; bf16, which needs AMX, has not been measured yet, since no processor with it was at hand), by scikit-learn's
brute force and by faiss's flat index, which takes them in single precision. No level of the kernels searches
sparse rows; they are searched by cosine as well. ML-kNN is fitted on the training rows and predicts the test rows, with
each library's default search and number of threads.

Seconds are CPU, the least of all passes, without the fit of the search; "of off", "of faiss" and "of brute" are their
seconds over those of nearlabel's fastest level, and so is "ratio" of scikit-learn's: below 1 is faster than nearlabel.
"same sets" is the share of 200 test rows whose set of neighbours is that of plain float64 differences, equal distances
ordered by index. ML-kNN's "fit s" and "predict s" are wall seconds, medians, and its "ratio" that of both together.

Run: ``python benchmarks/real.py``; ``--quick`` for a look. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _engines import BRUTE, ENGINES, FAISS, LEVELS, OURS, OURS_BY_LEVEL
from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from _reference import agreement, nearest_by_differences
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN

DENSE = ("yeast", "scene", "image", "emotions")
DATASETS = (*DENSE, "bibtex", "rcv1subset1", "reuters-k500")
K, N_SAMPLED = 10, 200
PATIENCE = 10.0
THEIRS = "scikit-multilearn-ng"
STAGES = ("fit", "queries", "leave one out")

Results = Mapping[str, dict[str, Any]]


def rows_of(dataset: str) -> tuple[Any, Any]:
    """Return training and test rows."""
    return fetch_dataset(dataset, "train").X, fetch_dataset(dataset, "test").X


def metrics_of(X: Any) -> Sequence[str]:
    """Return the metrics that are measured."""
    return ("euclidean", "cosine") if sparse.issparse(X) else ("euclidean",)


def prepare_search(dataset: str, metric: str, engine: str) -> Mapping[str, Callable[[], Any]]:
    """Return fit, leave-one-out and queries of one search, by one thread; the answer is that to the queries."""
    threadpool_limits(1)
    X, queries = rows_of(dataset)
    if engine == FAISS:
        X, queries = X.astype(np.float32), queries.astype(np.float32)
    search = ENGINES[engine].make(X, K, metric, 1)
    search.fit()
    search.query(queries[:20])
    return {
        "fit": search.fit,
        "leave one out": lambda: search.query(None)[:1],
        "queries": lambda: search.query(queries),
    }


def prepare_mlknn(dataset: str, library: str) -> Mapping[str, Callable[[], Any]]:
    """Return fit and prediction of ML-kNN."""
    training, test = fetch_dataset(dataset, "train"), fetch_dataset(dataset, "test")
    X, Y, queries = (_as_taken(part, library) for part in (training.X, training.Y, test.X))
    model = _mlknn(library)
    _mlknn(library).fit(X[:50], Y[:50]).predict(queries[:5])

    def predict() -> Any:
        return sparse.csr_array(model.predict(queries)).toarray().astype(np.int8)

    return {"fit": lambda: model.fit(X, Y) and None, "predict": predict}


def _mlknn(library: str) -> Any:
    if library == OURS:
        return MLkNN(K)
    from skmultilearn.adapt import MLkNN as Theirs

    return Theirs(k=K)


def _as_taken(part: Any, library: str) -> Any:
    """Return sparse parts as the other library takes them: as matrices."""
    if library == OURS or not sparse.issparse(part):
        return part
    return sparse.csr_matrix(part)


def engines_of(X: Any) -> list[str]:
    """Return the searches that take the rows and can run here."""
    names = (OURS, BRUTE) if sparse.issparse(X) else (*OURS_BY_LEVEL.values(), FAISS, BRUTE)
    return [name for name in names if ENGINES[name].is_installed]


def run_search(dataset: str, metric: str, repeats: int) -> dict[str, Any]:
    """Measure all searches on one data set."""
    X, queries = rows_of(dataset)
    engines = engines_of(X)
    jobs = [Job(f"{dataset}, {metric}: {engine}", prepare_search, (dataset, metric, engine)) for engine in engines]
    measured = measure(jobs, repeats, PATIENCE)
    reference = nearest_by_differences(X, queries[:N_SAMPLED], K, metric)
    by_engine = {engine: measured[job.name] for engine, job in zip(engines, jobs, strict=True)}
    return {"shape": f"{X.shape[0]:,} x {X.shape[1]:,}, {queries.shape[0]:,} queries"} | {
        engine: {
            **{stage: one.minimum(stage, "cpu") for stage in STAGES},
            "same sets": agreement(one.answer, reference),
            "all": one.describe(),
        }
        for engine, one in by_engine.items()
    }


def run_mlknn(dataset: str, repeats: int) -> dict[str, Any]:
    """Measure ML-kNN of both libraries on one data set."""
    libraries = [OURS, THEIRS] if importlib.util.find_spec("skmultilearn") else [OURS]
    jobs = [Job(f"{dataset}, ML-kNN: {library}", prepare_mlknn, (dataset, library)) for library in libraries]
    measured = measure(jobs, repeats, PATIENCE)
    return {library: _classifier_figures(measured, job.name) for library, job in zip(libraries, jobs, strict=True)}


def _classifier_figures(measured: Mapping[str, Measurement], name: str) -> dict[str, Any]:
    one, (ours, *_) = measured[name], measured.values()
    return {
        "fit": one.median("fit"),
        "predict": one.median("predict"),
        "ratio": one.median() / ours.median(),
        "equal cells": float((one.answer == ours.answer).mean()),
        "peak": one.peak_mib(),
        "all": one.describe(),
    }


def dense_tables(results: Results) -> list[Table]:
    """Return a table for each stage, with a column for each level, and one of the agreement."""
    dense = {name: one for name, one in results.items() if OURS not in one}
    columns = {**{OURS_BY_LEVEL[level]: level for level in LEVELS}, FAISS: "faiss", BRUTE: "brute"}
    ratios = {OURS_BY_LEVEL["off"]: "of off", FAISS: "of faiss", BRUTE: "of brute"}
    tables = []
    for stage in STAGES:
        rows = [
            (
                f"{name}: {one['shape']}",
                *(_figure(one, engine, stage) for engine in columns),
                *(times_faster(one, engine, stage) for engine in ratios),
            )
            for name, one in dense.items()
        ]
        headers = ("", *(f"{column} s" for column in columns.values()), *ratios.values())
        tables.append(Table(f"The search, dense rows, {stage}", headers, rows))
    agreements = [
        (name, *(None if engine not in one else f"{100 * one[engine]['same sets']:.1f} %" for engine in columns))
        for name, one in dense.items()
    ]
    return [*tables, Table("The search, dense rows, same sets", ("", *columns.values()), agreements)]


def _figure(one: Mapping[str, Any], engine: str, stage: str) -> float | None:
    return one[engine][stage] if engine in one else None


def times_faster(one: Mapping[str, Any], engine: str, stage: str) -> float | None:
    """Return the seconds of a search over those of nearlabel's fastest level."""
    fastest = next(name for name in OURS_BY_LEVEL.values() if name in one)
    return one[engine][stage] / one[fastest][stage] if engine in one else None


def sparse_rows(results: Results) -> Iterator[Sequence[Any]]:
    """Yield a row for each sparse data set and metric."""
    for name, one in results.items():
        if OURS not in one:
            continue
        ours, brute = one[OURS], one[BRUTE]
        cells: list[Any] = [f"{name}: {one['shape']}", ours["fit"]]
        for stage in ("queries", "leave one out"):
            cells += [ours[stage], brute[stage], brute[stage] / ours[stage]]
        yield (*cells, *(f"{100 * part['same sets']:.1f} %" for part in (ours, brute)))


def goals_of(results: Results) -> list[Goal]:
    """Return what small problems should gain by the fastest level, and do."""
    limits = {OURS_BY_LEVEL["off"]: ("off", 2.0), FAISS: ("faiss", 1.0)}
    return [
        Goal(f"{name}, {stage}: times faster than {other}", "at least", limit, times_faster(one, engine, stage))
        for name, one in results.items()
        if OURS not in one
        for stage in STAGES[1:]
        for engine, (other, limit) in limits.items()
    ]


def classifier_rows(results: Results) -> Iterator[Sequence[Any]]:
    """Yield a heading for each data set, and a row for each library."""
    for name, libraries in results.items():
        yield (name,)
        for library, one in libraries.items():
            equal = f"{100 * one['equal cells']:.2f} %"
            yield (
                library,
                one["fit"],
                one["predict"],
                one["ratio"],
                one["peak"],
                equal,
                one["all"]["processes/passes"],
            )


def main() -> None:
    """Measure, print and save."""
    parser = parser_for(__doc__, "real", repeats=2)
    parser.add_argument("--datasets", nargs="+")
    options = parser.parse_args()
    print_facts()
    names = options.datasets or (("yeast", "reuters-k500") if options.quick else DATASETS)
    settings = [(name, metric) for name in names for metric in metrics_of(rows_of(name)[0])]
    searches = {f"{name}, {metric}": run_search(name, metric, options.repeats) for name, metric in settings}
    classifiers = {name: run_mlknn(name, options.repeats) for name in names}
    headers = ("", "fit s", "queries s", "brute s", "ratio", "leave one out s", "brute s", "ratio",
               "same sets", "of brute")  # fmt: skip
    tables = [
        *dense_tables(searches),
        Table("The search, sparse rows", headers, list(sparse_rows(searches))),
        Table(
            "ML-kNN",
            ("", "fit s", "predict s", "ratio", "peak MiB", "equal cells", "processes/passes"),
            list(classifier_rows(classifiers)),
        ),
    ]
    goals = goals_of(searches)
    show(tables, goals)
    save(options, __doc__, {"search": searches, "ML-kNN": classifiers}, tables, goals)


if __name__ == "__main__":
    main()
