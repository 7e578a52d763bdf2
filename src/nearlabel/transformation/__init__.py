"""Multi-label problems transformed into binary ones."""

from nearlabel.transformation._binary_relevance import SMBR, BinaryRelevance

__all__ = ["SMBR", "BinaryRelevance"]
