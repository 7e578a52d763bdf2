"""Samplers: they make other training samples, by imbalanced-learn's `fit_resample(X, y)` for label matrices.

Some add or delete samples where labels are rare; others make few prototypes that represent all samples (`MRHC`, `MRSP1`
to 3, `MChen`). Prototypes are made of several samples. The other samplers report which sample each row was made from,
so that `ResampledClassifier` can leave a sample out together with all that were made from it. A sampler of your own is
any object with `fit_resample`, `sample_indices_` and `seed_indices_`: `nearlabel.testing.check_sampler` checks it.
"""

from nearlabel.resampling._cleaning import MLTL, MLeNN
from nearlabel.resampling._mlsmote import MLSMOTE
from nearlabel.resampling._mrhc import MRHC
from nearlabel.resampling._random import MLROS, MLRUS
from nearlabel.resampling._remedial import REMEDIAL
from nearlabel.resampling._resampled_classifier import ResampledClassifier
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
    "ResampledClassifier",
]
