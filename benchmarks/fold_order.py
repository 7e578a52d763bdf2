"""What do thresholds tuned by folds gain or lose, by how the folds are made?

Published splits, features unscaled; micro F1 of the test part. "none" is the classifier alone, the others are
`TunedThresholdsClassifierCV` by five folds of consecutive samples (the default), of shuffled samples
(``random_state=0``), and iteratively stratified. The samples of scene's training part are ordered by their labels.
`NeighborsClassifierCV` has thresholds of its own, so others around it are tuned twice; it is run on two sets.

Run: ``python benchmarks/fold_order.py``; a minute. ``--quick`` for emotions without the last model.
``docs/thresholds.md`` has the figures.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.linear_model import LogisticRegression

from _harness import Table, parser_for, print_facts, save, show
from nearlabel import BinaryRelevance, MLkNN, NeighborsClassifierCV, TunedThresholdsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import micro_f1
from nearlabel.selection import IterativeStratifiedKFold
from nearlabel.utils.messages import AdviceWarning

MODELS: Mapping[str, tuple[Any, Sequence[str]]] = {
    "ML-kNN": (MLkNN(), ("emotions", "scene", "yeast")),
    "logistic regressions": (
        BinaryRelevance(LogisticRegression(solver="liblinear")),
        ("emotions", "scene", "yeast"),
    ),
    "NeighborsClassifierCV": (NeighborsClassifierCV(), ("emotions", "medical")),
}
FOLDS: Mapping[str, Mapping[str, Any] | None] = {
    "none": None,
    "consecutive": {},
    "shuffled": {"random_state": 0},
    "stratified": {"cv": IterativeStratifiedKFold(5, shuffle=True, random_state=0)},
}


def values_of(model: Any, name: str) -> dict[str, float]:
    """Return micro F1 of a classifier on a data set, by how its folds are made."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    found = {}
    for title, options in FOLDS.items():
        tuned = model if options is None else TunedThresholdsClassifierCV(model, **options)
        tuned.fit(training.X, training.Y)
        found[title] = float(micro_f1(test.Y, tuned.predict(test.X)))
    return found


def tables_of(results: Mapping[str, Mapping[str, float]]) -> list[Table]:
    """Return the one table."""
    return [Table("Micro F1", ("", *FOLDS), [(name, *of.values()) for name, of in results.items()])]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "fold_order", repeats=1).parse_args(arguments)
    warnings.simplefilter("ignore", AdviceWarning)  # on the order of scene
    print_facts()
    models = list(MODELS.items())[: -1 if options.quick else None]
    results = {
        f"{name}, {title}": values_of(model, name)
        for title, (model, names) in models
        for name in names[: 1 if options.quick else None]
    }
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
