"""Samples to label next and predictions to check: rows of a pool in order of priority, with the reasons."""

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
