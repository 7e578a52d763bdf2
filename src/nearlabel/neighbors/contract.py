"""What other packages use of this one: how a search is copied, wrapped and checked, its distances, and weights."""

from nearlabel.neighbors._drop_self import drop_self
from nearlabel.neighbors._exact import as_float_rows
from nearlabel.neighbors._mean_distances import mean_distances
from nearlabel.neighbors._named_distances import distance_named
from nearlabel.neighbors._training_lists import RESERVE, TrainingLists
from nearlabel.neighbors._transformer import as_search, clone_search, takes_missing_values
from nearlabel.neighbors._votes import Weights, check_neighbor_indices, check_weights, vote_weights

__all__ = [
    "RESERVE",
    "TrainingLists",
    "Weights",
    "as_float_rows",
    "as_search",
    "check_neighbor_indices",
    "check_weights",
    "clone_search",
    "distance_named",
    "drop_self",
    "mean_distances",
    "takes_missing_values",
    "vote_weights",
]
