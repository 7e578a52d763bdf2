"""Which of the samples that are added to a model in a file it already has: by their ids, or as the same batch again.

Samples with an id are compared one by one. Without an id, two samples with the same values may be two songs, so the
samples of an update are compared as a whole: the file has a digest of each such batch, with the place of its samples.
When one of these is removed, so is the digest: otherwise guesses of the removed sample could be compared with it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from nearlabel.models.out_of_sample import rows_of
from nearlabel.models.updates import Labelled
from nearlabel.utils.containers import as_array, columns_of, is_frame, without_mask
from nearlabel.utils.messages import ParameterError, first_of
from nearlabel.utils.types import IntArray, MatrixLike

EXISTING = RAISE, SKIP, REPLACE, ADD = "raise", "skip", "replace", "add"
_FEW = 4  # ids, for which known ones need not all be compared
_MOST_BATCHES = 1000  # that a file has: the last ones
# Settings in messages, as both Python and the command line (`cli._console`) name them.
_OPTIONS = {"existing='skip'": None, "existing='replace'": None, "existing='add'": None}


class Batch(NamedTuple):
    """Samples that one update added, some of them without ids: the digest of these, and the place of all of them."""

    digest: str
    first: int
    rows: int
    date: str

    @property
    def numbers(self) -> range:
        """Numbers of its samples in the model."""
        return range(self.first, self.first + self.rows)


def batches_to_json(batches: Sequence[Batch]) -> bytes:
    """Return the last batches as JSON; nothing if there are none."""
    last = [batch._asdict() for batch in batches[-_MOST_BATCHES:]]
    return json.dumps(last, indent=0).encode() if last else b""


def batches_from_json(content: bytes) -> list[Batch]:
    """Return the batches of an untrusted text; raise ValueError if it has anything else."""
    found = json.loads(content) if content else []
    kinds = {"digest": str, "first": int, "rows": int, "date": str}
    if not isinstance(found, list) or len(found) > _MOST_BATCHES:
        raise ValueError("no list of batches")
    for one in found:
        if not isinstance(one, dict) or {name: type(value) for name, value in one.items()} != kinds:
            raise ValueError("a batch without its digest, place or date")
        if min(one["first"], one["rows"]) < 0:
            raise ValueError("a batch at a negative place")
    return [Batch(**one) for one in found]


def batches_without(batches: Iterable[Batch], gone: IntArray) -> list[Batch]:
    """Return the batches of which no sample is removed, at their places after the removal."""
    numbers = np.sort(gone)
    before = [(batch, *np.searchsorted(numbers, (batch.first, batch.first + batch.rows)).tolist()) for batch in batches]
    return [batch._replace(first=batch.first - start) for batch, start, end in before if start == end]


class NewSamples(NamedTuple):
    """Samples that are added, their label sets, and their values of the saved columns."""

    X: MatrixLike
    y: MatrixLike
    kept: Mapping[str, Sequence[str]]
    n_rows: int

    @classmethod
    def none(cls) -> Self:
        """Return no samples."""
        return cls(None, None, {}, 0)

    def some(self, rows: IntArray) -> NewSamples:
        """Return some of the samples."""
        if len(rows) == self.n_rows:
            return self
        kept = {name: [texts[row] for row in rows] for name, texts in self.kept.items()}
        return NewSamples(_some_rows(self.X, rows), _some_rows(self.y, rows), kept, len(rows)) if len(rows) else _NONE


_NONE = NewSamples.none()


class Match(NamedTuple):
    """The samples to add, the numbers of those that they replace, and the digest of those without ids."""

    new: NewSamples
    gone: IntArray
    digest: str

    def batch(self, first: int) -> list[Batch]:
        """Return the batch of the added samples, whose numbers begin at `first`; none if all have ids."""
        date = datetime.now(UTC).isoformat(timespec="seconds")
        return [Batch(self.digest, first, self.new.n_rows, date)] if self.digest and self.new.n_rows else []


class KnownSamples(NamedTuple):
    """The part of a model to which samples are added, its saved columns, that of ids, and the batches."""

    part: Any
    kept: Mapping[str, Sequence[str]]
    id_column: str
    batches: Sequence[Batch]

    def match(self, new: NewSamples, label_names: Sequence[str] | None, existing: str) -> Match:
        """Compare new samples with those of the model.

        Raises
        ------
        ValueError
            If the model has some of them, and `existing` is "raise"; if it has samples without ids as a batch, and it
            is "raise" or "replace" without ids; or if ids are missing, occur twice, or are written otherwise.
        """
        texts = new.kept.get(self.id_column, ("",) * new.n_rows)
        ids = self._checked_ids([text for text in texts if text], existing)
        known, rows = self._named(ids, existing)
        blank = np.array([row for row, text in enumerate(texts) if not text], dtype=np.intp)
        digest = _digest_of(self.part, new.some(blank), label_names) if len(blank) else ""
        again = [batch for batch in self.batches if batch.digest == digest and existing != ADD][-1:]
        if again and existing == RAISE:
            raise _refusal_of_batch(len(blank), again[0])
        if again:
            known_ids = self.kept.get(self.id_column)
            rows += [number for number in again[0].numbers if known_ids is None or not known_ids[number]]
        gone = np.unique(np.array(rows if existing == REPLACE else [], dtype=np.intp))
        if existing != SKIP:
            return Match(new, gone, digest)
        left = [row for row, text in enumerate(texts) if (text not in known if text else not again)]
        return Match(new.some(np.array(left, dtype=np.intp)), gone, "" if again else digest)

    def _checked_ids(self, ids: list[str], existing: str) -> list[str]:
        if existing == REPLACE and not ids:
            got = f"none in the column {self.id_column!r}" if self.id_column else "a model that was saved without them"
            raise ValueError(f"ids must be given to replace samples, got {got}.")
        twice = [text for text, number in Counter(ids).items() if number > 1]
        if twice:
            raise ValueError(
                f"ids of new samples must differ, got {first_of(twice)} more than once in the column"
                f" {self.id_column!r}. Hint: a column that names several samples is no id."
            )
        return ids

    def _named(self, ids: Sequence[str], existing: str) -> tuple[set[str], list[int]]:
        """Return the ids that the model has, and the numbers of its samples with these."""
        texts = self.kept.get(self.id_column, ())
        known = set(ids).intersection(texts)
        if known and existing in (RAISE, ADD):
            raise _refusal_of_ids([text for text in ids if text in known], len(ids))
        check_written_alike([text for text in ids if text not in known], texts, self.id_column)
        return known, [row for row, text in enumerate(texts) if text in known]


def _refusal_of_ids(known: Sequence[str], n_ids: int) -> ParameterError:
    return ParameterError(
        "ids of new samples must not be in the model, got {n} of {of} that are: {which}. Hint: {existing='skip'} adds"
        " the other samples only, {existing='replace'} exchanges these samples.",
        _OPTIONS,
        {"n": len(known), "of": n_ids, "which": first_of(known)},
    )


def _refusal_of_batch(n_rows: int, batch: Batch) -> ParameterError:
    return ParameterError(
        "samples without ids must not be those of an earlier update, got {n} as on {date}. Hint: {existing='skip'}"
        " leaves them out, {existing='add'} adds them again.",
        _OPTIONS,
        {"n": f"the same {n_rows}" if n_rows > 1 else "the same one", "date": batch.date},
    )


def check_written_alike(new: Sequence[str], known: Sequence[str], column: str) -> None:
    """Raise ValueError if an id differs from a known one only as 7 from 007 or 7.0, which programs write for 7.

    Where known ids differ in this way, they are different ids.
    """
    if len(new) <= _FEW:  # an id that is written otherwise contains the same number or text
        parts = [_number_or_text(text) for text in new]
        if not any(part == _number_or_text(text) for part in parts for text in [one for one in known if part in one]):
            return
    written = {_number_or_text(text): text for text in known}
    if len(written) < len(set(known)):
        return
    alike = [(text, written[_number_or_text(text)]) for text in new if _number_or_text(text) in written]
    if alike:
        (text, before), more = alike[0], f" and {len(alike) - 1} more" if len(alike) > 1 else ""
        raise ValueError(
            f"ids must be written as in the model's column {column!r}, got {text!r} for {before!r}{more}."
            " Hint: save ids as texts."
        )


def _number_or_text(text: str) -> str:
    """Return an id without spaces around it, and a whole number without leading zeros and decimals."""
    text = text.strip()
    number = text.removesuffix(".0")
    return (number.lstrip("0") or "0") if number.isascii() and number.isdecimal() else text


def _some_rows(values: MatrixLike, rows: IntArray) -> MatrixLike:
    return rows_of(sparse.csr_array(values) if sparse.issparse(values) else values, rows)


# Digests of batches: of the values of the samples, in any order and storage.


def _digest_of(part: Any, new: NewSamples, label_names: Sequence[str] | None) -> str:
    """Return a digest of the features, label sets and saved columns of samples, whatever their order and storage."""
    kept = [[(name, texts[row]) for name, texts in sorted(new.kept.items()) if texts[row]] for row in range(new.n_rows)]
    rows = zip(_values_of_rows(new.X), _labels_of_rows(part, new.y, label_names), kept, strict=True)
    digests = sorted(blake2b(repr(row).encode(), digest_size=16).digest() for row in rows)
    return blake2b(b"".join(digests), digest_size=16).hexdigest()


def _values_of_rows(X: MatrixLike) -> list[object]:
    """Return the features of each sample: of numbers, the columns that are not 0, with their values."""
    values = _plain(X)
    if not isinstance(values, list):
        rows = sparse.csr_array(values, dtype=np.float64, copy=sparse.issparse(values))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        indices = rows.indices.astype(np.int64)
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [(indices[start:end].tobytes(), rows.data[start:end].tobytes()) for start, end in bounds]
    return values


def _plain(X: MatrixLike) -> Any:
    """Return a matrix of numbers, or a list of samples of other values."""
    if sparse.issparse(X):
        return X
    if is_frame(X):
        columns = [as_array(column) for column in columns_of(X)]
        if any(column.dtype.kind not in "biuf" for column in columns):
            return list(zip(*(column.tolist() for column in columns), strict=True))
        return np.column_stack(columns)
    array = np.asarray(without_mask(X))
    return array if array.dtype.kind in "biuf" else array.tolist()


def _labels_of_rows(part: Any, y: MatrixLike, label_names: Sequence[str] | None) -> list[object]:
    """Return the names of the labels of each sample, and of those that are unknown."""
    new = Labelled(np.empty((0, 0)), part._container, part.label_names_).arriving(part, y)
    names: Sequence[Any] = new.names.tolist()
    if label_names is not None and new.by_place and len(label_names) == len(names):
        names = label_names
    if new.container.classes is not None:
        sets: list[object] = new.container.wrap(new.labels).tolist()
    else:
        sets = list(_names_in(new.labels, names))
    if new.unknown is None:
        return sets
    hidden = _names_in(new.unknown, names)
    return [(known, unknown) if unknown else known for known, unknown in zip(sets, hidden, strict=True)]


def _names_in(cells: Any, names: Sequence[Any]) -> list[tuple[str, ...]]:
    """Return the sorted names of the columns that each row has."""
    rows, texts = sparse.csr_array(cells), [str(name) for name in names]
    of_rows = np.split(rows.indices, rows.indptr[1:-1])
    return [tuple(sorted(texts[column] for column in columns)) for columns in of_rows]
