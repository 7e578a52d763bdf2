"""Decision thresholds: from the scores of any classifier to label sets that are best for the measure at hand."""

from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._pillai import PillaiAscent

__all__ = ["MicroFOptimum", "PillaiAscent"]
