"""How much processor time do the reproductions take, projected from one fold of each data set and method?

    python benchmarks/long_runs.py [zhang2007 gweon2019 pillai2012 ...] [--quick]

Each method runs alone on the first fold of each data set, and its time is multiplied by the number of folds. So a
projection takes a tenth of the time of a ten-fold run. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nearlabel.experiments._folds import Fold
from nearlabel.papers import Paper, paper_names
from nearlabel.papers._paper import _plan_of


def seconds_of(plan: Any, fold: Fold) -> float:
    """Return the processor time of a fold."""
    start = time.process_time()
    list(plan.values(fold))
    return time.process_time() - start


def timings(paper: Paper, experiment: str) -> Iterator[tuple[str, str, int, float]]:
    """Yield data set, method, number of folds, and the processor time of the first fold."""
    facts = paper._facts["experiments"][experiment] | paper._instead(experiment)
    plan = _plan_of(facts, {})
    folds = list(plan.folds(paper._problems(facts)))
    n_folds = Counter(fold.dataset for fold in folds)
    first = {fold.dataset: fold for fold in reversed(folds)}
    for dataset, n in n_folds.items():
        for method in plan.methods:
            yield dataset, method, n, seconds_of(replace(plan, methods=(method,)), first[dataset])


def main() -> None:
    """Print a line for each data set and method, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", nargs="*", default=paper_names())
    parser.add_argument("--quick", action="store_true", help="the runs of reproduce --quick")
    arguments = parser.parse_args()
    for name in arguments.papers:
        paper = Paper(name, quick=arguments.quick)
        for experiment in paper._facts["experiments"]:
            total = 0.0
            for dataset, method, n, seconds in timings(paper, experiment):
                total += n * seconds
                cost = f"{n:3} x {seconds:8.2f} s = {n * seconds:9.1f} s"
                print(f"{name:16} {experiment:14} {dataset:24} {method:40} {cost}", flush=True)
            print(f"{name:16} {experiment:14} {'all':24} {'':40} {total:26.1f} s", flush=True)


if __name__ == "__main__":
    main()
