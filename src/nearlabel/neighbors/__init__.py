"""Searches for nearest neighbours: exact ones (`exact`), those of other libraries (`optional`), and their votes.

A search has `fit` and `kneighbors` (`nearlabel.utils.types.NeighborSearch`). It may have methods for callers that have
checked their data, which `checked_method` gives: ``_fit(X)`` and ``_kneighbors(queries, n_neighbors)``. The caller
guarantees an array or a CSR array of finite numbers (with NaN only if the search declares that it takes them), with the
features of the fit, and a possible number of neighbours as an int. The search guarantees distances, float64 and
ascending, and indices, each of shape (n_queries, n_neighbors) and from 0 to n_samples - 1: nothing is left to check.
"""

from nearlabel.neighbors._novelty import NoveltyDetector
from nearlabel.neighbors._precomputed import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors._searches import TransformerNeighbors, recall
from nearlabel.neighbors._searches import as_search as as_search
from nearlabel.neighbors._searches import ask_search as ask_search
from nearlabel.neighbors._searches import checked_method as checked_method
from nearlabel.neighbors._searches import clone_search as clone_search
from nearlabel.neighbors._searches import takes_missing_values as takes_missing_values
from nearlabel.neighbors.exact._candidates import drop_self as drop_self
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.exact._segments import RESERVE as RESERVE
from nearlabel.neighbors.exact._segments import TrainingLists as TrainingLists
from nearlabel.neighbors.exact.kernels import kernel_level, kernel_levels
from nearlabel.neighbors.optional._approximate import UsearchNeighbors
from nearlabel.neighbors.optional._dask import DaskNeighbors
from nearlabel.neighbors.optional._faiss import FaissHNSWNeighbors, FaissIVFNeighbors
from nearlabel.neighbors.optional._lance_table import LanceTable
from nearlabel.neighbors.optional._pgvector_table import PgVectorTable
from nearlabel.neighbors.optional._qdrant_table import QdrantTable
from nearlabel.neighbors.optional._table_classifier import TableChanges, TableClassifier, TaggedRows
from nearlabel.neighbors.optional._table_neighbors import TableNeighbors
from nearlabel.neighbors.optional._vector_table import Candidates, TableChangedError, TableRows, VectorTable
from nearlabel.neighbors.votes import UselessNeighborsWarning, label_votes
from nearlabel.neighbors.votes import Weights as Weights
from nearlabel.neighbors.votes import check_neighbor_indices as check_neighbor_indices
from nearlabel.neighbors.votes import check_weights as check_weights
from nearlabel.neighbors.votes import mean_distances as mean_distances
from nearlabel.neighbors.votes import vote_weights as vote_weights

__all__ = [
    "Candidates", "DaskNeighbors", "ExactNeighbors", "FaissHNSWNeighbors", "FaissIVFNeighbors", "LanceTable",
    "NeighborGraph", "NoveltyDetector", "PgVectorTable", "PrecomputedNeighbors", "QdrantTable", "TableChangedError",
    "TableChanges", "TableClassifier", "TableNeighbors", "TableRows", "TaggedRows", "TransformerNeighbors",
    "UsearchNeighbors", "UselessNeighborsWarning", "VectorTable", "kernel_level", "kernel_levels", "label_votes",
    "recall",
]  # fmt: skip
