"""Write predictions as tables: CSV, Parquet and JSON lines."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.cli.arguments.predict import Scores
from nearlabel.datasets.tables import Kind, ParquetWriter
from nearlabel.files.atomic_file import whole_file
from nearlabel.utils.types import BoolArray, FloatArray, Matrix

# Columns by name: lists of cells, each a number, a text or a list of either.
Columns: TypeAlias = Mapping[str, Sequence[Any]]
Write: TypeAlias = Callable[[Columns], None]

_SIGNS_OF_NUMBERS = frozenset("0123456789.+-einfa")


class Layout:
    """The columns of a table of predictions.

    ``row`` or the column of ids; ``labels``, the names of the predicted labels; on request ``abstained``, which is 1
    if nothing is predicted because the row is novel. Scores are ``scores`` next to ``labels``, or ``top`` and
    ``top_scores``, best first, or ``score_NAME`` for every label.
    """

    def __init__(
        self, id_column: str | None, scores: Scores, label_names: Sequence[str], *, abstains: bool = False
    ) -> None:
        if scores.which == "top" and scores.n_labels > len(label_names):
            raise ValueError(f"--scores must be top:N with N at most {len(label_names)} labels, got {scores.n_labels}.")
        self._id = "row" if id_column is None else id_column
        self._scores = scores
        self.label_names = tuple(label_names)
        self._names = np.array(label_names, dtype=object)
        self._abstains = abstains
        own = _kinds_beside_ids(scores, label_names, abstains=abstains)
        if self._id in own:
            raise ValueError(f"--id must name a column other than those of the predictions, got {self._id!r}.")
        of_ids: dict[str, Kind] = {self._id: "cell"}
        self.kinds: Mapping[str, Kind] = of_ids | own

    def columns(self, ids: Sequence[Any], labels: Matrix, scores: FloatArray | None, abstained: BoolArray) -> Columns:
        """Return the columns of a block of rows."""
        sets = _sets(labels)
        columns: dict[str, Sequence[Any]] = {self._id: ids, "labels": [self._names[one].tolist() for one in sets]}
        if self._abstains:
            columns |= {"abstained": abstained.astype(np.int64).tolist()}
        if scores is None or self._scores.which == "none":
            return columns
        if self._scores.which == "chosen":
            return columns | {"scores": [row[one].tolist() for row, one in zip(scores, sets, strict=True)]}
        if self._scores.which == "top":
            best = np.argsort(-scores, axis=1, kind="stable")[:, : self._scores.n_labels]
            of_best = np.take_along_axis(scores, best, axis=1)
            return columns | {"top": self._names[best].tolist(), "top_scores": of_best.tolist()}
        return columns | {f"score_{name}": scores[:, label].tolist() for label, name in enumerate(self._names)}


def _kinds_beside_ids(scores: Scores, label_names: Sequence[str], *, abstains: bool) -> dict[str, Kind]:
    """Return the kinds of all columns but the first."""
    of_scores: dict[str, dict[str, Kind]] = {
        "none": {},
        "chosen": {"scores": "numbers"},
        "top": {"top": "texts", "top_scores": "numbers"},
        "all": dict.fromkeys((f"score_{name}" for name in label_names), "number"),
    }
    kinds: dict[str, Kind] = {"labels": "texts", **({"abstained": "number"} if abstains else {})}
    return kinds | of_scores[scores.which]


def _sets(labels: Matrix) -> list[Any]:
    """Return the labels of each row, as column numbers."""
    rows = sparse.csr_array(labels)
    rows.eliminate_zeros()
    rows.sort_indices()
    return np.split(rows.indices, rows.indptr[1:-1])


def _check_joinable(layout: Layout, separator: str) -> None:
    """Raise ValueError if a label or score contains the separator between labels or scores in CSV."""
    if "numbers" in layout.kinds.values() and set(separator) <= _SIGNS_OF_NUMBERS:
        raise ValueError(
            f"--labels-separator must be a text that no number contains, got {separator!r}, which joins scores, too."
            " Hint: choose another one, --scores all, or --out with .jsonl or .parquet, whose scores are lists."
        )
    wrong = [name for name in layout.label_names if not _splits_off(name, separator)]
    if wrong:
        raise ValueError(
            f"--labels-separator must be a text that no label contains, got {separator!r}, and a label {wrong[0]!r}."
            " Hint: choose another one, or --out with .jsonl or .parquet, whose labels are lists."
        )


def _splits_off(name: str, separator: str) -> bool:
    """Return whether a name is read back unchanged from joined names."""
    return bool(name) and name == name.strip() and (name + separator).index(separator) == len(name)


@contextmanager
def open_predictions(path: Path, layout: Layout, separator: str) -> Iterator[Write]:
    """Open a file by its suffix; it is written atomically."""
    with whole_file(path, name="--out") as partial:
        if path.suffix.lower() == ".parquet":
            with ParquetWriter(partial, layout.kinds) as writer:
                yield writer.write
        else:
            with partial.open("w", encoding="utf-8", newline="") as file:
                yield csv_writer(file, layout, separator) if path.suffix.lower() == ".csv" else _json_writer(file)


def csv_writer(file: TextIO, layout: Layout, separator: str) -> Write:
    """Return a function that writes columns as CSV, with a header; lists are joined."""
    _check_joinable(layout, separator)
    writer = csv.writer(file, lineterminator="\n")
    headed = False

    def write(columns: Columns) -> None:
        nonlocal headed
        if not headed:
            writer.writerow(columns)
            headed = True
        writer.writerows([_joined(cell, separator) for cell in row] for row in zip(*columns.values(), strict=True))

    return write


def _joined(cell: Any, separator: str) -> Any:
    return separator.join(map(str, cell)) if isinstance(cell, list) else cell


def _json_writer(file: TextIO) -> Write:
    def write(columns: Columns) -> None:
        for row in zip(*columns.values(), strict=True):
            cells = {name: _finite(cell) for name, cell in zip(columns, row, strict=True)}
            file.write(json.dumps(cells, ensure_ascii=False, allow_nan=False) + "\n")

    return write


def _finite(cell: Any) -> Any:
    """Return a cell for JSON: an infinite decision value, of a label with one class, becomes null."""
    if isinstance(cell, list):
        return [_finite(one) for one in cell]
    return None if isinstance(cell, float) and not np.isfinite(cell) else cell
