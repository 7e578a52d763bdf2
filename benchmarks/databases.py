"""What does it cost to search where the data live, in LanceDB, and what is missed?

Rows in clusters that overlap are added to a table with tags. `TableNeighbors` is asked for neighbours of queries
without an index, by an index of lists (IVF_FLAT) and by one that also compresses vectors (IVF_PQ), each with fewer and
more lists looked through and candidates nominated; `ExactNeighbors` for the same in memory. Recall is the share of the
true neighbours that is found. Then a classifier on the table is asked again after one row was added. Times are CPU
seconds of all threads of the process: LanceDB uses all cores.

Run: ``python benchmarks/databases.py``; ``--quick`` for a look. Needs ``pip install '.[bench]'``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import lancedb
import numpy as np
import pyarrow as pa

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.lazy import BRkNN
from nearlabel.neighbors import ExactNeighbors, LanceTable, TableClassifier, TableNeighbors

FEATURES, CLUSTERS, NEIGHBORS = 100, 200, 10
MANY = 100  # candidates, and lists of an index that are looked through
HEADER = ("search", "candidates", "lists", "index, CPU s", "queries a CPU second", "recall at 10")


def problem(n_rows: int, n_queries: int) -> tuple[Any, Any, list[list[str]]]:
    """Return rows, queries and tags."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(CLUSTERS, FEATURES))
    of = rng.integers(0, CLUSTERS, n_rows + n_queries)
    rows = (0.5 * centres[of] + rng.normal(size=(n_rows + n_queries, FEATURES))).astype(np.float32)
    return rows[:n_rows], rows[n_rows:], [[f"tag {cluster % 20}"] for cluster in of[:n_rows]]


def table_of(folder: str, rows: Any, tags: list[list[str]]) -> LanceTable:
    """Return a table with the rows."""
    vectors = pa.list_(pa.float32(), FEATURES)
    columns = {"id": pa.int64(), "vector": vectors, "tags": pa.list_(pa.string())}
    lancedb.connect(folder).create_table("rows", schema=pa.schema(list(columns.items())))
    table = LanceTable(folder, "rows")
    table.add(range(len(rows)), rows, tags)
    return table


def indexes(folder: str, n_rows: int) -> Iterator[tuple[str, float]]:
    """Build one index after the other; yield its name and the CPU seconds that it took."""
    yield "none", 0.0
    n_lists = max(1, round(n_rows**0.5))
    kinds = {
        "IVF_FLAT": lancedb.index.IvfFlat(num_partitions=n_lists),
        "IVF_PQ": lancedb.index.IvfPq(num_partitions=n_lists, num_sub_vectors=FEATURES // 4),
    }
    for name, config in kinds.items():
        table, start = lancedb.connect(folder).open_table("rows"), process_time()
        table.create_index("vector", config=config)
        yield name, process_time() - start


def asked(search: Any, queries: Any, farthest: Any, repeats: int) -> tuple[float, float]:
    """Return queries a CPU second, in the best of some rounds, and the recall."""
    seconds = []
    search.kneighbors(queries[:10], NEIGHBORS)
    for _ in range(repeats):
        start = process_time()
        distances = search.kneighbors(queries, NEIGHBORS)[0]
        seconds.append(process_time() - start)
    return len(queries) / min(seconds), float((distances <= farthest).mean())


def searches(folder: str, rows: Any, queries: Any, repeats: int) -> list[dict[str, Any]]:
    """Return a record of each search."""
    records = []
    farthest = ExactNeighbors().fit(rows).kneighbors(queries, NEIGHBORS)[0][:, -1:]
    speed, recall = asked(ExactNeighbors(n_jobs=1).fit(rows), queries, farthest, repeats)
    records.append(dict(zip(HEADER, ("ExactNeighbors", None, None, None, speed, recall), strict=True)))
    for index, seconds in indexes(folder, len(rows)):
        for n_candidates, n_probes in ((2 * NEIGHBORS + 1, None), (2 * NEIGHBORS + 1, MANY), (MANY, MANY)):
            if index == "none" and n_probes is not None:
                continue
            search = TableNeighbors(LanceTable(folder, "rows", n_probes=n_probes), n_candidates=n_candidates).fit()
            some = queries if index != "none" else queries[: len(queries) // 5]  # all rows are compared for each
            speed, recall = asked(search, some, farthest[: len(some)], repeats)
            lists = None if index == "none" else n_probes or "default"
            line = (f"LanceDB, index: {index}", n_candidates, lists, seconds, speed, recall)
            records.append(dict(zip(HEADER, line, strict=True)))
    return records


def following(table: LanceTable, queries: Any) -> dict[str, float]:
    """Return the CPU seconds of a fit to the table, of a prediction, and of one after a row was added."""
    model = TableClassifier(BRkNN(NEIGHBORS, search=TableNeighbors(table)), table)
    steps = {
        "fit": model.fit,
        "predict for one row": lambda: model.predict(queries[:1]),
        "the same, a row added": lambda: (table.add([-1], queries[:1], [["new"]]), model.predict(queries[:1])),
    }
    found = {}
    for name, step in steps.items():
        start = process_time()
        step()
        found[name] = process_time() - start
    return found


def main() -> None:
    """Measure, print and save."""
    options = parser_for(__doc__ or "", "databases", 3).parse_args()
    n_rows, n_queries = (5_000, 200) if options.quick else (100_000, 2_000)
    print_facts()
    rows, queries, tags = problem(n_rows, n_queries)
    with tempfile.TemporaryDirectory() as folder:
        start = process_time()
        table = table_of(str(Path(folder)), rows, tags)
        seconds = {"add all rows": process_time() - start}
        records = searches(folder, rows, queries, options.repeats)
        seconds |= following(table, queries)
    tables = [
        Table(f"{n_rows:,} x {FEATURES}, k = {NEIGHBORS}", HEADER, [shown(record) for record in records]),
        Table("A classifier on the table", ("step", "CPU s"), [(name, f"{s:.3f}") for name, s in seconds.items()]),
    ]
    show(tables)
    save(options, __doc__ or "", {"searches": records, "seconds": seconds}, tables)


def shown(record: dict[str, Any]) -> tuple[str, ...]:
    """Return a line of the table."""
    name, candidates, lists, seconds, speed, recall = record.values()
    built = "" if seconds is None else f"{seconds:.1f}"
    return str(name), str(candidates or ""), str(lists or ""), built, f"{speed:,.0f}", f"{recall:.4f}"


if __name__ == "__main__":
    main()
