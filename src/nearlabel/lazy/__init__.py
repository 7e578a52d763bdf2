"""Lazy multi-label classifiers: rules from the votes of the nearest neighbours to labels."""

from nearlabel.lazy._brknn import BRkNN, BRkNNa, BRkNNb
from nearlabel.lazy._classifier import CountingClassifier as CountingClassifier
from nearlabel.lazy._classifier import LabelSetClassifier as LabelSetClassifier
from nearlabel.lazy._classifier import LazyClassifier as LazyClassifier
from nearlabel.lazy._classifier import RowClassifier as RowClassifier
from nearlabel.lazy._cmlknn import CMLkNN
from nearlabel.lazy._dmlknn import DMLkNN
from nearlabel.lazy._engine import Votes
from nearlabel.lazy._iblr import IBLR
from nearlabel.lazy._lpknn import LPkNN
from nearlabel.lazy._mlknn import MLkNN
from nearlabel.lazy._mlmlm import MLMLM
from nearlabel.lazy._nldd import NLDD
from nearlabel.lazy._predictions import LeftOut as LeftOut  # what `loo_with_neighbors` returns
from nearlabel.lazy._stream_classifier import StreamClassifier
from nearlabel.lazy._streams import Drift
from nearlabel.lazy._sweep import NeighborsSweep
from nearlabel.lazy.explain import Explanation
from nearlabel.neighbors.votes import Neighbors

__all__ = [
    "IBLR", "MLMLM", "NLDD", "BRkNN", "BRkNNa", "BRkNNb", "CMLkNN", "DMLkNN", "Drift", "Explanation", "LPkNN", "MLkNN",
    "Neighbors", "NeighborsSweep", "StreamClassifier", "Votes",
]  # fmt: skip
