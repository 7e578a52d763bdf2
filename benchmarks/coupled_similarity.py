"""Which similarity of labels makes CML-kNN work on features that every sample has? Quality, no race.

Five folds, shuffled with seeds 0 and 1; features scaled to [0, 1] by the training part; k = 10. The definitions were
compared on emotions and scene first, then on the other sets. Prints, for each metric, the mean over the ten folds and
in how many of them the variant is better than ML-kNN; the last table has thresholds of best micro F1 on leave-one-out
scores.

The variants, with S the coupled similarity, M = "max" and C = "clip" the membership:

- S, C: the paper's method; S, M.
- selected: S of the features that `InformationGainSelector()` selects, as in the paper.
- normalised: S divided by its sum over the line of a label, so that a label supports all others by less than 1.
- adjusted: co-occurrences beyond those expected by chance, ``adjusted=True``.
- excess shared: the sum of the smaller such excesses, divided by that of the larger ones.
- together: the share of samples with both labels, of those with the more frequent one; also multiplied by others.
- constant: the mean of the adjusted similarity for each pair, so no similarity at all. What this variant gains, the
  method gains by predicting more labels, not by knowing which are similar.
- votes: memberships count in the votes only, and training samples have the labels that they have.

Run: ``python benchmarks/coupled_similarity.py``; half an hour. ``--sets emotions,scene`` for some. Needs
``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import fetch_dataset
from nearlabel.labels import coupled_similarity
from nearlabel.labels.feature_values import feature_values
from nearlabel.lazy import CMLkNN, MLkNN
from nearlabel.lazy._counts import Units
from nearlabel.metrics import average_precision, hamming_loss, micro_f1, subset_accuracy
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.preprocessing import FeatureScaler, InformationGainSelector
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

SETS = ("emotions", "scene", "yeast", "image", "cal500", "enron")
SEEDS = (0, 1)
K = 10
METRICS = {
    "micro F1": micro_f1,
    "subset accuracy": subset_accuracy,
    "Hamming loss": hamming_loss,
    "average precision": average_precision,
}
TUNED = "micro F1, thresholds tuned"


class VotesOnly(CMLkNN):
    """CML-kNN of which only the votes are memberships: prior and likelihood are those of the labels themselves."""

    def _units(self) -> Any:
        return Fuzzy(self._labels, self._memberships)

    def _bayes(self, counts: Any, totals: Any) -> Any:
        return MLkNN._bayes(self, counts, totals)


class Fuzzy(Units):
    """The labels of training samples, with memberships as the votes of neighbours."""

    def __init__(self, labels: Any, memberships: Any) -> None:
        super().__init__(as_dense(labels))
        self.memberships = memberships

    def sums(self, neighbors: Any) -> Any:
        """Return the summed memberships of neighbours."""
        return self.memberships.sums(neighbors)

    def votes(self, sums: Any, n_neighbors: int) -> Any:
        """Return sums as whole votes."""
        return self.memberships.votes(sums, n_neighbors)


def together(X: Any, y: Any) -> Any:
    """Return the share of samples with both labels, of those with the more frequent one."""
    y = as_dense(y).astype(float)
    frequency = y.sum(axis=0)
    return y.T @ y / np.maximum(np.maximum.outer(frequency, frequency), 1)


def excess_shared(X: Any, y: Any) -> Any:
    """Return the sum of the smaller excesses over chance of two labels, divided by that of the larger ones."""
    y = as_dense(y)
    frequency, shared, total = y.sum(axis=0), np.zeros((y.shape[1], y.shape[1])), np.zeros(y.shape[1])
    for some in feature_values(X, n_bins=10):
        expected = np.multiply.outer(np.asarray(some.indicators.sum(axis=0)).ravel(), frequency) / len(y)
        excess = np.maximum(as_dense(some.indicators.T @ y) - expected, 0)
        shared += [np.minimum(excess[:, [label]], excess).sum(axis=0) for label in range(y.shape[1])]
        total += excess.sum(axis=0)
    return shared / np.maximum(np.add.outer(total, total) - shared, 1e-9)


def normalised(X: Any, y: Any) -> Any:
    """Return the coupled similarity, divided by its sum over each line."""
    similarity = coupled_similarity(X, y)
    return similarity / similarity.sum(axis=1, keepdims=True)


def constant(X: Any, y: Any) -> Any:
    """Return the mean adjusted similarity of two labels for each pair."""
    similarity = coupled_similarity(X, y, adjusted=True)
    apart = ~np.eye(len(similarity), dtype=bool)
    return np.full(similarity.shape, similarity[apart].mean())


def product(*parts: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the similarity that multiplies others."""
    return lambda X, y: np.prod([part(X, y) for part in parts], axis=0)


def adjusted(X: Any, y: Any) -> Any:
    """Return the adjusted similarity."""
    return coupled_similarity(X, y, adjusted=True)


SIMILARITIES: dict[str, Callable[[Any, Any], Any]] = {
    "S": coupled_similarity,
    "normalised": normalised,
    "adjusted": adjusted,
    "excess shared": excess_shared,
    "together": together,
    "S · together": product(coupled_similarity, together),
    "excess shared · together": product(excess_shared, together),
    "constant": constant,
}
VARIANTS = {
    "S, clip": ("S", "clip", CMLkNN),
    "S, max": ("S", "max", CMLkNN),
    "S, max, votes": ("S", "max", VotesOnly),
    "normalised, max": ("normalised", "max", CMLkNN),
    "together, clip": ("together", "clip", CMLkNN),
    "S · together, max": ("S · together", "max", CMLkNN),
    "excess shared, max": ("excess shared", "max", CMLkNN),
    "excess shared · together, clip": ("excess shared · together", "clip", CMLkNN),
    "adjusted, clip": ("adjusted", "clip", CMLkNN),
    "adjusted, max": ("adjusted", "max", CMLkNN),
    "adjusted, clip, votes": ("adjusted", "clip", VotesOnly),
    "constant, clip": ("constant", "clip", CMLkNN),
    "constant, max": ("constant", "max", CMLkNN),
}
SELECTED = "S of selected features, max"
ARE_TUNED = ("ML-kNN", "adjusted, clip", "adjusted, max", "constant, clip", "constant, max")


def models(X: Any, y: Any, queries: Any) -> dict[str, Any]:
    """Return the variants for a training part; all but one share a search."""
    search = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=K + 1)
    similarities = {name: np.clip(of(X, y), 0, 1) for name, of in SIMILARITIES.items()}
    for similarity in similarities.values():
        np.fill_diagonal(similarity, 1)
    variants = {
        name: of(K, similarity=similarities[similarity], membership=how, search=search)
        for name, (similarity, how, of) in VARIANTS.items()
    }
    selected = make_pipeline(InformationGainSelector(), CMLkNN(K, membership="max"))
    return {"ML-kNN": MLkNN(K, search=search), SELECTED: selected, **variants}


def run(name: str) -> dict[tuple[str, str], list[float]]:
    """Return the value of each variant and metric on each fold."""
    data = fetch_dataset(name)
    values: dict[tuple[str, str], list[float]] = {}
    for seed in SEEDS:
        for training, test in KFold(5, shuffle=True, random_state=seed).split(data.X):
            scaler = FeatureScaler("minmax").fit(data.X[training])
            X, queries = scaler.transform(data.X[training]), scaler.transform(data.X[test])
            y, truth = data.Y[training], data.Y[test]
            for variant, model in models(X, y, queries).items():
                model.fit(X, y)
                predicted, scores = model.predict(queries), model.predict_proba(queries)
                for metric, function in METRICS.items():
                    answer = scores if metric == "average precision" else predicted
                    values.setdefault((variant, metric), []).append(function(truth, answer))
                if variant in ARE_TUNED:
                    tuned = TunedThresholdsClassifierCV(model, cv="loo").fit(X, y)
                    values.setdefault((variant, TUNED), []).append(micro_f1(truth, tuned.predict(queries)))
    return values


def show(results: dict[str, dict[tuple[str, str], list[float]]], metric: str) -> None:
    """Print the table of one metric."""
    print(f"\n| {metric} | {' | '.join(results)} |\n|---|{'---|' * len(results)}")
    for variant in ("ML-kNN", SELECTED, *VARIANTS):
        if all((variant, metric) in of_set for of_set in results.values()):
            cells = [cell(of_set[variant, metric], of_set["ML-kNN", metric], metric) for of_set in results.values()]
            print(f"| {variant} | {' | '.join(cells)} |")


def cell(values: list[float], base: list[float], metric: str) -> str:
    """Return the mean, and the number of folds in which it is better than ML-kNN."""
    gain = np.subtract(values, base) * (-1 if metric == "Hamming loss" else 1)
    return f"{np.mean(values):.3f}" if values is base else f"{np.mean(values):.3f} ({(gain > 0).sum()})"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS), help="names of the catalogue, separated by commas")
    warnings.filterwarnings("ignore", message="Far too many labels are predicted")
    results = {name: run(name) for name in parser.parse_args().sets.split(",")}
    for metric in (*METRICS, TUNED):
        show(results, metric)


if __name__ == "__main__":
    main()
