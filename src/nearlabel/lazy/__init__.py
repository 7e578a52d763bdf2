"""Lazy multi-label classifiers: one search for all labels."""

from nearlabel.lazy._brknn import BRkNN, BRkNNa, BRkNNb
from nearlabel.lazy._cmlknn import CMLkNN
from nearlabel.lazy._explain_samples import explain_samples
from nearlabel.lazy._explanation import Explanation
from nearlabel.lazy._iblr import IBLR
from nearlabel.lazy._lpknn import LPkNN
from nearlabel.lazy._mlknn import MLkNN
from nearlabel.lazy._nldd import NLDD

__all__ = ["IBLR", "NLDD", "BRkNN", "BRkNNa", "BRkNNb", "CMLkNN", "Explanation", "LPkNN", "MLkNN", "explain_samples"]
