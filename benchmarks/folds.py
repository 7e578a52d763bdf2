"""How evenly do plain and stratified folds spread labels, and pairs of labels?

Ten folds, shuffled, means over five seeds, by `stratification_quality`: the deviation of labels (LD) and of pairs of
labels (LPD) from their distribution in all samples, and the pairs of a fold and a label without a sample (FLZ).
"plain" is scikit-learn's `KFold`, "order 1" and "order 2" are `IterativeStratifiedKFold`.

Run: ``python benchmarks/folds.py``; half a minute. ``--quick`` for emotions alone. ``docs/comparing.md`` has the
figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.selection import IterativeStratifiedKFold, stratification_quality

SETS = ("emotions", "yeast", "medical", "enron")
FIGURES = ("LD", "LPD", "FLZ")
N_FOLDS, N_SEEDS = 10, 5

Values = dict[str, dict[str, float]]  # of splitters, of figures


def splitters(seed: int) -> Mapping[str, Any]:
    """Return the splitters that are compared."""
    shuffled = {"shuffle": True, "random_state": seed}
    stratified = {f"order {order}": IterativeStratifiedKFold(N_FOLDS, order=order, **shuffled) for order in (1, 2)}
    return {"plain": KFold(N_FOLDS, **shuffled), **stratified}


def values_of(name: str) -> Values:
    """Return the figures of a data set, by splitter."""
    data = fetch_dataset(name)
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(N_SEEDS):
        for title, splitter in splitters(seed).items():
            of = stratification_quality(data.Y, splitter.split(data.X, data.Y))
            found.setdefault(title, []).append((of.label_distribution, of.label_pair_distribution, of.missing_labels))
    means = {title: np.mean(values, axis=0).tolist() for title, values in found.items()}
    return {title: dict(zip(FIGURES, values, strict=True)) for title, values in means.items()}


def tables_of(results: Mapping[str, Values]) -> list[Table]:
    """Return the one table."""
    titles = list(next(iter(results.values())))
    headers = ("", *(f"{title}: {figure}" for title in titles for figure in FIGURES))
    rows = [(name, *(of[title][figure] for title in titles for figure in FIGURES)) for name, of in results.items()]
    return [Table("Ten folds", headers, rows)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "folds", repeats=1).parse_args(arguments)
    print_facts()
    results = {name: values_of(name) for name in SETS[: 1 if options.quick else None]}
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
