"""Functions of this package that other packages of nearlabel use: how a search is cached, wrapped and checked."""

from nearlabel.neighbors._cached import CachedNeighbors
from nearlabel.neighbors._exact import as_float_rows
from nearlabel.neighbors._transformer import as_search, takes_missing_values
from nearlabel.neighbors._votes import check_neighbor_indices

__all__ = ["CachedNeighbors", "as_float_rows", "as_search", "check_neighbor_indices", "takes_missing_values"]
