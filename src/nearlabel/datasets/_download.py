"""The catalogue of known data sets, declared in ``catalogue.toml``, and their download, checked and atomic."""

from __future__ import annotations

import contextlib
import difflib
import functools
import hashlib
import logging
import os
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

from nearlabel.files.atomic_file import whole_file, write_errors_named
from nearlabel.utils.naming import import_optional

_log = logging.getLogger("nearlabel")

RETRIES = 2
TIMEOUT_SECONDS = 30
_LONGEST_PAUSE_SECONDS = 10


def cache_folder() -> Path:
    """Return the folder into which `fetch_dataset` downloads.

    Returns
    -------
    folder : pathlib.Path
        The folder of the environment variable ``NEARLABEL_CACHE``, else ``nearlabel`` in the platform's folder of
        caches. It need not exist.

    Raises
    ------
    FileNotFoundError
        If the variable is not set and the user has no home folder, as in some containers.

    Examples
    --------
    >>> from nearlabel.datasets import cache_folder
    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get("NEARLABEL_CACHE"):
        return Path(chosen)
    try:
        return _platform_folder() / "nearlabel"
    except RuntimeError:  # from Path.home
        raise FileNotFoundError(
            "NEARLABEL_CACHE must name a folder to download to where a user has no home folder, got none."
        ) from None


def _platform_folder() -> Path:
    """Return the platform's folder of caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def cached_file(entry: CatalogueEntry, file: CatalogueFile, *, retries: int = RETRIES) -> Path:
    """Return the path of a file in the cache, downloaded if it is missing or damaged.

    Raises
    ------
    ValueError
        If the downloaded file is not the one of the catalogue.
    OSError
        If the address cannot be reached or does not have the file.
    """
    path = cache_folder() / entry.folder / file.file
    if path.is_file() and _sha256(path) == file.sha256:
        return path
    address = _address(entry, file)
    _log.info("downloading %s to %s", address, path.parent)
    pooch = import_optional("pooch", extra="data", purpose=f"downloading the data set {entry.name!r}")
    _download(pooch, address, path, file.sha256, retries)
    return path


def _address(entry: CatalogueEntry, file: CatalogueFile) -> str:
    """Return the address of a file; ``NEARLABEL_BASE_URL`` names a mirror with the folders of the cache."""
    if mirror := os.environ.get("NEARLABEL_BASE_URL"):
        return f"{mirror.rstrip('/')}/{entry.folder}/{file.file}"
    return f"{entry.source}/{file.file}"


def _download(pooch: ModuleType, address: str, path: Path, sha256: str, retries: int) -> None:
    """Download to a temporary file next to `path`, check it and only then give it its name."""
    with write_errors_named(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, name="a downloaded file") as partial, _quiet(pooch):
        for attempt in range(1, retries + 2):
            try:
                _transfer(pooch, address, partial, sha256, attempt)
                break
            except (OSError, ValueError) as error:
                is_of_the_disk = isinstance(error, OSError) and error.errno is not None
                if is_of_the_disk or attempt > retries:
                    raise
            time.sleep(min(attempt, _LONGEST_PAUSE_SECONDS))


def _transfer(pooch: ModuleType, address: str, partial: Path, sha256: str, attempt: int) -> None:
    """Try to get a file, for the first, second, ... time."""
    downloader = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_SECONDS)
    with partial.open("wb") as file:
        try:
            downloader(address, file, None)
        except OSError as error:  # requests' own errors are OSErrors, without a number
            if error.errno is not None:
                raise
            raise OSError(
                f"{address} must be reachable, got: {error} ({attempt} attempts)."
                " Hint: set NEARLABEL_DATA to a folder that contains the data sets."
            ) from error
    if _sha256(partial) != sha256:
        raise ValueError(
            f"{address} must have the sha256 {sha256} of the catalogue, got another file or an incomplete one."
            " Nothing was saved."
        )


@contextlib.contextmanager
def _quiet(pooch: ModuleType) -> Iterator[None]:
    """Limit pooch's own logger, which writes to the screen, to errors."""
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# The catalogue of known data sets, declared in ``catalogue.toml``.

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
