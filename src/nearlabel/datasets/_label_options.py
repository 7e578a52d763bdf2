"""How the labels of a table are written: the options, and a guess of the separator of tags."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from nearlabel.datasets._label_codes import Codes
from nearlabel.datasets._lines import FASTTEXT
from nearlabel.datasets._table_file import TableFile
from nearlabel.datasets._written_tags import BULLETS, Normalisation, Notation, is_written
from nearlabel.utils.messages import ParameterWarning

SEPARATOR = ";"
_SELDOM_IN_TAGS = ("|", "\n", ",")
_SEPARATORS = (*_SELDOM_IN_TAGS, "\u3001", "\uff0c", "\uff1b", "#", "::", " / ", "\t")
_OFTEN_IN_TAGS = ("/", "&", "+", "^", "~", " ")
_MARKS = (FASTTEXT, *BULLETS, "<")  # of tags that are not joined
_HASHTAGS = re.compile(r"#[^\s#,]++(?: ++#[^\s#,]++)++")
_CELLS_TO_GUESS_BY = 1000


# A changed label: number of the row, name of the label, and 0, 1 or NaN. What changes a cell, by column and row.
LabelChange: TypeAlias = tuple[int, str, float]
Edit: TypeAlias = Callable[[Any], Any]
Edits: TypeAlias = Mapping[str, Mapping[int, Edit]]


class LabelOptions(NamedTuple):
    """The parameters of `read_table` for the columns of labels and for how they are written."""

    labels: Sequence[str] | None = None
    labels_prefix: str | None = None
    labels_column: str | Sequence[str] | None = None
    labels_separator: str | None = None
    unknown: str | None = None
    negative: str | None = None
    positive: str | None = None
    label_names: Sequence[str] | None = None
    label_key: str | None = None
    label_threshold: float | None = None
    normalise: Normalisation = "nfc"

    @property
    def codes(self) -> Codes:
        """The codes of columns of 0 and 1."""
        return Codes(self.unknown, self.negative, self.positive)

    def notation(self, cells: Sequence[str]) -> Notation:
        """Return the notation of columns of tags, by some of their cells."""
        separator = self.labels_separator or _guessed_separator(cells) or SEPARATOR
        brackets = "".join(bracket for bracket in "[{" if _are_lists(bracket, cells))
        return Notation(separator, self.label_key, self.label_threshold, self.normalise, brackets)


def is_among(name: str, columns: Sequence[str]) -> bool:
    """Return whether a column is one of some; the name of these may be the beginning, as in ``tag*``."""
    return name in columns or (len(columns) == 1 and columns[0].endswith("*") and name.startswith(columns[0][:-1]))


def some_cells(table: TableFile, columns: Sequence[str]) -> list[str]:
    """Return the first texts in some columns that are not empty."""
    texts = [name for name in columns if name in table.columns and table.columns[name].kind in ("cell", "text")]
    cells: list[str] = []
    for batch in table.batches(texts) if texts else ():
        some = (
            cell for name in texts for cell in batch.columns[name].drop_null().slice(0, _CELLS_TO_GUESS_BY).to_pylist()
        )
        cells += filter(None, some)
        if len(cells) >= _CELLS_TO_GUESS_BY:
            break
    return cells[:_CELLS_TO_GUESS_BY]


def _are_lists(bracket: str, cells: Sequence[str]) -> bool:
    """Return whether a word in such brackets is a list: other cells are lists in them, or all cells are in them."""
    inside = {cell.strip() for cell in cells if cell.lstrip().startswith(bracket)}
    return any(map(is_written, inside)) or (len(inside) > 1 and inside.issuperset(map(str.strip, cells)))


def tell_of_separator(guess: str, cells: Sequence[str]) -> None:
    """Warn of a guess of the text between tags, and of words that may be tags."""
    if guess != SEPARATOR:
        template = "Tags are joined by {guess}, as many cells have it. Hint: {labels_separator} sets another."
        warnings.warn(ParameterWarning(template, {"labels_separator": None}, {"guess": repr(guess)}), stacklevel=3)
    elif _joins(" ", _joined_if_any(cells), most=False):
        template = "Some tags have blanks, and all of their words are in others, too. Hint: {labels_separator}."
        warnings.warn(ParameterWarning(template, {"labels_separator": " "}), stacklevel=3)


def guess_separator(table: TableFile, columns: Sequence[str]) -> str | None:
    """Return what joins tags in the first cells of some columns; None if nothing does, or some have a ``;``."""
    return _guessed_separator(some_cells(table, columns))


def _guessed_separator(cells: Sequence[str]) -> str | None:
    """Return what joins tags in some cells.

    That is ``|``, a line end or a comma in most of them; or any usual separator, if most of the parts that it makes
    occur in other cells, too; or one that is often in tags, if all do.
    """
    some = _joined_if_any(cells)
    most = (separator for separator in _SELDOM_IN_TAGS if 2 * sum(separator in cell for cell in some) > len(some))
    usual = (separator for separator in _SEPARATORS if _joins(separator, some))
    other = (separator for separator in _OFTEN_IN_TAGS if _joins(separator, some, most=False, alone=separator == " "))
    hashtags = [" "] if any(map(_HASHTAGS.fullmatch, some)) and all(cell.startswith("#") for cell in some) else []
    return next((guess for guesses in (most, usual, other, hashtags) for guess in guesses), None)


def _joined_if_any(cells: Sequence[str]) -> list[str]:
    """Return the cells that may be joined tags; none if some are by a semicolon."""
    some = [cell for cell in cells if not (is_written(cell) or cell.lstrip().startswith(_MARKS))]
    return [] if any(SEPARATOR in cell for cell in some) else some


def _joins(separator: str, cells: Sequence[str], *, most: bool = True, alone: bool = False) -> bool:
    """Return whether the parts of some cells occur in other cells, too: most or all of them; if `alone`, as cells."""
    if not any(separator in cell for cell in cells):
        return False
    of_cells = {cell: {part for one in cell.split(separator) if (part := one.strip())} for cell in set(cells)}
    joined = [parts for parts in of_cells.values() if len(parts) > 1]
    parts = {part for some in joined for part in some}
    counts = Counter(part for some in of_cells.values() if not alone or len(some) == 1 for part in some)
    n_again = sum(counts[part] > (not alone) for part in parts)
    if len(joined) == 1 and separator != " ":
        most = False
    elif len(joined) < 2:
        return False
    return 2 * n_again > len(parts) if most else n_again == len(parts)
