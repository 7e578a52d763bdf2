"""Statistics of y: numbers of labels and label sets, imbalance, co-occurrence; of X and y: similarity of labels.

y is an indicator matrix (n_samples, n_labels), dense or in any sparse container, with at least one sample. A NaN marks
an unknown cell: it is not recorded whether the label applies to the sample. All functions but `distinct_labelsets`,
`labelsets_by_frequency` and `coupled_similarity` accept NaN, and compute their statistics on the known cells.
"""

from nearlabel.labels._imbalance import (
    describe,
    imbalance_ratios,
    mean_imbalance_ratio,
    minority_labels,
    scumble,
    scumble_of_rows,
)
from nearlabel.labels._label_sets import (
    cardinality,
    co_occurrence,
    density,
    distinct_labelsets,
    frequencies,
    known_counts,
    labelset_diversity,
    labelset_proportion,
    labelsets_by_frequency,
    most_frequent,
)
from nearlabel.labels.feature_values import coupled_similarity

__all__ = [
    "cardinality", "co_occurrence", "coupled_similarity", "density", "describe", "distinct_labelsets", "frequencies",
    "imbalance_ratios", "known_counts", "labelset_diversity", "labelset_proportion", "labelsets_by_frequency",
    "mean_imbalance_ratio", "minority_labels", "most_frequent", "scumble", "scumble_of_rows",
]  # fmt: skip
