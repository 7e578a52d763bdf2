"""Features as numbers with meaningful distances: mixed columns encoded, numbers scaled."""

from nearlabel.preprocessing._feature_scaler import SCALES, FeatureScaler
from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder

__all__ = ["SCALES", "FeatureScaler", "MixedFeaturesEncoder"]
