"""The features of tables: cells as numbers, and columns of other kinds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from nearlabel.datasets._arrow import kind_of, swapped
from nearlabel.datasets._mixed_columns import EXPECTED, Cells, FeatureKind, may_be, proposed_option, read_cells
from nearlabel.datasets._table_file import Batch, CellError, TableFile, columns_hint, shortened
from nearlabel.utils.errors import ParameterError
from nearlabel.utils.types import FloatArray, IntArray

_WORDS = {"true": 1.0, "false": 0.0} | dict.fromkeys(("", "na", "n/a", "nan", "null", "none"), np.nan)
_LONGEST_NAME, _LONGEST_PROBLEM = 200, 1000  # characters
_SWAP = str.maketrans(".,", ",.")
_WITH_COMMA = re.compile(r"'\s*+[-+]?+\d++,\d++\s*+'")
# Possessive: a text of many digits that is no number must not be tried at each digit.
_NUMBER = re.compile(r"[-+]?+(?:(?:\d++\.?+\d*+|\.\d++)(?:e[-+]?+\d++)?+|inf|infinity)")
_ELEMENT = re.compile(r"(.+)\[(0|[1-9]\d*)\]", re.DOTALL)


def numbers(array: Any, decimal: str = ".", words: dict[str, float] | None = None) -> FloatArray:
    """Return numbers, booleans and text of either as float64, a missing cell as NaN; raise CellError for others.

    In text, `decimal` precedes the decimals, and `words` are numbers, too.
    """
    is_swapped = decimal != "." and kind_of(array.type) == "text"
    try:
        return _cast(swapped(array) if is_swapped else array, words or {})
    except CellError as error:
        raise CellError(error.row, str(error).translate(_SWAP) if is_swapped else str(error)) from None


def _cast(array: Any, words: dict[str, float]) -> FloatArray:
    try:
        values: FloatArray = array.cast("double", safe=False).to_numpy(zero_copy_only=False)
    except ValueError:  # pyarrow takes no blanks, words for missing values, or booleans in text
        return _parsed(array.dictionary_encode(), words)
    return values


def _parsed(array: Any, words: dict[str, float]) -> FloatArray:
    """Return the numbers of text; each distinct text is parsed once."""
    texts = array.dictionary.to_pylist()
    values = [_number(text, _WORDS | words) for text in texts]
    codes = array.indices.fill_null(len(texts)).to_numpy()
    wrong = np.isin(codes, [code for code, value in enumerate(values) if value is None])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise CellError(row, shortened(texts[codes[row]]))
    numbers_of_codes: FloatArray = np.array([*values, np.nan], dtype=np.float64)[codes]
    return numbers_of_codes


def _number(text: str, words: dict[str, float]) -> float | None:
    word = text.strip().lower()
    return words[word] if word in words else float(word) if _NUMBER.fullmatch(word) else None


def vectors(array: Any, width: int) -> FloatArray:
    """Return lists of `width` numbers as rows (n_rows, width), a missing list as NaN; raise CellError for others."""
    present = array.is_valid().to_numpy(zero_copy_only=False)
    if not hasattr(array.type, "list_size"):
        lengths = array.value_lengths().fill_null(width).to_numpy()
        if (lengths != width).any():
            row = int(np.argmax(lengths != width))
            raise CellError(row, f"{lengths[row]} numbers where others are {width}")
    rows = np.full((len(array), width), np.nan)
    rows[present] = numbers(array.flatten()).reshape(-1, width)
    return rows


class _Part(NamedTuple):
    """The features in one column: `elements` of its lists (None for single cells), which go to `places` in X."""

    column: str
    places: IntArray
    elements: IntArray | None = None
    width: int = 1
    kind: FeatureKind = "number"


class FeatureColumns:
    """The features of X in their order, and the columns of a table in which they are.

    A column of lists, such as embeddings, has a feature for each number: ``embedding[0]``, ``embedding[1]`` and so on.
    `kinds` are those of the features, in their order; empty if all are numbers.
    """

    def __init__(self, table: TableFile, parts: Iterable[_Part], names: tuple[str, ...], *, may_ignore: bool) -> None:
        self._table = table
        self._parts = tuple(parts)
        self._may_ignore = may_ignore
        self.names = names
        of_place = {place: part.kind for part in self._parts for place in part.places.tolist()}
        is_mixed = any(part.kind != "number" for part in self._parts)
        self.kinds: tuple[FeatureKind, ...] = tuple(of_place[place] for place in range(len(names))) if is_mixed else ()

    @classmethod
    def all(cls, table: TableFile, columns: Iterable[str], kinds: Mapping[str, FeatureKind]) -> Self:
        """Take all features of some columns; `kinds` are those of columns without numbers."""
        names: list[str] = []
        for column in columns:
            is_list = table.columns[column].kind == "numbers" and column not in kinds
            names += _element_names(table, column) if is_list else [column]
        return cls.named(table, tuple(names), kinds, may_ignore=True)

    @classmethod
    def named(
        cls,
        table: TableFile,
        names: tuple[str, ...],
        kinds: Mapping[str, FeatureKind] | None = None,
        *,
        may_ignore: bool = False,
    ) -> Self:
        """Take the features of these names, in this order; `may_ignore` adds a hint to errors."""
        kinds = kinds or {}
        sources = [_source(table, name) for name in names]
        _check_found(table, names, sources, kinds)
        of_column: dict[str, list[int]] = {}
        for place, (column, _) in enumerate(sources):
            of_column.setdefault(column, []).append(place)
        parts = (
            _part(table, column, places, sources, kinds.get(column, "number")) for column, places in of_column.items()
        )
        return cls(table, parts, names, may_ignore=may_ignore)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be read."""
        return tuple(part.column for part in self._parts)

    def matrix(self, batch: Batch) -> FloatArray | Cells:
        """Return the rows of X: an array of objects if a feature is no number."""
        shape = batch.n_rows, len(self.names)
        X: FloatArray | Cells = np.empty(shape, dtype=np.object_) if self.kinds else np.empty(shape)
        wrong: dict[str, CellError] = {}
        for part in self._parts:
            array = batch.columns[part.column]
            try:
                if part.kind != "number":
                    X[:, part.places] = read_cells(part.kind, array)[:, np.newaxis]
                elif part.elements is None:
                    X[:, part.places] = numbers(array, self._table.decimal)[:, np.newaxis]
                else:
                    X[:, part.places] = vectors(array, part.width)[:, part.elements]
            except CellError as error:
                wrong[part.column] = error
        if wrong:
            raise self._refused(batch, wrong)
        return X

    def _refused(self, batch: Batch, wrong: dict[str, CellError]) -> ValueError:
        column, error = next(iter(wrong.items()))
        kind = next(part.kind for part in self._parts if part.column == column)
        where = f"{self._table.path}, {batch.locate(error.row)}"
        problem = f"{where}: column {column!r} must contain {EXPECTED[kind]}, got {error}."
        if self._table.decimal == "." and _WITH_COMMA.fullmatch(str(error)):
            return ParameterError(
                "{problem} Hint: {decimal} reads such decimals.", {"decimal": ","}, {"problem": problem}
            )
        if kind != "number" or not self._may_ignore:
            return ValueError(problem)
        return not_features(problem, {column: proposed_option(batch.columns[column]) for column in wrong})


def _element_names(table: TableFile, column: str) -> list[str]:
    """Return the names of the features in a column of lists.

    No other column may have such a name: it would be taken for the feature when rows for prediction are read by name.
    """
    names = [f"{column}[{element}]" for element in range(table.width(column))]
    if both := [name for name in names if name in table.columns]:
        problem = f"{table.path} must have no column named like a number in the lists of {column!r}, got {both[0]!r}."
        raise ParameterError("{problem} Hint: rename one, or {ignore}.", {"ignore": [column]}, {"problem": problem})
    return names


def _source(table: TableFile, name: str) -> tuple[str, int | None]:
    """Return the column of a feature and its position in the lists of that column; ("", None) if it is missing."""
    if name in table.columns:
        return name, None
    element = _ELEMENT.fullmatch(name)
    if element is None or element[1] not in table.columns or table.columns[element[1]].kind != "numbers":
        return "", None
    return element[1], int(element[2])


def _check_found(
    table: TableFile,
    names: Sequence[str],
    sources: Sequence[tuple[str, int | None]],
    kinds: Mapping[str, FeatureKind],
) -> None:
    missing = [name for name, (column, _) in zip(names, sources, strict=True) if not column]
    if missing:
        raise missing_features(table.path, missing, columns_hint(table, missing[0]))
    for column, element in sources:
        kind = kinds.get(column, "number")
        if element is None and not may_be(kind, table.columns[column].kind):
            got = table.columns[column].description
            raise ValueError(f"column {column!r} of {table.path} must contain {EXPECTED[kind]}, got type {got}.")


def _part(
    table: TableFile,
    column: str,
    places: list[int],
    sources: Sequence[tuple[str, int | None]],
    kind: FeatureKind,
) -> _Part:
    elements = [element for place in places if (element := sources[place][1]) is not None]
    if not elements:
        return _Part(column, np.array(places), kind=kind)
    width = table.width(column)
    if max(elements) >= width:
        raise ValueError(f"column {column!r} of {table.path} must contain {max(elements) + 1} numbers, got {width}.")
    return _Part(column, np.array(places), np.array(elements), width)


def missing_features(path: Path, missing: Sequence[str], hint: str) -> ValueError:
    """Return the error for features that a file lacks."""
    others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
    return ValueError(f"{path} must have a column for every feature, got none for {missing[0]!r}{others}.{hint}")


def not_features(problem: str, columns: Mapping[str, str | None]) -> ParameterError:
    """Return the error for columns without numbers.

    The hint proposes to leave them out, or the option for each column, if `columns` names one for it.
    """
    if max(map(len, columns)) > _LONGEST_NAME:  # as an option it would be repeated in full
        return ParameterError("{problem}", {}, {"problem": problem[:_LONGEST_PROBLEM]})
    proposed: dict[str, list[str]] = {}
    for column, option in columns.items():
        if option is not None:
            proposed.setdefault(option, []).append(column)
    read_by = "".join(f"{{{option}}}, " for option in sorted(proposed) if option != "ignore")
    if read_by and "ignore" in proposed:
        left_out = "and {ignore} leaves out columns with another text in each row"
    else:
        it = "it" if len(columns) == 1 else "them"
        left_out = f"or leave {it} out: {{ignore}}" if read_by else f"{{ignore}} leaves {it} out"
    parameters = {"ignore": list(columns), **(proposed if read_by else {})}
    return ParameterError(f"{{problem}} Hint: {read_by}{left_out}.", parameters, {"problem": problem})
