"""A plan runs to records, records to tables; papers are plans with printed figures beside."""

from nearlabel.experiments._folds import Problem
from nearlabel.experiments._methods import ESTIMATORS, METHODS, NEIGHBOR_METHODS, SELECTIONS, THRESHOLDS, make_method
from nearlabel.experiments._papers import Curve, Paper, PrintedCell, Reproduction, paper_names
from nearlabel.experiments._plan import EMPTY_PREDICTIONS, Plan
from nearlabel.experiments._ranking import PairedTest, RankedMeasure, Ranking
from nearlabel.experiments._records import read_records
from nearlabel.experiments._run import Progress, run
from nearlabel.experiments._scaling import SCALES
from nearlabel.experiments._search_plan import SearchCost, SearchPlan, search_costs
from nearlabel.experiments._searches import SEARCHES, make_search
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.experiments._threshold_plan import CLASSIFIERS, ThresholdPlan

__all__ = [
    "CLASSIFIERS",
    "EMPTY_PREDICTIONS",
    "ESTIMATORS",
    "METHODS",
    "NEIGHBOR_METHODS",
    "SCALES",
    "SEARCHES",
    "SELECTIONS",
    "THRESHOLDS",
    "Cell",
    "Curve",
    "PairedTest",
    "Paper",
    "Plan",
    "PrintedCell",
    "Problem",
    "Progress",
    "RankedMeasure",
    "Ranking",
    "Reproduction",
    "SearchCost",
    "SearchPlan",
    "ThresholdPlan",
    "make_method",
    "make_search",
    "paper_names",
    "read_records",
    "run",
    "search_costs",
    "summarise",
]
