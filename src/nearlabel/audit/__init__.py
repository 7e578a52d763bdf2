"""Which labels of the training rows are wrong: what leave-one-out evidence says of every cell."""

from nearlabel.audit._audit import audit
from nearlabel.audit._findings import Audit, Conflict, Hub, LabelPair, Neighbor, SuspectCell, SuspectRow

__all__ = ["Audit", "Conflict", "Hub", "LabelPair", "Neighbor", "SuspectCell", "SuspectRow", "audit"]
