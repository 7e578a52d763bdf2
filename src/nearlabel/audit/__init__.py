"""Which labels of the training rows are wrong: what leave-one-out evidence says of every cell.

`audit` finds suspicious cells, rows, near copies that disagree, pairs of labels, and hubs. Whoever has looked at them
writes down what is right; `read_corrections` reads that, and `apply_corrections` makes it so in y. The scores of cells
and rows behind it take the out-of-sample probabilities of any model.
"""

from nearlabel.audit._audit import audit
from nearlabel.audit._corrected import apply_corrections
from nearlabel.audit._corrections import Correction, read_corrections
from nearlabel.audit._findings import Audit, Conflict, Hub, LabelPair, Neighbor, SuspectCell, SuspectRow
from nearlabel.audit._scores import (
    confident_issues,
    disagreement,
    halfway_prior,
    prior_odds,
    row_quality,
    self_confidence,
)

__all__ = [
    "Audit",
    "Conflict",
    "Correction",
    "Hub",
    "LabelPair",
    "Neighbor",
    "SuspectCell",
    "SuspectRow",
    "apply_corrections",
    "audit",
    "confident_issues",
    "disagreement",
    "halfway_prior",
    "prior_odds",
    "read_corrections",
    "row_quality",
    "self_confidence",
]
