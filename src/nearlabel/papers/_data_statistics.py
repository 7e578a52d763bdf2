"""The printed statistics of data sets next to our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nearlabel.datasets import Dataset
from nearlabel.labels import cardinality, describe, frequencies
from nearlabel.papers._printed_table import PrintedCell
from nearlabel.utils.types import Matrix


def statistics_beside_printed(
    printed: Iterable[Sequence[Any]], data: Mapping[str, Sequence[Dataset]]
) -> Iterator[PrintedCell]:
    """Yield the printed statistics of data sets next to ours.

    Parameters
    ----------
    printed : iterable of rows
        Data set; name of a statistic, or the labels of a label set whose samples are counted; value.
    data : mapping of str to sequence of Dataset
        Each data set, or its training and test parts.

    Raises
    ------
    ValueError
        If a statistic or a label does not exist.
    """
    ours = {name: statistics_of(*parts) for name, parts in data.items()}
    for dataset, what, value in printed:
        if isinstance(what, list):
            metric, label_set = "instances", tuple(what)
            found: float | None = _instances_with(data[dataset][0], label_set)
        else:
            metric, label_set = what, None
            found = ours[dataset].get(what)
        if found is None:
            raise ValueError(
                f"a printed statistic must be one of {', '.join(ours[dataset])}, got {what!r} of {dataset}."
            )
        yield PrintedCell(dataset, None, None, metric, value, None, found, None, found - value, label_set=label_set)


def statistics_of(data: Dataset, test: Dataset | None = None) -> dict[str, float]:
    """Return the size of a data set and statistics of its labels; for two parts those of the training part, and more.

    For two parts: the frequencies of labels in the training part, and for each part the number of samples, the
    cardinality, the percentage of samples with several labels, and the percentage of rare labels.
    """
    shape = {"instances": data.X.shape[0], "features": data.X.shape[1], "labels": data.Y.shape[1]}
    statistics = describe(data.Y) | shape
    if test is None:
        return statistics
    share = frequencies(data.Y) / data.Y.shape[0]
    return (
        statistics
        | {"lowest_frequency": float(share.min()), "highest_frequency": float(share.max())}
        | _statistics_of_part("training", data.Y)
        | _statistics_of_part("test", test.Y)
    )


def _statistics_of_part(part: str, Y: Matrix) -> dict[str, float]:
    """Return statistics of the label sets of a part, as in Table 9 of Zhang and Zhou (2007)."""
    n_rows = Y.shape[0]
    several = np.asarray(Y.sum(axis=1)) > 1
    rare = 100 * frequencies(Y) < n_rows  # in integers: "only less than 1% instances"
    return {
        f"{part}_instances": n_rows,
        f"{part}_cardinality": cardinality(Y),
        f"{part}_multilabel_percent": 100 * float(several.mean()),
        f"{part}_rare_labels_percent": 100 * float(rare.mean()),
    }


def _instances_with(data: Dataset, label_set: Sequence[str]) -> int:
    """Return the number of samples that have exactly these labels."""
    unknown = [label for label in label_set if label not in data.label_names]
    if unknown:
        raise ValueError(
            f"the labels of a printed label set must be of {', '.join(data.label_names)}, got {unknown[0]!r} of"
            f" {data.name}."
        )
    wanted = np.isin(data.label_names, label_set)
    n_shared, n_labels = np.asarray(data.Y @ wanted), np.asarray(data.Y.sum(axis=1))
    return int(((n_shared == wanted.sum()) & (n_labels == wanted.sum())).sum())
