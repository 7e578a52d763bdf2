"""How much nearer to the truth are probabilities that are calibrated, label by label, on left-out scores?

ML-kNN, and BRkNN with equal votes and with votes weighted by distance, all with k = 10, on the same five shuffled folds
of five shared data sets, features as they are. "as it is" are the classifier's own probabilities. "sigmoid", "isotonic"
and "beta" are `CalibratedLabels` on leave-one-out scores of the training rows; "sigmoid, folds" on those of a five-fold
cross-validation of them. "binning" is no method of the library, and shows why: the share of a label in each of ten bins
of as many left-out scores, equal ones together. "scikit-learn, sigmoid" is its `CalibratedClassifierCV` of
`KNeighborsClassifier`, a label at a time, which has the probabilities of BRkNN with equal votes; it refuses a label of
fewer rows than folds, which medical and enron have.

Figures are means over the folds, times 1,000. "ratio" is the geometric mean, over the sets that were run, of the ratio
to "as it is".

Run: ``python benchmarks/calibration.py``, which takes two minutes and also writes the figures of
``docs/figures/calibration.md``; ``--quick`` for a look at two sets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from _harness import Goal, Table, lines_of, parser_for, print_facts, save, show, write_figures
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import brier_score, calibration_bins, log_loss
from nearlabel.thresholds import CalibratedLabels

SETS = ("emotions", "scene", "yeast", "medical", "enron")
FOLDS, K = 5, 10
CLASSIFIERS: Mapping[str, Any] = {
    "ML-kNN": MLkNN(K),
    "BRkNN": BRkNN(K),
    "BRkNN, by distance": BRkNN(K, weights="distance"),
}
PLAIN, BINNING, THEIRS = "as it is", "binning", "scikit-learn, sigmoid"
METHODS = ("sigmoid", "isotonic", "beta")
WAYS = (PLAIN, *METHODS, "sigmoid, folds", BINNING, THEIRS)
MEASURES: Mapping[str, Callable[[Any, Any], float]] = {
    "Brier score": brier_score,
    "log loss": log_loss,
    "expected calibration error": lambda y_true, y_prob: calibration_bins(y_true, y_prob).error,
}
PAGE = Path(__file__).parents[1] / "docs" / "figures" / "calibration.md"

Results = dict[str, dict[str, dict[str, dict[str, float]]]]  # set, classifier, way, measure


class Binned:
    """A classifier whose probabilities are the shares of ten bins of its left-out scores."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = clone(estimator)

    def fit(self, X: Any, Y: Any) -> Binned:
        """Cut each label's left-out scores into bins."""
        scores = self.estimator.fit(X, Y).loo_predict_proba()
        places = len(Y) * np.arange(1, 10) // 10
        self.edges_ = [np.unique(np.sort(column)[places]) for column in scores.T]
        self.shares_ = []
        for edges, column, y in zip(self.edges_, scores.T, Y.T, strict=True):
            bins, size = np.searchsorted(edges, column, side="right"), len(edges) + 1
            counts = np.bincount(bins, minlength=size)
            self.shares_.append((np.bincount(bins, y, minlength=size) + y.mean()) / (counts + 1))
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the share of the bin that each score lies in."""
        columns = zip(self.estimator.predict_proba(X).T, self.edges_, self.shares_, strict=True)
        return np.column_stack([shares[np.searchsorted(edges, s, side="right")] for s, edges, shares in columns])


def model_of(classifier: Any, way: str) -> Any:
    """Return an unfitted model."""
    if way == PLAIN:
        return clone(classifier)
    if way == BINNING:
        return Binned(classifier)
    if way == THEIRS:
        return OneVsRestClassifier(CalibratedClassifierCV(KNeighborsClassifier(K), cv=FOLDS, ensemble=False))
    if way in METHODS:
        return CalibratedLabels(classifier, way, cv="loo")
    return CalibratedLabels(classifier, cv=FOLDS, random_state=0)


def is_run(name: str, classifier: str, way: str, Y: Any) -> bool:
    """Return whether a way is measured on a data set: scikit-learn's where it can be fitted."""
    return way != THEIRS or (classifier == "BRkNN" and min(Y.sum(axis=0)) > 2 * FOLDS)


def measure_set(name: str) -> dict[str, dict[str, dict[str, float]]]:
    """Return the means over folds of a data set: classifier, way, measure."""
    data = fetch_dataset(name)
    Y = data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    splits = list(KFold(FOLDS, shuffle=True, random_state=0).split(Y))
    found: dict[str, dict[str, dict[str, float]]] = {}
    for title, classifier in CLASSIFIERS.items():
        found[title] = {}
        for way in WAYS:
            if is_run(name, title, way, Y):
                folds = [_values(model_of(classifier, way), data.X, Y, *split) for split in splits]
                found[title][way] = dict(zip(MEASURES, np.mean(folds, axis=0).tolist(), strict=True))
    return found


def _values(model: Any, X: Any, Y: Any, training: Any, test: Any) -> list[float]:
    probabilities = model.fit(X[training], Y[training]).predict_proba(X[test])
    return [measure(Y[test], probabilities) for measure in MEASURES.values()]


def ratios(results: Results, classifier: str, way: str, measure: str) -> list[float]:
    """Return the ratio to the classifier's own probabilities, for each data set that was run."""
    runs = (of[classifier] for of in results.values() if way in of[classifier])
    return [run[way][measure] / run[PLAIN][measure] for run in runs]


def tables_of(results: Results) -> list[Table]:
    """Return a table for each measure."""
    headers = ("", *results, "ratio")
    return [Table(f"{measure.capitalize()} x 1,000", headers, list(_rows(results, measure))) for measure in MEASURES]


def _rows(results: Results, measure: str) -> Iterator[tuple[Any, ...]]:
    for classifier in CLASSIFIERS:
        yield (classifier,)
        for way in WAYS:
            found = [of[classifier].get(way, {}).get(measure) for of in results.values()]
            if any(value is not None for value in found):
                ratio = round(geometric_mean(ratios(results, classifier, way, measure)), 4)
                yield (way, *(None if value is None else f"{1000 * value:.2f}" for value in found), f"{ratio:.4f}")


def goals_of(results: Results) -> list[Goal]:
    """Return the goals, with what was found."""
    goals = []
    for measure in MEASURES:
        for way in METHODS:
            better = [ratio <= 1 for classifier in CLASSIFIERS for ratio in ratios(results, classifier, way, measure)]
            goals.append(Goal(f"{measure}, {way}: cases no worse than before", "at least", len(better), sum(better)))
    theirs, ours = (ratios(results, "BRkNN", way, "log loss") for way in (THEIRS, "sigmoid"))
    if theirs:
        found = round(geometric_mean([our / their for our, their in zip(ours, theirs, strict=False)]), 4)
        goals.append(Goal("log loss, sigmoid on left-out scores over scikit-learn's", "at most", 1.0, found))
    return goals


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    options = parser_for(__doc__, "calibration", repeats=1).parse_args(arguments)
    print_facts()
    results = {name: measure_set(name) for name in SETS[: 2 if options.quick else None]}
    tables, goals = tables_of(results), goals_of(results)
    show(tables, goals)
    save(options, __doc__ or "", results, tables, goals)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
