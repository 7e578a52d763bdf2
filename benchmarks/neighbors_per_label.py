"""What is a number of neighbours for each label worth, beside one number for all and beside thresholds?

ML-kNN on the published splits of seven data sets, features unscaled. "k = 10" is the default, "auto" the number of
largest leave-one-out micro F1, "each label" `NeighborsPerLabel`: its numbers maximise the metric of the table.
"thresholds" are those of largest micro F1 on the leave-one-out scores of "auto". Numbers and thresholds are selected on
the training part; figures are of the test part.

Run: ``python benchmarks/neighbors_per_label.py``; a minute. ``--quick`` for emotions alone. ``docs/choosing_k.md`` has
the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.metrics import average_precision, macro_f1, micro_f1
from nearlabel.selection import NeighborsPerLabel
from nearlabel.thresholds import TunedThresholdsClassifierCV

SETS = ("emotions", "scene", "yeast", "medical", "enron", "yahoo-arts", "yahoo-health")
METRICS = {"micro F1": micro_f1, "macro F1": macro_f1, "average precision": average_precision}
COLUMNS = {
    "micro F1": ("k = 10", "auto", "each label, micro", "thresholds"),
    "macro F1": ("k = 10", "auto", "each label, macro"),
    "average precision": ("auto", "each label, macro"),
}

Values = dict[str, dict[str, float]]  # of metrics, of models


def values_of(name: str) -> Values:
    """Return the figures of a data set, by metric and model."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    auto = MLkNN("auto").fit(training.X, training.Y)
    with_its_k = MLkNN(auto.n_neighbors_)
    models: Mapping[str, Any] = {
        "k = 10": MLkNN(10).fit(training.X, training.Y),
        "auto": auto,
        "each label, micro": NeighborsPerLabel(scoring="micro_f1").fit(training.X, training.Y),
        "each label, macro": NeighborsPerLabel().fit(training.X, training.Y),
        "thresholds": TunedThresholdsClassifierCV(with_its_k, cv="loo").fit(training.X, training.Y),
    }
    found: Values = {metric: {} for metric in METRICS}
    for model, fitted in models.items():
        answers = fitted.predict(test.X), fitted.predict(test.X), fitted.predict_proba(test.X)
        for (metric, function), answer in zip(METRICS.items(), answers, strict=True):
            found[metric][model] = float(function(test.Y, answer))
    return found


def tables_of(results: Mapping[str, Values]) -> list[Table]:
    """Return a table for each metric."""
    return [
        Table(
            metric,
            ("", *columns),
            [(name, *(of[metric][column] for column in columns)) for name, of in results.items()],
        )
        for metric, columns in COLUMNS.items()
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "neighbors_per_label", repeats=1).parse_args(arguments)
    print_facts()
    results = {name: values_of(name) for name in SETS[: 1 if options.quick else None]}
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
