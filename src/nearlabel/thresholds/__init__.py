"""Decision thresholds: from the scores of any classifier to the label sets that are best for a metric.

A strategy learns from scores and label sets, ``fit(scores, y)``, and turns scores into label sets, ``predict(scores)``.
"""

from nearlabel.models.decision import at_least_one, cut, top_labels, within_sizes
from nearlabel.models.updates import StaleThresholdsWarning
from nearlabel.thresholds._calibration import CALIBRATIONS, CalibratedLabels
from nearlabel.thresholds._cross_val import cross_val_scores
from nearlabel.thresholds._cyclic import CyclicAscent, strategy_for
from nearlabel.thresholds._expected_f import ExpectedF
from nearlabel.thresholds._fixed import FixedThresholdsClassifier
from nearlabel.thresholds._frontier import MacroPRFrontier, MicroPRFrontier, macro_pr_frontier, micro_pr_frontier
from nearlabel.thresholds._global import GlobalCut
from nearlabel.thresholds._micro_f import MicroFOptimum, PillaiAscent
from nearlabel.thresholds._per_label import FBR, SCut
from nearlabel.thresholds._risk_bounds import ScoreShift, score_shift
from nearlabel.thresholds._risk_control import RiskControl, quantile_grid
from nearlabel.thresholds._simple_cuts import MCut, PCut, RCut
from nearlabel.thresholds._strategy import ByThresholds, ThresholdStrategy
from nearlabel.thresholds._tuned import TunedThresholdsClassifierCV

__all__ = [
    "CALIBRATIONS", "FBR", "ByThresholds", "CalibratedLabels", "CyclicAscent", "ExpectedF", "FixedThresholdsClassifier",
    "GlobalCut", "MCut", "MacroPRFrontier", "MicroFOptimum", "MicroPRFrontier", "PCut", "PillaiAscent", "RCut",
    "RiskControl", "SCut", "ScoreShift", "StaleThresholdsWarning", "ThresholdStrategy", "TunedThresholdsClassifierCV",
    "at_least_one", "cross_val_scores", "cut", "macro_pr_frontier", "micro_pr_frontier", "quantile_grid", "score_shift",
    "strategy_for", "top_labels", "within_sizes",
]  # fmt: skip
