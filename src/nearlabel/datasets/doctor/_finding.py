"""A finding, and all findings of a data set: as records, as a data frame, as text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from nearlabel.utils.tables import frame_of_records, grid_of_rows, html_of, names_within

_SEVERITIES = ("severe", "warning", "note")
_WIDTH, _INDENT, _NAMES_WIDTH = 80, 9, 48


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a data set, or worth knowing.

    Parameters
    ----------
    kind : str
        Kind of the finding, such as "empty_rows"; the page on examining data lists the kinds.
    severity : {"severe", "warning", "note"}
        "severe": predictions or their measured quality are certainly affected. "warning": probably. "note": seldom.
    sentence : str
        Description of the finding.
    remedy : str
        How to fix it.
    evidence : dict of str to int, float or str
        The numbers in the sentence.
    """

    kind: str
    severity: str
    sentence: str
    remedy: str
    evidence: dict[str, Any] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict: the finding and its evidence.

        Returns
        -------
        dict
            The keys "kind", "severity", "sentence" and "remedy", and those of the evidence.
        """
        fields: dict[str, Any] = dict(vars(self))
        evidence: dict[str, Any] = fields.pop("evidence")
        return fields | evidence


class Examination(Sequence[Finding]):
    """The findings of `examine`, the most severe first: a sequence of `Finding`.

    Parameters
    ----------
    findings : iterable of Finding
        In any order.
    notes : iterable of str
        Parts that were not examined, or examined on some rows only.

    Examples
    --------
    >>> from nearlabel.datasets import examine
    >>> examine([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], search=False).to_records()[0]["columns"]
    '1'
    """

    def __init__(self, findings: Sequence[Finding], notes: Sequence[str] = ()) -> None:
        self._findings = tuple(sorted(findings, key=lambda finding: _SEVERITIES.index(finding.severity)))
        self.notes = tuple(notes)

    def __getitem__(self, index: Any) -> Any:
        """Return a finding, or a tuple of some."""
        return self._findings[index]

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self._findings)

    @property
    def severe(self) -> tuple[Finding, ...]:
        """The severe findings."""
        return tuple(finding for finding in self if finding.severity == "severe")

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat dict for each finding.

        Returns
        -------
        list of dict
            As `Finding.to_record` gives them.
        """
        return [finding.to_record() for finding in self]

    def to_frame(self) -> Any:
        """Return a data frame with a row for each finding, which needs pandas.

        Returns
        -------
        pandas.DataFrame
            Evidence that a finding lacks is missing.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return frame_of_records(self.to_records())

    def __repr__(self) -> str:
        counts = Counter(finding.severity for finding in self)
        return f"Examination: {', '.join(f'{counts[severity]} {severity}' for severity in _SEVERITIES)}"

    def __str__(self) -> str:
        lines = ["Nothing was found."] if not self else []
        for finding in self:
            lines += _wrapped(finding.severity, f"{finding.kind}: {finding.sentence}")
            lines += _wrapped("", f"Remedy: {finding.remedy}")
        for note in self.notes:
            lines += ["", *textwrap.wrap(note, _WIDTH)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        rows = [(finding.severity, finding.kind, finding.sentence, finding.remedy) for finding in self]
        table = grid_of_rows(("severity", "kind", "finding", "remedy"), rows, "findings")
        return html_of(repr(self), table if rows else "Nothing was found.", *self.notes)


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * _INDENT
    return textwrap.wrap(text, _WIDTH, initial_indent=head.ljust(_INDENT), subsequent_indent=indent)


def listed(names: Sequence[Any]) -> str:
    """Return names with commas between them, and the number of further ones."""
    return names_within(names, _NAMES_WIDTH)


def counted(number: int, noun: str, one: str = "", several: str = "") -> str:
    """Return a number with its noun, and with the verb in its form if there is one: 1 row, 2,000 rows are."""
    return f"{number:,} {noun} {one}".rstrip() if number == 1 else f"{number:,} {noun}s {several}".rstrip()


def percent(share: float) -> str:
    """Return a share in percent, with two significant digits."""
    return f"{float(f'{100 * share:.2g}'):g} %"
