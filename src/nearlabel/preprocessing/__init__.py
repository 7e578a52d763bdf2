"""Features as numbers with meaningful distances: mixed columns encoded, numbers scaled, texts split into terms."""

from nearlabel.preprocessing._feature_scaler import SCALES, FeatureScaler
from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder
from nearlabel.preprocessing._stem_analyzer import StemAnalyzer

__all__ = ["SCALES", "FeatureScaler", "MixedFeaturesEncoder", "StemAnalyzer"]
