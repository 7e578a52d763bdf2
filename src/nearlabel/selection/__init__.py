"""Folds with a proportional part of every label, the choice of parameters, and an estimator that chooses everything.

What is private here, and where a new candidate, mixture or budget has its place:

- `specs.py`: names and options, ``brknn:weights=distance``; `methods.py`: a method with all that goes with it;
  `guests.py`: what users bring; `data.py`: data sets and the preparation of features.
- `_neighbors_classifier_cv.py` with `_trials.py`: the choice by leave-one-out scores, in two rounds. Methods are in
  `methods_in`, ways to compute distances in `_spaces.py`; `Budget` ends it between two methods.
  `_mixture_classifier_cv.py` adds the models of `_others.py`, and mixes the best by `_mixing.py`. `automatic.py` makes
  a `Candidate` of it. `later.py`: thresholds and estimates for later rows, where rows have an order.
- `tuning.py`, the choice of any models: `_grid.py` says which candidates there are and how samples are held out,
  `stages.py` in which order and on how many rows they are tried, `candidates.py` what is known of each and stored.
"""

from nearlabel.selection._mixture_classifier_cv import MixtureClassifierCV
from nearlabel.selection._neighbors_classifier_cv import NeighborsClassifierCV
from nearlabel.selection._number_of_neighbors import NeighborsPerLabel, tune_neighbors
from nearlabel.selection._stratification_quality import StratificationQuality, stratification_quality
from nearlabel.selection._stratified_folds import IterativeStratifiedKFold

__all__ = [
    "IterativeStratifiedKFold", "MixtureClassifierCV", "NeighborsClassifierCV", "NeighborsPerLabel",
    "StratificationQuality", "stratification_quality", "tune_neighbors",
]  # fmt: skip
