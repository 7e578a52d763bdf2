"""How well, how fast and in how much memory does `StreamClassifier` answer a stream, beside river's classifiers?

Each row is predicted, then learnt (test-then-train). The streams are the rows of data sets, shuffled; "with drift" the
columns of the label sets are permuted from the middle on, so that what was learnt before is wrong. Scores are of all
rows after the first 50. Dense features are standardised: ours by the first 50 rows, for river by all rows so far; rows
of words have the norm 1.

- Ours are `StreamClassifier` around BRkNN (k = 10, votes weighted by distance), fed ten rows at a time: "all rows"
  forgets nothing; "oldest" and "least useful" keep a quarter of the stream. "on drift" also forgets all rows before a
  window (200 rows; of emotions 50) that is called drift; "thresholds" are tuned anew every 50 rows.
- river's take one row at a time: chains of logistic regressions (on words also with a learning rate of 5, as the
  default, 0.01, is too small for rows of norm 1) and of Hoeffding trees, and, on emotions alone as it is slow, for each
  label a vote of the ten nearest, weighted by distance, among the latest quarter of the stream. What has not ended
  after 100 seconds is stopped, and its scores are of the rows so far.

Seconds are of all that a method does, for 1,000 rows; MiB are of the pickled model at the end. Where river cannot be
imported, its lines are left out (``pip install '.[bench]'`` installs it).

Makes the table of ``docs/howto/streams.md``. Results are kept in ``benchmarks/results/streams.jsonl``, a line for each
stream and method: a second run goes on where the first stopped; ``--again METHOD`` forgets a method's lines.

Run: ``python benchmarks/streams.py``; half an hour. ``--sets emotions`` for some.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, normalize

from _harness import (
    Job,
    add_record,
    as_text,
    facts_as_text,
    machine_facts,
    measure,
    print_facts,
    read_records,
    version_of,
    write_figures,
    write_records,
)
from nearlabel import TunedThresholdsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, StreamClassifier
from nearlabel.metrics import f1_examples, micro_f1
from nearlabel.models import updates

SETS = ("emotions", "scene", "yeast", "reuters-k500")
WARM_UP, BATCH, K = 50, 10, 10


class Ours(NamedTuple):
    """How one of our methods forgets, and whether thresholds are tuned."""

    forgetting: str = "oldest"
    is_bounded: bool = True
    on_drift: bool = False
    thresholds: bool = False


OURS = {
    "all rows": Ours(is_bounded=False),
    "oldest": Ours(),
    "least useful": Ours("least_useful"),
    "least useful, on drift": Ours("least_useful", on_drift=True),
    "least useful, on drift, thresholds": Ours("least_useful", on_drift=True, thresholds=True),
}
RATE = 5  # of 0.1, 1 and 5 the best on the first 1,500 rows of reuters-k500
RATED, SLOW = "river: the same, learning rate 5", "river: kNN of each label"
RIVERS = ("river: chain of logistic regressions", RATED, "river: chain of Hoeffding trees", SLOW)
ONLY_ON = {RATED: "reuters-k500", SLOW: "emotions"}
LIMIT = 100.0  # seconds
RESULTS = Path(__file__).parent / "results" / "streams.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "howto" / "streams.md"


class Stream(NamedTuple):
    """Rows and label sets in their order."""

    X: Any
    Y: Any

    @classmethod
    def of(cls, name: str, *, drift: bool) -> Stream:
        """Return the rows of a data set, shuffled; with drift, other labels from the middle on."""
        data, rng = fetch_dataset(name), np.random.default_rng(0)
        order = rng.permutation(data.X.shape[0])
        X, Y = data.X[order], data.Y[order]
        Y = Y.toarray() if sparse.issparse(Y) else np.array(Y)
        if sparse.issparse(X):
            X = normalize(X)
        if drift:
            half = len(Y) // 2
            Y[half:] = Y[half:, rng.permutation(Y.shape[1])]
        return cls(X, Y.astype(np.int8))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.Y)


def our_model(stream: Stream, ours: Ours) -> StreamClassifier:
    """Return one of our models, with no row yet."""
    knn: Any = BRkNN(K, weights="distance")
    if ours.thresholds:
        knn = TunedThresholdsClassifierCV(knn, cv="loo")
    return StreamClassifier(
        knn if sparse.issparse(stream.X) else make_pipeline(StandardScaler(), knn),
        max_rows=stream.n_rows // 4 if ours.is_bounded else stream.n_rows,
        min_rows=WARM_UP,
        forgetting=ours.forgetting,
        drift_window=200 if stream.n_rows > 1000 else 50,
    )


def answer_ours(stream: Stream, name: str) -> dict[str, Any]:
    """Return the scores of one of our methods."""
    ours = OURS[name]
    model, n_drifts = our_model(stream, ours), 0
    for start in range(0, stream.n_rows, BATCH):
        model.partial_fit(stream.X[start : start + BATCH], stream.Y[start : start + BATCH])
        if ours.on_drift and len(model.drifts_) > n_drifts:
            n_drifts = len(model.drifts_)
            model.forget(np.flatnonzero(model.kept_ < model.drifts_[-1] - model.drift_window))
        if ours.thresholds and start >= WARM_UP and start % 50 == 0:
            updates.retune(model.estimator_)
    scores = {name: model.prequential_[name] for name in ("micro_f1", "example_f1")}
    return {**scores, "rows": stream.n_rows, "drifts": model.drifts_, "bytes": len(pickle.dumps(model))}


def river_model(stream: Stream, name: str) -> Any:
    """Return one of river's models."""
    from river import linear_model, multioutput, neighbors, optim, preprocessing, tree

    order = list(range(stream.Y.shape[1]))
    if "kNN" in name:
        engine = neighbors.LazySearch(window_size=stream.n_rows // 4)
        model = multioutput.PerOutputClassifier(neighbors.KNNClassifier(n_neighbors=K, engine=engine))
    elif "trees" in name:
        model = multioutput.ClassifierChain(tree.HoeffdingTreeClassifier(), order=order)
    else:
        rate = RATE if name == RATED else 0.01  # its default
        model = multioutput.ClassifierChain(linear_model.LogisticRegression(optim.SGD(rate)), order=order)
    return model if sparse.issparse(stream.X) else preprocessing.StandardScaler() | model


def answer_river(stream: Stream, name: str) -> dict[str, Any]:
    """Return the scores of one of river's models."""
    model, predicted, n_rows = river_model(stream, name), np.zeros_like(stream.Y), 0
    stop = time.perf_counter() + LIMIT
    for x, y in zip(_as_dicts(stream.X), stream.Y, strict=True):
        answer = model.predict_one(x)
        predicted[n_rows, [label for label, value in answer.items() if value]] = 1
        model.learn_one(x, {label: bool(value) for label, value in enumerate(y)})
        n_rows += 1
        if time.perf_counter() > stop:
            break
    pair = stream.Y[WARM_UP:n_rows], predicted[WARM_UP:n_rows]
    scores = {"micro_f1": micro_f1(*pair), "example_f1": f1_examples(*pair, zero_division=1.0)}
    return {**scores, "rows": n_rows, "drifts": None, "bytes": len(pickle.dumps(model))}


def _as_dicts(X: Any) -> Iterator[dict[str, float]]:
    if sparse.issparse(X):
        for start, stop in zip(X.indptr[:-1], X.indptr[1:], strict=True):
            yield {f"x{column}": value for column, value in zip(X.indices[start:stop], X.data[start:stop], strict=True)}
    else:
        for row in X:
            yield {f"x{column}": value for column, value in enumerate(row.tolist())}


def prepare(name: str, drift: bool, method: str) -> Mapping[str, Callable[[], Any]]:
    """Return one method on one stream."""
    stream = Stream.of(name, drift=drift)
    answer = answer_ours if method in OURS else answer_river
    small = Stream(stream.X[:120], stream.Y[:120])  # imports are not timed
    answer(small, method)
    return {"stream": lambda: answer(stream, method)}


def record_of(name: str, drift: bool, method: str) -> dict[str, Any]:
    """Measure one method on one stream, in a fresh process."""
    (measured,) = measure([Job(f"{name}, {drift}, {method}", prepare, (name, drift, method))], 1).values()
    answer = measured.samples[0].answer
    seconds = measured.minimum("stream", "wall") * 1000 / answer["rows"]
    return {"set": name, "drift": drift, "method": method, "seconds": seconds, **answer}


def main() -> None:
    """Measure what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default="", help="names with ; between them")
    parser.add_argument("--again", default="")
    arguments = parser.parse_args()
    print_facts()
    known = [record for record in read_records(RESULTS) if record["method"] != arguments.again]
    write_records(RESULTS, known)
    done = {(record["set"], record["drift"], record["method"]) for record in known}
    methods = arguments.methods.split(";") if arguments.methods else [*OURS, *(RIVERS if version_of("river") else ())]
    for job in itertools.product(arguments.sets.split(","), (False, True), methods):
        if job not in done and ONLY_ON.get(job[2], job[0]) == job[0]:
            add_record(RESULTS, record_of(*job))
    write_figures(PAGE, page(read_records(RESULTS)))


def page(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"Machine: {facts_as_text(machine_facts())}.\n\n"
    yield "| stream | method | micro F1 | example F1 | s / 1,000 rows | MiB | drift found at row |\n"
    yield "|---|---|---:|---:|---:|---:|---|\n"
    for name, drift in itertools.product(SETS, (False, True)):
        of_stream = [record for record in records if (record["set"], record["drift"]) == (name, drift)]
        n_rows = max((record["rows"] for record in of_stream), default=0)
        title = f"{name}, {n_rows} rows" + f", drift at {n_rows // 2}" * drift
        for record in sorted(of_stream, key=lambda record: [*OURS, *RIVERS].index(record["method"])):
            yield f"| {title} | {' | '.join(_cells(record, n_rows))} |\n"
            title = ""


def _cells(record: dict[str, Any], n_rows: int) -> Iterator[str]:
    stopped = f" (stopped at row {record['rows']})" if record["rows"] < n_rows else ""
    yield record["method"] + stopped
    yield from (f"{record[score]:.3f}" for score in ("micro_f1", "example_f1"))
    yield from (as_text(float(value)) for value in (record["seconds"], record["bytes"] / 2**20))
    yield "" if record["drifts"] is None else ", ".join(map(str, record["drifts"])) or "none"


if __name__ == "__main__":
    main()
