"""Reproduce papers: their experiments, and our numbers beside the printed ones. Each paper is a TOML file."""

from nearlabel.papers._paper import Curve, Paper, PrintedCell, Reproduction, paper_names
from nearlabel.papers._printed_orders import PrintedRelation, PrintedScore, ReproducedOrder
from nearlabel.papers._ranking import RankedMeasure, Ranking

__all__ = [
    "Curve",
    "Paper",
    "PrintedCell",
    "PrintedRelation",
    "PrintedScore",
    "RankedMeasure",
    "Ranking",
    "ReproducedOrder",
    "Reproduction",
    "paper_names",
]
