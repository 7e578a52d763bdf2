"""Functions of this package that other packages of nearlabel use: how a search is cached, wrapped and checked."""

from nearlabel.neighbors._exact import as_float_rows
from nearlabel.neighbors._transformer import as_search
from nearlabel.neighbors._votes import check_neighbor_indices

__all__ = ["as_float_rows", "as_search", "check_neighbor_indices"]
