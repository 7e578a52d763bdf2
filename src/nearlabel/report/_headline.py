"""The headline metrics of a model, compared with a constant prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.metrics.counts import Counts


def headline_facts(per_label: Counts, total: Counts, n_exact: int | None) -> dict[str, Any]:
    """Return the headline metrics from the counts of labels; 0/0 is None.

    `n_exact` is the number of exact matches, None if unknown.
    """
    true, predicted, hits = (int(count[0]) for count in (total.true, total.predicted, total.hits))
    return {
        "true": true,
        "predicted": predicted,
        "hits": hits,
        "n_exact": n_exact,
        "f1": 2 * hits / (true + predicted) if true + predicted else None,
        "constant_f1": constant_f1(per_label),
    }


def constant_f1(per_label: Counts) -> float | None:
    """Return the largest micro F1 of a constant label set, predicted for every sample; None without true labels.

    The best label set consists of the labels with the largest shares of positives; all prefixes of that order are
    tried.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.metrics.counts import Counts
    >>> none = np.zeros(2, dtype=int)
    >>> constant_f1(Counts(none, none, np.array([3, 1]), 4))  # the first label alone: 2 * 3 / (4 + 4)
    0.75
    """
    true = np.asarray(per_label.true, dtype=np.float64)
    if not true.sum():
        return None
    known = np.broadcast_to(np.asarray(per_label.size, dtype=np.float64), true.shape)
    order = np.argsort(-true / np.maximum(known, 1), kind="stable")
    return float((2 * true[order].cumsum() / (known[order].cumsum() + true.sum())).max())
