"""Read the file of a model to its end without building the model."""

from __future__ import annotations

import zipfile
from pathlib import Path

from nearlabel.persistence._archive import checked_schema, opened_archive
from nearlabel.persistence._model_file import read_card, read_kept


def check_model_file(path: Path) -> None:
    """Compare every part of a model's file with its check sum, and read its card, schema and kept columns.

    No type of the model is imported, and skops is not needed.

    Raises
    ------
    OSError, ValueError
        If it is no such file, or a damaged one; the message names it.
    """
    with opened_archive(path) as file:
        checked_schema(file, None)
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the check sum of {damaged} is that of other bytes")
    card = read_card(path)
    if card.kept:
        read_kept(path)
