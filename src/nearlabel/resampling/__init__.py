"""Samplers: other training samples, by imbalanced-learn's `fit_resample(X, y)` for label matrices.

More or fewer where labels are rare; or prototypes, few that stand for all (`MRHC`, `MRSP1` to 3, `MChen`). But for
prototypes, which are made of several rows, each says which row a row was made from, so that `ResampledClassifier` can
leave a row out with all that was made from it. A sampler of your own is any object with `fit_resample`,
`sample_indices_` and `seed_indices_`: `nearlabel.testing.check_sampler` checks it.
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
