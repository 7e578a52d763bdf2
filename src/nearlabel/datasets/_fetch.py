"""Get a well-known data set by its name: the catalogue, and the download of its files."""

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
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff import read_meka, read_mulan
from nearlabel.datasets._dataset import SUBSETS, Dataset, check_as_frame
from nearlabel.datasets._lines import Lines
from nearlabel.datasets._nominal import attribute_of
from nearlabel.datasets._reuters import read_reuters_terms
from nearlabel.datasets._svmlight import read_svmlight
from nearlabel.files.atomic_file import whole_file, write_errors_named
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import check_choice


def fetch_dataset(name: str, subset: str = "all", *, as_frame: bool = False) -> Dataset:
    """Get a data set of the catalogue.

    It is searched for in the folder of the environment variable ``NEARLABEL_DATA`` (without a check of its hash), then
    in the user's cache (``NEARLABEL_CACHE``, else the default of the platform), then downloaded into the cache and
    checked by sha256. Data sets without a single public file (``yahoo-*``, ``rcv1subset*``, ``reuters21578-*``) are
    only found in ``NEARLABEL_DATA``. A feature that is only an identifier is left out (genbase: ``protein``).
    reuters21578-terms is made from the articles in the folder reuters21578, which takes some ten seconds.

    Parameters
    ----------
    name : str
        One of `catalogue`.
    subset : {"all", "train", "test"}, default="all"
        The published split. If there is no file of the whole, "all" is the training samples, then the test samples.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels, which classifiers fitted to them
        then use, as with `Dataset.with_frames`.

    Returns
    -------
    Dataset
        X (n_samples, n_features) and Y (n_samples, n_labels) of the shape the catalogue states; the name is `name`,
        with the subset unless it is "all"; the source is the publication to cite.

    Raises
    ------
    ValueError
        If the name or the subset is unknown, the file is malformed or damaged, or its shape is not the catalogue's.
    FileNotFoundError
        If the data set cannot be downloaded and is not in ``NEARLABEL_DATA``.
    OSError
        If the download fails.
    ImportError
        If a download is needed and pooch is not installed, if `as_frame` and pandas (extra ``frames``) is not, or for
        reuters21578-terms if snowballstemmer (extra ``text``) is not.

    Examples
    --------
    >>> from nearlabel.datasets import fetch_dataset
    >>> fetch_dataset("emotions", "train")  # doctest: +SKIP
    Dataset 'emotions-train': 391 rows, 72 features, 6 labels (dense)
    """
    check_as_frame(as_frame)
    check_choice("subset", subset, SUBSETS)
    entry = catalogue_entry(name)
    parts = [_part(entry, file) for file in entry.files(subset)]
    whole = parts[0] if len(parts) == 1 else _stack(parts)
    data = replace(whole, name=name if subset == "all" else f"{name}-{subset}", source=entry.reference)
    return data.with_frames() if as_frame else data


def is_on_disk(name: str) -> bool:
    """Return whether a data set of the catalogue is on this machine: `fetch_dataset` then downloads nothing.

    Parameters
    ----------
    name : str
        One of `catalogue`.

    Returns
    -------
    bool
        Whether its folder is in ``NEARLABEL_DATA`` or in the user's cache.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> from nearlabel.datasets import is_on_disk
    >>> is_on_disk("emotions")  # doctest: +SKIP
    True
    """
    folder = catalogue_entry(name).folder
    chosen = os.environ.get("NEARLABEL_DATA")
    if chosen and (Path(chosen) / folder).is_dir():
        return True
    try:
        return (cache_folder() / folder).is_dir()
    except FileNotFoundError:  # a user without a home folder has no cache
        return False


def _part(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    part = _read(entry, file)
    if entry.drop:
        part = part.with_features(np.flatnonzero([attribute_of(name) not in entry.drop for name in part.feature_names]))
    got = (*part.X.shape, part.Y.shape[1])
    expected = (file.instances, entry.features, entry.labels)
    if got != expected:
        where = f"{entry.folder}/{file.file}"
        raise ValueError(f"{where} must have (rows, features, labels) {expected} as in the catalogue, got {got}.")
    return part


def _read(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    path = _locate(entry, file)
    if entry.format == "reuters":
        training, test = read_reuters_terms(path.parent, entry.features)
        return training if file == entry.subsets["train"] else test
    if entry.format == "meka":
        return read_meka(path)
    if entry.format == "svmlight":
        part = read_svmlight(path, entry.features, entry.labels)
        names = _names(entry, entry.feature_names), _names(entry, entry.label_names)
        return replace(part, feature_names=names[0] or part.feature_names, label_names=names[1] or part.label_names)
    if entry.xml is None:
        raise ValueError(f"the catalogue must name the XML file of {entry.name!r}, got none.")
    return read_mulan(path, _locate(entry, entry.xml))


def _names(entry: CatalogueEntry, file: str | None) -> tuple[str, ...]:
    """Return the lines of a file of names."""
    if file is None:
        return ()
    with Lines(_locate(entry, CatalogueFile(file, sha256=""))) as lines:
        return tuple(iter(lines.next_line, None))


def _locate(entry: CatalogueEntry, file: CatalogueFile) -> Path:
    """Return the path of the file: in the user's folder (where it may be compressed), else in the cache."""
    folder = os.environ.get("NEARLABEL_DATA")
    if folder:
        plain = Path(folder) / entry.folder / file.file
        for path in (plain, Path(f"{plain}.gz"), Path(f"{plain}.bz2")):
            if path.is_file():
                return path
    if entry.source is None:
        where = f"{folder!r}, which lacks {entry.folder}/{file.file}" if folder else "nothing"
        raise FileNotFoundError(
            f"NEARLABEL_DATA must name a folder that contains {entry.folder}/{file.file}, got {where}:"
            f" {entry.name!r} cannot be downloaded."
        )
    return cached_file(entry, file)


def _stack(parts: list[Dataset]) -> Dataset:
    """Return the rows of all parts, one after the other."""
    first, *others = parts
    for part in others:
        if (part.feature_names, part.label_names) != (first.feature_names, first.label_names):
            raise ValueError(f"{part.name} must have the features and labels of {first.name}, got other names.")
    return replace(first, X=_stack_rows([part.X for part in parts]), Y=_stack_rows([part.Y for part in parts]))


def _stack_rows(matrices: list[Matrix]) -> Matrix:
    return sparse.vstack(matrices, format="csr") if sparse.issparse(matrices[0]) else np.vstack(matrices)


# The download of a file, checked and atomic.

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


def _download(pooch: Any, address: str, path: Path, sha256: str, retries: int) -> None:
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


def _transfer(pooch: Any, address: str, partial: Path, sha256: str, attempt: int) -> None:
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
def _quiet(pooch: Any) -> Iterator[None]:
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
