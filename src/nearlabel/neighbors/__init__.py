"""Searches for nearest neighbours: exact ones (`exact`), those of other libraries (`optional`), and their votes.

A search has `fit` and `kneighbors` (`nearlabel.utils.types.NeighborSearch`). It may have methods for callers that have
checked their data, which `votes.checked_method` gives: ``_fit(X)`` and ``_kneighbors(queries, n_neighbors)``. The
caller guarantees an array or a CSR array of finite numbers (with NaN only if the search declares that it takes them),
with the features of the fit, and a possible number of neighbours as an int. The search guarantees distances, float64
and ascending, and indices, each of shape (n_queries, n_neighbors) and from 0 to n_samples - 1: nothing is left to
check.
"""

from nearlabel.neighbors._kernel_weights import GaussianWeights, SimilarityWeights
from nearlabel.neighbors._novelty import NoveltyDetector
from nearlabel.neighbors._precomputed import NeighborGraph, PrecomputedNeighbors, TransformerNeighbors
from nearlabel.neighbors.exact._candidates import drop_self as drop_self
from nearlabel.neighbors.exact._packed_rows import fit_to_packed as fit_to_packed
from nearlabel.neighbors.exact._packed_rows import packed_arrays as packed_arrays
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
from nearlabel.neighbors.votes import UselessNeighborsWarning, label_votes, recall

__all__ = [
    "Candidates", "DaskNeighbors", "ExactNeighbors", "FaissHNSWNeighbors", "FaissIVFNeighbors", "GaussianWeights",
    "LanceTable", "NeighborGraph", "NoveltyDetector", "PgVectorTable", "PrecomputedNeighbors", "QdrantTable",
    "SimilarityWeights", "TableChangedError", "TableChanges", "TableClassifier", "TableNeighbors", "TableRows",
    "TaggedRows", "TransformerNeighbors", "UsearchNeighbors", "UselessNeighborsWarning", "VectorTable", "kernel_level",
    "kernel_levels", "label_votes", "recall",
]  # fmt: skip
