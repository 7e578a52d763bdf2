"""Do two claims about BRkNN hold beyond the data of its paper (Spyromitros et al. 2008)?

BRkNN-b does best where the label cardinality is high: here on all data sets of the catalogue, in the order of their
cardinality, prepared as in ``which_method.py`` (at most 500 training and 1,000 test samples, 10 neighbours). Accuracy
is the mean over samples of the Jaccard index. The last line is the rank correlation with the cardinality.

BRkNN takes a fraction 1/L of the time of binary relevance with a kNN classifier for each of L labels: here on Gaussian
features, 5,000 training samples of 64 features and 1,000 queries, the fit and all predictions, both by brute force.

Run: ``python benchmarks/brknn_claims.py``; makes the tables of ``docs/papers.md``.
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
from nearlabel.labels import cardinality
from nearlabel.lazy import BRkNN
from nearlabel.metrics import jaccard_examples
from nearlabel.rivals import BinaryRelevance
from which_method import SETS, candidate_for, parts_of

PAGE = Path(__file__).parents[1] / "docs" / "papers.md"
METHODS = ("brknn", "brknn-a", "brknn-b")
N_LABELS = (1, 2, 4, 8, 16, 32, 64)
N_NEIGHBORS = 10


def main() -> None:
    """Measure, print, save, and write the tables into the page."""
    options = parser_for(__doc__, "brknn_claims", repeats=3).parse_args()
    print_facts()
    sets = sorted(map(measured, SETS[:5] if options.quick else SETS), key=lambda one: one["cardinality"])
    seconds = [times(n_labels, options.repeats) for n_labels in (N_LABELS[:3] if options.quick else N_LABELS)]
    tables = [by_cardinality(sets), by_number(seconds)]
    show(tables)
    save(options, __doc__, {"sets": sets, "seconds": seconds}, tables)
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


if __name__ == "__main__":
    main()
