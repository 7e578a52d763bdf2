"""Download one file of the catalogue, checked and whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from nearlabel.datasets._catalogue import CatalogueEntry, CatalogueFile
from nearlabel.utils.optional import import_optional

_log = logging.getLogger("nearlabel")

RETRIES = 2
TIMEOUT_SECONDS = 30


def cache_folder() -> Path:
    """Return the folder into which `fetch_dataset` downloads.

    Returns
    -------
    folder : pathlib.Path
        The folder of the environment variable ``NEARLABEL_CACHE``, else ``nearlabel`` in the platform's folder of
        caches. It need not exist.

    Examples
    --------
    >>> from nearlabel.datasets import cache_folder
    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get("NEARLABEL_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")) / "nearlabel"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "nearlabel"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nearlabel"


def cached_file(entry: CatalogueEntry, file: CatalogueFile, *, retries: int = RETRIES) -> Path:
    """Return the path of a file in the cache, downloaded if it is not there or is damaged.

    Raises
    ------
    ValueError
        If what came is not the file of the catalogue.
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
    """Return where a file is found; ``NEARLABEL_BASE_URL`` names a mirror laid out like the cache."""
    if mirror := os.environ.get("NEARLABEL_BASE_URL"):
        return f"{mirror.rstrip('/')}/{entry.folder}/{file.file}"
    return f"{entry.source}/{file.file}"


def _download(pooch: ModuleType, address: str, path: Path, sha256: str, retries: int) -> None:
    """Let pooch write to a temporary file beside `path`, check it and only then give it its name."""
    registry = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: f"sha256:{sha256}"},
        urls={path.name: address},
        retry_if_failed=retries,
    )
    downloader = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_SECONDS)
    with _quiet(pooch):
        try:
            registry.fetch(path.name, downloader=downloader)
        except ValueError as error:
            raise ValueError(
                f"{address} must have the sha256 {sha256} of the catalogue, got another file or an incomplete one."
                " Nothing was kept."
            ) from error
        except OSError as error:  # requests' own errors are OSErrors
            raise OSError(
                f"{address} must be reachable, got: {error} ({retries + 1} attempts)."
                " Hint: set NEARLABEL_DATA to a folder that holds the data sets."
            ) from error


@contextlib.contextmanager
def _quiet(pooch: ModuleType) -> Iterator[None]:
    """Keep pooch's own logger, which writes to the screen, to errors."""
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
