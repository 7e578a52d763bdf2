"""One label in a cell: no, yes or unknown, as 0 and 1, in words, or in the two codes of a file."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import NUMBER
from nearlabel.datasets._numeric_columns import MISSING_WORDS, as_text, each_cell, numbers
from nearlabel.datasets._table_file import CellError, TableFile
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.types import CSR, BoolArray, FloatArray, Matrix

ANSWERS = {"yes": 1.0, "no": 0.0}
_KNOWN = {"true", "false", *ANSWERS}
_WORDS = {*_KNOWN, 0.0, 1.0}
# Pairs that mean no and yes wherever a file has both, and nothing else.
_PAIRS = (
    ("absent", "present"), ("off", "on"), ("unchecked", "checked"), ("neg", "pos"), ("negative", "positive"),
    ("\u2610", "\u2611"), ("\u274c", "\u2705"), ("\u2717", "\u2713"), ("-", "+"), ("ei", "kyllä"), ("f", "t"),
    ("falsch", "wahr"), ("falso", "verdadeiro"), ("falso", "verdadero"), ("falso", "vero"), ("faux", "vrai"),
    ("hayır", "evet"), ("n", "j"), ("n", "y"), ("ne", "ano"), ("nee", "ja"), ("nei", "ja"), ("nein", "ja"),
    ("nej", "ja"), ("nem", "igen"), ("nie", "tak"), ("no", "si"), ("no", "sì"), ("no", "sí"), ("non", "oui"),
    ("nu", "da"), ("nao", "sim"), ("não", "sim"), ("нет", "да"), ("ні", "так"), ("όχι", "ναι"), ("否", "是"),
    ("いいえ", "はい"), ("아니요", "예"),
)  # fmt: skip


class Codes(NamedTuple):
    """The texts of labels that are unknown, do not apply, and apply; None: a missing cell, 0 and 1.

    With `negative` and `positive`, no other values are allowed but missing cells and `unknown`.
    """

    unknown: str | None = None
    negative: str | None = None
    positive: str | None = None

    def values(self, array: Any, decimal: str) -> FloatArray:
        """Return 0, 1 and NaN; raise CellError for another value."""
        if self.negative is not None:
            return each_cell(array, self._meaning, missing=self._meaning(None)).astype(np.float64)
        words = ANSWERS if self.unknown is None else ANSWERS | {self.unknown.strip().lower(): np.nan}
        values: FloatArray = with_unknown(numbers(array, decimal, words=words), self.unknown)
        allowed = (values == 0) | (values == 1) | np.isnan(values)
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise CellError(row, f"{values[row]:g}")
        return values

    def _meaning(self, cell: Any) -> float:
        """Return the meaning of a cell; raise ValueError if it is no code."""
        text = "" if cell is None else as_text(cell)
        for code, value in ((self.negative, 0.0), (self.positive, 1.0), (self.unknown, np.nan)):
            if code is not None and _key(code) == _key(text):
                return value
        if _key(text) in MISSING_WORDS:
            return np.nan
        raise ValueError(text)


def _key(text: str) -> str | float:
    """Return what two texts have in common if they are one code: 1.0 is 1, and Yes is yes."""
    number = number_of(text)
    return text.strip().lower() if number is None else number


def check_codes(negative: object, positive: object, unknown: str | None, *, are_columns: bool) -> None:
    """Raise unless both codes are None, or two different texts that go with columns of labels."""
    codes = {"negative": negative, "positive": positive}
    for name, code in codes.items():
        if code is not None and not isinstance(code, str):
            raise TypeError(f"{name} must be text or None, got {code!r}. Hint: {str(code)!r}.")
    if negative is None and positive is None:
        return
    if not are_columns:
        raise ParameterError(
            "{negative} and {positive} must go with columns of labels, {labels} or {labels_prefix}, got a column of"
            " tags.",
            dict.fromkeys(("negative", "positive", "labels", "labels_prefix")),
        )
    given = [code for code in (negative, positive, unknown) if isinstance(code, str)]
    if None in codes.values() or len(set(map(_key, given))) < len(given):
        raise ParameterError(
            "{negative} and {positive} must be two values, other than {unknown}, got {got}.",
            dict.fromkeys(("negative", "positive", "unknown")),
            {"got": " and ".join(repr(code) for code in codes.values())},
        )


def known_pair(values: Collection[str]) -> tuple[str, str] | None:
    """Return the texts for no and yes if a file has exactly these two values, and they have no other meaning."""
    found = {value.lower() for value in values}
    return next((pair for pair in _PAIRS if found == set(pair)), None)


def distinct_values(table: TableFile, columns: Sequence[str], unknown: str | None) -> list[str]:
    """Return the values in some columns that are neither missing nor unknown: all, or more than two of them."""
    found: dict[str | float, str] = {}
    for batch in table.batches(columns):
        for column in columns:
            for cell in batch.columns[column].dictionary_encode().dictionary.to_pylist():
                text = "" if cell is None else as_text(cell).strip()
                if text.lower() not in MISSING_WORDS and (unknown is None or _key(text) != _key(unknown)):
                    found.setdefault(_key(text), text)
        if len(found) > 2:
            break
    return list(found.values())


def not_codes(problem: str, got: str, values: Sequence[str], columns: Sequence[str]) -> ValueError:
    """Return the error for a label that is neither 0 nor 1, in columns with these values, or more than two."""
    of_error = {"problem": problem, "got": got}
    are_texts = all(number_of(value) is None and value.lower() not in _KNOWN for value in values)
    tags = {"labels_column": columns} if are_texts else {}
    if_tags = " If cells are tags: {labels_column}." if tags else ""
    pair = next((pair for pair in _PAIRS if len(values) == 1 and values[0].lower() == pair[0]), None)
    if pair is not None:
        hint = "{problem}, got {got} as the only value. Hint: if it has that meaning: {negative} {positive}."
        return ParameterError(hint, dict(zip(("negative", "positive"), pair, strict=True)), of_error)
    if len(values) == 1 and are_texts:
        hint = "{problem}, got {got} as the only value. Hint: if it means yes, an empty cell no: {positive} {negative}."
        return ParameterError(hint + if_tags, {"positive": values[0], "negative": "", **tags}, of_error)
    if len(values) != 2 and tags:
        return ParameterError("{problem}, got {got}. Hint:" + if_tags.lower(), tags, of_error)
    n_texts = sum(number_of(value) is None for value in values)
    if len(values) != 2 and n_texts and sum(_key(value) in _WORDS for value in values) < len(values) - 1:
        return ValueError(
            f"{problem}, got {got}. Hint: all columns of labels must have the same values for no and yes."
        )
    if len(values) != 2:
        return not_zero_one(problem, got)
    low, high = sorted(values, key=lambda text: (number_of(text) is None, number_of(text) or 0.0, text))
    hint = "{problem}, got {got}. Hint: there are two values. If they mean no and yes: {negative} {positive}."
    parameters: dict[str, Any] = {"negative": low, "positive": high, **tags}
    for one, lost in (("1", "not to apply"), ("0", "to apply")):
        if one in values:
            parameters["unknown"] = high if low == one else low
            hint += f" With {{unknown}} no label is known {lost}."
    return ParameterError(hint + if_tags, parameters, of_error)


def not_zero_one(problem: str, got: object) -> ValueError:
    """Return the error for a label that is neither 0 nor 1; the hint is that a text or -1 may mark an unknown label."""
    text = f"{got:g}" if isinstance(got, float) else str(got)
    may_stand = text.strip("'\"") if text == "-1" or text[:1] in "'\"" else None
    if may_stand is None:
        return ValueError(f"{problem}, got {text}.")
    hint = "{problem}, got {got}. Hint: {unknown}, if it marks an unknown label."
    return ParameterError(hint, {"unknown": may_stand}, {"problem": problem, "got": text})


def check_unknown(unknown: object, *, beside_zero_and_one: bool = False) -> None:
    """Raise TypeError unless it is None or text, ValueError if it means 0 or 1 in columns of these."""
    if unknown is None:
        return
    if not isinstance(unknown, str):
        raise TypeError(f"unknown must be text or None, got {unknown!r}. Hint: {str(unknown)!r}.")
    if beside_zero_and_one and (unknown.strip().lower() in _KNOWN or number_of(unknown) in (0, 1)):
        raise ValueError(f"unknown must be text that means neither 0 nor 1, got {unknown!r}.")


def number_of(text: str | None) -> float | None:
    """Return the number that a text is; None if it is none."""
    text = "" if text is None else text.strip()
    return float(text) if NUMBER.fullmatch(text) else None


def with_unknown(values: Matrix, unknown: str | None) -> Matrix:
    """Return numbers with NaN in place of the one that the text is."""
    number = number_of(unknown)
    if number is None:
        return values
    if not sparse.issparse(values):
        return np.where(values == number, math.nan, values)
    data = np.where(values.data == number, math.nan, values.data)
    return sparse.csr_array((data, values.indices, values.indptr), shape=values.shape)


def with_unknown_rows(labels: CSR, is_unknown: BoolArray) -> CSR:
    """Return label sets of 0 and 1 in which all labels that some rows (n_rows,) do not carry are unknown: NaN."""
    rows = np.flatnonzero(is_unknown)
    within, columns = np.nonzero(labels[rows].toarray() == 0)
    nan = np.full(len(within), math.nan)
    return sparse.csr_array(labels + sparse.csr_array((nan, (rows[within], columns)), shape=labels.shape))


def as_stored(Y: Matrix) -> Matrix:
    """Return int64 labels, or float64 if one is unknown."""
    return Y if np.isnan(Y.data if sparse.issparse(Y) else Y).any() else Y.astype(np.int64)


# A cell after its label was changed.

_OPPOSITES = {"true": "false", "false": "true", "yes": "no", "no": "yes"}
_DIGIT = re.compile(r"[01]([.,]0*)?")


def changed_cell(old: Any, value: float, codes: Codes) -> Any:
    """Return a cell with another value, 0, 1 or NaN, written as the cell was: as a digit, a word, or of its type."""
    if math.isnan(value):
        new = codes.unknown
    elif codes.negative is not None:
        new = codes.positive if value else codes.negative
    elif isinstance(old, str):
        return _other_text(old, value)
    else:
        return int(value) if old is None else type(old)(value)
    if isinstance(old, str):
        return new or ""
    return new if new is None or old is None else type(old)(float(new))


def _other_text(old: str, value: float) -> str:
    word = old.strip()
    opposite = _OPPOSITES.get(word.lower())
    if opposite is not None:
        same_case = str.upper if word.isupper() else str.title if word.istitle() else str.lower
        return old.replace(word, same_case(opposite))
    digit = str(int(value))
    return old.replace(word, digit + word[1:]) if _DIGIT.fullmatch(word) else digit
