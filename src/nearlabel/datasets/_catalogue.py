"""The catalogue of known data sets, declared in ``catalogue.toml``."""

from __future__ import annotations

import difflib
import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

SUBSETS = ("all", "train", "test")


@dataclass(frozen=True)
class CatalogueFile:
    """A file of a data set.

    Parameters
    ----------
    file : str
        Name of the file in the data set's folder.
    sha256 : str
        Checksum of its download.
    instances : int, default=0
        Its rows; 0 for a file of names.
    """

    file: str
    sha256: str
    instances: int = 0


@dataclass(frozen=True)
class CatalogueEntry:
    """The catalogue's description of one data set.

    Parameters
    ----------
    name : str
    format : str
        ``"mulan"``, ``"meka"``, ``"svmlight"`` or ``"reuters"``.
    folder : str
        Folder of its files, below the data folder and the cache.
    features, labels : int
        Columns of X (without the dropped ones) and of Y.
    reference : str
        The publication to cite.
    subsets : dict of str to CatalogueFile
        The subsets among ``"all"``, ``"train"``, ``"test"`` that are files; with the format "reuters", the first of its
        22 files.
    xml : CatalogueFile or None
        Mulan's list of labels.
    source : str or None
        The address below which the files are found; None if the data set cannot be downloaded.
    drop : tuple of str
        Features to leave out.
    label_names, feature_names : str or None
        Files with one name per line, for a format without names.
    """

    name: str
    format: str
    folder: str
    features: int
    labels: int
    reference: str
    subsets: dict[str, CatalogueFile]
    xml: CatalogueFile | None = None
    source: str | None = None
    drop: tuple[str, ...] = ()
    label_names: str | None = None
    feature_names: str | None = None

    def files(self, subset: str) -> tuple[CatalogueFile, ...]:
        """Return the files whose rows, one after the other, are the subset."""
        if subset in self.subsets:
            return (self.subsets[subset],)
        if subset == "all":
            return self.subsets["train"], self.subsets["test"]
        known = ", ".join(repr(name) for name in SUBSETS if name in self.subsets)
        raise ValueError(f"subset of {self.name!r} must be one of {known}, got {subset!r}.")


def catalogue() -> dict[str, CatalogueEntry]:
    """Return the data sets that `fetch_dataset` knows, by name.

    Examples
    --------
    >>> from nearlabel.datasets import catalogue
    >>> entry = catalogue()["emotions"]
    >>> entry.features, entry.labels, entry.subsets["train"].instances
    (72, 6, 391)
    """
    return dict(_entries())


def catalogue_entry(name: str) -> CatalogueEntry:
    """Return one entry; the error for an unknown name contains similar names and all names."""
    entries = _entries()
    if name not in entries:
        near = difflib.get_close_matches(str(name).lower(), entries, n=3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise ValueError(f"name must be one of {', '.join(entries)}, got {name!r}.{hint}")
    return entries[name]


@functools.cache
def _entries() -> dict[str, CatalogueEntry]:
    text = resources.files("nearlabel.datasets").joinpath("catalogue.toml").read_text(encoding="utf-8")
    return {name: _entry(name, table) for name, table in tomllib.loads(text).items()}


def _entry(name: str, table: dict[str, Any]) -> CatalogueEntry:
    subsets = {subset: CatalogueFile(**table.pop(subset)) for subset in SUBSETS if subset in table}
    xml = CatalogueFile(**table.pop("xml")) if "xml" in table else None
    drop = tuple(table.pop("drop", ()))
    return CatalogueEntry(name=name, subsets=subsets, xml=xml, drop=drop, **table)
