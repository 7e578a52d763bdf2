"""Decision thresholds: from the scores of any classifier to the label sets that are best for a metric.

A strategy learns from scores and label sets, ``fit(scores, y)``, and turns scores into label sets, ``predict(scores)``.
"""

from nearlabel.thresholds._cross_val import cross_val_scores
from nearlabel.thresholds._cyclic import CyclicAscent
from nearlabel.thresholds._expected_f import ExpectedF
from nearlabel.thresholds._fbr import FBR
from nearlabel.thresholds._fixed import FixedThresholdsClassifier
from nearlabel.thresholds._frontier import MacroPRFrontier, MicroPRFrontier, macro_pr_frontier, micro_pr_frontier
from nearlabel.thresholds._global import GlobalCut
from nearlabel.thresholds._mcut import MCut
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._pcut import PCut
from nearlabel.thresholds._pillai import PillaiAscent
from nearlabel.thresholds._rcut import RCut
from nearlabel.thresholds._risk_control import RiskControl, quantile_grid
from nearlabel.thresholds._score_shift import ScoreShift, score_shift
from nearlabel.thresholds._scut import SCut
from nearlabel.thresholds._strategy import ByThresholds, ThresholdStrategy
from nearlabel.thresholds._strategy_for import strategy_for
from nearlabel.thresholds._tuned import TunedThresholdsClassifierCV
from nearlabel.thresholds._updates import StaleThresholdsWarning

__all__ = [
    "FBR",
    "ByThresholds",
    "CyclicAscent",
    "ExpectedF",
    "FixedThresholdsClassifier",
    "GlobalCut",
    "MCut",
    "MacroPRFrontier",
    "MicroFOptimum",
    "MicroPRFrontier",
    "PCut",
    "PillaiAscent",
    "RCut",
    "RiskControl",
    "SCut",
    "ScoreShift",
    "StaleThresholdsWarning",
    "ThresholdStrategy",
    "TunedThresholdsClassifierCV",
    "cross_val_scores",
    "macro_pr_frontier",
    "micro_pr_frontier",
    "quantile_grid",
    "score_shift",
    "strategy_for",
]
