"""Models: the base classes of classifiers, decisions, out-of-sample predictions, and functions of any fitted model.

The functions look through pipelines, parameter searches, thresholds and calibration: `explain`, `predict_labels`,
`novelty_detector`, `training_shares`, and those that add and remove samples, `partial_fit`, `forget` and `retune`, or
`refit` where a model contains its samples but cannot change with them (`way_to_update`).
"""

from nearlabel.models import out_of_sample as out_of_sample  # for other rooms
from nearlabel.models._classifiers import (
    MetaClassifier,
    MultilabelClassifier,
    WeightedClassifier,
    WithDecisions,
    WithOptionalProbabilities,
    WithProbabilities,
)
from nearlabel.models.leaf_shares import LeafShares
from nearlabel.models.refits import parts_with_samples, refit, way_to_update
from nearlabel.models.shares import training_shares
from nearlabel.models.unwrapped import explain, explains, novelty_detector, predict_labels
from nearlabel.models.updates import (
    can_be_updated,
    copy_to_update,
    forget,
    lazy_part,
    partial_fit,
    retune,
    updated_part,
)

__all__ = [
    "LeafShares", "MetaClassifier", "MultilabelClassifier", "WeightedClassifier", "WithDecisions",
    "WithOptionalProbabilities", "WithProbabilities", "can_be_updated", "copy_to_update", "explain", "explains",
    "forget", "lazy_part", "novelty_detector", "partial_fit", "parts_with_samples", "predict_labels", "refit", "retune",
    "training_shares", "updated_part", "way_to_update",
]  # fmt: skip
