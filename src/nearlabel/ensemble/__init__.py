"""Ensembles: multi-label classifiers that combine the predictions of several models."""

from nearlabel.ensemble._binary_relevance import EnsembleOfBinaryRelevance
from nearlabel.ensemble._chains import EnsembleOfClassifierChains
from nearlabel.ensemble._forest import RandomForestPCT
from nearlabel.ensemble._homer import HOMER
from nearlabel.ensemble._interpolation import NeighborInterpolation
from nearlabel.ensemble._rakel import RAkELd, RAkELo
from nearlabel.ensemble._soft_vote import SoftVote

__all__ = [
    "HOMER",
    "EnsembleOfBinaryRelevance",
    "EnsembleOfClassifierChains",
    "NeighborInterpolation",
    "RAkELd",
    "RAkELo",
    "RandomForestPCT",
    "SoftVote",
]
