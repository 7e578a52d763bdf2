"""Do claims of the papers hold beyond their data: BRkNN-b for many labels, the times of BRkNN and of NLDD?

The first two are of Spyromitros et al. (2008), the last one is of Gweon et al. (2019).

BRkNN-b does best where the label cardinality is high: here on all data sets of the catalogue, in the order of their
cardinality, prepared as in ``which_method.py`` (at most 500 training and 1,000 test samples, 10 neighbours). Accuracy
is the mean over samples of the Jaccard index. The last line is the rank correlation with the cardinality.

BRkNN takes a fraction 1/L of the time of binary relevance with a kNN classifier for each of L labels: here on Gaussian
features, 5,000 training samples of 64 features and 1,000 queries, the fit and all predictions, both by brute force.

NLDD's training time is of the order L (f(d, N) + f(d, N/2) + g(d, N/2)) + N² (d + L), where f and g are the times to
train and to apply a classifier of one label, and the last term is that of the pairs of samples: here the whole fit and
the pairs alone, on the clustered rows of ``growth.py`` with ten labels. A slope is that of log time over log size from
the line above (1: as the size, 2: as its square).

Run: ``python benchmarks/claims.py``; makes the tables of ``docs/papers.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.neighbors import KNeighborsClassifier

from _harness import Job, Table, lines_of, measure, parser_for, print_facts, save, show, write_figures
from growth import dense
from nearlabel.labels import cardinality
from nearlabel.lazy import NLDD, BRkNN
from nearlabel.lazy.double_distances import double_distances
from nearlabel.metrics import jaccard_examples
from nearlabel.neighbors import ExactNeighbors
from nearlabel.rivals import BinaryRelevance
from which_method import SETS, candidate_for, parts_of

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
METHODS = ("brknn", "brknn-a", "brknn-b")
N_LABELS = (1, 2, 4, 8, 16, 32, 64)
N_NEIGHBORS = 10
N_SAMPLES, N_FEATURES = (1_000, 2_000, 4_000, 8_000, 16_000), (25, 50, 100, 200, 400)
AT = (4_000, 50)  # samples while the features vary, and features while the samples do
IN_FEATURES, IN_LABELS = (1.0, 0.0), (0.0, 1.0)  # the weights of the two nearest pairs of a sample


def main() -> None:
    """Measure, print, save, and write the tables into the page."""
    options = parser_for(__doc__, "claims", repeats=3).parse_args()
    print_facts()
    sets = sorted(map(measured, SETS[:5] if options.quick else SETS), key=lambda one: one["cardinality"])
    seconds = [times(n_labels, options.repeats) for n_labels in (N_LABELS[:3] if options.quick else N_LABELS)]
    sizes = [(n, AT[1]) for n in N_SAMPLES], [(AT[0], d) for d in N_FEATURES]
    trained = [[trainings(*size, options.repeats) for size in of[: 2 if options.quick else None]] for of in sizes]
    tables = [by_cardinality(sets), by_number(seconds), by_size(trained)]
    show(tables)
    save(options, __doc__, {"sets": sets, "seconds": seconds, "trainings": trained}, tables)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


def measured(name: str) -> dict[str, Any]:
    """Return the cardinality of a data set and the accuracy of each method."""
    parts = parts_of(name)
    models = {method: candidate_for(parts.X, method).make().fit(parts.X, parts.Y) for method in METHODS}
    accuracy = {one: jaccard_examples(parts.Y_test, model.predict(parts.X_test)) for one, model in models.items()}
    return {"set": name, "cardinality": cardinality(parts.Y), **accuracy}


def by_cardinality(sets: Sequence[Mapping[str, Any]]) -> Table:
    """Return the accuracy of BRkNN, the gains of the other two, and how the difference of these follows cardinality."""
    sizes, base, a, b = (np.array([one[key] for one in sets]) for key in ("cardinality", *METHODS))
    columns = (sizes.round(2), base.round(3), (a - base).round(3), (b - base).round(3), (b - a).round(3))
    rows = [(one["set"], *row) for one, row in zip(sets, np.column_stack(columns).tolist(), strict=True)]
    correlations = (round(float(spearmanr(sizes, column).statistic), 2) for column in columns[2:])
    rows.append(("rank correlation with cardinality", None, None, *correlations))
    headers = ("data set", "cardinality", "accuracy of BRkNN", "gain of BRkNN-a", "gain of BRkNN-b", "b over a")
    return Table("BRkNN-a and BRkNN-b by label cardinality", headers, rows)


def prepare(n_labels: int) -> dict[str, Any]:
    """Return the two stages to time: BRkNN, and a classifier for each label."""
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((5_000, 64)), rng.standard_normal((1_000, 64))
    y = (rng.random((5_000, n_labels)) < 0.2).astype(int)
    each = BinaryRelevance(KNeighborsClassifier(N_NEIGHBORS, algorithm="brute"))
    return {
        "brknn": lambda: BRkNN(N_NEIGHBORS).fit(X, y).predict(queries),
        "each": lambda: each.fit(X, y).predict(queries),
    }


def times(n_labels: int, repeats: int) -> dict[str, float]:
    """Return the CPU seconds of both, the median of the repeats."""
    found = measure([Job("claims", prepare, (n_labels,))], repeats)["claims"]
    return {"labels": n_labels, **{stage: found.median(stage, "cpu") for stage in ("brknn", "each")}}


def by_number(seconds: Sequence[Mapping[str, float]]) -> Table:
    """Return the seconds of both, and their ratio, by the number of labels."""
    rows = [(str(one["labels"]), one["brknn"], one["each"], one["each"] / one["brknn"]) for one in seconds]
    headers = ("labels", "BRkNN, CPU s", "a kNN classifier for each label, CPU s", "ratio")
    return Table("Time by the number of labels", headers, rows)


def prepare_training(n_samples: int, n_features: int) -> dict[str, Any]:
    """Return the two stages to time: NLDD's fit, and the pairs of its second half of samples with its first."""
    half = n_samples // 2
    X, Y, others, P = dense({"rows": n_samples, "features": n_features, "labels": 10}, half, 100)

    def pairs() -> None:
        candidates = double_distances(ExactNeighbors(), X[:half], Y[:half])
        for weights in (IN_FEATURES, IN_LABELS):
            candidates.nearest(others, P, weights)

    return {"fit": lambda: NLDD(random_state=0).fit(X, Y), "pairs": pairs}


def trainings(n_samples: int, n_features: int, repeats: int) -> dict[str, float]:
    """Return the CPU seconds of both, the median of the repeats."""
    found = measure([Job("training", prepare_training, (n_samples, n_features))], repeats)["training"]
    seconds = {stage: found.median(stage, "cpu") for stage in ("fit", "pairs")}
    return {"samples": n_samples, "features": n_features, **seconds}


def by_size(trained: Sequence[Sequence[Mapping[str, float]]]) -> Table:
    """Return the seconds and the slopes, first by the number of samples, then by that of features."""
    rows = []
    for size, of_size in zip(("samples", "features"), trained, strict=True):
        for place, one in enumerate(of_size):
            slopes = [_slope(of_size[place - 1], one, size, stage) if place else None for stage in ("fit", "pairs")]
            rows.append((f"{one['samples']:,} x {one['features']}", one["fit"], slopes[0], one["pairs"], slopes[1]))
    headers = ("samples x features", "NLDD, CPU s", "slope", "pairs alone, CPU s", "slope")
    return Table("Training time of NLDD by samples and by features", headers, rows)


def _slope(before: Mapping[str, float], after: Mapping[str, float], size: str, stage: str) -> float:
    return round(float(np.log(after[stage] / before[stage]) / np.log(after[size] / before[size])), 1) + 0.0  # not -0


if __name__ == "__main__":
    main()
