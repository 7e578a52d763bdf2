"""Findings of a check of files: damage, unchecked parts, and leftovers of killed processes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["damage", "unchecked", "leftover"]


class Finding(NamedTuple):
    """A finding about a file.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder.
    severity : {"damage", "unchecked", "leftover"}
        Whether it is damaged, could not be checked, or is a leftover of a killed process.
    message : str
        Description of the problem, with the line or the bytes.
    """

    path: Path
    severity: Severity
    message: str
