"""Which pictures do the saved results make? Those of the pages that they are about.

Run: ``python benchmarks/charts.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from _dots import Chart, svg_of
from _harness import RESULTS

FOLDER = Path(__file__).parents[1] / "docs" / "_static"
Results = Mapping[str, Any]


def faster_than_faiss(search: Results) -> Chart:
    """How many times faster than faiss's flat index the search is, by level of the kernels."""
    return _times_faster(search, "By level: Times faster than faiss", "Search: times faster than faiss IndexFlatL2")


def faster_than_brute(search: Results) -> Chart:
    """How many times faster than scikit-learn's brute force the search is, by level of the kernels."""
    return _times_faster(
        search, "By level: Times faster than brute", "Search: times faster than scikit-learn's brute force"
    )


def _times_faster(search: Results, table: str, title: str) -> Chart:
    found = next(one for one in search["tables"] if one["title"] == table)
    levels = ("int16", "float32", "off")
    columns = [found["headers"].index(level) for level in levels]
    rows = [(name, tuple(cells[column - 1] for column in columns)) for name, *cells in found["rows"]]
    measured = tuple((name, values) for name, values in rows if any(value is not None for value in values))
    names = ("kernels: int16", "kernels: float32", "no kernels")
    axis = "times faster; right of the marked line nearlabel is faster"
    return Chart(title, names, measured, axis, (0.125, 0.25, 0.5, 1, 2, 4, 8), (1,), logarithmic=True)


def growth(results: Results) -> Chart:
    """How many times longer each step takes with four times the samples, features, labels or neighbours."""
    sizes = {"samples": "rows", "features": "features", "labels": "labels", "neighbours": "neighbors"}
    rows = tuple(
        (f"{part}: {step}", tuple(_growth(results["results"], part, step, size) for size in sizes.values()))
        for part in ("search", "ML-kNN, sparse", "ML-kNN, dense", "CML-kNN", "selection", "NLDD")
        for step in results["results"][part]["seconds"]
        if step != "total"
    )
    axis = "times longer with four times as many; 4: in proportion, 16: with the square"
    title = "Growth of CPU time"
    return Chart(title, tuple(sizes), rows, axis, (0.5, 1, 2, 4, 8, 16, 32), (4, 16), logarithmic=True)


def _growth(results: Results, part: str, step: str, size: str) -> float | None:
    larger = results.get(f"{part}, {size} x 4")
    if larger is None:
        return None
    return float(larger["seconds"][step]["cpu_minimum"] / results[part]["seconds"][step]["cpu_minimum"])


def peers(results: Results) -> Chart:
    """CPU seconds of fit and predict of ML-kNN, by library."""
    names = {"nearlabel": "nearlabel", "scikit-multilearn-ng MLkNN": "scikit-multilearn-ng"}
    rows = []
    for table in results["tables"]:
        if table["title"].startswith("MLkNN"):
            column = table["headers"].index("least s")
            found = {row[0]: row[column] for row in table["rows"]}
            rows.append((table["title"], tuple(found.get(name) for name in names)))
    ticks = (0.01, 0.1, 1, 10, 100)
    return Chart(
        "ML-kNN: fit and predict",
        tuple(names.values()),
        tuple(rows),
        "CPU seconds of both; less is better",
        ticks,
        logarithmic=True,
    )


def approximate(results: Results) -> Chart:
    """How many times faster than the exact search approximate ones are: for a whole fit, and for queries."""
    rows = []
    for size, of_size in results["results"].items():
        exact = of_size["ExactNeighbors"]
        for name, found in of_size.items():
            if name != "ExactNeighbors":
                whole, of_found = (one["fit"] + one["all rows"] for one in (exact, found))
                rows.append((f"{size} rows: {name}", (whole / of_found, exact["a query"] / found["a query"])))
    axis = "times faster than ExactNeighbors; right of the marked line approximate is faster"
    ticks = (0.1, 0.25, 0.5, 1, 2, 4, 8, 16)
    names = ("fit and all rows", "queries")
    return Chart("Approximate searches", names, tuple(rows), axis, ticks, (1,), logarithmic=True)


def annotators(results: Results) -> Chart:
    """Micro F1 by the number of annotations, in the order of the service and by chance."""
    rows = tuple(
        (f"{name}: {10 * place} annotations", tuple(float(np.mean(one, axis=0)[place]) for one in of_set.values()))
        for name, of_set in results["results"].items()
        for place in (0, 2, 5, 10, 15, 20)
    )
    axis = "micro F1 of the test part, mean of the seeds; more is better"
    return Chart(
        "Labels from the loop", tuple(next(iter(results["results"].values()))), rows, axis, (0, 0.2, 0.4, 0.6, 0.8)
    )


# The file of a picture, the results that it is made of, and how.
CHARTS: dict[str, tuple[str, Callable[[Results], Chart]]] = {
    "search_faiss": ("search", faster_than_faiss),
    "search_brute": ("search", faster_than_brute),
    "peers": ("peers", peers),
    "growth": ("growth", growth),
    "approximate": ("approximate_models", approximate),
    "annotators": ("annotators", annotators),
}


def pictures() -> Iterator[tuple[Path, str]]:
    """Yield the file and the content of each picture."""
    for name, (source, chart_of) in CHARTS.items():
        results = json.loads((RESULTS / f"{source}.json").read_text())
        yield FOLDER / f"{name}.svg", svg_of(chart_of(results))


def main() -> None:
    """Write the pictures."""
    for file, content in pictures():
        file.write_text(content)
        print(f"wrote {file}")


if __name__ == "__main__":
    main()
