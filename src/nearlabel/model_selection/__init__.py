"""Folds with a proportional part of every label, the choice of parameters, and an estimator that chooses everything."""

from nearlabel.model_selection._iterative_stratification import IterativeStratifiedKFold
from nearlabel.model_selection._neighbors_classifier_cv import NeighborsClassifierCV
from nearlabel.model_selection._neighbors_per_label import NeighborsPerLabel
from nearlabel.model_selection._stratification_quality import StratificationQuality, stratification_quality
from nearlabel.model_selection._tune_neighbors import tune_neighbors

__all__ = [
    "IterativeStratifiedKFold",
    "NeighborsClassifierCV",
    "NeighborsPerLabel",
    "StratificationQuality",
    "stratification_quality",
    "tune_neighbors",
]
