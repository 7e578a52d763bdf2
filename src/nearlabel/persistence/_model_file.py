"""Keep a fitted model in a file, and bring it back."""

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
from nearlabel.persistence._archive import read_archived_card, read_archived_model, write_archive
from nearlabel.persistence._card import ModelCard, versions
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_flag

_METHODS = ("predict", "transform", "kneighbors")  # a model has one of these


class ModelVersionWarning(UserWarning):
    """A model was saved by other versions of the libraries than those that load it."""


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    data: Dataset | tuple[MatrixLike, MatrixLike] | None = None,
    scores: Mapping[str, float] | None = None,
    measured: str = "",
    notes: str = "",
    date: datetime | None = None,
    compress: bool = False,
) -> Path:
    """Write a fitted model and its card to a file.

    The file is a zip archive that skops reads, with the card as ``nearlabel.json``. It appears under its name when it
    is complete: where writing is cut off, nothing is there, and what was there before stays.

    A search is kept as its parameters and training rows, and built anew by `load_model`; rows that lie in a store
    (`open_store`) are copied into the file.

    Parameters
    ----------
    model : fitted estimator
        Any of this library, or a scikit-learn pipeline, search over parameters or the like with one in it.
    path : path-like
        The file; by custom it ends in ``.skops``. A symbolic link stays one: the file that it leads to is written.
        A file that is replaced hands on its permissions.
    data : Dataset or tuple (X, Y), default=None
        The training data, of which the card keeps figures, names and digests. None: what the model knows of them.
        Data of other numbers of rows, features or labels than the model was fitted to, or of other names, are refused.
    scores : mapping of str to float, default=None
        Name and value of measures at training time, for the card.
    measured : str, default=""
        How the scores were measured, such as ``"10-fold cross-validation"``.
    notes : str, default=""
        What else a reader of the card should know.
    date : datetime, default=None
        When the model was made. None: now, in UTC.
    compress : bool, default=False
        Whether to compress: sparse rows and label sets shrink much, dense rows of measurements hardly.

    Returns
    -------
    path : pathlib.Path
        The file.

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If the path is a folder or is in none, or a link that leads to itself, or cannot be written.
    TypeError
        If `model` is no estimator, or another argument is of the wrong type.
    ValueError
        If the model is not fitted, or holds what cannot be kept: `DaskNeighbors`, an approximate search that would not
        be the same when built again, a lambda; if `data` are others than it was fitted to; or if `load_model` would
        refuse the file, as one that unpacks to far more than it is. Then nothing is written.

    See Also
    --------
    load_model : Bring it back.
    read_card : Read the card only.

    Notes
    -----
    The file is put together in memory before it is written, which takes about twice its size beside the model; so does
    reading it.

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
    path = Path(path)
    write_archive(path, model, lambda types: replace(card, foreign_types=types).to_json(), compress=compress)
    return path


def load_model(path: str | os.PathLike[str], *, trusted: Sequence[str | type] = ()) -> Any:
    """Read a model that `save_model` wrote, without running code that comes with it.

    Only objects of this library's types, of scikit-learn's as far as skops trusts them, and of numpy and scipy are
    built. Files hold no code, but names of types: whoever names more of them in `trusted` trusts those types with
    whatever the file holds.

    Parameters
    ----------
    path : path-like
        The file.
    trusted : sequence of str or type, default=()
        More types that may be built. The message of the error names those that it takes, and so does the card; ask for
        each what it could do with contents that somebody else chose.

    Returns
    -------
    model
        The model; its predictions are, bit for bit, those of the model that was saved.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ImportError
        If skops, or a library that the model needs, is not installed.
    TypeError
        If `trusted` is no sequence of names or types.
    ValueError
        If the file is no model, is damaged, has a newer format, holds types that are not trusted, or would unpack to
        more than 512 MiB and 100 times its size.
    MemoryError
        If the model takes more memory than there is.

    Warns
    -----
    ModelVersionWarning
        If it was saved by other versions of nearlabel, numpy, scipy or scikit-learn.

    See Also
    --------
    save_model : Write it; with an example.
    """
    path = Path(path)
    _check_trusted(trusted)
    card = read_card(path)
    model = read_archived_model(path, trusted)
    _warn_of_versions(path, card)
    return model


def read_card(path: str | os.PathLike[str]) -> ModelCard:
    """Read the card of a model, without building the model: any file is safe to ask, and skops is not needed.

    Parameters
    ----------
    path : path-like
        A file that `save_model` wrote.

    Returns
    -------
    ModelCard
        What the file says of itself: as true as who wrote it.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the file is no model, is damaged, has a newer format, or a card of more than 64 MiB.

    See Also
    --------
    save_model : Write the file; with an example.
    """
    path = Path(path)
    text = read_archived_card(path)
    try:
        return ModelCard.from_json(text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _check_model(model: Any) -> None:
    if isinstance(model, type) or not any(hasattr(model, method) for method in _METHODS):
        raise TypeError(f"model must be a fitted estimator, got {model!r}.")
    if isinstance(model, BaseEstimator):
        check_is_fitted(model)


def _check_trusted(trusted: object) -> None:
    names = trusted if isinstance(trusted, list | tuple | set | frozenset) else [None]
    if not all(isinstance(name, str | type) for name in names):
        raise TypeError(f"trusted must be a list of names or types, got {trusted!r}.")


def _warn_of_versions(path: Path, card: ModelCard) -> None:
    here = versions()
    differing = [
        f"{library} {saved} (here {here[library]})"
        for library, saved in card.versions.items()
        if library in here and here[library] != saved
    ]
    if differing:
        warnings.warn(
            f"{path} was saved by {', '.join(differing)}. Hint: check its predictions, or fit and save it anew.",
            ModelVersionWarning,
            stacklevel=3,
        )
