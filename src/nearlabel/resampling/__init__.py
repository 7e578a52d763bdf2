"""Samplers for label matrices, with imbalanced-learn's `fit_resample(X, y)`: for rare labels and smaller models."""

from nearlabel.resampling._cleaning import MLTL, MLeNN
from nearlabel.resampling._mlsmote import MLSMOTE
from nearlabel.resampling._mrhc import MRHC
from nearlabel.resampling._random import MLROS, MLRUS
from nearlabel.resampling._remedial import REMEDIAL
from nearlabel.resampling._resampled_classifier import ResampledClassifier
from nearlabel.resampling._sampler import Resampled, Sampler
from nearlabel.resampling._space_partitioning import MRSP1, MRSP2, MRSP3, MChen

__all__ = [
    "MLROS",
    "MLRUS",
    "MLSMOTE",
    "MLTL",
    "MRHC",
    "MRSP1",
    "MRSP2",
    "MRSP3",
    "REMEDIAL",
    "MChen",
    "MLeNN",
    "Resampled",
    "ResampledClassifier",
    "Sampler",
]
