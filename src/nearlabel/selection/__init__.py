"""Folds with a proportional part of every label, the choice of parameters, and an estimator that chooses everything."""

from nearlabel.selection._neighbors_classifier_cv import NeighborsClassifierCV
from nearlabel.selection._number_of_neighbors import NeighborsPerLabel, tune_neighbors
from nearlabel.selection._stratification_quality import StratificationQuality, stratification_quality
from nearlabel.selection._stratified_folds import IterativeStratifiedKFold

__all__ = [
    "IterativeStratifiedKFold", "NeighborsClassifierCV", "NeighborsPerLabel", "StratificationQuality",
    "stratification_quality", "tune_neighbors",
]  # fmt: skip
