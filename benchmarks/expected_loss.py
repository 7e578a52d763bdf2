"""Does NLDD know which of its predictions are wrong?

``NLDD(random_state=0)`` on the published splits of four data sets. The test samples are split at the median of
`predict_loss`: the surest half has less. Wrong labels per sample, as expected and as found, and exact matches, of all
test samples, of the surest half and of the other one.

Run: ``python benchmarks/expected_loss.py``; half a minute. ``--quick`` for emotions alone.
``docs/label_dependence.md`` has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import NLDD
from nearlabel.utils.validation import as_dense

SETS = ("emotions", "scene", "yeast", "medical")
PARTS = ("all", "surest half", "other half")
FIGURES = ("expected", "found", "exact match")

Values = dict[str, dict[str, float]]  # of parts, of figures


def values_of(name: str) -> Values:
    """Return the figures of a data set, by part of the test samples."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    model = NLDD(random_state=0).fit(training.X, training.Y)
    expected = model.predict_loss(test.X)
    wrong = (as_dense(model.predict(test.X)) != as_dense(test.Y)).sum(axis=1)
    is_sure = expected <= np.median(expected)
    masks = np.ones_like(is_sure), is_sure, ~is_sure
    return {part: _of_samples(expected[mask], wrong[mask]) for part, mask in zip(PARTS, masks, strict=True)}


def _of_samples(expected: Any, wrong: Any) -> dict[str, float]:
    values = expected.mean(), wrong.mean(), (wrong == 0).mean()
    return {figure: float(value) for figure, value in zip(FIGURES, values, strict=True)}


def tables_of(results: Mapping[str, Values]) -> list[Table]:
    """Return the one table."""
    headers = ("", *(f"{part}: {figure}" for part in PARTS for figure in FIGURES))
    rows = [(name, *(of[part][figure] for part in PARTS for figure in FIGURES)) for name, of in results.items()]
    return [Table("Wrong labels per sample", headers, rows)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "expected_loss", repeats=1).parse_args(arguments)
    print_facts()
    results = {name: values_of(name) for name in SETS[: 1 if options.quick else None]}
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
