"""Scores of predictions that were made before the true labels were known, added up row by row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from nearlabel.metrics.counts import Counts
from nearlabel.metrics.ratios import fbeta
from nearlabel.utils.types import FloatArray

_f1 = fbeta(1.0)


def f1_of_rows(counts: Counts) -> FloatArray:
    """Return the F1 of each row; 1 where nothing was predicted and nothing is true."""
    return _f1(counts, 1.0)


@dataclass(frozen=True)
class Prequential:
    """Sums over the predicted rows: their number, cells, labels and F1."""

    n_samples: int = 0
    hits: int = 0
    predicted: int = 0
    true: int = 0
    cells: int = 0
    f1: float = 0.0

    def with_rows(self, counts: Counts) -> Prequential:
        """Return the sums with those of further rows."""
        n_rows = len(counts.true)
        return Prequential(
            self.n_samples + n_rows,
            self.hits + int(counts.hits.sum()),
            self.predicted + int(counts.predicted.sum()),
            self.true + int(counts.true.sum()),
            self.cells + n_rows * counts.size,
            self.f1 + float(f1_of_rows(counts).sum()),
        )

    def figures(self) -> dict[str, float]:
        """Return the number of rows, micro F1, mean F1 of a row and Hamming loss."""
        if self.n_samples == 0:
            return {"n_samples": 0} | dict.fromkeys(("micro_f1", "example_f1", "hamming_loss"), math.nan)
        hits, predicted, true = np.array([[self.hits], [self.predicted], [self.true]])
        return {
            "n_samples": self.n_samples,
            "micro_f1": float(_f1(Counts(hits, predicted, true, self.cells), 0.0)[0]),
            "example_f1": self.f1 / self.n_samples,
            "hamming_loss": (self.predicted + self.true - 2 * self.hits) / self.cells,
        }
