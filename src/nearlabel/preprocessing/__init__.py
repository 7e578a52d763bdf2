"""Features as numbers whose distances mean something: mixed columns encoded, numbers scaled, colours of images."""

from nearlabel.preprocessing._color_moments import ColorMoments
from nearlabel.preprocessing._feature_scaler import SCALES, FeatureScaler
from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder

__all__ = ["SCALES", "ColorMoments", "FeatureScaler", "MixedFeaturesEncoder"]
