"""Samplers for label matrices, with imbalanced-learn's `fit_resample(X, y)`."""

from nearlabel.resampling._cleaning import MLTL, MLeNN
from nearlabel.resampling._mlsmote import MLSMOTE
from nearlabel.resampling._random import MLROS, MLRUS
from nearlabel.resampling._remedial import REMEDIAL
from nearlabel.resampling._resampled_classifier import ResampledClassifier
from nearlabel.resampling._sampler import Resampled, Sampler

__all__ = ["MLROS", "MLRUS", "MLSMOTE", "MLTL", "REMEDIAL", "MLeNN", "Resampled", "ResampledClassifier", "Sampler"]
