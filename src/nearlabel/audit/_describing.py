"""Convert numbers of rows and labels to findings with names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearlabel.audit._cells import Look
from nearlabel.audit._conflicts import ConflictingRows
from nearlabel.audit._findings import Conflict, Hub, LabelPair, Neighbor, SuspectCell, SuspectRow
from nearlabel.audit._hubs import HubRow
from nearlabel.audit._label_pairs import PairOfLabels
from nearlabel.audit._scores import Cells
from nearlabel.utils.cells import cells_of
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray
from nearlabel.utils.validation import as_dense


@dataclass(frozen=True)
class Describing:
    """The label sets, their names, the results for all cells, and the neighbours of the rows."""

    given: PartialLabels
    names: Sequence[Any]
    look: Look
    distances: FloatArray
    indices: IntArray
    n_lists: IntArray

    def cells(self, effects: Sequence[tuple[int, int]]) -> tuple[SuspectCell, ...]:
        """Return the suspicious cells; the effects of correcting are known for the first of them."""
        cells, n_unknown = self.look.cells, len(self.look.cells.rows) - len(effects)
        given = cells_of(self.given.labels, cells.rows, cells.labels)
        columns = (
            cells.rows,
            cells.labels,
            given,
            np.where(given, cells.confidence, 1.0 - cells.confidence),
            cells.quality,
            cells.disagreement,
            cells_of(self.look.issues, cells.rows, cells.labels) != 0,
            self.n_lists[cells.rows],
        )
        values = zip(*(column.tolist() for column in columns), strict=True)
        all_effects: list[tuple[int | None, int | None]] = [*effects, *[(None, None)] * n_unknown]
        found = zip(values, self._neighbors_of(cells), all_effects, strict=True)
        return tuple(self._cell(cell, neighbors, effect) for cell, neighbors, effect in found)

    def _cell(
        self, cell: tuple[Any, ...], neighbors: tuple[Neighbor, ...], effect: tuple[int | None, int | None]
    ) -> SuspectCell:
        row, label, given, probability, quality, disagreement, is_issue, n_lists = cell
        return SuspectCell(
            row=row,
            label=label,
            label_name=self.names[label],
            given=given,
            probability=probability,
            quality=quality,
            disagreement=disagreement,
            is_issue=is_issue,
            neighbors=neighbors,
            n_lists=n_lists,
            n_righted=effect[0],
            n_wronged=effect[1],
        )

    def _neighbors_of(self, cells: Cells) -> list[tuple[Neighbor, ...]]:
        """Return the neighbours of the row of each cell, with their values of its label."""
        rows, distances = self.indices[cells.rows], self.distances[cells.rows]
        at = rows.ravel(), np.repeat(cells.labels, rows.shape[1])
        values = cells_of(self.given.labels, *at).astype(object)
        if self.given.unknown is not None:
            values[cells_of(self.given.unknown, *at) != 0] = None
        lists = zip(rows.tolist(), distances.tolist(), values.reshape(rows.shape).tolist(), strict=True)
        return [tuple(map(Neighbor, *one)) for one in lists]

    def rows(self, n_rows: int) -> tuple[SuspectRow, ...]:
        """Return the most suspicious rows, the lower number first among equals; rows without a known cell are not."""
        quality = self.look.quality
        order = np.argsort(quality, kind="stable")[:n_rows]
        return tuple(self._row(int(row), float(quality[row])) for row in order if not np.isnan(quality[row]))

    def _row(self, row: int, quality: float) -> SuspectRow:
        given = _of_row(self.given.labels, row)
        missed, added = (_of_row(part, row) for part in (self.look.missed, self.look.added))
        predicted = np.union1d(np.setdiff1d(given, missed), added)
        issues = _of_row(self.look.issues, row)
        return SuspectRow(
            row, quality, self._named(given), self._named(predicted), self._named(issues), int(self.n_lists[row])
        )

    def conflict(self, found: ConflictingRows) -> Conflict:
        """Return rows that are nearly equal, with names of labels."""
        labels, majority = self._named(found.labels), self._named(found.majority)
        return Conflict(tuple(found.rows.tolist()), found.distance, labels, majority, found.n_cells)

    def label_pair(self, found: PairOfLabels) -> LabelPair:
        """Return two labels with their names."""
        first, second = found.labels
        names = self.names[first], self.names[second]
        return LabelPair(found.kind, names, found.n_rows, found.expected, tuple(found.rows.tolist()))

    def hub(self, found: HubRow) -> Hub:
        """Return a hub with the names of its labels."""
        return Hub(found.row, found.n_lists, found.disagreement, self._named(_of_row(self.given.labels, found.row)))

    def _named(self, labels: IntArray) -> tuple[Any, ...]:
        return tuple(self.names[label] for label in labels.tolist())


def _of_row(matrix: CSR | Any, row: int) -> IntArray:
    """Return the columns in which a row is not 0, ascending."""
    return np.flatnonzero(as_dense(matrix[[row]]).ravel())
