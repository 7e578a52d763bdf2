"""The doctor: what in a data set keeps neighbours from being good ones, and what mends it."""

from nearlabel.datasets.doctor._examine import examine
from nearlabel.datasets.doctor._finding import Examination, Finding

__all__ = ["Examination", "Finding", "examine"]
