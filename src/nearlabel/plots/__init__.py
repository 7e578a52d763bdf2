"""Plots for notebooks and files, as displays in the style of scikit-learn; needs matplotlib (extra ``plot``).

Class methods create and draw a display from an estimator, from predictions or from the records of a run. ``ax_`` and
``figure_`` are matplotlib objects that you can change further. `write` saves a display to a file; the same data give
the same file.
"""

from nearlabel.plots._co_occurrence import CoOccurrenceDisplay
from nearlabel.plots._critical_difference import CriticalDifferenceDisplay
from nearlabel.plots._double_distances import DoubleDistancesDisplay, LabelCubeDisplay
from nearlabel.plots._explanation import ExplanationDisplay
from nearlabel.plots._figure import check_figure_file, check_matplotlib, line_sample
from nearlabel.plots._neighbors_curve import NeighborsCurveDisplay, NeighborsPanelsDisplay
from nearlabel.plots._scores import MicroFrontierDisplay, ReliabilityDisplay

__all__ = [
    "CoOccurrenceDisplay", "CriticalDifferenceDisplay", "DoubleDistancesDisplay", "ExplanationDisplay",
    "LabelCubeDisplay", "MicroFrontierDisplay", "NeighborsCurveDisplay", "NeighborsPanelsDisplay", "ReliabilityDisplay",
    "check_figure_file", "check_matplotlib", "line_sample",
]  # fmt: skip
