"""Functions of y: how many labels, how many label sets, how unequal, how entangled; of X and y: how alike.

y is an indicator matrix (n_samples, n_labels), dense or in any sparse container, of at least one row. Where it is
unknown whether a row has a label it holds NaN, which all take but `distinct_labelsets`, `labelsets_by_frequency` and
`coupled_similarity`: figures are those of the known cells.
"""

from nearlabel.labels._coupled_similarity import coupled_similarity
from nearlabel.labels._label_sets import (
    cardinality,
    co_occurrence,
    density,
    describe,
    distinct_labelsets,
    frequencies,
    imbalance_ratios,
    known_counts,
    labelset_diversity,
    labelset_proportion,
    labelsets_by_frequency,
    mean_imbalance_ratio,
    minority_labels,
    most_frequent,
    scumble,
    scumble_of_rows,
)

__all__ = [
    "cardinality",
    "co_occurrence",
    "coupled_similarity",
    "density",
    "describe",
    "distinct_labelsets",
    "frequencies",
    "imbalance_ratios",
    "known_counts",
    "labelset_diversity",
    "labelset_proportion",
    "labelsets_by_frequency",
    "mean_imbalance_ratio",
    "minority_labels",
    "most_frequent",
    "scumble",
    "scumble_of_rows",
]
