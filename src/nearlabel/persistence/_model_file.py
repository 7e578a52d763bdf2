"""Save a fitted model to a file, and load it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearlabel.datasets import Dataset
from nearlabel.persistence import _archive as archive
from nearlabel.persistence._card import FORMAT, OLDEST_FORMAT, ModelCard, versions
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_flag

_METHODS = ("predict", "transform", "kneighbors")  # every model has at least one


class ModelVersionWarning(UserWarning):
    """A model was saved with other library versions than those installed."""


def check_can_save() -> None:
    """Check that models can be saved, before a long fit.

    Raises
    ------
    ImportError
        If skops is not installed.

    Examples
    --------
    >>> from nearlabel.persistence import check_can_save
    >>> check_can_save()
    """
    archive.skops_io()


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: Dataset | tuple[MatrixLike, MatrixLike] | None = None,
    scores: Mapping[str, float] | None = None,
    measured: str = "",
    notes: str = "",
    date: datetime | None = None,
    keep: Mapping[str, Sequence[Any]] | None = None,
    id_column: str | None = None,
    fit_options: str = "",
    labels_column: Sequence[str] = (),
    compress: bool = False,
) -> Path:
    """Write a fitted model and its card to a file.

    The file is a zip archive written by skops, with the card as ``nearlabel.json``. It is written atomically: if
    writing fails, no new file appears, and an existing file stays unchanged.

    A search is saved as its parameters and training samples, and `load_model` fits it again. A large exact search of
    dense samples (16,777,216 values and more) is saved with its packed panels, too, unless `compress`: the file is up
    to half as large again, and `load_model` need not pack. Samples in a store (`open_store`) are copied into the file.

    Parameters
    ----------
    model : fitted estimator
        Any estimator of nearlabel, or a scikit-learn pipeline or meta-estimator that contains one.
    path : path-like
        Path of the file, usually with the suffix ``.skops``. Symbolic links are followed. A replaced file keeps its
        permissions.
    data : Dataset or tuple (X, y), default=None
        The training data; the card contains their statistics, names and digests. None: the facts that are stored in the
        model. The numbers of samples, features and labels, and the names, must be those to which the model was fitted.
    scores : mapping of str to float, default=None
        Values of metrics at training time, by name, for the card.
    measured : str, default=""
        How the scores were measured, such as ``"10-fold cross-validation"``.
    notes : str, default=""
        Free text for readers of the card.
    date : datetime, default=None
        When the model was made. None: now, in UTC.
    keep : mapping of str to sequence of length n_samples, or data frame, default=None
        Columns that identify the training samples for people, such as ids, titles and paths of pictures; `read_kept`
        returns them. Numbers and dates are saved as text, None and NaN as empty text. Values, also ids, may occur more
        than once.
    id_column : str, default=None
        Name of the column in `keep` whose values identify the samples: `update_model` refuses samples whose ids the
        file has. None: the column named id, if there is one.
    fit_options : str, default=""
        For the card: the options of ``nearlabel fit`` that make such a model again.
    labels_column : sequence of str, default=()
        For the card: the columns of the table whose tags are the labels, where ``nearlabel update`` looks for them.
    compress : bool, default=False
        Whether to compress the file. Sparse features and label sets shrink a lot, dense measurements hardly.

    Returns
    -------
    path : pathlib.Path
        The file.

    Raises
    ------
    ImportError
        If skops is not installed, or is too old.
    OSError
        If the path is a folder, its parent folder does not exist, it is a link to itself, or it cannot be written.
    TypeError
        If `model` is not an estimator, or another argument has the wrong type.
    ValueError
        If the model is not fitted or contains a part that cannot be saved (`DaskNeighbors`, an approximate search that
        is not reproducible, a lambda); if it was not fitted to `data`; if `keep` has another number of rows or needs
        more than 128 MiB; or if `load_model` would reject the file. Then nothing is written.

    Warns
    -----
    UserWarning
        If the model has types that `load_model` does not trust by default, such as your own classes; the warning names
        them.

    See Also
    --------
    load_model : Read the file.
    read_card : Read the card only.
    read_kept : Read the saved columns only.

    Notes
    -----
    The file is assembled in memory, which needs about twice its size in addition to the model; reading it needs the
    same.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.persistence import load_model, read_card, save_model
    >>> digits = load_multidigits()
    >>> model = MLkNN().fit(digits.X, digits.Y)
    >>> path = save_model(model, Path(tempfile.mkdtemp()) / "digits.skops", data=digits, notes="a first try")
    >>> (load_model(path).predict(digits.X[:100]) == model.predict(digits.X[:100])).all()
    np.True_
    >>> card = read_card(path)
    >>> card.method, card.data.name, card.notes
    ('MLkNN', 'multidigits', 'a first try')
    """
    _check_model(model)
    check_flag("compress", compress)
    card = ModelCard.of(model, data=data, scores=scores, measured=measured, notes=notes, date=date)
    path, kept = Path(path), archive.as_kept(keep, card.data.rows)
    card = replace(card, id_column=_id_column(id_column, kept), fit_options=fit_options)
    card = replace(card, labels_column=tuple(labels_column))
    written = archive.write(path, model, card, kept=kept, compress=compress)
    _warn_of_foreign_types(path, written.foreign_types)
    return path


def load_model(
    path: str | os.PathLike[str], *, trusted: Sequence[str | type] = (), mmap_mode: str | None = None
) -> Any:
    """Load a model that `save_model` wrote, without running code from the file.

    Only objects of `TRUSTED_TYPES`, of scikit-learn types that skops trusts, and of numpy and scipy are built. A file
    contains no code, but it contains names of types. A type that you add in `trusted` is trusted with any content.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : sequence of str or type, default=()
        Additional types that may be built. The error message and the card name the types that the file needs. Before
        you trust a type, consider what it could do with content chosen by an attacker.
    mmap_mode : {None, "r"}, default=None
        "r": the samples and packed panels of a large exact search stay in the file, and are mapped read-only: processes
        that load the same file share them, and less memory is needed. Do not change the file in place meanwhile;
        `save_model`, `update_model` and the command line replace it, which is safe. None: they are read into memory.

    Returns
    -------
    model
        The model; its predictions equal those of the saved model bit for bit.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist or is a folder.
    ImportError
        If skops, or a library that the model needs, is not installed.
    TypeError
        If `trusted` is not a sequence of names or types.
    ValueError
        If `mmap_mode` is neither None nor "r"; or if the file is not a model, is damaged, has another format or types
        that are not trusted, was written by a newer skops, would unpack to more than 512 MiB and 100 times its size, or
        needs more memory than is available.

    Warns
    -----
    ModelVersionWarning
        If the model was saved with other versions of nearlabel, numpy, scipy or scikit-learn.

    See Also
    --------
    save_model : Save a model; with an example.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.persistence import load_model, save_model
    >>> model = BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> path = save_model(model, Path(tempfile.mkdtemp()) / "small.skops")
    >>> load_model(path).predict([[0.2]])
    array([[1, 0]])
    """
    path = Path(path)
    _check_trusted(trusted)
    if mmap_mode not in (None, "r"):
        raise ValueError(f"mmap_mode must be None or 'r', got {mmap_mode!r}.")
    card = read_card(path)
    if card.format < OLDEST_FORMAT:
        raise ValueError(
            f"{path} must have the format {OLDEST_FORMAT} to {FORMAT}, got {card.format}: an older nearlabel wrote it."
            " Hint: fit the model again; `read_card` and `read_kept` read the file."
        )
    model = archive.read_model(path, trusted, mapped=mmap_mode is not None)
    _warn_of_versions(path, card)
    return model


def load_pyfunc(path: str) -> Any:
    """Load a model as mlflow asks the `loader_module` of a ``pyfunc`` model to: the file that was its `data_path`."""
    return load_model(path)


def read_card(path: str | os.PathLike[str]) -> ModelCard:
    """Read the card of a model without building the model: safe for any file, and without skops.

    Parameters
    ----------
    path : path-like
        A file that `save_model` wrote.

    Returns
    -------
    ModelCard
        The card as written by the author of the file; nothing in it is verified.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist or is a folder.
    ValueError
        If the file is not a model, is damaged, has a newer format, or a card of more than 64 MiB.

    See Also
    --------
    save_model : Save a model; with an example.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.persistence import read_card, save_model
    >>> model = BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> card = read_card(save_model(model, Path(tempfile.mkdtemp()) / "small.skops", notes="two samples"))
    >>> card.method, card.notes
    ('BRkNN', 'two samples')
    """
    path = Path(path)
    text = archive.read_card(path)
    try:
        return ModelCard.from_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def read_kept(path: str | os.PathLike[str]) -> dict[str, tuple[str, ...]]:
    """Read the saved columns of the training data without building the model: safe for any file.

    Parameters
    ----------
    path : path-like
        A file that `save_model` wrote.

    Returns
    -------
    dict of str to tuple of str of length n_samples
        The columns that were passed as ``keep=``, in that order, as text; empty if none were passed. `ModelCard.kept`
        lists their names. `Explanation.with_kept` uses them as names of neighbours.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If the file does not exist or is a folder.
    ValueError
        If the file is not a model, is damaged, has a newer format, or its columns are not those on the card or need
        more than 128 MiB.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.persistence import read_kept, save_model
    >>> model = BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    >>> path = Path(tempfile.mkdtemp()) / "songs.skops"
    >>> path = save_model(model, path, keep={"id": [4711, 12], "title": ["Abbey Road", "Help!"]})
    >>> kept = read_kept(path)
    >>> kept
    {'id': ('4711', '12'), 'title': ('Abbey Road', 'Help!')}
    >>> model.explain([[0.1]])[0].with_kept(kept).neighbors["title"].tolist()
    ['Abbey Road']
    """
    path = Path(path)
    card = read_card(path)
    return archive.read_kept(path, card.kept, card.data.rows) if card.kept else {}


def _id_column(name: str | None, kept: Mapping[str, Any]) -> str:
    """Return the name of the column of ids; empty if there is none."""
    if name is None:
        return next((column for column in kept if column.casefold() == "id"), "")
    if name not in kept:
        raise ValueError(f"id_column must be one of the columns in keep, {list(kept)}, got {name!r}.")
    return name


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not any(hasattr(model, method) for method in _METHODS):
        raise TypeError(f"model must be a fitted estimator, got {model!r}.")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)


def _check_trusted(trusted: object) -> None:
    names = trusted if isinstance(trusted, list | tuple | set | frozenset) else [None]
    if not all(isinstance(name, str | type) for name in names):
        raise TypeError(f"trusted must be a list of names or types, got {trusted!r}.")


def _warn_of_foreign_types(path: Path, types: Sequence[str]) -> None:
    """Warn of the types that must be trusted to load the model."""
    if types:
        warnings.warn(
            f"{path} contains types that load_model builds only if they are trusted. Hint: load_model(...,"
            f" trusted={list(types)!r}), on the command line --trusted {','.join(types)}.",
            UserWarning,
            stacklevel=3,
        )


def _warn_of_versions(path: Path, card: ModelCard) -> None:
    here = versions()
    differing = [
        f"{library} {saved} (here {here[library]})"
        for library, saved in card.versions.items()
        if library in here and here[library] != saved
    ]
    if differing:
        warnings.warn(
            f"{path} was saved with {', '.join(differing)}. Hint: check its predictions, or fit and save it again.",
            ModelVersionWarning,
            stacklevel=3,
        )
