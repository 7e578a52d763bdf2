"""Find wrong labels of training samples by leave-one-out evidence on every cell.

`audit` finds suspicious cells, samples, near copies that disagree, pairs of labels, and hubs. A person reviews them and
writes the correct values to a file; `read_corrections` reads it, and `apply_corrections` corrects y. The scores of
cells and samples are also available alone, for out-of-sample probabilities of any model.
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
