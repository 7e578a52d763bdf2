"""Vectors, ids and tags in tables of vector databases: a search, and a classifier that follows their changes."""

from nearlabel.neighbors._novelty import NoveltyDetector
from nearlabel.neighbors._precomputed import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors._recall import recall
from nearlabel.neighbors._transformer import TransformerNeighbors
from nearlabel.neighbors._transformer import as_search as as_search
from nearlabel.neighbors._transformer import clone_search as clone_search
from nearlabel.neighbors._transformer import takes_missing_values as takes_missing_values
from nearlabel.neighbors.exact._candidates import drop_self as drop_self
from nearlabel.neighbors.exact._kernels import kernel_level, kernel_levels
from nearlabel.neighbors.exact._metrics import distance_named as distance_named
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.exact._search import as_float_rows as as_float_rows
from nearlabel.neighbors.exact._segments import RESERVE as RESERVE
from nearlabel.neighbors.exact._segments import TrainingLists as TrainingLists
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
