"""Counts of terms of the Reuters-21578 articles, prepared as Pillai, Fumera and Roli (ICPR 2012) describe.

"After stemming and stop-word removal, a further feature selection was carried out using the information gain
criterion", to 15,000 features. Not stated, our choices: words are those of scikit-learn's CountVectorizer, with
scikit-learn's stop list, in title and body; Porter's stemmer; the gain of a term is the sum, over the topics, of the
information that its presence gives about the topic. Terms are selected by the training part only.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._reuters import reuters_parts
from nearlabel.feature_selection import InformationGainSelector
from nearlabel.preprocessing import StemAnalyzer
from nearlabel.utils.types import Matrix


def read_reuters_terms(folder: Path, n_terms: int) -> tuple[Dataset, Dataset]:
    """Return the training and the test part as counts (n_samples, n_terms) of the most informative terms.

    If the training part has fewer terms, all are kept.
    """
    training, test = reuters_parts(folder)
    counter = CountVectorizer(analyzer=StemAnalyzer("porter"), dtype=np.float64)
    counts = counter.fit_transform(_texts(training))
    n_features = min(n_terms, counts.shape[1])
    selector = InformationGainSelector(labels="sum", symmetric=False, n_bins=1, n_features=n_features)
    selector.fit(counts, training.Y)
    terms = tuple(counter.get_feature_names_out()[selector.get_support()])
    return (
        _with_terms(training, selector.transform(counts), terms),
        _with_terms(test, selector.transform(counter.transform(_texts(test))), terms),
    )


def _with_terms(part: Dataset, counts: Matrix, terms: tuple[str, ...]) -> Dataset:
    return replace(part, X=sparse.csr_array(counts), feature_names=terms, feature_kinds=())


def _texts(part: Dataset) -> list[str]:
    return [f"{title}\n{body}" for title, body in part.X]
