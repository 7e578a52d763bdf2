"""Get a well-known data set by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff import read_meka, read_mulan
from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.datasets._download import (
    SUBSETS,
    CatalogueEntry,
    CatalogueFile,
    cache_folder,
    cached_file,
    catalogue_entry,
)
from nearlabel.datasets._lines import Lines
from nearlabel.datasets._nominal import attribute_of
from nearlabel.datasets._reuters import read_reuters_terms
from nearlabel.datasets._svmlight import read_svmlight
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
    part = _drop_features(_READERS[entry.format](entry, file), entry.drop)
    got = (*part.X.shape, part.Y.shape[1])
    expected = (file.instances, entry.features, entry.labels)
    if got != expected:
        raise ValueError(
            f"{entry.folder}/{file.file} must have (rows, features, labels) {expected} as in the catalogue, got {got}."
        )
    return part


def _read_mulan(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    if entry.xml is None:
        raise ValueError(f"the catalogue must name the XML file of {entry.name!r}, got none.")
    return read_mulan(_locate(entry, file), _locate(entry, entry.xml))


def _read_meka(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    return read_meka(_locate(entry, file))


def _read_svmlight(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    part = read_svmlight(_locate(entry, file), entry.features, entry.labels)
    return replace(
        part,
        feature_names=_names(entry, entry.feature_names) or part.feature_names,
        label_names=_names(entry, entry.label_names) or part.label_names,
    )


def _read_reuters_terms(entry: CatalogueEntry, file: CatalogueFile) -> Dataset:
    training, test = read_reuters_terms(_locate(entry, file).parent, entry.features)
    return training if file == entry.subsets["train"] else test


_READERS: dict[str, Callable[[CatalogueEntry, CatalogueFile], Dataset]] = {
    "mulan": _read_mulan,
    "meka": _read_meka,
    "svmlight": _read_svmlight,
    "reuters": _read_reuters_terms,
}


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


def _drop_features(data: Dataset, names: tuple[str, ...]) -> Dataset:
    if not names:
        return data
    kept = np.flatnonzero([attribute_of(name) not in names for name in data.feature_names])
    return data.with_features(kept)


def _stack(parts: list[Dataset]) -> Dataset:
    """Return the rows of all parts, one after the other."""
    first, *others = parts
    for part in others:
        if (part.feature_names, part.label_names) != (first.feature_names, first.label_names):
            raise ValueError(f"{part.name} must have the features and labels of {first.name}, got other names.")
    return replace(first, X=_stack_rows([part.X for part in parts]), Y=_stack_rows([part.Y for part in parts]))


def _stack_rows(matrices: list[Matrix]) -> Matrix:
    return sparse.vstack(matrices, format="csr") if sparse.issparse(matrices[0]) else np.vstack(matrices)
