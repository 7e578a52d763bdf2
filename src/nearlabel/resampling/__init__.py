"""Samplers: other training rows where labels are rare, by imbalanced-learn's `fit_resample(X, y)` for label matrices.

Each says which row a row was made from, so that `ResampledClassifier` can leave a row out with all that was made from
it. A sampler of your own is any object with `fit_resample`, `sample_indices_` and `seed_indices_`:
`nearlabel.testing.check_sampler` checks it.
"""

from nearlabel.resampling._cleaning import MLTL, MLeNN
from nearlabel.resampling._mlsmote import MLSMOTE
from nearlabel.resampling._random import MLROS, MLRUS
from nearlabel.resampling._remedial import REMEDIAL
from nearlabel.resampling._resampled_classifier import ResampledClassifier

__all__ = ["MLROS", "MLRUS", "MLSMOTE", "MLTL", "REMEDIAL", "MLeNN", "ResampledClassifier"]
