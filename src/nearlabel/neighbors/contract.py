"""Functions for other packages: they copy, wrap and check a search, and give its distances and the weights of votes."""

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
