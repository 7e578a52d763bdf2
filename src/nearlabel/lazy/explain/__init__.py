"""Explanations of lazy classifiers: neighbours, votes, scores, and the smallest change that would flip a decision."""

from nearlabel.lazy.explain._explain import OtherRule, explain, explanations, make_explanation
from nearlabel.lazy.explain._flips import Account, Evidence, share_nearer
from nearlabel.models.explanation import Explanation

__all__ = [
    "Account", "Evidence", "Explanation", "OtherRule", "explain", "explanations", "make_explanation", "share_nearer",
]  # fmt: skip
