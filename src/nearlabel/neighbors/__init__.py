"""Searches for nearest neighbours, exact and approximate, and the votes of neighbours for labels."""

from nearlabel.neighbors._dask import DaskNeighbors
from nearlabel.neighbors._exact import ExactNeighbors
from nearlabel.neighbors._faiss import FaissHNSWNeighbors, FaissIVFNeighbors
from nearlabel.neighbors._kernels import kernel_level, kernel_levels
from nearlabel.neighbors._novelty import NoveltyDetector
from nearlabel.neighbors._precomputed import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors._recall import recall
from nearlabel.neighbors._transformer import TransformerNeighbors
from nearlabel.neighbors._usearch import UsearchNeighbors
from nearlabel.neighbors._votes import label_votes
from nearlabel.neighbors.usefulness import UselessNeighborsWarning

__all__ = [
    "DaskNeighbors",
    "ExactNeighbors",
    "FaissHNSWNeighbors",
    "FaissIVFNeighbors",
    "NeighborGraph",
    "NoveltyDetector",
    "PrecomputedNeighbors",
    "TransformerNeighbors",
    "UsearchNeighbors",
    "UselessNeighborsWarning",
    "kernel_level",
    "kernel_levels",
    "label_votes",
    "recall",
]
