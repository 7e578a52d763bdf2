"""How much do choices that Pillai et al. (2012) do not state change their results of kNN on Reuters-21578?

The paper states stemming, stop words, 15,000 terms by information gain and tf-idf, but neither the words, the stop list
and the stemmer nor the number of neighbours and the scores of kNN. Each line changes one or two choices of
`nearlabel reproduce pillai2012 --table 2`; the protocol is the same (ten runs, thresholds on five folds, given test
part).

Run: ``python benchmarks/reuters_terms.py``, with ``--runs 2`` for a look. Needs ``NEARLABEL_DATA``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset, fetch_dataset, read_reuters
from nearlabel.experiments import ThresholdPlan
from nearlabel.lazy import BRkNN
from nearlabel.metrics import micro_f1
from nearlabel.preprocessing import FeatureScaler, InformationGainSelector, StemAnalyzer
from nearlabel.thresholds import MicroFOptimum, PillaiAscent, cross_val_scores

PRINTED = (0.854, 0.825, 0.580)
N_TERMS = 15_000
PORTER = StemAnalyzer("porter")
Parts = tuple[Dataset, Dataset]


def prepared(analyzer: StemAnalyzer | str = PORTER, labels: str = "sum") -> Parts:
    """Return both parts as counts of terms, selected by the training part; labels "none" selects no terms."""
    folder = Path(os.environ["NEARLABEL_DATA"]) / "reuters21578"
    training, test = (read_reuters(folder, part) for part in ("train", "test"))
    model = make_pipeline(CountVectorizer(analyzer=analyzer, dtype=np.float64))
    if labels != "none":
        model.steps.append(
            ("select", InformationGainSelector(labels=labels, symmetric=False, n_bins=1, n_features=N_TERMS))
        )
    model.fit(_texts(training), training.Y)
    return tuple(_with_counts(part, sparse.csr_array(model.transform(_texts(part)))) for part in (training, test))


def _texts(part: Dataset) -> list[str]:
    return [f"{title}\n{body}" for title, body in part.X]


def _with_counts(part: Dataset, counts: sparse.csr_array) -> Dataset:
    names = tuple(f"x{column}" for column in range(counts.shape[1]))
    return replace(part, X=counts, feature_names=names, feature_kinds=())


def figures(parts: Parts, model: BRkNN, *, scale: str = "tfidf") -> Iterator[tuple[float, float, float]]:
    """Yield validation, test and test after the first scan, of each run."""
    plan = ThresholdPlan(("knn",))
    for fold in plan.folds({"reuters": parts}):
        X, Y = fold.X[fold.training], fold.Y[fold.training]
        X, X_test = scaled(scale, X, fold.X[fold.test])
        splitter = KFold(plan.cv, shuffle=True, random_state=plan.seed + fold.number)
        scores, rows = cross_val_scores(model, X, Y, cv=splitter)
        both = sparse.vstack([X, X_test], format="csr"), sparse.vstack([Y, fold.Y[fold.test]], format="csr")
        split = np.split(np.arange(both[0].shape[0]), [X.shape[0]])
        test_scores, test_rows = cross_val_scores(model, *both, cv=[split])
        optimum, first = MicroFOptimum().fit(scores, Y[rows]), PillaiAscent(max_scans=1).fit(scores, Y[rows])
        reached = [micro_f1(both[1][test_rows], one.predict(test_scores)) for one in (optimum, first)]
        yield optimum.objective_, *reached


def scaled(scale: str, X: Any, X_test: Any) -> tuple[Any, Any]:
    """Return the rows by tf-idf; with "no length" they keep their lengths."""
    scaler = FeatureScaler("tfidf").fit(X)
    if scale == "tfidf":
        return scaler.transform(X), scaler.transform(X_test)
    weights = sparse.diags_array(scaler.factor_)
    return sparse.csr_array(X @ weights), sparse.csr_array(X_test @ weights)


TERMS: dict[str, Callable[[], Parts]] = {
    "as in the table": prepared,
    "gain of the label set": lambda: prepared(labels="joint"),
    "all terms": lambda: prepared(labels="none"),
    "stemmer english": lambda: prepared(StemAnalyzer("english")),
    "letters only": lambda: prepared(StemAnalyzer("porter", token_pattern="[a-z]{2,}")),
    "no stop list": lambda: prepared(StemAnalyzer("porter", stop_words=None)),
    "words, no stop list": lambda: prepared("word"),
    "reuters21578-modapte90": lambda: tuple(fetch_dataset("reuters21578-modapte90", p) for p in ("train", "test")),
}
MODELS = {
    "k = 10, rows of any length": (BRkNN(10), "no length"),
    "k = 20": (BRkNN(20), "tfidf"),
    "k = 45": (BRkNN(45), "tfidf"),
    "k = 10, weights by distance": (BRkNN(10, weights="distance"), "tfidf"),
    "k = 45, weights by distance": (BRkNN(45, weights="distance"), "tfidf"),
}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    n_runs = parser.parse_args().runs
    print(f"Runs: {n_runs}\n\n| terms | kNN | features | validation | test | test, 1st loop |")
    print("|---|---|---:|---:|---:|---:|")
    print("| printed | | 15,000 |" + "".join(f" {value:.3f} |" for value in PRINTED), flush=True)
    for terms, make in TERMS.items():
        line(terms, "k = 10", make(), BRkNN(10), "tfidf", n_runs)
    parts = prepared()
    for name, (model, scale) in MODELS.items():
        line("as in the table", name, parts, model, scale, n_runs)


def line(terms: str, name: str, parts: Parts, model: BRkNN, scale: str, n_runs: int) -> None:
    """Print the means over the runs."""
    means = np.mean(list(islice(figures(parts, model, scale=scale), n_runs)), axis=0)
    n_features = f"{parts[0].X.shape[1]:,}"
    print(f"| {terms} | {name} | {n_features} |" + "".join(f" {value:.3f} |" for value in means), flush=True)


if __name__ == "__main__":
    main()
