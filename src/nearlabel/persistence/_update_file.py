"""Add and remove samples of the model in a file: it is read, updated and rewritten by one process at a time."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _num_samples, check_consistent_length

from nearlabel.files.atomic_file import locked
from nearlabel.models import parts_with_samples, refit, updates, way_to_update
from nearlabel.models.refits import BY_REFIT, relabel
from nearlabel.persistence import _archive as archive
from nearlabel.persistence._card import ModelCard
from nearlabel.persistence._data_summary import DataSummary
from nearlabel.persistence._model_file import load_model, read_card, read_kept
from nearlabel.persistence._new_samples import (
    EXISTING,
    Batch,
    KnownSamples,
    Match,
    NewSamples,
    batches_without,
    check_written_alike,
)
from nearlabel.persistence._service_files import check_journal, forget_corrections
from nearlabel.utils.characters import check_whole
from nearlabel.utils.containers import checked_container, checked_samples
from nearlabel.utils.messages import ParameterWarning, first_of
from nearlabel.utils.types import IntArray, MatrixLike
from nearlabel.utils.validation import check_choice, check_row_numbers

_BEFORE = "before samples were added or removed"  # describes the scores on the card


class OpenFile(NamedTuple):
    """The contents of a model's file, with changes that may not be written yet.

    The names of the labels and the number of rows on the card are those of the model; the other figures are from before
    the changes.
    """

    path: Path
    model: Any
    card: ModelCard
    kept: Mapping[str, Sequence[str]]
    batches: Sequence[Batch]

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        trusted: Sequence[str | type] = (),
        expected: ModelCard | None = None,
        mmap_mode: str | None = None,
    ) -> OpenFile:
        """Read a file, which must have the expected card."""
        card = read_card(path)
        if expected is not None and card != expected:
            raise BlockingIOError(f"{path} was changed by another process since it was read. Hint: try again.")
        model = load_model(path, trusted=trusted, mmap_mode=mmap_mode)
        return cls(Path(path), model, card, read_kept(path), archive.read_batches(Path(path)))

    def with_added(
        self,
        X: MatrixLike | None,
        y: MatrixLike | None,
        keep: Mapping[str, Sequence[Any]] | None,
        label_names: Sequence[str] | None,
        *,
        existing: str,
        retune: bool = False,
    ) -> OpenFile:
        """Return the contents with samples, as `update_model` adds them; these contents stay unchanged."""
        new, gone, _ = match = self._match(X, y, keep, label_names, existing)
        if not (new.n_rows or retune):
            return self
        model = self._changed(new.X, new.y, gone, retune=retune)
        kept = _appended(_without(self.kept, gone), new)
        batches = [*batches_without(self.batches, gone), *match.batch(_n_rows(model) - new.n_rows)]
        return self._now(model, kept, batches, label_names if new.n_rows else None)

    def without(self, rows: ArrayLike, ids: Sequence[str], column: str | None, *, retune: bool = False) -> OpenFile:
        """Return the contents without some samples, as `forget_rows` removes them; these contents stay unchanged."""
        numbers = check_row_numbers("rows", rows, _n_rows(self.model))
        gone = np.union1d(numbers, _rows_with(self, ids, column)).astype(np.intp)
        if not (len(gone) or retune):
            return self
        model = self._changed(None, None, gone, retune=retune)
        return self._now(model, _without(self.kept, gone), batches_without(self.batches, gone), None)

    def with_labels(self, sample_id: str, cells: Mapping[str, bool]) -> OpenFile:
        """Return the contents with labels of a sample changed: whether each applies, by name; the others stay.

        Raises
        ------
        ValueError
            If not exactly one sample has the id, or there is no such label.
        TypeError
            If the model does not have its samples in the form in which it gets them.
        """
        ids, names = self.kept.get(self.card.id_column, ()), _label_names(self.model, self.card.data.label_names, None)
        rows = [row for row, text in enumerate(ids) if text == sample_id]
        if len(rows) != 1:
            have = f"{len(rows)} samples have" if rows else "no sample has"
            hint = "" if self.card.id_column else " Hint: nearlabel fit --id names the column of ids."
            raise ValueError(f"id must be that of one sample of the model, got {sample_id!r}, which {have}.{hint}")
        unknown = [name for name in cells if name not in names]
        if unknown:
            raise ValueError(f"labels must be labels of the model, got {first_of(unknown, 5)}.")
        places = {names.index(name): applies for name, applies in cells.items()}
        model = relabel(updates.copy_to_update(self.model), rows[0], places)
        same = NewSamples(None, None, {name: [texts[rows[0]]] for name, texts in self.kept.items()}, 1)
        gone = np.asarray(rows, dtype=np.intp)
        return self._now(model, _appended(_without(self.kept, gone), same), batches_without(self.batches, gone), None)

    def written(self) -> ModelCard:
        """Write the contents; scores stay on the card, marked as from before the change."""
        known = self.card
        measured = known.measured
        if known.scores and _BEFORE not in measured:
            measured = f"{measured}; {_BEFORE}" if measured else _BEFORE
        card = ModelCard.of(self.model, scores=known.scores, measured=measured, notes=known.notes)
        card = changed(
            card,
            data=_summary(self.model, known.data),
            id_column=known.id_column,
            fit_options=known.fit_options,
            labels_column=known.labels_column,
            journal=known.journal,
            lineage=known.lineage,
        )
        compress = archive.is_compressed(self.path)
        return archive.write(self.path, self.model, card, kept=self.kept, batches=self.batches, compress=compress)

    def _now(
        self,
        model: Any,
        kept: Mapping[str, Sequence[str]],
        batches: Sequence[Batch],
        label_names: Sequence[str] | None,
    ) -> OpenFile:
        names, data = _label_names(model, self.card.data.label_names, label_names), self.card.data
        data = changed(data, rows=_n_rows(model), labels=len(names), label_names=names)
        return OpenFile(self.path, model, changed(self.card, data=data), kept, batches)

    def _match(
        self,
        X: MatrixLike | None,
        y: MatrixLike | None,
        keep: Mapping[str, Sequence[Any]] | None,
        label_names: Sequence[str] | None,
        existing: str,
    ) -> Match:
        """Return the samples to add, checked against those that the model has, and what they replace."""
        n_rows = 0 if X is None else _num_samples(X)
        kept = archive.as_kept(keep, n_rows)
        others = [name for name in kept if name not in self.kept]
        if others:
            raise ValueError(
                f"keep must map names among {list(self.kept)}, which the file contains, got {others[0]!r}."
            )
        if X is None:
            return Match(NewSamples.none(), np.empty(0, dtype=np.intp), "")
        check_consistent_length(X, y)
        known = KnownSamples(parts_with_samples(self.model)[0], self.kept, self.card.id_column, self.batches)
        return known.match(NewSamples(X, y, kept, n_rows), label_names, existing)

    def _changed(self, X: MatrixLike | None, y: MatrixLike | None, gone: IntArray, *, retune: bool) -> Any:
        """Return the model with samples added, then some removed by their earlier numbers, which do not change.

        It is tuned again if asked to. A model that cannot change with its samples is fitted again, which tunes
        everything.
        """
        model = updates.copy_to_update(self.model)
        if way_to_update(model) == BY_REFIT:
            if X is not None or len(gone):
                refit(model, X, y, forgotten=gone)
            return model
        n_labels = _n_labels(model)
        if X is not None:
            updates.partial_fit(model, X, y)
        if len(gone):
            updates.forget(model, gone)
        part = updates.updated_part(model)
        # Thresholds of new labels were tuned when the removed samples were still there.
        if retune or (len(gone) and _n_labels(model) > n_labels and getattr(part, "thresholds_stale_", False)):
            updates.retune(model)
        return model


def update_model(
    path: str | os.PathLike[str],
    X: MatrixLike | None = None,
    y: MatrixLike | None = None,
    *,
    label_names: Sequence[str] | None = None,
    keep: Mapping[str, Sequence[Any]] | None = None,
    existing: str = "raise",
    retune: bool = False,
    trusted: Sequence[str | type] = (),
    expected: ModelCard | None = None,
) -> ModelCard:
    """Add training samples to the model in a file, or only retune the settings that depend on all samples.

    The file is replaced atomically: it always contains the old or the new model. One process at a time can change a
    file; any other gets an error immediately. A model that cannot change with its samples, but contains them
    (`nearlabel.models.way_to_update`), is fitted again; steps of a pipeline before the classifier stay unchanged.

    Parameters
    ----------
    path : path-like
        A file that `save_model` wrote.
    X, y
        New samples and their label sets, as `nearlabel.models.partial_fit` accepts them. None: no samples are
        added.
    label_names : sequence of str of length n_labels, default=None
        Names of all labels, existing labels first, for a model that was fitted to an array y. None: the names on the
        card, and numbers for new labels.
    keep : mapping of str to sequence of length n_added, default=None
        Values of the file's saved columns (`read_kept`) for the new samples; columns that are not given are blank.
        Samples are compared with those of the model by the column of ids (`ModelCard.id_column`).
    existing : {"raise", "skip", "replace", "add"}, default="raise"
        What happens if the model already has some of the samples: those with an id that it has, and samples without ids
        if an earlier update added the same ones, all together (their features, label sets and saved columns, in any
        order). "raise": an error. "skip": only the others are added, so that a repeated call changes nothing.
        "replace": they are removed, and the new samples added; needs ids. "add": samples without ids are added again.
    retune : bool, default=False
        Whether to tune thresholds and the number of neighbours again; otherwise the card marks them as stale.
    trusted : sequence of str or type, default=()
        As in `load_model`.
    expected : ModelCard, default=None
        The card that the file must have, to make sure that X and y were prepared for this model.

    Returns
    -------
    ModelCard
        The new card; `changes` describes the changes since the model was fitted.

    Raises
    ------
    BlockingIOError
        If another process is changing the file, or changed it after the expected card was read.
    TypeError
        If samples cannot be added to this kind of model.
    ValueError, OSError, ImportError
        As `load_model`, `nearlabel.models.partial_fit`, `nearlabel.models.retune` and `save_model`; or
        if `keep` has another number of rows or columns that are not in the file; if an id occurs twice in it, or the
        file has it written otherwise, as 007 and 7; if the model has some of the samples, and `existing` is "raise"; or
        if samples must be replaced, and there are no ids. Then the file is unchanged.

    See Also
    --------
    forget_rows : Remove samples.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.persistence import forget_rows, load_model, save_model, update_model
    >>> X, y = [[0.0], [1.0], [2.0], [9.0]], [["calm"], ["calm"], ["sad"], ["sad"]]
    >>> path = Path(tempfile.mkdtemp()) / "songs.skops"
    >>> path = save_model(MLkNN(n_neighbors=1).fit(X, y), path, keep={"id": ["a", "b", "c", "d"]})
    >>> update_model(path, [[8.0]], [["loud"]], keep={"id": ["e"]}).changes.new_labels
    ('loud',)
    >>> update_model(path, [[8.5]], [["loud"]], keep={"id": ["e"]}, existing="replace").data.rows
    5
    >>> forget_rows(path, ids=["b", "e"]).data.rows
    3
    >>> load_model(path).search_.n_samples_fit_
    3
    """
    check_choice("existing", existing, EXISTING)
    X, y = checked_samples("X", X), checked_container("y", y)
    with locked(path, "adding rows"):
        check_journal(Path(path))
        file = OpenFile.read(path, trusted, expected)
        parts_with_samples(file.model)  # raises an error if samples cannot be added and removed
        now = file.with_added(X, y, keep, label_names, existing=existing, retune=retune)
        return file.card if now is file else now.written()


def forget_rows(
    path: str | os.PathLike[str],
    rows: ArrayLike = (),
    *,
    ids: Iterable[str] = (),
    column: str | None = None,
    retune: bool = False,
    trusted: Sequence[str | type] = (),
    expected: ModelCard | None = None,
) -> ModelCard:
    """Remove training samples, and all their data, from the model in a file.

    Their features, label sets, saved columns and entries in neighbour lists are removed. Parts that were fitted to all
    samples of `fit` and are not updated, such as the range of a scaler in a pipeline, stay unchanged. The file is
    replaced atomically, as by `update_model`; copies of the old file are not changed.

    Parameters
    ----------
    path : path-like
        A file that `save_model` wrote.
    rows : array-like of int, default=()
        Indices of training samples, without duplicates.
    ids : iterable of str, default=()
        Values of a saved column: all samples with one of these values are removed. A value that no sample has is no
        error, since a repeated call finds none.
    column : str, default=None
        Name of that column. None: the column of ids on the card; or else the only one whose name ends in id, or the
        only one.
    retune, trusted, expected
        As in `update_model`.

    Returns
    -------
    ModelCard
        The new card; `changes` describes the changes since the model was fitted.

    Raises
    ------
    BlockingIOError
        If another process is changing the file, or changed it after the expected card was read.
    TypeError
        If samples cannot be removed from this kind of model, or `ids` is a str.
    ValueError, OSError, ImportError
        If the file has no such column, or one of the ids written otherwise, as 007 and 7; otherwise as `load_model`,
        `nearlabel.models.forget`, `nearlabel.models.retune` and `save_model`. Then the file is
        unchanged.

    Warns
    -----
    UserWarning
        If no sample has one of the ids; the message has the number of these.

    See Also
    --------
    update_model : Add samples; with an example of both.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.persistence import forget_rows, load_model, save_model
    >>> model = BRkNN(n_neighbors=1).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 1], [1, 1]])
    >>> path = save_model(model, Path(tempfile.mkdtemp()) / "small.skops", keep={"id": ["a", "b", "c"]})
    >>> card = forget_rows(path, ids=["b"])
    >>> load_model(path).predict([[0.9]])
    array([[1, 0]])
    """
    if isinstance(ids, str):
        raise TypeError(f"ids must be a list of texts, got {ids!r}. Hint: [{ids!r}].")
    with locked(path, "forgetting rows"):
        check_journal(Path(path))
        file = OpenFile.read(path, trusted, expected)
        parts_with_samples(file.model)
        now = file.without(rows, list(ids), column, retune=retune)
        card = file.card if now is file else now.written()
        if now.card.id_column:
            forget_corrections(Path(path), now.kept[now.card.id_column])
        return card


def _n_rows(model: Any) -> int:
    n_rows: int = parts_with_samples(model)[1].training_labels().shape[0]
    return n_rows


def _n_labels(model: Any) -> int:
    return len(parts_with_samples(model)[0].label_names_)


def _without(kept: Mapping[str, Sequence[str]], gone: IntArray) -> dict[str, list[str]]:
    """Return the saved columns without some samples."""
    if not len(gone):
        return {name: list(texts) for name, texts in kept.items()}
    numbers = set(gone.tolist())
    return {name: [text for row, text in enumerate(texts) if row not in numbers] for name, texts in kept.items()}


def _appended(kept: Mapping[str, Sequence[str]], new: NewSamples) -> dict[str, list[str]]:
    """Return the saved columns with the values of new samples."""
    return {name: [*texts, *new.kept.get(name, [""] * new.n_rows)] for name, texts in kept.items()}


def _rows_with(file: OpenFile, ids: Sequence[str], column: str | None) -> IntArray:
    """Return the indices of the samples that have one of the ids in a saved column."""
    if not ids:
        return np.empty(0, dtype=np.intp)
    if not file.kept:
        raise ValueError(
            f"{file.path} must contain a column of ids to find samples by, got none. Hint: name row numbers."
        )
    column = (file.card.id_column or _column_of_ids(tuple(file.kept))) if column is None else column
    if column not in file.kept:
        raise ValueError(f"column must be one of {list(file.kept)}, which the file contains, got {column!r}.")
    known = file.kept[column]
    wanted = set(ids)
    _warn_of_unknown(sorted(wanted.difference(known)), known, column, len(wanted))
    return np.array([row for row, text in enumerate(known) if text in wanted], dtype=np.intp)


def _warn_of_unknown(unknown: Sequence[str], known: Sequence[str], column: str, n_ids: int) -> None:
    """Warn of ids that no sample has: they were removed before, or are wrong. Raise ValueError if written otherwise."""
    _check_blanks(unknown, known, column)
    check_written_alike(unknown, known, column)
    if not unknown:
        return
    hint = "" if len(unknown) < n_ids else " No sample was removed by its id. Hint: {column} names another column."
    warnings.warn(
        ParameterWarning(
            "{n} of {of} {are} not in the saved column {name}: {which}. They were forgotten before, or are wrong."
            f"{hint}",
            {"column": None},
            {
                "n": len(unknown),
                "of": n_ids,
                "are": "id is" if n_ids == 1 else "ids are",
                "name": repr(column),
                "which": first_of(unknown),
            },
        ),
        stacklevel=4,
    )


def _check_blanks(unknown: Sequence[str], known: Sequence[str], column: str) -> None:
    """Raise ValueError if an unknown id differs from a known one only by white space at its ends.

    It may be meant, or another id that was forgotten before: only an exact id removes samples.
    """
    near = {text.strip(): text for text in known if text.strip()}
    for text in unknown:
        if text.strip() in near:
            raise ValueError(
                f"ids must be written as in the model's column {column!r}, got {text!r} for {near[text.strip()]!r}."
                " Hint: white space at the ends of an id is part of it."
            )


def _column_of_ids(names: Sequence[str]) -> str:
    """Return the saved column of ids; raise ValueError if several columns are possible."""
    for some in (
        [name for name in names if name.casefold() == "id"],
        [name for name in names if name.casefold().endswith("id")],
        names,
    ):
        if len(some) == 1:
            return some[0]
    raise ValueError(f"column must name which of {list(names)} has the ids, got None.")


def _summary(model: Any, before: DataSummary) -> DataSummary:
    """Return the summary of the current samples: the previous names, and statistics of the current label sets."""
    return changed(
        DataSummary.of_label_sets(parts_with_samples(model)[1].training_labels()),
        name=before.name,
        rows=_n_rows(model),
        features=before.features,
        feature_names=before.feature_names,
        label_names=before.label_names,
    )


def _label_names(model: Any, before: Sequence[str] | None, given: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the labels: the given ones, or those from before, for a model that has only numbers."""
    part, method = parts_with_samples(model)
    check_whole("label_names", given or ())
    n_labels = method.training_labels().shape[1]
    if given is not None and len(given) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(given)}.")
    known = tuple(before or ())
    return tuple(given) if given is not None else (*known, *map(str, part.label_names_[len(known) :]))
