"""Samplers for label matrices, with imbalanced-learn's `fit_resample(X, y)`."""

from nearlabel.resampling._mrhc import MRHC
from nearlabel.resampling._sampler import Resampled, Sampler
from nearlabel.resampling._space_partitioning import MRSP1, MRSP2, MRSP3, MChen

__all__ = ["MRHC", "MRSP1", "MRSP2", "MRSP3", "MChen", "Resampled", "Sampler"]
