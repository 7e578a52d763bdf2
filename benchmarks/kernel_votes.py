"""What do kernel weights gain for `BRkNN`, beside weights by distance?

For each set `NeighborsClassifierCV` chooses the weights' parameter, the number of neighbours and the thresholds among
votes of one kind, on one preparation: tf-idf and cosine for words, min-max and Euclidean else. Prints its cross-fitted
micro F1 and CPU seconds. Weights by distance get the default numbers of neighbours.

Run: ``python benchmarks/kernel_votes.py``; a few minutes on two cores. ``--sets emotions,scene`` for some.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from nearlabel import BRkNN, NeighborsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.neighbors import GaussianWeights, SimilarityWeights

WORDS = ("medical", "enron", "bibtex", "reuters-k500", "yahoo-arts", "yahoo-business", "yahoo-health")
DENSE = ("emotions", "scene", "yeast", "image", "cal500")
NUMBERS = (10, 20, 50, 100, 200, 400)
POWERS, SHARPNESSES = (1, 2, 4, 8, 16), (0.5, 1, 2, 4, 8, 16)


def chosen(X: Any, Y: Any, kernels: dict[str, Any], is_words: bool) -> tuple[float, float, str]:
    """Return the cross-fitted value, CPU seconds and what was chosen."""
    scale, metric = ("tfidf", "cosine") if is_words else ("minmax", "euclidean")
    numbers: Any = tuple(k for k in NUMBERS if k < X.shape[0] // 2) if len(kernels) > 1 else "auto"
    start = time.process_time()
    methods = {name: BRkNN(weights=weights) for name, weights in kernels.items()}
    model = NeighborsClassifierCV(methods=methods, n_neighbors=numbers, scales=(scale,), metrics=(metric,)).fit(X, Y)
    best = model.best_params_
    return model.crossfit_score_, time.process_time() - start, f"{best['method']}, k = {best['n_neighbors']}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join((*WORDS, *DENSE)))
    names = parser.parse_args().sets.split(",")
    similarity = {f"power {power}": SimilarityWeights(power) for power in POWERS}
    gaussian = {f"sharpness {sharpness}": GaussianWeights(sharpness) for sharpness in SHARPNESSES}
    print(
        "| data set | by distance | kernel | gain | chosen | CPU s: distance, kernel |\n|---|---:|---:|---:|---|---:|"
    )
    gains = []
    for name in names:
        data, is_words = fetch_dataset(name), name in WORDS
        by_distance, first, _ = chosen(data.X, data.Y, {"distance": "distance"}, is_words)
        by_kernel, second, what = chosen(data.X, data.Y, similarity if is_words else gaussian, is_words)
        gains.append(by_kernel - by_distance)
        row = (name, f"{by_distance:.3f}", f"{by_kernel:.3f}", f"{gains[-1]:+.3f}", what, f"{first:.1f}, {second:.1f}")
        print("|", " | ".join(row), "|", flush=True)
    print(f"| mean | | | {np.mean(gains):+.4f} | | |")


if __name__ == "__main__":
    main()
