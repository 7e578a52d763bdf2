"""The label sets of the test samples of a fold, as a table of a record, to compare two methods sample by sample."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.experiments._folds import Fold
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import Matrix


def rows_of_fold(fold: Fold, labels: Matrix) -> dict[str, Any]:
    """Return indices, true and predicted label sets of the test samples; label sets are ascending label indices.

    A sample's index is its row in the data set, or in the test part of a given split. Unknown labels are listed too.
    """
    truth = PartialLabels.of(fold.Y[fold.test])
    first = len(fold.training) if fold.seed is None else 0
    return {
        "label": list(fold.label_names),
        "row": (fold.test - first).tolist(),
        "true": _label_numbers(truth.labels),
        "predicted": _label_numbers(labels),
        **({} if truth.unknown is None else {"unknown": _label_numbers(truth.unknown)}),
    }


def _label_numbers(labels: Matrix) -> list[list[int]]:
    rows = sparse.csr_array(labels)
    rows.eliminate_zeros()
    rows.sort_indices()
    return [numbers.tolist() for numbers in np.split(rows.indices, rows.indptr[1:-1])]
