"""Do thresholds of a single split survive the refit to all samples, if labels are rare?

Three quarters of the samples, shuffled, are for training. Logistic regressions (C = 10, features divided by their
maximum) are fitted to the first part of them, and thresholds of best micro F1 are tuned on the rest; then the
regressions are fitted to all. "own": each label has its own threshold; "shared": labels with fewer than 10 positives on
one side of the split share one, as `TunedThresholdsClassifierCV` does. Labels of fewer than two training samples are
left out. Makes the table of the page ``docs/thresholds.md``.

Run: ``python benchmarks/single_split.py``; a minute of processor time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from _harness import Table, print_facts, show
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import micro_f1
from nearlabel.models.decision import cut
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import MicroFOptimum, TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

SETS, SHARES = ("medical", "enron"), (0.8, 0.5)


def rows_of(name: str) -> Iterator[list[str]]:
    """Yield a line for each split of a data set."""
    data = fetch_dataset(name)
    order = np.random.default_rng(0).permutation(data.Y.shape[0])[:3000]
    X, Y = data.X[order], as_dense(data.Y)[order]
    n = int(0.75 * len(Y))
    X, Y, X_test, Y_test = X[:n], Y[:n], X[n:], Y[n:]
    kept = Y.sum(axis=0) >= 2
    Y, Y_test = Y[:, kept], Y_test[:, kept]
    inner = BinaryRelevance(make_pipeline(MaxAbsScaler(), LogisticRegression(C=10)))
    folds = TunedThresholdsClassifierCV(inner, cv=3, random_state=0).fit(X, Y)
    plain = folds.estimator_
    for share in SHARES:
        split = np.arange(int(share * n)), np.arange(int(share * n), n)
        kept_one = TunedThresholdsClassifierCV(inner, cv=[split], refit=False).fit(X, Y)
        own = MicroFOptimum().fit(kept_one.predict_proba(X[split[1]]), Y[split[1]]).thresholds_
        shared = TunedThresholdsClassifierCV(inner, cv=[split]).fit(X, Y)
        predicted = (
            plain.predict(X_test),
            cut(plain.predict_proba(X_test), own),
            *(model.predict(X_test) for model in (shared, kept_one, folds)),
        )
        yield [f"{name}, at {share}", *(f"{micro_f1(Y_test, labels):.3f}" for labels in predicted)]


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print_facts()
    headers = ("", "no thresholds", "own", "shared", "refit=False", "3 folds, shuffled")
    show([Table("Micro F1", headers, [row for name in SETS for row in rows_of(name)])], [])


if __name__ == "__main__":
    main()
