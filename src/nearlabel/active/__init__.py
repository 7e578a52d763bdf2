"""What to label next, and which predictions to check: rows of a pool ranked, with the reasons."""

from nearlabel.active._review import LOSSES, DoubtfulRow, LabelDoubt, expected_loss, review
from nearlabel.active._suggest import STRATEGIES, CloseLabel, Suggestion, suggest

__all__ = [
    "LOSSES",
    "STRATEGIES",
    "CloseLabel",
    "DoubtfulRow",
    "LabelDoubt",
    "Suggestion",
    "expected_loss",
    "review",
    "suggest",
]
