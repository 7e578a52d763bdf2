"""A plan runs to records, records to tables; papers are plans with printed figures beside."""

from nearlabel.experiments._compare import TESTS, Comparison, compare, read_runs
from nearlabel.experiments._feature_scaler import FeatureScaler
from nearlabel.experiments._folds import Problem
from nearlabel.experiments._methods import ESTIMATORS, METHODS, NEIGHBOR_METHODS, SELECTIONS, THRESHOLDS, make_method
from nearlabel.experiments._model_facts import model_facts
from nearlabel.experiments._orders import Order, Relation, order_methods
from nearlabel.experiments._paired import OVER, PairedValues, paired_values
from nearlabel.experiments._papers import Curve, Paper, PrintedCell, Reproduction, paper_names
from nearlabel.experiments._plan import Plan
from nearlabel.experiments._printed_orders import PrintedRelation, PrintedScore, ReproducedOrder
from nearlabel.experiments._ranking import RankedMeasure, Ranking
from nearlabel.experiments._records import Record, read_records
from nearlabel.experiments._run import Progress, run
from nearlabel.experiments._run_facts import run_facts
from nearlabel.experiments._scaling import SCALES
from nearlabel.experiments._search_plan import SearchCost, SearchPlan, search_costs
from nearlabel.experiments._searches import SEARCHES, make_search
from nearlabel.experiments._significance import (
    POST_HOC,
    FriedmanTest,
    OverlappingFoldsWarning,
    PairedTest,
    friedman_test,
    paired_tests,
    warnings_as_notes,
)
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.experiments._threshold_plan import CLASSIFIERS, ThresholdPlan
from nearlabel.experiments._tuning import Candidate, Trial, Tuned, Tuning
from nearlabel.metrics._counted import EMPTY_PREDICTIONS

__all__ = [
    "CLASSIFIERS",
    "EMPTY_PREDICTIONS",
    "ESTIMATORS",
    "METHODS",
    "NEIGHBOR_METHODS",
    "OVER",
    "POST_HOC",
    "SCALES",
    "SEARCHES",
    "SELECTIONS",
    "TESTS",
    "THRESHOLDS",
    "Candidate",
    "Cell",
    "Comparison",
    "Curve",
    "FeatureScaler",
    "FriedmanTest",
    "Order",
    "OverlappingFoldsWarning",
    "PairedTest",
    "PairedValues",
    "Paper",
    "Plan",
    "PrintedCell",
    "PrintedRelation",
    "PrintedScore",
    "Problem",
    "Progress",
    "RankedMeasure",
    "Ranking",
    "Record",
    "Relation",
    "ReproducedOrder",
    "Reproduction",
    "SearchCost",
    "SearchPlan",
    "ThresholdPlan",
    "Trial",
    "Tuned",
    "Tuning",
    "compare",
    "friedman_test",
    "make_method",
    "make_search",
    "model_facts",
    "order_methods",
    "paired_tests",
    "paired_values",
    "paper_names",
    "read_records",
    "read_runs",
    "run",
    "run_facts",
    "search_costs",
    "summarise",
    "warnings_as_notes",
]
