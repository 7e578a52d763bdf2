"""Methods that transform multi-label problems into binary or multi-class problems."""

from nearlabel.transformation._binary_relevance import SMBR, BinaryRelevance
from nearlabel.transformation._classifier_chain import ClassifierChain
from nearlabel.transformation._label_powerset import LabelPowerset

__all__ = ["SMBR", "BinaryRelevance", "ClassifierChain", "LabelPowerset"]
