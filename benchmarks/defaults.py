"""How good is what `NeighborsClassifierCV` chooses, beside ML-kNN and a forest with tuned thresholds?

Micro F1 on test rows, mean of five shuffled folds, or of the published split of the larger sets. Features are min-max
scaled for the methods that do not choose. "k, then thresholds" is ML-kNN whose k is the best of 1 to 30 at the built-in
cut; "k with thresholds" tries the numbers of `NeighborsClassifierCV` together with thresholds; "all together" is
`NeighborsClassifierCV()`, what ``nearlabel fit`` does. "chosen by" is the value that it was chosen by, "cross-fitted"
its `crossfit_score_`: both are to be compared with its value on test rows, which took no part in anything.

Makes the table of ``docs/best_by_default.md``. Results are kept in ``benchmarks/results/defaults.jsonl``, a line for
each fold and method: a second run goes on where the first stopped; ``--again METHOD`` forgets a method's lines.

Run: ``python benchmarks/defaults.py``; about an hour on two cores. ``--sets emotions,scene`` for some.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel import FeatureScaler, MLkNN, NeighborsClassifierCV, TunedThresholdsClassifierCV
from nearlabel.datasets import catalogue, fetch_dataset
from nearlabel.experiments import make_method
from nearlabel.metrics import average_precision, micro_f1

RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "best_by_default.md"
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
SETS = ("emotions", "scene", "yeast", "enron", "medical", "image", "genbase", "cal500", "bibtex", "corel5k")
BY_SPLIT = ("bibtex", "corel5k")
N_FOLDS = 5

METHODS: Mapping[str, Callable[[], Any]] = {
    "k, then thresholds": lambda: _scaled(_KFirst()),
    "k with thresholds": lambda: NeighborsClassifierCV(
        methods={"mlknn": MLkNN()}, scales=("minmax",), metrics=("euclidean",)
    ),
    "forest": lambda: _scaled(make_method("rfpct@micro-f")),
    "all together": NeighborsClassifierCV,
}


class _KFirst(BaseEstimator):
    """ML-kNN with the best k at the built-in cut, then the thresholds that are best for this k."""

    def fit(self, X: Any, Y: Any) -> Any:
        k = MLkNN("auto").fit(X, Y).n_neighbors_
        self.model_ = TunedThresholdsClassifierCV(MLkNN(k), cv="loo").fit(X, Y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


def _scaled(model: Any) -> Any:
    return make_pipeline(FeatureScaler("minmax"), model)


def folds_of(name: str) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield training and test parts of a data set: X, Y, X, Y."""
    if name in BY_SPLIT:
        training, test = (fetch_dataset(name, subset) for subset in ("train", "test"))
        yield training.X, training.Y, test.X, test.Y
        return
    data = fetch_dataset(name)
    for training, test in KFold(N_FOLDS, shuffle=True, random_state=0).split(np.zeros((data.Y.shape[0], 1))):
        yield data.X[training], data.Y[training], data.X[test], data.Y[test]


def measure(name: str, fold: int, method: str) -> dict[str, Any]:
    """Fit a method to one fold, and return its record."""
    warnings.simplefilter("ignore")
    X, Y, X_test, Y_test = list(folds_of(name))[fold]
    Y, Y_test = (part.toarray() if sparse.issparse(part) else np.asarray(part) for part in (Y, Y_test))
    start = time.perf_counter()
    model = METHODS[method]().fit(X, Y)
    record = {"set": name, "fold": fold, "method": method, "seconds": round(time.perf_counter() - start, 2)}
    record["micro_f1"] = micro_f1(Y_test, model.predict(X_test))
    record["average_precision"] = average_precision(Y_test, model.predict_proba(X_test))
    if isinstance(model, NeighborsClassifierCV):
        record |= {"chosen_by": model.best_score_, "crossfitted": model.crossfit_score_, "best": model.best_params_}
    return record


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--again", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    known = _read(arguments.again)
    done = {(record["set"], record["fold"], record["method"]) for record in known}
    todo = [
        (name, fold, method)
        for name in arguments.sets.split(",")
        if name in catalogue()
        for fold in range(1 if name in BY_SPLIT else N_FOLDS)
        for method in METHODS
        if (name, fold, method) not in done
    ]
    RESULTS.write_text("".join(json.dumps(record) + "\n" for record in known))
    with RESULTS.open("a") as file:
        for record in Parallel(arguments.jobs, return_as="generator_unordered")(delayed(measure)(*job) for job in todo):
            file.write(json.dumps(record) + "\n")
            file.flush()
            print(record)
    write_page(_read())


def _read(forgotten: str = "") -> list[dict[str, Any]]:
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return [record for record in map(json.loads, lines) if record["method"] != forgotten]


def write_page(records: list[dict[str, Any]]) -> None:
    """Put the table between the marks of the page."""
    if not PAGE.exists():
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "".join(table(records)) + END + after)


def table(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| data set | "
        + " | ".join(METHODS)
        + " | chosen by | cross-fitted | what was chosen | seconds: forest, all |\n"
    )
    yield "|---|" + "---:|" * (len(METHODS) + 2) + "---|---:|\n"
    means: list[list[float]] = []
    for name in SETS:
        of_set = [record for record in records if record["set"] == name]
        by_method = {method: [record for record in of_set if record["method"] == method] for method in METHODS}
        if not all(by_method.values()):
            continue
        chosen = by_method["all together"]
        values = [_mean(by_method[method], "micro_f1") for method in METHODS]
        values += [_mean(chosen, "chosen_by"), _mean(chosen, "crossfitted")]
        means.append(values)
        seconds = ", ".join(f"{_mean(by_method[method], 'seconds'):.1f}" for method in ("forest", "all together"))
        yield f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + f" | {_chosen(chosen)} | {seconds} |\n"
    yield "| mean | " + " | ".join(f"{value:.3f}" for value in np.mean(means, axis=0)) + " | | |\n"


def _mean(records: list[dict[str, Any]], column: str) -> float:
    return float(np.mean([record[column] for record in records]))


def _chosen(records: list[dict[str, Any]]) -> str:
    """Return what was chosen in most folds."""
    names = [" ".join(str(record["best"][key]) for key in ("method", "scale", "metric")) for record in records]
    return max(dict.fromkeys(names), key=names.count)


if __name__ == "__main__":
    main()
