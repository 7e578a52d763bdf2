"""Is the mixture of neighbours with a linear model, or with trees, better than each of them?

Each set is split once: two thirds of at most 4,000 rows train, one third tests. Every model has thresholds of largest
micro F1, on scores of rows that it has not seen. Prints metrics on the test rows, CPU seconds and the largest memory so
far for each set and model, and the means of the sets of words and of the sets of numbers.

Run: ``python benchmarks/mixtures.py``; 20 minutes. ``--sets emotions,enron`` for some.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from nearlabel import FeatureScaler, MixtureClassifierCV, NeighborsClassifierCV, TunedThresholdsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import get_metric, score_all
from nearlabel.rivals import BinaryRelevance, RandomForestPCT
from nearlabel.utils.validation import as_dense

YAHOO = ("yahoo-arts", "yahoo-business", "yahoo-health", "yahoo-education", "yahoo-computers")
WORDS = ("medical", "enron", "bibtex", "reuters-k500", "rcv1subset1", *YAHOO)
NUMBERS = ("emotions", "scene", "yeast", "image", "cal500")
METRICS = ("micro_f1", "macro_f1", "subset_accuracy", "ranking_loss")
MOST_ROWS, LEAST_POSITIVES, CLIP = 4_000, 3, 1e-3


def split(name: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows, with the labels that have both classes in the training rows."""
    data = fetch_dataset(name)
    rows = np.random.default_rng(0).permutation(data.Y.shape[0])[:MOST_ROWS]
    X, Y = data.X[rows], as_dense(data.Y[rows]).astype(np.int64)
    end = 2 * len(rows) // 3
    kept = (Y.sum(axis=0) >= LEAST_POSITIVES) & Y[:end].any(axis=0) & ~Y[:end].all(axis=0)
    return X[:end], X[end:], Y[:end, kept], Y[end:, kept]


def models(is_words: bool) -> dict[str, Any]:
    """Return the models of a kind of features, unfitted."""

    def tuned(classifier: Any, scale: str) -> Any:
        thresholds = TunedThresholdsClassifierCV(classifier, cv=3, map_scores=True, random_state=0)
        return make_pipeline(FeatureScaler(scale), thresholds)

    def each(classifier: Any) -> Any:
        return BinaryRelevance(classifier, probability=False)

    ours = {
        "neighbours": NeighborsClassifierCV(),
        "neighbours, mixed": MixtureClassifierCV(families=("neighbors",)),
        "mixture": MixtureClassifierCV(),
    }
    if is_words:
        logistic = LogisticRegression(C=10, solver="liblinear")
        svm = LinearSVC(C=0.5, random_state=0)
        return {"LinearSVC": tuned(each(svm), "tfidf"), "logistic": tuned(each(logistic), "tfidf"), **ours}
    forest = RandomForestPCT(200, random_state=0)
    return {
        "logistic": tuned(each(LogisticRegression(solver="liblinear")), "standard"),
        "boosted trees": tuned(each(HistGradientBoostingClassifier(random_state=0)), "minmax"),
        "forest": tuned(forest, "minmax"),
        "extra trees": tuned(RandomForestPCT(200, random_splits=True, random_state=0), "minmax"),
        **ours,
    }


def measured(model: Any, parts: tuple[Any, Any, Any, Any]) -> list[float]:
    """Return metrics on the test rows, the log loss of clipped probabilities, CPU seconds and MiB."""
    X, queries, Y, truth = parts
    start = time.process_time()
    model.fit(X, Y)
    predicted, scores = as_dense(model.predict(queries)), np.asarray(model.predict_proba(queries))
    seconds = time.process_time() - start
    values = score_all(truth, predicted, scores, [get_metric(name) for name in METRICS])
    right = np.clip(np.where(truth == 1, scores, 1 - scores), CLIP, 1)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*(float(values[name]) for name in METRICS), float(-np.log(right).mean()), seconds, memory]


def row(*cells: object) -> str:
    """Return a row of a table."""
    texts = [f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells]
    return f"| {' | '.join(texts)} |"


def main() -> None:
    """Print the tables."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join((*WORDS, *NUMBERS)))
    names = parser.parse_args().sets.split(",")
    for kind, of_kind in (("words", WORDS), ("numbers", NUMBERS)):
        found: dict[str, list[list[float]]] = {}
        chosen = [name for name in names if name in of_kind]
        if chosen:
            print(row(kind, "model", *METRICS, "log loss", "CPU s", "MiB"), row("---", *["---"] * 8), sep="\n")
        for name in chosen:
            parts = split(name)
            for title, model in models(kind == "words").items():
                found.setdefault(title, []).append(measured(model, parts))
                print(row(name, title, *found[title][-1]), flush=True)
        for title, values in found.items():
            print(row("mean", title, *np.mean(values, axis=0).tolist()), flush=True)


if __name__ == "__main__":
    main()
