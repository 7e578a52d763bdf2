"""Run experiments by plans, record the results, and summarise them."""

from nearlabel.experiments import one_search as one_search  # for the command line
from nearlabel.experiments._folds import copied_rows, share_of_copies
from nearlabel.experiments._other_plans import SearchCost, SearchPlan, ThresholdPlan, search_costs
from nearlabel.experiments._plan import Plan
from nearlabel.experiments._record_lines import Record
from nearlabel.experiments._run import environment, made_with, run, show_versions
from nearlabel.experiments._summary import Cell, summarise, summarise_labels
from nearlabel.experiments.records import read_records
from nearlabel.selection.automatic import ChosenNeighbors, NeighborsChoice
from nearlabel.selection.candidates import Candidate, Cost, LeftOut, Line, Trial
from nearlabel.selection.data import IMPUTATIONS, Problem, make_preparation, problem_digest
from nearlabel.selection.guests import make_metric
from nearlabel.selection.methods import MethodSpec, make_method, make_sampler, takes_unknown
from nearlabel.selection.specs import (
    ESTIMATORS,
    LEADERBOARD_METHODS,
    METHODS,
    NEIGHBOR_METHODS,
    SAMPLERS,
    SEARCHES,
    SELECTIONS,
    THRESHOLDS,
    make_search,
    usual_search,
)
from nearlabel.selection.stages import Tuned
from nearlabel.selection.tuning import Tuning
from nearlabel.utils.messages import Progress

__all__ = [
    "ESTIMATORS", "IMPUTATIONS", "LEADERBOARD_METHODS", "METHODS", "NEIGHBOR_METHODS", "SAMPLERS", "SEARCHES",
    "SELECTIONS", "THRESHOLDS", "Candidate", "Cell", "ChosenNeighbors", "Cost", "LeftOut", "Line", "MethodSpec",
    "NeighborsChoice", "Plan", "Problem", "Progress", "Record", "SearchCost", "SearchPlan", "ThresholdPlan", "Trial",
    "Tuned", "Tuning", "copied_rows", "environment", "made_with", "make_method", "make_metric", "make_preparation",
    "make_sampler", "make_search", "problem_digest", "read_records", "run", "search_costs", "share_of_copies",
    "show_versions", "summarise", "summarise_labels", "takes_unknown", "usual_search",
]  # fmt: skip
