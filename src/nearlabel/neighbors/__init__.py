"""Who is near: searches that answer `kneighbors`, and the votes of the neighbours found."""

from nearlabel.neighbors._exact import ExactNeighbors
from nearlabel.neighbors._precomputed import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors._votes import label_votes

__all__ = ["ExactNeighbors", "NeighborGraph", "PrecomputedNeighbors", "label_votes"]
