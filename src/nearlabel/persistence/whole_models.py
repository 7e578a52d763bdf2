"""Check a model's file completely without building the model."""

from __future__ import annotations

import zipfile
from pathlib import Path

from nearlabel.persistence._archive import checked_schema, opened_archive
from nearlabel.persistence._model_file import read_card, read_kept


def check_model_file(path: Path) -> None:
    """Compare every part of a model's file with its checksum, and read its card, schema and saved columns.

    No type of the model is imported, and skops is not needed.

    Raises
    ------
    OSError, ValueError
        If the file is not the file of a model, or is damaged; the message names it.
    """
    with opened_archive(path) as file:
        checked_schema(file, None)
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged} does not match")
    card = read_card(path)
    if card.kept:
        read_kept(path)
