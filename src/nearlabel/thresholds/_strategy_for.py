"""The strategy that makes a metric as good as possible."""

from __future__ import annotations

from nearlabel.metrics import MetricLike, get_metric
from nearlabel.thresholds._cyclic import CyclicAscent
from nearlabel.thresholds._global import GlobalCut
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._objective import OF_EXAMPLES, OF_LABELS
from nearlabel.thresholds._scut import SCut
from nearlabel.thresholds._strategy import ThresholdStrategy

_BY_MICRO_F = {"micro_f1", "micro_jaccard"}  # the Jaccard index F / (2 - F) grows with F
_OF_EXAMPLES_TOGETHER = {"subset_accuracy", "f1_of_means"}


def strategy_for(metric: MetricLike) -> ThresholdStrategy:
    """Return the unfitted threshold strategy that is made for a metric.

    Parameters
    ----------
    metric : str, callable or Metric
        What `nearlabel.metrics.get_metric` takes.

    Returns
    -------
    ThresholdStrategy
        `MicroFOptimum` for micro F1 and the micro-averaged Jaccard index, `SCut` for means over labels and the Hamming
        loss, `CyclicAscent` for metrics of examples, `GlobalCut` for other metrics of predictions, your own among them.
        For a metric of scores, which no threshold changes, `MicroFOptimum`.

    Examples
    --------
    >>> strategy_for("macro_f1"), strategy_for("f1_examples"), strategy_for("ranking_loss")
    (SCut(), CyclicAscent(), MicroFOptimum())
    """
    known = get_metric(metric)
    if known.needs == "score" or known.name in _BY_MICRO_F:
        return MicroFOptimum()
    if known.name in OF_LABELS:
        return SCut(known.name)
    if known.name in OF_EXAMPLES | _OF_EXAMPLES_TOGETHER:
        return CyclicAscent(known.name)
    return GlobalCut(metric)
