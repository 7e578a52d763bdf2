"""Samples to label next and predictions to check: rows of a pool in order of priority, with the reasons."""

from nearlabel.audit._audit import audit
from nearlabel.audit._corrections import Correction, apply_corrections, read_corrections
from nearlabel.audit._exports import CONTROL as CONTROL
from nearlabel.audit._exports import chosen as chosen
from nearlabel.audit._findings import Audit, Conflict, Hub, LabelPair, Neighbor, SuspectCell, SuspectRow
from nearlabel.audit._review import LOSSES, DoubtfulRow, LabelDoubt, expected_loss, review
from nearlabel.audit._scores import (
    confident_issues,
    disagreement,
    halfway_prior,
    prior_odds,
    row_quality,
    self_confidence,
)
from nearlabel.audit._suggest import STRATEGIES, CloseLabel, Suggestion, suggest

__all__ = [
    "LOSSES", "STRATEGIES", "Audit", "CloseLabel", "Conflict", "Correction", "DoubtfulRow", "Hub", "LabelDoubt",
    "LabelPair", "Neighbor", "Suggestion", "SuspectCell", "SuspectRow", "apply_corrections", "audit",
    "confident_issues", "disagreement", "expected_loss", "halfway_prior", "prior_odds", "read_corrections", "review",
    "row_quality", "self_confidence", "suggest",
]  # fmt: skip
