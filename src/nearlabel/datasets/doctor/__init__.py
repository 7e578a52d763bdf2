"""The doctor: what in a data set keeps neighbours from being good ones, and what mends it."""

from nearlabel.datasets.doctor._examine import examine
from nearlabel.datasets.doctor._finding import Examination, Finding
from nearlabel.datasets.doctor._rows import duplicate_groups

__all__ = ["Examination", "Finding", "duplicate_groups", "examine"]
