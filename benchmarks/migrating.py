"""What does scikit-multilearn's ML-kNN give, what the paper's, and what thresholds that are chosen on purpose?

Micro F1 on test rows, mean of five shuffled folds, and the mean number of labels predicted for a row; ten neighbours,
features min-max scaled by the training part, but for `NeighborsClassifierCV`, which chooses both. "scikit-multilearn's
rule" is `MLkNN` with the search `WithItself` of ``docs/howto/migrating.md``, which counts each training row among its
own neighbours; where scikit-multilearn-ng is installed, its decisions are compared cell by cell.

Run: ``python benchmarks/migrating.py``; four minutes on one core. ``--sets emotions`` for one.
"""

from __future__ import annotations

import argparse
import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline

from defaults import N_FOLDS, folds_of
from nearlabel import FeatureScaler, MLkNN, NeighborsClassifierCV, TunedThresholdsClassifierCV
from nearlabel.metrics import micro_f1
from nearlabel.thresholds import FixedThresholdsClassifier

SETS = ("emotions", "yeast", "scene", "enron")


class WithItself(NearestNeighbors):
    """A search in which each training row is among its own neighbours."""

    def fit(self, X: Any, y: Any = None) -> Any:
        """Remember the rows."""
        self.rows_ = X
        return super().fit(X)

    def kneighbors(self, X: Any = None, n_neighbors: Any = None, return_distance: bool = True) -> Any:
        """Search for the training rows as for any others."""
        return super().kneighbors(self.rows_ if X is None else X, n_neighbors, return_distance)


MODELS: Mapping[str, Callable[[], Any]] = {
    "scikit-multilearn's rule": lambda: _scaled(MLkNN(search=WithItself())),
    "the paper's rule": lambda: _scaled(MLkNN()),
    "the paper's, cut at 0.4": lambda: _scaled(FixedThresholdsClassifier(MLkNN(), 0.4)),
    "the paper's, cut at 0.3": lambda: _scaled(FixedThresholdsClassifier(MLkNN(), 0.3)),
    "tuned thresholds": lambda: _scaled(TunedThresholdsClassifierCV(MLkNN(), cv="loo")),
    "NeighborsClassifierCV": NeighborsClassifierCV,
}


def _scaled(model: Any) -> Any:
    return make_pipeline(FeatureScaler("minmax"), model)


def measure(name: str, fold: int) -> dict[str, Any]:
    """Fit all models to one fold: micro F1 and labels per row of each, and which cells equal scikit-multilearn's."""
    X, Y, X_test, Y_test = list(folds_of(name))[fold]
    Y, Y_test = (part.toarray() if sparse.issparse(part) else np.asarray(part) for part in (Y, Y_test))
    predicted = {title: make().fit(X, Y).predict(X_test) for title, make in MODELS.items()}
    values = {
        title: (micro_f1(Y_test, labels), float(labels.sum(axis=1).mean())) for title, labels in predicted.items()
    }
    return values | {"true": (1.0, float(Y_test.sum(axis=1).mean()))} | _equal(X, Y, X_test, predicted)


def _equal(X: Any, Y: Any, X_test: Any, predicted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shares of cells in which two rules equal scikit-multilearn-ng, if it is installed."""
    if importlib.util.find_spec("skmultilearn") is None:
        return {}
    from skmultilearn.adapt import MLkNN as Theirs

    theirs = _scaled(Theirs(k=10)).fit(X, Y).predict(X_test).toarray()
    return {f"equal to it: {name}": (float(np.mean(theirs == predicted[name])), np.nan) for name in list(MODELS)[:2]}


def main() -> None:
    """Measure, and print a line for each data set and figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    for name in arguments.sets.split(","):
        folds = Parallel(arguments.jobs)(delayed(measure)(name, fold) for fold in range(N_FOLDS))
        for title in folds[0]:
            value, size = np.mean([fold[title] for fold in folds], axis=0)
            print(f"{name:10} {title:32} {value:.4f} {size:.2f}", flush=True)


if __name__ == "__main__":
    main()
