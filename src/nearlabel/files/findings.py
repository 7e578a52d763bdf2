"""What a check of files finds: damage, what could not be checked, and what killed processes left."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

Severity: TypeAlias = Literal["damage", "unchecked", "leftover"]


class Finding(NamedTuple):
    """Something about a file that should be known.

    Parameters
    ----------
    path : pathlib.Path
        The file or folder.
    severity : {"damage", "unchecked", "leftover"}
        Whether it is damaged, could not be checked, or is not useful.
    message : str
        What is wrong, with the line or the bytes.
    """

    path: Path
    severity: Severity
    message: str
