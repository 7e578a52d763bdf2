"""Features and samples before a method: mixed columns, scaling, terms of texts, selection of features, resampling."""

from nearlabel.preprocessing._feature_scaler import SCALES, FeatureScaler
from nearlabel.preprocessing._feature_scaler import are_categories as are_categories  # for other rooms
from nearlabel.preprocessing._feature_scaler import check_scale as check_scale
from nearlabel.preprocessing._feature_selection import InformationGainSelector, document_frequency
from nearlabel.preprocessing._information_gain import information_gain, symmetrical_uncertainty
from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder
from nearlabel.preprocessing._mlsmote import MLSMOTE
from nearlabel.preprocessing._mrhc import MRHC
from nearlabel.preprocessing._neighborhood_components import NeighborhoodComponentsWeights
from nearlabel.preprocessing._resampled_classifier import ResampledClassifier
from nearlabel.preprocessing._sampler import Resampled, Sampler
from nearlabel.preprocessing._space_partitioning import MRSP1, MRSP2, MRSP3, MChen
from nearlabel.preprocessing._stem_analyzer import StemAnalyzer
from nearlabel.preprocessing._training_range import CLIP as CLIP  # for other rooms
from nearlabel.preprocessing._training_range import KEEP as KEEP
from nearlabel.preprocessing._training_range import OutOfRange as OutOfRange
from nearlabel.preprocessing._training_range import check_out_of_range as check_out_of_range
from nearlabel.preprocessing._training_range import has_range as has_range

__all__ = [
    "MLSMOTE", "MRHC", "MRSP1", "MRSP2", "MRSP3", "SCALES", "FeatureScaler", "InformationGainSelector", "MChen",
    "MixedFeaturesEncoder", "NeighborhoodComponentsWeights", "Resampled", "ResampledClassifier", "Sampler",
    "StemAnalyzer", "document_frequency", "information_gain", "symmetrical_uncertainty",
]  # fmt: skip
