"""Figures that Mulan printed for predictions of the data set flags, and with which utiml tests itself, by our metrics.

This is plugin and test file in one: utiml is written in R, and only its figures are theirs.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from nearlabel import metrics
from strangers.outcomes import answered
from strangers.suites import SOURCES

FIGURES = Path(os.environ.get(SOURCES, "sources"), "utiml", "tests", "testfiles")
RANKS = {"ties": "high", "trivial": "keep"}  # Mulan's
LABEL_SETS = {
    "Hamming-Loss": metrics.hamming_loss,
    "Subset-Accuracy": metrics.subset_accuracy,
    "Precision": metrics.precision_examples,
    "Recall": metrics.recall_examples,
    "F-Measure": metrics.f1_examples,
    "Accuracy": metrics.jaccard_examples,
    "Micro-Precision": metrics.micro_precision,
    "Micro-Recall": metrics.micro_recall,
    "Micro-F-Measure": metrics.micro_f1,
    "Macro-Precision": metrics.macro_precision,
    "Macro-Recall": metrics.macro_recall,
    "Macro-F-Measure": metrics.macro_f1,
}
SCORES = {
    "Average-Precision": lambda y, scores: metrics.average_precision(y, scores, **RANKS),
    "Coverage": lambda y, scores: metrics.coverage(y, scores, **RANKS),
    "OneError": lambda y, scores: metrics.one_error(y, scores, **RANKS),
    "Ranking-Loss": lambda y, scores: metrics.ranking_loss(y, scores, **RANKS),
    "Mean-Average-Precision": metrics.mean_average_precision,
    "Micro-AUC": lambda y, scores: metrics.roc_auc(y, scores, average="micro"),
    "Macro-AUC": metrics.roc_auc,
}


def table(name):
    """Return the cells of a file, without its first line."""
    with (FIGURES / f"flags-{name}.csv").open(encoding="utf-8") as lines:
        return list(csv.reader(lines, skipinitialspace=True))[1:]


@pytest.mark.parametrize("measure", [*LABEL_SETS, *SCORES])
def test_the_figure_is_ours(measure):
    """To the four digits that are printed."""
    printed = float(dict(table("measures"))[measure])
    y, given = (
        np.array(table(name), dtype=float) for name in ("expected", "scores" if measure in SCORES else "bipartition")
    )
    answered()
    assert (LABEL_SETS | SCORES)[measure](y, given) == pytest.approx(printed, abs=5e-5)
