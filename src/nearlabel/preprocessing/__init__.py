"""Rows of mixed columns, numbers, categories, dates and texts, as numbers whose distances mean something."""

from nearlabel.preprocessing._mixed_features import MixedFeaturesEncoder

__all__ = ["MixedFeaturesEncoder"]
