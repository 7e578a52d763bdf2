"""The findings of an audit: cells, samples, near copies, pairs of labels, hubs; as records and data frames."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nearlabel.audit._display import page_of, text_of
from nearlabel.utils.tables import frame_of_records, plain_value
from nearlabel.utils.validation import check_choice

KINDS = ("cells", "rows", "conflicts", "label_pairs", "hubs")


@dataclass(frozen=True)
class Neighbor:
    """A neighbour of a sample, and its value of a label.

    Parameters
    ----------
    row : int
        Number of the training sample.
    distance : float
    value : int or None
        1 if it carries the label, 0 if not, None where that is unknown.
    name : str
        Name of the sample; "" if it has no name.
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
        Numbers of the sample and of the label.
    label_name : object
        Name of the label.
    given : int
        The value of the cell, 0 or 1; the other one is suggested.
    probability : float
        Leave-one-out probability that the label applies.
    quality : float
        The score that orders cells, the lowest first: odds over a prior, or self-confidence.
    disagreement : float
        Share of the votes of the neighbours, weighted by inverse distance, for the other value.
    is_issue : bool
        Whether confident learning marks the cell as wrong.
    neighbors : tuple of Neighbor
        The nearest samples, nearest first.
    n_lists : int
        The number of samples that have this sample as a neighbour: the cell affects their predictions.
    n_righted, n_wronged : int or None
        How many leave-one-out predictions of the label, for other samples, become right, and wrong, if the cell is
        corrected; None if not computed.
    name : str
        Name of the sample; "" if it has no name.
    row_labels : tuple
        Names of the labels that the sample has.
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
    row_labels: tuple[Any, ...] = ()

    @property
    def suggested(self) -> int:
        """The other value."""
        return 1 - self.given

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict of the cell; the neighbours are a list of row numbers.

        Returns
        -------
        dict
            Numbers, texts and lists of numbers.
        """
        record = {name: value for name, value in vars(self).items() if name not in ("neighbors", "row_labels")}
        record["suggested"] = self.suggested
        record["neighbors"] = [one.row for one in self.neighbors]
        return _in_order(record, ("row", "name", "label", "label_name", "given", "suggested"))


@dataclass(frozen=True)
class SuspectRow:
    """A sample whose labels are contradicted.

    Parameters
    ----------
    row : int
        Number of the sample.
    quality : float
        The score that orders samples, the lowest first: an average over its cells that weighs the worst most.
    given, predicted : tuple
        Names of the labels that it has, and of those that are predicted from the other samples.
    issues : tuple
        Names of the labels whose cells confident learning marks as wrong.
    n_lists : int
        The number of samples that have it as a neighbour.
    name : str
        Name of the sample; "" if it has no name.
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
    """Samples that are equal, or nearly so, with different label sets.

    Parameters
    ----------
    rows : tuple of int
        Numbers of the samples.
    distance : float
        The largest distance between two of them that are neighbours.
    labels : tuple
        Names of the labels that some of them carry and others do not.
    majority : tuple
        Names of the labels that more than half of them carry: the suggestion for all of them.
    n_cells : int
        How many cells differ from the majority: this many corrections would make the samples agree.
    names : tuple of str
        Names of the samples; () if they have no names.
    """

    rows: tuple[int, ...]
    distance: float
    labels: tuple[Any, ...]
    majority: tuple[Any, ...]
    n_cells: int
    names: tuple[str, ...] = ()

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; samples and labels are lists.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _with_lists(vars(self))


@dataclass(frozen=True)
class LabelPair:
    """Two labels that are confused, or missing together, in many samples.

    Parameters
    ----------
    kind : {"confused", "missing together"}
        "confused": the samples have the first label, and the second is predicted in its place. "missing together": the
        samples have neither, and both are predicted.
    labels : tuple of two objects
        Names of the labels.
    n_rows : int
        The number of these samples.
    expected : float
        Their expected number if the two errors were independent.
    rows : tuple of int
        The first of these samples.
    """

    kind: str
    labels: tuple[Any, Any]
    n_rows: int
    expected: float
    rows: tuple[int, ...]

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict; labels and samples are lists.

        Returns
        -------
        dict
            Numbers, texts and lists.
        """
        return _with_lists(vars(self))


@dataclass(frozen=True)
class Hub:
    """A sample that is a neighbour of many others.

    Parameters
    ----------
    row : int
        Number of the sample.
    n_lists : int
        The number of samples that have it as a neighbour.
    disagreement : float
        Mean, over these samples, of the share of labels that only one of the two carries, among those of either: 0
        where label sets are equal, 1 where they have nothing in common.
    labels : tuple
        Names of its labels.
    name : str
        Name of the sample; "" if it has no name.
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
    """The findings of `audit`, each kind ordered by importance.

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
        The samples in most lists first.
    n_rows, n_labels, n_known : int
        Numbers of audited samples, labels and known cells.
    n_issues : int
        How many cells confident learning marks as wrong, in all.
    radius : float
        Largest distance of nearly equal samples.
    skewness : float
        Skewness of the numbers of lists that samples are in; above 1, a few samples are in very many.
    n_antihubs : int
        How many samples are in no other sample's list: their labels affect no prediction.
    evidence : tuple of str
        Whose probabilities were averaged: "model", "mlmlm", "rfpct"; or "given", those that were passed.
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
    evidence: tuple[str, ...] = ("model",)

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
            If the kind is unknown.
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
            A line for each finding.

        Raises
        ------
        ValueError
            If the kind is unknown.
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
        figures["evidence"] = list(self.evidence)
        return {**figures, **{kind: self.to_records(kind) for kind in KINDS}}

    def named(self, names: Sequence[str]) -> Audit:
        """Return the same findings with names of the samples, such as titles or ids.

        Parameters
        ----------
        names : sequence of str of length n_rows
            Name of each training sample.

        Returns
        -------
        Audit
            A copy.

        Raises
        ------
        ValueError
            If the number of names is not that of samples.
        """
        names = list(names)  # by place, also of a Series
        if len(names) != self.n_rows:
            raise ValueError(f"names must be {self.n_rows} texts, one for each sample, got {len(names)}.")
        cells = (replace(cell, neighbors=_named(cell.neighbors, names)) for cell in _named(self.cells, names))
        conflicts = (replace(one, names=tuple(str(names[row]) for row in one.rows)) for one in self.conflicts)
        rows, hubs = _named(self.rows, names), _named(self.hubs, names)
        return replace(self, cells=tuple(cells), rows=rows, conflicts=tuple(conflicts), hubs=hubs)

    def __repr__(self) -> str:
        found = ", ".join(f"{len(getattr(self, kind))} {kind.replace('_', ' ')}" for kind in KINDS)
        return f"<{type(self).__name__} of {self.n_rows} rows and {self.n_labels} labels: {found}>"

    def __str__(self) -> str:
        """Return the first findings of each kind as text."""
        return text_of(self)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        return page_of(self)


def _named(findings: Iterable[Any], names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(replace(one, name=str(names[one.row])) for one in findings)


def _with_lists(values: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _in_order(record: dict[str, Any], first: Sequence[str]) -> dict[str, Any]:
    return {**{name: record[name] for name in first}, **record}
