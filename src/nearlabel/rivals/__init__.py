"""Multi-label classifiers that are no neighbour methods, and mixtures of these with neighbours."""

from nearlabel.rivals._binary_relevance import SMBR, BinaryRelevance, EnsembleOfBinaryRelevance
from nearlabel.rivals._boosting import AdaBoostMH, ADTBoostMH
from nearlabel.rivals._bp_mll import BPMLL
from nearlabel.rivals._cbm import ConditionalBernoulliMixture
from nearlabel.rivals._chains import ClassifierChain, EnsembleOfClassifierChains
from nearlabel.rivals._homer import HOMER
from nearlabel.rivals._interpolation import NeighborInterpolation
from nearlabel.rivals._label_powerset import LabelPowerset, RAkELd, RAkELo
from nearlabel.rivals._rank_svm import RankSVM
from nearlabel.rivals._soft_vote import SoftVote
from nearlabel.rivals.clustering_trees import PredictiveClusteringTree, RandomForestPCT

__all__ = [
    "BPMLL", "HOMER", "SMBR", "ADTBoostMH", "AdaBoostMH", "BinaryRelevance", "ClassifierChain",
    "ConditionalBernoulliMixture", "EnsembleOfBinaryRelevance", "EnsembleOfClassifierChains", "LabelPowerset",
    "NeighborInterpolation", "PredictiveClusteringTree", "RAkELd", "RAkELo", "RandomForestPCT", "RankSVM", "SoftVote",
]  # fmt: skip
