"""What an audit finds: cells, rows, groups of near copies, pairs of labels, hubs; as records, data frames and text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearlabel.audit._text import text_of
from nearlabel.utils.tables import frame_of_records, plain_value
from nearlabel.utils.validation import check_choice

KINDS = ("cells", "rows", "conflicts", "label_pairs", "hubs")


@dataclass(frozen=True)
class Neighbor:
    """A neighbour of a row, and what it says of a label.

    Parameters
    ----------
    row : int
        Number of the training row.
    distance : float
    value : int or None
        1 if it carries the label, 0 if not, None where that is unknown.
    name : str
        What the row is called; "" if it has no name.
    """

    row: int
    distance: float
    value: int | None
    name: str = ""


@dataclass(frozen=True)
class SuspectCell:
    """A cell of y that leave-one-out evidence contradicts.

    Parameters
    ----------
    row, label : int
        Row and column number.
    label_name : object
        Name of the label.
    given : int
        The value that the cell has, 0 or 1; the other one is suggested.
    probability : float
        Leave-one-out probability that the label applies.
    quality : float
        By which cells are ordered, the lowest first: odds over a prior, or self-confidence.
    disagreement : float
        Share of the votes of the neighbours, weighted by inverse distance, for the other value.
    is_issue : bool
        Whether confident learning takes the cell for wrong.
    neighbors : tuple of Neighbor
        The nearest rows, nearest first.
    n_lists : int
        Of how many rows this row is a neighbour: whose predictions the cell takes part in.
    n_righted, n_wronged : int or None
        How many leave-one-out predictions of the label, for other rows, become right, and wrong, if the cell is
        corrected; None where it was not computed.
    name : str
        What the row is called; "" if it has no name.
    """

    row: int
    label: int
    label_name: Any
    given: int
    probability: float
    quality: float
    disagreement: float
    is_issue: bool
    neighbors: tuple[Neighbor, ...]
    n_lists: int
    n_righted: int | None = None
    n_wronged: int | None = None
    name: str = ""

    @property
    def suggested(self) -> int:
        """The other value."""
        return 1 - self.given

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; the neighbours are a list of row numbers.

        Returns
        -------
        dict
            Numbers, texts and lists of numbers.
        """
        record = {name: value for name, value in vars(self).items() if name != "neighbors"}
        record["suggested"] = self.suggested
        record["neighbors"] = [one.row for one in self.neighbors]
        return _in_order(record, ("row", "name", "label", "label_name", "given", "suggested"))


@dataclass(frozen=True)
class SuspectRow:
    """A row whose cells are contradicted.

    Parameters
    ----------
    row : int
        Row number.
    quality : float
        By which rows are ordered, the lowest first: of its cells, the worst weighted most.
    given, predicted : tuple
        Names of the labels that it has, and of those that are predicted without it.
    issues : tuple
        Names of the labels whose cells confident learning takes for wrong.
    n_lists : int
        Of how many rows it is a neighbour.
    name : str
        What the row is called; "" if it has no name.
    """

    row: int
    quality: float
    given: tuple[Any, ...]
    predicted: tuple[Any, ...]
    issues: tuple[Any, ...]
    n_lists: int
    name: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; label sets are lists of names.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _in_order(_with_lists(vars(self)), ("row", "name"))


@dataclass(frozen=True)
class Conflict:
    """Rows that are equal, or nearly so, with different label sets.

    Parameters
    ----------
    rows : tuple of int
        Row numbers.
    distance : float
        The largest distance between two of them that are neighbours.
    labels : tuple
        Names of the labels that some of them carry and others do not.
    majority : tuple
        Names of the labels that more than half of them carry: what all would have in common.
    n_cells : int
        How many cells differ from the majority: so many corrections would make the rows agree.
    names : tuple of str
        What the rows are called; () if they have no names.
    """

    rows: tuple[int, ...]
    distance: float
    labels: tuple[Any, ...]
    majority: tuple[Any, ...]
    n_cells: int
    names: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; rows and labels are lists.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _with_lists(vars(self))


@dataclass(frozen=True)
class LabelPair:
    """Two labels that are confused, or missing together, in many rows.

    Parameters
    ----------
    kind : {"confused", "missing together"}
        "confused": the rows have the first label, and the second is predicted in its place. "missing together": the
        rows have neither, and both are predicted.
    labels : tuple of two objects
        Names of the labels.
    n_rows : int
        In so many rows.
    expected : float
        In so many rows, if the two errors came independently.
    rows : tuple of int
        The first of these rows.
    """

    kind: str
    labels: tuple[Any, Any]
    n_rows: int
    expected: float
    rows: tuple[int, ...]

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; labels and rows are lists.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _with_lists(vars(self))


@dataclass(frozen=True)
class Hub:
    """A row that is a neighbour of many others.

    Parameters
    ----------
    row : int
        Row number.
    n_lists : int
        Of how many rows it is a neighbour.
    disagreement : float
        Mean share, over these rows, of the labels of either that only one of the two carries: 0 where label sets are
        equal, 1 where they have nothing in common.
    labels : tuple
        Names of its labels.
    name : str
        What the row is called; "" if it has no name.
    """

    row: int
    n_lists: int
    disagreement: float
    labels: tuple[Any, ...]
    name: str = ""

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; labels are a list.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _in_order(_with_lists(vars(self)), ("row", "name"))


@dataclass(frozen=True)
class Audit:
    """What `audit` found, each kind ordered by how much it matters.

    Parameters
    ----------
    cells : tuple of SuspectCell
        The most suspicious first.
    rows : tuple of SuspectRow
        The most suspicious first.
    conflicts : tuple of Conflict
        Those with most cells to correct first.
    label_pairs : tuple of LabelPair
        Those that are most above what is expected first.
    hubs : tuple of Hub
        The rows in most lists first.
    n_rows, n_labels, n_known : int
        Size of what was audited: rows, labels, known cells.
    n_issues : int
        How many cells confident learning takes for wrong, in all.
    radius : float
        Up to which distance rows count as nearly equal.
    skewness : float
        Of the numbers of lists that rows are in; above 1, a few rows are in very many.
    n_antihubs : int
        How many rows are nobody's neighbour: their labels take part in no prediction.
    """

    cells: tuple[SuspectCell, ...]
    rows: tuple[SuspectRow, ...]
    conflicts: tuple[Conflict, ...]
    label_pairs: tuple[LabelPair, ...]
    hubs: tuple[Hub, ...]
    n_rows: int
    n_labels: int
    n_known: int
    n_issues: int
    radius: float
    skewness: float
    n_antihubs: int

    def to_records(self, kind: str = "cells") -> list[dict[str, Any]]:
        """Return one flat dict for each finding of a kind.

        Parameters
        ----------
        kind : {"cells", "rows", "conflicts", "label_pairs", "hubs"}, default="cells"
            Which findings.

        Returns
        -------
        list of dict
            Numbers, texts, None and lists of these, ready for JSON.

        Raises
        ------
        ValueError
            If there is no such kind.
        """
        check_choice("kind", kind, set(KINDS))
        return [{name: plain_value(value) for name, value in one.to_record().items()} for one in getattr(self, kind)]

    def to_frame(self, kind: str = "cells") -> Any:
        """Return the findings of a kind as a data frame.

        Parameters
        ----------
        kind : {"cells", "rows", "conflicts", "label_pairs", "hubs"}, default="cells"
            Which findings.

        Returns
        -------
        pandas.DataFrame
            A row for each finding.

        Raises
        ------
        ValueError
            If there is no such kind.
        ImportError
            If pandas is not installed.
        """
        return frame_of_records(self.to_records(kind))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, ready for JSON.

        Returns
        -------
        dict
            The records of each kind, and the figures.
        """
        figures = {name: plain_value(value) for name, value in vars(self).items() if name not in KINDS}
        return {**figures, **{kind: self.to_records(kind) for kind in KINDS}}

    def named(self, names: Sequence[str]) -> Audit:
        """Return the same findings with names of the rows, such as titles or ids.

        Parameters
        ----------
        names : sequence of str of length n_rows
            What each training row is called.

        Returns
        -------
        Audit
            A copy.

        Raises
        ------
        ValueError
            If there is not a name for each row.
        """
        if len(names) != self.n_rows:
            raise ValueError(f"names must be {self.n_rows} texts, one for each row, got {len(names)}.")
        cells = (replace(cell, neighbors=_named(cell.neighbors, names)) for cell in _named(self.cells, names))
        conflicts = (replace(one, names=tuple(str(names[row]) for row in one.rows)) for one in self.conflicts)
        return replace(
            self,
            cells=tuple(cells),
            rows=_named(self.rows, names),
            conflicts=tuple(conflicts),
            hubs=_named(self.hubs, names),
        )

    def __str__(self) -> str:
        """Return the first findings of each kind as text."""
        return text_of(self)


def _named(findings: Iterable[Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(replace(one, name=str(names[one.row])) for one in findings)


def _with_lists(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _in_order(record: dict[str, Any], first: Sequence[str]) -> dict[str, Any]:
    return {**{name: record[name] for name in first}, **record}
