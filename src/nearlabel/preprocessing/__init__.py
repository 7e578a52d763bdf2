"""Features as numbers with meaningful distances: mixed columns, scaled numbers, terms of texts, colours of images."""

from nearlabel.preprocessing._color_moments import ColorMoments
from nearlabel.preprocessing._feature_scaler import SCALES, FeatureScaler
from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder
from nearlabel.preprocessing._stem_analyzer import StemAnalyzer

__all__ = ["SCALES", "ColorMoments", "FeatureScaler", "MixedFeaturesEncoder", "StemAnalyzer"]
