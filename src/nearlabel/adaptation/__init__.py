"""Learning algorithms adapted to label sets: boosting, mixtures, kernel machines, neural networks and trees."""

from nearlabel.adaptation._adaboost_mh import AdaBoostMH
from nearlabel.adaptation._adtboost_mh import ADTBoostMH
from nearlabel.adaptation._bp_mll import BPMLL
from nearlabel.adaptation._cbm import ConditionalBernoulliMixture
from nearlabel.adaptation._clustering_tree import PredictiveClusteringTree
from nearlabel.adaptation._rank_svm import RankSVM

__all__ = ["BPMLL", "ADTBoostMH", "AdaBoostMH", "ConditionalBernoulliMixture", "PredictiveClusteringTree", "RankSVM"]
