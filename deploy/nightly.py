"""Fit a model to the rows of a PostgreSQL table, as a new file with the date in its name, and print that name.

Run: ``python nightly.py "host=database dbname=music" songs /models``
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nearlabel.lazy import MLkNN
from nearlabel.neighbors import PgVectorTable
from nearlabel.persistence import save_model


def fit(table: Any, folder: Path, name: str) -> Path:
    """Return the new file; ids make `/update` and `/forget` possible."""
    rows = table.read()
    model = MLkNN().fit(rows.X, rows.tags)
    path = folder / f"{name}-{datetime.now(UTC):%Y-%m-%d-%H%M}.skops"
    return save_model(model, path, keep={"id": rows.ids}, id_column="id")


if __name__ == "__main__":
    if "PGPASSWORD_FILE" in os.environ:
        os.environ["PGPASSWORD"] = Path(os.environ["PGPASSWORD_FILE"]).read_text(encoding="utf-8").strip()
    connection, name, folder = sys.argv[1:]
    sys.stdout.write(f"{fit(PgVectorTable(connection, name), Path(folder), name)}\n")
