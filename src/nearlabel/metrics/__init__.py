"""Metrics of multi-label predictions and scores, each a function ``(y_true, y_pred or y_score) -> float``.

The 0/0 rule is explained in `nearlabel.metrics.example_based` and `nearlabel.metrics.label_based`, the rules for equal
scores and trivial rows in `nearlabel.metrics.ranking`, those for labels of one class in `nearlabel.metrics.areas`.

**Unknown cells.** A cell is the value of one label for one sample. It is unknown if it is not recorded whether the
label applies: y_true may contain NaN, None, a missing value of pandas or polars, a masked value of numpy or, if sparse,
a stored NaN. All metrics use the known cells only; each module describes how. Values of y_pred or y_score in unknown
cells have no effect. A sample without known cells is left out, and at least one cell must be known. Your own metric
gets y_true with NaN.

`CATALOGUE` lists the metrics that tables show by default, with their input and direction. `METRICS_ON_REQUEST` lists
the metrics that are computed only if you name them. `get_metric` finds both by name, with options, and accepts your own
metrics. `score_all` computes many metrics at once, `label_table` computes the metrics of each label, and `get_scorer`
turns a metric into a scikit-learn scorer.
"""

from nearlabel.metrics.areas import count_skipped, mean_average_precision, roc_auc
from nearlabel.metrics.catalogue import (
    CATALOGUE,
    METRICS_ON_REQUEST,
    SCORERS,
    Metric,
    MetricLike,
    get_metric,
    get_scorer,
)
from nearlabel.metrics.evaluation import label_table, score_all
from nearlabel.metrics.example_based import (
    f1_examples,
    f1_of_means,
    fbeta_examples,
    hamming_loss,
    jaccard_examples,
    precision_examples,
    recall_examples,
    subset_accuracy,
)
from nearlabel.metrics.label_based import (
    macro_f1,
    macro_fbeta,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_fbeta,
    micro_precision,
    micro_recall,
)
from nearlabel.metrics.probabilities import CalibrationBins, brier_score, calibration_bins, log_loss
from nearlabel.metrics.ranking import average_precision, coverage, one_error, ranking_loss
from nearlabel.metrics.top_k import (
    label_propensities,
    ndcg_at_k,
    precision_at_k,
    propensity_scored_precision_at_k,
    recall_at_k,
)

__all__ = [
    "CATALOGUE", "METRICS_ON_REQUEST", "SCORERS", "CalibrationBins", "Metric", "MetricLike", "average_precision",
    "brier_score", "calibration_bins", "count_skipped", "coverage", "f1_examples", "f1_of_means", "fbeta_examples",
    "get_metric", "get_scorer", "hamming_loss", "jaccard_examples", "label_propensities", "label_table", "log_loss",
    "macro_f1", "macro_fbeta", "macro_precision", "macro_recall", "mean_average_precision", "micro_f1", "micro_fbeta",
    "micro_precision", "micro_recall", "ndcg_at_k", "one_error", "precision_at_k", "precision_examples",
    "propensity_scored_precision_at_k", "ranking_loss", "recall_at_k", "recall_examples", "roc_auc", "score_all",
    "subset_accuracy",
]  # fmt: skip
