"""DATA on the command line: a name or a file."""

from __future__ import annotations

from pathlib import Path

from nearlabel.datasets import Dataset, catalogue, fetch_dataset, load_dataset, load_multidigits

EMBEDDED = "multidigits"
HELP = f"a name of the catalogue, {EMBEDDED!r} (embedded), or a path to an ARFF or svmlight file"


def open_data(data: str, *, subset: str = "all") -> Dataset:
    """Return the data set that an argument names; a file has no subset but "all"."""
    if data not in catalogue() and Path(data).is_dir():
        raise ValueError(f"{data} must be a file or a name of the catalogue, got a folder.")
    if data == EMBEDDED and subset == "all":
        return load_multidigits()
    if _is_path(data) and subset == "all":
        return load_dataset(data)
    if data == EMBEDDED or _is_path(data):
        raise ValueError(f"{data} must be a name of the catalogue to have a given split. Hint: --cv 10.")
    return fetch_dataset(data, subset=subset)


def _is_path(data: str) -> bool:
    return data not in catalogue() and (Path(data).is_file() or "/" in data or "\\" in data or "." in data)
