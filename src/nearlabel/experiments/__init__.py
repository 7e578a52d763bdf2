"""Run experiments by plans, record the results, and summarise them."""

from nearlabel.experiments._attempt import Cost, LeftOut, Line, Trial
from nearlabel.experiments._automatic import ChosenNeighbors, NeighborsChoice
from nearlabel.experiments._candidate import Candidate
from nearlabel.experiments._copies import copied_rows, share_of_copies
from nearlabel.experiments._folds import Problem, problem_digest
from nearlabel.experiments._imputing import IMPUTATIONS
from nearlabel.experiments._methods import (
    LEADERBOARD_METHODS,
    METHODS,
    NEIGHBOR_METHODS,
    SAMPLERS,
    SELECTIONS,
    THRESHOLDS,
    MethodSpec,
    make_method,
    make_sampler,
)
from nearlabel.experiments._metrics import make_metric
from nearlabel.experiments._parts import ESTIMATORS
from nearlabel.experiments._per_label import summarise_labels
from nearlabel.experiments._plan import Plan
from nearlabel.experiments._preparing import make_preparation
from nearlabel.experiments._run import run
from nearlabel.experiments._search_plan import SearchCost, SearchPlan, search_costs
from nearlabel.experiments._searches import SEARCHES, make_search, usual_search
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.experiments._threshold_plan import ThresholdPlan
from nearlabel.experiments._tuned import Tuned
from nearlabel.experiments._tuning import Tuning
from nearlabel.experiments._unknown_labels import takes_unknown
from nearlabel.experiments.records import Record, read_records
from nearlabel.utils.progress import Progress

__all__ = [
    "ESTIMATORS",
    "IMPUTATIONS",
    "LEADERBOARD_METHODS",
    "METHODS",
    "NEIGHBOR_METHODS",
    "SAMPLERS",
    "SEARCHES",
    "SELECTIONS",
    "THRESHOLDS",
    "Candidate",
    "Cell",
    "ChosenNeighbors",
    "Cost",
    "LeftOut",
    "Line",
    "MethodSpec",
    "NeighborsChoice",
    "Plan",
    "Problem",
    "Progress",
    "Record",
    "SearchCost",
    "SearchPlan",
    "ThresholdPlan",
    "Trial",
    "Tuned",
    "Tuning",
    "copied_rows",
    "make_method",
    "make_metric",
    "make_preparation",
    "make_sampler",
    "make_search",
    "problem_digest",
    "read_records",
    "run",
    "search_costs",
    "share_of_copies",
    "summarise",
    "summarise_labels",
    "takes_unknown",
    "usual_search",
]
