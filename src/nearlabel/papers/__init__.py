"""Reproduce papers: run their experiments, and compare our numbers with the printed ones.

A paper is a TOML file with experiments and printed cells. `paper_names` lists the papers that come with nearlabel;
`Paper` accepts one of these names, or the path of your own file. Its results have `as_dict()` for JSON and `rows()` for
CSV.
"""

from nearlabel.papers._paper import Curve, Paper
from nearlabel.papers._paper_file import paper_names
from nearlabel.papers._printed_order import PrintedRelation, PrintedScore, RankedMetric, Ranking, ReproducedOrder
from nearlabel.papers._printed_table import DistancePairs, LabelCube, PrintedCell, Reproduction

__all__ = [
    "Curve", "DistancePairs", "LabelCube", "Paper", "PrintedCell", "PrintedRelation", "PrintedScore", "RankedMetric",
    "Ranking", "ReproducedOrder", "Reproduction", "paper_names",
]  # fmt: skip
