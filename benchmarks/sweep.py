"""How much does one search per fold save over a search for every method and every k?

The experiment of Spyromitros, Tsoumakas and Vlahavas (2008): brknn, brknn-a, brknn-b, lpknn and mlknn, k = 1 .. 30, all
measures, features scaled to [0, 1]. One fold of each data set is run in two ways and the records are asserted to be
equal: "shared" is `nearlabel.experiments.run`, "single" fits, predicts and scores 150 classifiers, each with its own
search. Predicting labels and scores are two calls, so a single classifier searches its queries twice. "single, one
call" subtracts the second: what remains if each classifier answered both from one search.

"ratio" is single over shared; "one call" the same if labels and scores came from one search; "of least" that of the
least of each. The measures are the same work on both sides and are in all figures.

Run: ``python benchmarks/sweep.py``; ``--full`` also times all ten folds, with two workers and with one. Needs
``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.preprocessing import MinMaxScaler

from _harness import Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import Dataset, fetch_dataset
from nearlabel.experiments import Plan, make_method, run
from nearlabel.metrics import score_all
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS

METHODS = ("brknn", "brknn-a", "brknn-b", "lpknn", "mlknn")
DATASETS = ("emotions", "scene", "yeast")


def plan_of(largest_k: int) -> Plan:
    """Return the paper's experiment for k = 1 .. largest_k."""
    return Plan(METHODS, tuple(range(1, largest_k + 1)), cv=10, scale="minmax")


def first_fold(name: str, plan: Plan) -> tuple[Dataset, Dataset]:
    """Return the training and the test part of the plan's first fold."""
    data = fetch_dataset(name)
    fold = next(plan.folds({name: data}))
    return _rows(data, fold.training), _rows(data, fold.test)


def _rows(data: Dataset, rows: Any) -> Dataset:
    return replace(data, X=data.X[rows], Y=data.Y[rows])


def prepare_shared(name: str, largest_k: int) -> Mapping[str, Callable[[], Any]]:
    """Return the run of one fold with one search."""
    plan = plan_of(largest_k)
    problem = {name: first_fold(name, plan)}
    run(plan_of(1), problem)
    return {"run": lambda: run(plan, problem)}


def prepare_single(name: str, largest_k: int) -> Mapping[str, Callable[[], Any]]:
    """Return the same work with a search for every classifier, as stages that each visit all of them."""
    plan = plan_of(largest_k)
    training, test = first_fold(name, plan)
    SingleFits(name, plan_of(1), training, test).all_stages()
    return SingleFits(name, plan, training, test).stages()


class SingleFits:
    """Every method and every k by itself, on one fold."""

    def __init__(self, name: str, plan: Plan, training: Dataset, test: Dataset) -> None:
        self.name, self.plan, self.training, self.test = name, plan, training, test

    def stages(self) -> Mapping[str, Callable[[], Any]]:
        """Return the stages in their order; the last gives the records."""
        return {"fit": self.fit, "labels": self.predict, "scores": self.predict_proba, "measures": self.records}

    def all_stages(self) -> list[dict[str, Any]]:
        """Run them, for warming up."""
        *_, records = (stage() for stage in self.stages().values())
        return records

    def fit(self) -> None:
        """Scale the features and fit all classifiers."""
        scaler = MinMaxScaler().fit(self.training.X)
        X, self.queries = scaler.transform(self.training.X), scaler.transform(self.test.X)
        self.models = {
            (method, k): make_method(method, k).fit(X, self.training.Y)
            for method in self.plan.methods
            for k in self.plan.n_neighbors
        }

    def predict(self) -> None:
        """Predict label sets."""
        self.labels = {key: model.predict(self.queries) for key, model in self.models.items()}

    def predict_proba(self) -> None:
        """Predict scores."""
        self.scores = {key: model.predict_proba(self.queries) for key, model in self.models.items()}

    def records(self) -> list[dict[str, Any]]:
        """Return records as `run` writes them."""
        return list(self._records())

    def _records(self) -> Iterator[dict[str, Any]]:
        measures = [name for name in self.plan.metrics if name != EMPTY_PREDICTIONS]
        for (method, k), labels in self.labels.items():
            values = score_all(self.test.Y, labels, self.scores[method, k], measures)
            values[EMPTY_PREDICTIONS] = float(np.mean(labels.sum(axis=1) == 0))
            for metric in self.plan.metrics:
                value = values[metric] if np.isfinite(values[metric]) else None
                setting = {"method": method, "n_neighbors": k, "metric": metric, "value": value}
                yield {"dataset": self.name, "seed": None, "fold": 0} | setting


def compare(name: str, largest_k: int, repeats: int) -> dict[str, Any]:
    """Measure both ways on the first fold of a data set and assert that the records are equal."""
    ways = {"shared": prepare_shared, "single": prepare_single}
    measured = measure([Job(way, prepare, (name, largest_k)) for way, prepare in ways.items()], repeats)
    shared, single = measured["shared"], measured["single"]
    if shared.answer != single.answer:
        raise AssertionError(f"the records of {name} must be equal, shared or single.")
    one_call = single.median() - single.median("scores")
    return {
        "dataset": name,
        "records": len(shared.answer),
        "shared": shared.describe(),
        "single": single.describe(),
        "ratio": round(single.median() / shared.median(), 2),
        "ratio_one_call": round(one_call / shared.median(), 2),
        "ratio_of_minima": round(single.minimum() / shared.minimum(), 2),
    }


def table_of(results: Sequence[Mapping[str, Any]], largest_k: int) -> Table:
    """Return the comparison."""
    headers = ("", "records", "shared s", "single s", "of it: fit", "labels", "scores", "measures")
    title = f"One fold of ten, {len(METHODS)} methods, k = 1 .. {largest_k}; the records are equal"
    return Table(title, (*headers, "ratio", "one call", "of least"), [_cells(result) for result in results])


def _cells(result: Mapping[str, Any]) -> tuple[Any, ...]:
    single = {stage: seconds["wall_median"] for stage, seconds in result["single"]["seconds"].items()}
    stages = [single[stage] for stage in ("total", "fit", "labels", "scores", "measures")]
    ratios = [result[key] for key in ("ratio", "ratio_one_call", "ratio_of_minima")]
    shared = result["shared"]["seconds"]["total"]["wall_median"]
    return (result["dataset"], result["records"], shared, *stages, *ratios)


def run_full(names: Sequence[str], largest_k: int, n_workers: int) -> dict[str, Any]:
    """Time the whole experiment, ten folds of every data set; the start of the workers counts."""
    problems = {name: fetch_dataset(name) for name in names}
    start = time.perf_counter()
    records = run(plan_of(largest_k), problems, n_workers=n_workers)
    seconds = time.perf_counter() - start
    return {"datasets": list(names), "workers": n_workers, "records": len(records), "seconds": round(seconds, 2)}


def main() -> None:
    """Run the comparison, print it and save it."""
    parser = parser_for(__doc__, "sweep", repeats=3)
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--largest-k", type=int)
    parser.add_argument("--full", action="store_true", help="time all ten folds, with two workers and one")
    options = parser.parse_args()
    print_facts()
    names = options.datasets or DATASETS[: 1 if options.quick else None]
    largest_k = options.largest_k or (5 if options.quick else 30)
    results: dict[str, Any] = {"largest_k": largest_k}
    results["one_fold"] = [compare(name, largest_k, options.repeats) for name in names]
    tables = [table_of(results["one_fold"], largest_k)]
    if options.full:
        results["full"] = [run_full(names, largest_k, n_workers) for n_workers in (2, 1)]
        rows = [(str(full["workers"]), full["records"], full["seconds"]) for full in results["full"]]
        title = "All ten folds of all data sets, one run each, the start of the workers included"
        tables.append(Table(title, ("workers", "records", "seconds"), rows))
    show(tables)
    save(options, __doc__, results, tables)


if __name__ == "__main__":
    main()
