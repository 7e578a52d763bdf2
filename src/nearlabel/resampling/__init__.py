"""Samplers for label matrices, with imbalanced-learn's `fit_resample(X, y)`."""

from nearlabel.resampling._sampler import Resampled, Sampler

__all__ = ["Resampled", "Sampler"]
