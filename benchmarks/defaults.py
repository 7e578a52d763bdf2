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

from _harness import add_record, read_records, write_figures, write_records
from nearlabel import FeatureScaler, MLkNN, NeighborsClassifierCV, TunedThresholdsClassifierCV
from nearlabel.datasets import catalogue, fetch_dataset
from nearlabel.experiments import Candidate, Tuning
from nearlabel.metrics import average_precision, micro_f1
from nearlabel.utils.estimators import label_scores, response_method_of

RESULTS = Path(__file__).parent / "results" / "defaults.jsonl"
PAGE = Path(__file__).parents[1] / "docs" / "best_by_default.md"
SETS = ("emotions", "scene", "yeast", "enron", "medical", "image", "genbase", "cal500", "bibtex", "corel5k")
BY_SPLIT = ("bibtex", "corel5k")
N_FOLDS = 5

METHODS: Mapping[str, Callable[[], Any]] = {
    "k, then thresholds": lambda: _scaled(_KFirst()),
    "k with thresholds": lambda: NeighborsClassifierCV(
        methods={"mlknn": MLkNN()}, scales=("minmax",), metrics=("euclidean",)
    ),
    "forest": lambda: Candidate("rfpct@micro-f", None, "minmax", None).make(),
    "all together": NeighborsClassifierCV,
    "best of tune": lambda: _BestOfTune(),
}
TUNED = "best of tune"  # not in the first table: a fit takes its time limit, so that not all folds are measured
MAIN = tuple(method for method in METHODS if method != TUNED)


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


class _BestOfTune(BaseEstimator):
    """What ``nearlabel tune`` keeps within a time limit."""

    def fit(self, X: Any, Y: Any) -> Any:
        tuning = Tuning(
            scales=("none", "minmax"),
            searches=("exact", "exact:metric=cosine"),
            sample_rows=2_000,
            time_limit=120 if X.shape[0] < 3_000 else 300,
        )
        best = tuning.run((X, Y)).best
        self.best_params_ = {"method": best.method, "scale": best.scale, "metric": best.search or ""}
        self.model_, self.n_labels_ = best.fit((X, Y)), Y.shape[1]
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return label_scores(self.model_, X, self.n_labels_, response_method_of(self.model_))


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
        record |= {"chosen_by": model.best_score_, "crossfitted": model.crossfit_score_}
    return record | ({"best": model.best_params_} if hasattr(model, "best_params_") else {})


def main() -> None:
    """Measure what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--tuned-folds", type=int, default=1, help="folds of the best of tune (1)")
    parser.add_argument("--again", default="")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    known = [record for record in read_records(RESULTS) if record["method"] != arguments.again]
    done = {(record["set"], record["fold"], record["method"]) for record in known}
    todo = [
        (name, fold, method)
        for name in arguments.sets.split(",")
        if name in catalogue()
        for method in arguments.methods.split(",")
        for fold in range(1 if name in BY_SPLIT else arguments.tuned_folds if method == TUNED else N_FOLDS)
        if (name, fold, method) not in done
    ]
    write_records(RESULTS, known)
    for record in Parallel(arguments.jobs, return_as="generator_unordered")(delayed(measure)(*job) for job in todo):
        add_record(RESULTS, record)
        print(record, flush=True)
    write_figures(PAGE, page(read_records(RESULTS)))


def page(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page that are made of records."""
    yield from table(records)
    if any(record["method"] == TUNED for record in records):
        yield from tuned_table(records)


def table(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the table."""
    yield (
        "| data set | " + " | ".join(MAIN) + " | chosen by | cross-fitted | what was chosen | seconds: forest, all |\n"
    )
    yield "|---|" + "---:|" * (len(MAIN) + 2) + "---|---:|\n"
    means: list[list[float]] = []
    for name in SETS:
        of_set = [record for record in records if record["set"] == name]
        by_method = {method: [record for record in of_set if record["method"] == method] for method in MAIN}
        if not all(by_method.values()):
            continue
        chosen = by_method["all together"]
        values = [_mean(by_method[method], "micro_f1") for method in MAIN]
        values += [_mean(chosen, "chosen_by"), _mean(chosen, "crossfitted")]
        means.append(values)
        seconds = ", ".join(f"{_mean(by_method[method], 'seconds'):.1f}" for method in ("forest", "all together"))
        yield f"| {name} | " + " | ".join(f"{value:.3f}" for value in values) + f" | {_chosen(chosen)} | {seconds} |\n"
    yield "| mean | " + " | ".join(f"{value:.3f}" for value in np.mean(means, axis=0)) + " | | |\n"


def tuned_table(records: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the best of ``nearlabel tune`` beside the forest and `NeighborsClassifierCV`, by folds."""
    beside = ("forest", "all together")
    yield f"\n| data set | folds | {' | '.join(beside)} | {TUNED} | less forest | what was chosen |\n"
    yield "|---|" + "---:|" * 5 + "---|\n"
    means: list[list[float]] = []
    for name in SETS:
        of_fold = {(record["method"], record["fold"]): record for record in records if record["set"] == name}
        tuned = [record for (method, _), record in of_fold.items() if method == TUNED]
        if not tuned:
            continue
        others = [[of_fold[method, record["fold"]] for record in tuned] for method in beside]
        values = [_mean(one, "micro_f1") for one in (*others, tuned)]
        means.append([*values, values[-1] - values[0]])
        cells = " | ".join(f"{value:.3f}" for value in means[-1])
        yield f"| {name} | {len(tuned)} | {cells} | {_chosen(tuned)} |\n"
    yield "| mean | | " + " | ".join(f"{value:.3f}" for value in np.mean(means, axis=0)) + " | |\n"


def _mean(records: list[dict[str, Any]], column: str) -> float:
    return float(np.mean([record[column] for record in records]))


def _chosen(records: list[dict[str, Any]]) -> str:
    """Return what was chosen in most folds."""
    names = [
        " ".join(str(record["best"][key]) for key in ("method", "scale", "metric") if record["best"][key])
        for record in records
    ]
    return max(dict.fromkeys(names), key=names.count)


if __name__ == "__main__":
    main()
