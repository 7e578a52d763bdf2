"""Metrics of multi-label predictions and scores, each a function ``(y_true, y_pred or y_score) -> float``.

The 0/0 rule is explained in `nearlabel.metrics.example_based` and `nearlabel.metrics.label_based`, the rules for equal
scores and trivial rows in `nearlabel.metrics.ranking`. `CATALOGUE` lists what each metric needs and its direction;
`get_metric` also takes metrics of your own, `score_all` computes many at once, `get_scorer` makes a scikit-learn scorer
of one.
"""

from nearlabel.metrics.calibration import CalibrationBins, calibration_bins
from nearlabel.metrics.catalogue import CATALOGUE, Metric, MetricLike, get_metric
from nearlabel.metrics.evaluation import score_all
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
from nearlabel.metrics.ranking import average_precision, coverage, one_error, ranking_loss
from nearlabel.metrics.scorers import SCORERS, get_scorer

__all__ = [
    "CATALOGUE",
    "SCORERS",
    "CalibrationBins",
    "Metric",
    "MetricLike",
    "average_precision",
    "calibration_bins",
    "coverage",
    "f1_examples",
    "f1_of_means",
    "fbeta_examples",
    "get_metric",
    "get_scorer",
    "hamming_loss",
    "jaccard_examples",
    "macro_f1",
    "macro_fbeta",
    "macro_precision",
    "macro_recall",
    "micro_f1",
    "micro_fbeta",
    "micro_precision",
    "micro_recall",
    "one_error",
    "precision_examples",
    "ranking_loss",
    "recall_examples",
    "score_all",
    "subset_accuracy",
]
