"""The sections about label sets, on pages of runs and models."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

from nearlabel.report._markup import Markup
from nearlabel.report._tables import Column, facts_list, table

_FIGURES = {
    "instances": "Samples",
    "features": "Features",
    "labels": "Labels",
    "cardinality": "Label cardinality",
    "density": "Label density",
    "labelset_diversity": "Distinct label sets",
    "rows_without_labels": "Samples without labels",
    "labels_without_rows": "Labels without samples",
    "max_labels": "Most labels of a sample",
    "mean_imbalance_ratio": "Mean imbalance ratio",
    "unknown_cells": "Unknown labels",
    "rows_without_known_labels": "Samples without a known label",
}
_MOST_PAIRS = 100

CO_OCCURRENCE_NOTE = (
    "The stronger a cell's colour, the larger the share of samples with its line's label that also have its column's."
)


def data_figures(data: Mapping[str, Any]) -> Markup:
    """Return the statistics of a data set."""
    return facts_list([(title, data[name]) for name, title in _FIGURES.items() if name in data])


def co_occurrence_table(co_occurrence: Mapping[str, Any]) -> Markup:
    """Return the most frequent pairs of labels, most frequent first."""
    names, counts = co_occurrence["names"], co_occurrence["counts"]
    pairs = [(names[i], names[j], counts[i][j]) for i, j in combinations(range(len(names)), 2) if counts[i][j]]
    pairs.sort(key=lambda pair: -pair[2])
    columns = [Column("label", numeric=False), Column("with", numeric=False), Column("samples")]
    more = f", the first {_MOST_PAIRS} of {len(pairs)} pairs" if len(pairs) > _MOST_PAIRS else ""
    return table(columns, pairs[:_MOST_PAIRS], f"Labels that occur together{more}", filtered="labels")
