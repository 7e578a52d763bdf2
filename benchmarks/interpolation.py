"""What does a model gain from neighbours, beside either alone? Quality, no race.

Five folds, shuffled with seed 0; features scaled to [0, 1] by the training part. The model is logistic regression for
each label. Every variant has the thresholds of best micro F1 on its scores out of sample; the model's of five folds,
shuffled with seed 0, are found once and serve all variants. Prints micro F1, the mean over the folds, and the mean
weight of the model.

Run: ``python benchmarks/interpolation.py``; ``--quick`` for emotions alone. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.preprocessing import MinMaxScaler

from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLMLM, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.rivals import BinaryRelevance, NeighborInterpolation
from nearlabel.thresholds import cross_val_scores
from nearlabel.utils.validation import as_dense

NAMES = ("emotions", "scene", "yeast", "medical", "enron")
MODEL = BinaryRelevance(LogisticRegression(solver="liblinear"))
VARIANTS: dict[str, dict[str, Any]] = {
    "LR alone": {"neighbors": MLkNN(), "weight": 1.0},
    "ML-kNN alone, k = 10": {"neighbors": MLkNN(), "weight": 0.0},
    "ML-kNN alone, k auto": {"neighbors": MLkNN("auto"), "weight": 0.0},
    "ML-MLM alone": {"neighbors": MLMLM(), "weight": 0.0},
    "LR + ML-kNN, k auto": {"neighbors": MLkNN("auto")},
    "LR + ML-kNN, k auto, logits": {"neighbors": MLkNN("auto"), "space": "logit"},
    "LR + ML-kNN, k auto, per label": {"neighbors": MLkNN("auto"), "weight": "per_label"},
    "LR + ML-MLM": {"neighbors": MLMLM()},
    "LR + ML-MLM, logits": {"neighbors": MLMLM(), "space": "logit"},
    "LR + ML-MLM, per label": {"neighbors": MLMLM(), "weight": "per_label"},
}


def run(name: str) -> dict[str, tuple[float, float]]:
    """Return micro F1 and weight of each variant on one data set, means over the folds."""
    data = fetch_dataset(name)
    X, y = as_dense(data.X), as_dense(data.Y)
    reached: dict[str, list[tuple[float, float]]] = {variant: [] for variant in VARIANTS}
    for training, test in KFold(5, shuffle=True, random_state=0).split(X):
        scaler = MinMaxScaler().fit(X[training])
        rows, queries = scaler.transform(X[training]), scaler.transform(X[test])
        scores, order = cross_val_scores(MODEL, rows, y[training], random_state=0)
        scores = scores[np.argsort(order)]
        for variant, params in VARIANTS.items():
            model = NeighborInterpolation(MODEL, **params).fit(rows, y[training], model_scores=scores)
            value = micro_f1(y[test], model.predict(queries))
            reached[variant].append((value, float(np.mean(model.weight_))))
    return {variant: tuple(np.mean(values, axis=0)) for variant, values in reached.items()}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="emotions alone")
    names = NAMES[:1] if parser.parse_args().quick else NAMES
    print(f"| micro F1 (weight of the model) | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    results = [run(name) for name in names]
    for variant in VARIANTS:
        cells = [f"{value:.3f} ({weight:.2f})" for value, weight in (of_set[variant] for of_set in results)]
        print(f"| {variant} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
