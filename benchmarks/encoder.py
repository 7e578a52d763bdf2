"""What does the encoder of mixed columns cost beside scikit-learn's parts alone, and the search among missing numbers?

`MixedFeaturesEncoder` is compared with a `ColumnTransformer` of the same parts (SimpleImputer, MinMaxScaler,
OneHotEncoder, TfidfVectorizer), which gives no distance in particular, on a data frame of 19 columns of numbers, ten of
categories and one of texts, 2 % of the cells missing. Then 2,000 queries are searched for among rows of 30 numbers, 5 %
missing, by both metrics and by scikit-learn's `NearestNeighbors`, with one thread. Last, a service has one row at a
time: how long does it take to encode it, to search for it, to predict it and to explain it?

Run: ``python benchmarks/encoder.py``; ``--quick`` for a look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.lazy import BRkNN
from nearlabel.models import explain
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.thresholds import FixedThresholdsClassifier

NUMBERS, CATEGORIES, VALUES, WORDS = 19, 10, 12, 2_000
QUERIES, NEIGHBORS = 2_000, 10
TRAINING_ROWS, ROWS, LABELS_OF_A_ROW = 2_000, 200, 5
LABELS = {"100, dense": ("dense", 100), "3,000, sparse": ("sparse", 3_000)}
ENCODERS = ("ColumnTransformer", "MixedFeaturesEncoder")
SEARCHES = ("nearlabel, heom", "nearlabel, nan_euclidean", "scikit-learn, nan_euclidean")


def frame_of(n_rows: int) -> pd.DataFrame:
    """Return the mixed columns."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number{i}": rng.normal(size=n_rows) for i in range(NUMBERS)}
    values = np.array([f"value {i}" for i in range(VALUES)], dtype=object)
    columns |= {f"category{i}": values[rng.integers(0, VALUES, n_rows)] for i in range(CATEGORIES)}
    frame = pd.DataFrame(columns)
    frame = frame.mask(rng.random(frame.shape) < 0.02)
    words = np.array([f"word{i}" for i in range(WORDS)])
    frame["text"] = [" ".join(row) for row in words[rng.integers(0, WORDS, (n_rows, 8))]]
    return frame


def encoder_named(name: str, columns: list[str]) -> Any:
    """Return an unfitted encoder."""
    if name == "MixedFeaturesEncoder":
        return MixedFeaturesEncoder(text=["text"])
    numbers = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
    parts = [
        ("numbers", numbers, [c for c in columns if c.startswith("number")]),
        ("categories", OneHotEncoder(handle_unknown="ignore"), [c for c in columns if c.startswith("category")]),
        ("text", TfidfVectorizer(), "text"),
    ]
    return ColumnTransformer(parts)


def prepare_encoder(name: str, n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Return the encoding of training rows, and of as many queries."""
    frame = frame_of(n_rows)
    encoder = encoder_named(name, frame.columns.tolist())
    encoder_named(name, frame.columns.tolist()).fit_transform(frame[:1000])

    def fit_transform() -> None:
        encoder.fit_transform(frame)

    def transform() -> int:
        return int(encoder.transform(frame).nnz)

    return {"fit_transform": fit_transform, "transform": transform}


def prepare_search(name: str, n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Return the search for the neighbours of the queries."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + QUERIES, 30))
    X[rng.random(X.shape) < 0.05] = np.nan
    library, metric = name.split(", ")
    kind = ExactNeighbors if library == "nearlabel" else NearestNeighbors
    search = kind(metric=metric, n_jobs=1).fit(X[QUERIES:])

    def kneighbors() -> None:
        search.kneighbors(X[:QUERIES], NEIGHBORS)

    return {"kneighbors": kneighbors}


def prepare_row(storage: str, n_labels: int) -> Mapping[str, Callable[[], Any]]:
    """Return what a service does with one row, `ROWS` times each."""
    rows = frame_of(TRAINING_ROWS).to_numpy()
    y = (np.random.default_rng(0).random((TRAINING_ROWS, n_labels)) < LABELS_OF_A_ROW / n_labels).astype(np.int8)
    classifier = FixedThresholdsClassifier(BRkNN(NEIGHBORS), 0.3)
    model = make_pipeline(MixedFeaturesEncoder(text=[NUMBERS + CATEGORIES]), classifier)
    model.fit(rows, csr_array(y) if storage == "sparse" else y)
    query = rows[:1]
    encoded, search = model[:-1].transform(query), model[-1].estimator_.search_
    tasks: dict[str, Callable[[], Any]] = {
        "encode": lambda: model[0].transform(query),
        "search": lambda: search.kneighbors(encoded, NEIGHBORS),
        "predict": lambda: model[-1].predict(encoded),
        "explain": lambda: explain(model[-1], encoded),
    }
    explain(model, query)  # the first one searches for the neighbours of all training rows
    return {name: partial(_again, task) for name, task in tasks.items()}


def _again(task: Callable[[], Any]) -> None:
    for _ in range(ROWS):
        task()


def table_of_one_row(measured: Mapping[str, Measurement]) -> Table:
    """Return milliseconds for each storage of labels; of prediction and explanation, those after the search."""
    headers = ("labels", "encode, ms", "search, ms", "predict after the search, ms", "explain after the search, ms")
    lines = []
    for name in LABELS:
        each = {task: 1000 * measured[name].median(task) / ROWS for task in ("encode", "search", "predict", "explain")}
        search = each["search"]
        lines.append((name, each["encode"], search, each["predict"] - search, each["explain"] - search))
    return Table("One row of 30 mixed columns", headers, lines)


def main() -> None:
    """Measure, print and save the figures."""
    parser = parser_for(__doc__, "encoder", repeats=3)
    options = parser.parse_args()
    n_rows, n_searched = (5_000, 2_000) if options.quick else (100_000, 20_000)
    print_facts()
    jobs = [Job(name, prepare_encoder, (name, n_rows)) for name in ENCODERS]
    jobs += [Job(name, prepare_search, (name, n_searched)) for name in SEARCHES]
    jobs += [Job(name, prepare_row, of) for name, of in LABELS.items()]
    measured = measure(jobs, options.repeats)
    plain = measured[ENCODERS[0]]
    ratios = {n: measured[n].median() / plain.median() for n in ENCODERS}
    headers = ("encoder", "fit_transform, s", "transform, s", "both, ratio", "peak MiB", "non-zeros of a row")
    encoders = [
        (n, m.median("fit_transform"), m.median("transform"), ratios[n], m.peak_mib(), m.answer / n_rows)
        for n, m in ((name, measured[name]) for name in ENCODERS)
    ]
    slowest = measured[SEARCHES[-1]].median()
    searches = [(n, measured[n].median(), slowest / measured[n].median(), measured[n].peak_mib()) for n in SEARCHES]
    search_headers = ("search", "seconds", "times faster", "peak MiB")
    tables = [
        Table(f"Encoding {n_rows:,} rows of 30 mixed columns", headers, encoders),
        Table(f"{QUERIES:,} queries among {n_searched:,} rows with missing numbers", search_headers, searches),
        table_of_one_row(measured),
    ]
    records = [dict(zip(headers, row, strict=True)) for row in encoders]
    records += [dict(zip(search_headers, row, strict=True)) for row in searches]
    one_row = tables[-1]
    records += [dict(zip(one_row.headers, row, strict=True)) for row in one_row.rows]
    goals = [
        Goal("the encoder's time over that of its parts", "at most", 2.0, ratios[ENCODERS[1]]),
        Goal("ms to encode one row", "at most", 1.0, max(row[1] for row in one_row.rows)),
        Goal("ms to explain one row after the search", "at most", 1.0, max(row[4] for row in one_row.rows)),
    ]
    show(tables, goals)
    save(options, __doc__, records, tables, goals)


if __name__ == "__main__":
    main()
