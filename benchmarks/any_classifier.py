"""What do tuned thresholds gain classifiers of scikit-learn, on texts?

The news of Reuters-21578 in the ModApte split, by their words (tf-idf, sublinear), 90 topics. Each classifier decides
each topic alone, by its own rule (probability one half, or decision value 0), and by thresholds for micro F1, tuned by
five shuffled folds of the training part (`TunedThresholdsClassifierCV`). F1 of the test part.

Run: ``python benchmarks/any_classifier.py``; two minutes. ``--quick`` for 1,000 training samples. Needs the folder
``reuters21578`` in ``NEARLABEL_DATA``. ``docs/thresholds.md`` has the figures.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from _harness import Table, parser_for, print_facts, save, show
from nearlabel import BinaryRelevance, TunedThresholdsClassifierCV
from nearlabel.datasets import Dataset, read_reuters
from nearlabel.metrics import macro_f1, micro_f1

CLASSIFIERS: Mapping[str, Any] = {
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(),
    "MultinomialNB": MultinomialNB(),
}
COLUMNS = ("micro F1", "micro F1, tuned", "macro F1", "macro F1, tuned")


def values_of(classifier: Any, training: Dataset, test: Dataset) -> list[float]:
    """Return micro F1 and macro F1 of the test part, each without and with tuned thresholds."""
    alone = BinaryRelevance(classifier, random_state=0)
    predicted = [
        model.fit(training.X, training.Y).predict(test.X)
        for model in (alone, TunedThresholdsClassifierCV(alone, random_state=0))
    ]
    return [float(metric(test.Y, labels)) for metric in (micro_f1, macro_f1) for labels in predicted]


def parts(n_training: int | None) -> tuple[Dataset, Dataset]:
    """Return both parts of the news, as weights of words."""
    folder = Path(os.environ["NEARLABEL_DATA"]) / "reuters21578"
    training, test = (read_reuters(folder, part) for part in ("train", "test"))
    words = TfidfVectorizer(sublinear_tf=True)
    X = words.fit_transform(texts_of(training)[:n_training])
    found = (X, training.Y[: X.shape[0]]), (words.transform(texts_of(test)), test.Y)
    names = tuple(words.get_feature_names_out())
    first, second = (Dataset(X, Y.toarray(), names, test.label_names, "reuters21578") for X, Y in found)
    return first, second


def texts_of(part: Dataset) -> list[str]:
    """Return title and body of each article."""
    return [f"{title}\n{body}" for title, body in part.X]


def tables_of(results: Mapping[str, Sequence[float]]) -> list[Table]:
    """Return the one table."""
    return [Table("F1 of the test part", ("", *COLUMNS), [(name, *values) for name, values in results.items()])]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "any_classifier", repeats=1).parse_args(arguments)
    print_facts()
    training, test = parts(1000 if options.quick else None)
    results = {name: values_of(classifier, training, test) for name, classifier in CLASSIFIERS.items()}
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
