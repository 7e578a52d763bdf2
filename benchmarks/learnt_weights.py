"""What do learnt weights of features (`NeighborhoodComponentsWeights`) gain for votes weighted by a Gaussian?

Outer folds hold a part of each set out. On the others, after min-max scaling, each row of the table chooses its
parameters by the largest micro F1 that thresholds reach on out-of-sample scores, and takes these thresholds:

- "by distance": `BRkNN(weights="distance")`, k of 5, 10, 20, 30; leave-one-out scores.
- "Gaussian": `BRkNN(weights=GaussianWeights())`, k of 20, 50, 100, sharpness of 1/2 to 16; leave-one-out scores.
- "Gaussian, learnt": the same on features times learnt weights. Weights learnt on four fifths score the other fifth.
- "ML-MLM": leave-one-out scores.

Figures are of the samples held out, means over the outer folds. Scores of the log loss are smoothed by the labels'
shares: (20 score + share) / 21. CPU seconds are of all fits, choices and predictions.

Run: ``python benchmarks/learnt_weights.py``; some minutes. ``--sets emotions,scene`` for some, ``--folds 5``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from nearlabel import MLMLM, BRkNN, FeatureScaler, NeighborhoodComponentsWeights
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import average_precision, log_loss, macro_f1, micro_f1, subset_accuracy
from nearlabel.neighbors import GaussianWeights
from nearlabel.thresholds import MicroFOptimum
from nearlabel.utils.validation import as_dense

SETS = ("emotions", "scene", "yeast", "image", "cal500")
METRICS = ("micro F1", "macro F1", "average precision", "subset accuracy", "log loss", "CPU s")
BY_DISTANCE = [BRkNN(k, weights="distance") for k in (5, 10, 20, 30)]
GAUSSIAN = [
    BRkNN(k, weights=GaussianWeights(sharpness))
    for sharpness, k in product((0.5, 1, 2, 4, 8, 16), (20, 50, 100))
]  # fmt: skip

Scores = tuple[Any, Any]  # out-of-sample scores of the training samples, and scores of the queries


def chosen(candidates: Iterator[Scores], Y: Any) -> Scores:
    """Return the scores of the candidate whose thresholds reach the largest micro F1; the first of equal ones."""
    return max(candidates, key=lambda scores: micro_f1(Y, MicroFOptimum().fit(scores[0], Y).predict(scores[0])))


def left_out(models: list[Any], X: Any, Y: Any, queries: Any) -> Scores:
    """Choose among models with leave-one-out scores."""
    fitted = (model.fit(X, Y) for model in models)
    return chosen(((model.loo_predict_proba(), model.predict_proba(queries)) for model in fitted), Y)


def cross_fitted(models: list[Any], X: Any, Y: Any, queries: Any) -> Scores:
    """Choose among votes on weighted features: weights learnt on four fifths score the other fifth."""
    scores = [np.zeros(Y.shape) for _ in models]
    for training, others in KFold(5, shuffle=True, random_state=0).split(X):
        for mine, found in zip(scores, weighted(models, X[training], Y[training], X[others]), strict=True):
            mine[others] = found
    return chosen(zip(scores, weighted(models, X, Y, queries), strict=True), Y)


def weighted(models: list[Any], X: Any, Y: Any, queries: Any) -> list[Any]:
    """Return the scores of each model on weighted features."""
    weights = NeighborhoodComponentsWeights().fit(X, Y)
    X, queries = weights.transform(X), weights.transform(queries)
    return [model.fit(X, Y).predict_proba(queries) for model in models]


METHODS: dict[str, tuple[Callable[..., Scores], list[Any]]] = {
    "by distance": (left_out, BY_DISTANCE),
    "Gaussian": (left_out, GAUSSIAN),
    "Gaussian, learnt": (cross_fitted, GAUSSIAN),
    "ML-MLM": (left_out, [MLMLM()]),
}


def figures(name: str, X: Any, Y: Any, training: Any, held_out: Any) -> list[float]:
    """Return the metrics of one method on one outer fold."""
    scaler = FeatureScaler("minmax").fit(X[training])
    start = time.process_time()
    choose, models = METHODS[name]
    seen, scores = choose(models, scaler.transform(X[training]), Y[training], scaler.transform(X[held_out]))
    predicted = MicroFOptimum().fit(seen, Y[training]).predict(scores)
    seconds = time.process_time() - start
    truth, smooth = Y[held_out], (20 * scores + Y[training].mean(axis=0)) / 21
    values = [metric(truth, predicted) for metric in (micro_f1, macro_f1)]
    return [
        *values, average_precision(truth, scores), subset_accuracy(truth, predicted), log_loss(truth, smooth), seconds,
    ]  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1, help="of the outer folds")
    arguments = parser.parse_args()
    print("| data set | votes | " + " | ".join(METRICS) + " |\n|---|---|" + "---:|" * len(METRICS))
    of_sets: dict[str, list[Any]] = {name: [] for name in METHODS}
    for name in arguments.sets.split(","):
        data = fetch_dataset(name)
        X, Y = as_dense(data.X), as_dense(data.Y)
        folds = list(KFold(arguments.folds, shuffle=True, random_state=arguments.seed).split(X))
        for method, found in of_sets.items():
            found.append(np.mean([figures(method, X, Y, *fold) for fold in folds], axis=0))
            show(name, method, found[-1])
    for method, found in of_sets.items():
        show("mean", method, np.mean(found, axis=0))


def show(name: str, method: str, values: Any) -> None:
    """Print a line of the table."""
    print(f"| {name} | {method} |", *(f"{value:.3f} |" for value in values[:-1]), f"{values[-1]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
