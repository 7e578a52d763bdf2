"""Tables of columns, such as those of explanations, as plain data, data frames, aligned text or HTML."""

from __future__ import annotations

import math
import numbers
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.characters import escape_markup
from nearlabel.utils.messages import shortened
from nearlabel.utils.naming import import_optional
from nearlabel.utils.tags import names_of_labels
from nearlabel.utils.types import BoolArray, IntArray, Matrix, Table

OF_LABELSETS = ("labels", "names")  # columns of tuples: the indices and the names of labels
_MOST_NEIGHBORS, MOST_LABELS, _LEAST_LABELS, _WIDEST = 10, 16, 8, 36
_LONGEST_LINE = 80  # of a terminal as it opens, and of mail
_LONGEST_SENTENCE = 200  # of a cell in a notebook
_MOST_ROWS = 10  # of other tables in a notebook
_OF_TITLES = "text-align: left; font-weight: bold; padding: 0 0.6em"
_NARROWEST = 8  # columns of texts become no narrower
_HEADS = {"name": "label", "names": "labels", "likelihood_without": "without", "raw_score": "raw"}
_HEADS_OF_NEIGHBORS = {"row": "neighbour", "names": "labels"}  # tables that may have their own column `name`
_SIGNED = ("flip", "flip_by_votes")
SHOWN_SPECIALLY = (*OF_LABELSETS, *_SIGNED, "score", "threshold")  # columns with a reserved meaning


def column_of(values: list[Any]) -> NDArray[Any]:
    """Return an object column, for instance of tuples or missing numbers."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def labelset_columns(labelsets: Matrix, names: NDArray[Any], numbers: IntArray | None = None) -> Table:
    """Return the columns `labels` and `names` of label sets (n_sets, n_labels): tuples of indices, and of names.

    `numbers` are the indices of the labels if the columns are only some.
    """
    numbers = np.arange(len(names)) if numbers is None else numbers
    columns = (names_of_labels(labelsets, of) for of in (numbers, names))
    return dict(zip(OF_LABELSETS, map(column_of, columns), strict=True))


def plain_rows(table: Table) -> list[dict[str, Any]]:
    """Return a table as a list of dictionaries, one per row."""
    columns = [[plain_value(cell) for cell in _cells(name, column)] for name, column in table.items()]
    return [dict(zip(table, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _cells(name: str, column: NDArray[Any]) -> list[Any]:
    cells: list[Any] = column.tolist()
    return [list(cell) for cell in cells] if name in OF_LABELSETS else cells


def plain_value(value: Any) -> Any:
    """Return a number, text, None, or a list of these; NaN becomes None, infinities and other objects become text.

    A tuple becomes text: it may be a label name with several levels.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        number = float(value)
        return number if math.isfinite(number) else None if math.isnan(number) else str(number)
    if isinstance(value, list):
        return [plain_value(one) for one in value]
    return str(value)


def frame_of(table: Table) -> Any:
    """Return a data frame with the columns of a table."""
    pandas = import_optional("pandas", extra="frames", purpose="to_frame")
    return pandas.DataFrame({name: _series_of(pandas, column) for name, column in table.items()})


def frame_of_records(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return a data frame with a row for each record; fields that a record lacks are missing."""
    return import_optional("pandas", extra="frames", purpose="to_frame").DataFrame(list(records))


def _series_of(pandas: Any, column: NDArray[Any]) -> Any:
    if column.dtype == object and all(cell is None or type(cell) is int for cell in column):
        return pandas.array(list(column), dtype="Int64")
    return column


def wrapped(sentence: str) -> list[str]:
    """Return a long sentence as lines, all but the first indented."""
    return textwrap.wrap(sentence, _LONGEST_LINE, subsequent_indent="    ", break_long_words=False) or [""]


class Grid(NamedTuple):
    """The displayed part of a table, as texts."""

    lines: list[tuple[str, ...]]  # the first line contains the column names
    right: list[bool]  # which columns are right-aligned
    besides: str  # number of rows that are not shown
    title: str = ""  # of the HTML

    def as_text(self) -> list[str]:
        """Return lines of aligned columns; gaps are narrower and texts shortened if the lines would be too long."""
        widths, gap = self._layout()
        lines = [
            gap.join(
                cell.rjust(w) if r else shortened(cell, w).ljust(w)
                for cell, w, r in zip(line, widths, self.right, strict=True)
            )
            for line in self.lines
        ]
        return [*(line.rstrip() for line in lines), *([self.besides] if self.besides else [])]

    def _layout(self) -> tuple[list[int], str]:
        """Return the widths of the columns, with less room for the widest texts if lines would be too long; the gap."""
        widths = [max(map(len, column)) for column in zip(*self.lines, strict=True)]
        n_gaps, texts = len(widths) - 1, [place for place, right in enumerate(self.right) if not right]
        least = sum(width if right else min(width, _NARROWEST) for width, right in zip(widths, self.right, strict=True))
        gap = "  " if least + 2 * n_gaps <= _LONGEST_LINE else " "
        while sum(widths) + len(gap) * n_gaps > _LONGEST_LINE:
            widest = max(texts, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
        return widths, gap

    def as_html(self) -> str:
        """Return a table element."""
        align = [f' style="text-align: {"right" if r else "left"}; padding: 0 0.6em"' for r in self.right]
        rows = [
            "".join(f"<{tag}{how}>{escape_markup(cell)}</{tag}>" for cell, how in zip(line, align, strict=True))
            for tag, line in zip(["th", *["td"] * (len(self.lines) - 1)], self.lines, strict=True)
        ]
        title = f"<caption style='{_OF_TITLES}'>{escape_markup(self.title)}</caption>" if self.title else ""
        besides = f"<p>{escape_markup(self.besides)}</p>" if self.besides else ""
        return f"<table style='margin: 1em 0'>{title}{''.join(f'<tr>{row}</tr>' for row in rows)}</table>{besides}"


def html_of(*parts: str | Grid) -> str:
    """Return the HTML that a notebook shows: paragraphs and tables, in the notebook's own colours."""
    return f"<div>{''.join(_part_as_html(part) for part in parts)}</div>"


def _part_as_html(part: str | Grid) -> str:
    return part.as_html() if isinstance(part, Grid) else f"<p>{escape_markup(part)}</p>" if part else ""


def grid_of_rows(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], noun: str, *, title: str = "", at_most: int = _MOST_ROWS
) -> Grid:
    """Return the first rows of values as texts under the names of their columns, and the number of the other rows."""
    shown = rows[:at_most]
    besides = f"... and {len(rows) - len(shown):,} more {noun}" if len(shown) < len(rows) else ""
    right = [all(isinstance(row[place], (numbers.Real, type(None))) for row in shown) for place in range(len(columns))]
    lines = [tuple(columns), *(tuple(map(_text_of, row)) for row in shown)]
    return Grid(lines, right, besides, title)


def _text_of(value: Any) -> str:
    """Return a cell of HTML, where a sentence is folded."""
    if isinstance(value, str):
        return shortened(value, _LONGEST_SENTENCE)
    return _cell(tuple(value) if isinstance(value, list) else value)


class ShownList(list[Any]):
    """A list that a notebook shows as a table of its items' attributes."""

    def __init__(self, items: Iterable[Any], columns: Sequence[str], noun: str) -> None:
        super().__init__(items)
        self._columns, self._noun = tuple(columns), noun

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        heads = ["k" if name == "n_neighbors" else name.replace("_", " ") for name in self._columns]
        rows = [[getattr(item, name) for name in self._columns] for item in self]
        return html_of(grid_of_rows(heads, rows, self._noun))


def grid(
    table: Table,
    columns: Sequence[str],
    title: str,
    *,
    order: IntArray | None = None,
    n_first: int = 0,
    shown: IntArray | None = None,
    at_most: int = _MOST_NEIGHBORS,
    besides: str = "",
    shares: Collection[str] = (),
) -> Grid:
    """Return the first rows of a table in a given order, or those `shown`, and the number of other rows, or `besides`.

    With an order, the first `n_first` rows are shown as far as they fit, then others up to a minimum. Columns of
    `shares` have two digits (`share_in_words`).
    """
    size = len(next(iter(table.values())))
    if order is not None:
        shown = order[: min(max(n_first + 2, _LEAST_LABELS), MOST_LABELS)]
    rows = np.arange(size)[:at_most] if shown is None else shown
    cells = [[_head(name, title), *(_cell_of(table, name, row, shares) for row in rows)] for name in columns]
    left, hidden = size - len(rows), max(0, n_first - len(rows))
    if left and not besides:
        besides = f"... and {left} more {title}" + (f", {hidden} of them chosen" if hidden else "")
    return Grid(list(zip(*cells, strict=True)), [not _is_text(table[name]) for name in columns], besides)


def carriers(labelsets: Sequence[Sequence[int]], labels: Sequence[int]) -> BoolArray:
    """Return which label sets (n_sets,) contain which of some labels, (n_sets, n_labels)."""
    carry = np.array([[label in carried for label in labels] for carried in labelsets], dtype=np.bool_)
    return carry.reshape(len(labelsets), len(labels))


def with_carriers(carry: BoolArray, n_first: int) -> IntArray:
    """Return the first rows, and behind them the first carrier of each label that none of these carries.

    Examples
    --------
    >>> with_carriers(carriers([(0,), (), (1,), (1, 2), (2,)], [0, 1]), 1)
    array([0, 2])
    """
    first = carry.argmax(axis=0)[carry.any(axis=0)] if len(carry) else []
    return np.union1d(np.arange(min(n_first, len(carry))), first).astype(np.intp)


def _head(name: str, title: str) -> str:
    heads = _HEADS_OF_NEIGHBORS if title == "neighbours" else _HEADS
    return heads.get(name, name.replace("_", " "))


def _is_text(column: NDArray[Any]) -> bool:
    if column.dtype != object:
        return column.dtype.kind in "bUT"
    return not all(cell is None or isinstance(cell, (int, float)) for cell in column)


def _cell_of(table: Table, name: str, row: int, shares: Collection[str]) -> str:
    value = table[name][row]
    if name not in shares or not isinstance(value, float | np.floating) or not 0 <= value <= 1:
        return _cell(value, signed=name in _SIGNED)
    other = {"score": "threshold", "threshold": "score"}.get(name, "")
    return share_in_words(float(value), float(table[other][row]) if other in table else math.nan)


def share_in_words(value: float, other: float = math.nan) -> str:
    """Return a number from 0 to 1 with two digits, or as many as distinguish it from another one.

    Examples
    --------
    >>> [share_in_words(value) for value in (0, 3.9e-16, 0.304, 0.9999, 1)]
    ['0', '<0.01', '0.30', '>0.99', '1']
    >>> share_in_words(0.304, 0.302)
    '0.304'
    """
    text = _rounded(value)
    if not 0 <= other <= 1 or value == other or text != _rounded(other):
        return text
    for digits in range(3, 7):
        if f"{value:.{digits}f}" != f"{other:.{digits}f}":
            return f"{value:.{digits}f}"
    return text if text[0] in "<>" else repr(value)


def _rounded(value: float) -> str:
    if value in (0, 1):
        return f"{value:.0f}"
    return "<0.01" if value < 0.005 else ">0.99" if value >= 0.995 else f"{value:.2f}"


def _cell(value: Any, *, signed: bool = False) -> str:
    if value is None or value != value:
        return "-"
    if signed:
        return f"{value:+d}"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return names_within(value, _WIDEST + 24) or "(none)"
    return shortened(value, _WIDEST)


def names_within(names: Sequence[Any], width: int) -> str:
    """Return comma-separated names, as many as fit."""
    shown: list[str] = []
    for number, name in enumerate(names):
        shown.append(shortened(name, _WIDEST))
        if len(", ".join(shown)) > width and number + 1 < len(names):
            return ", ".join(shown) + f", and {len(names) - number - 1} more"
    return ", ".join(shown)


# Readable names of samples, from titles and ids.

_LONGEST = 36  # maximum of letters of a title, and of the text in brackets


def row_name(row: int, kept: Mapping[str, Any], longest: int = _LONGEST) -> str:
    """Return the name of a sample: its title, with its id or another column in brackets.

    A column whose name ends with "id" contains ids; the first other column is the title. Blank cells are ignored.

    Parameters
    ----------
    row : int
        Row number, used if there is no other name.
    kept : mapping of str to str or None
        Texts of the sample, by column name.
    longest : int, default=36
        Maximum number of letters; the middle of longer texts is left out.

    Returns
    -------
    str
        One line of printable characters.

    Examples
    --------
    >>> row_name(464, {"id": "4711", "title": "Abbey Road", "year": "1969"})
    'Abbey Road (id 4711)'
    >>> row_name(464, {"title": "Abbey Road", "year": "1969"}), row_name(464, {"id": "4711"}), row_name(464, {})
    ('Abbey Road (year 1969)', 'id 4711', 'row 464')
    """
    texts = {name: shortened(_printable(kept[name] or ""), longest) for name in kept}
    named = {name: text for name, text in texts.items() if text}
    ids = [name for name in named if name.casefold().endswith("id")]
    titles = [name for name in named if name not in ids]
    others = [*ids, *titles[1:]]
    beside = [f"{shortened(_printable(name), longest)} {named[name]}" for name in others[:1]]
    if titles:
        return " ".join([named[titles[0]], *(f"({text})" for text in beside)])
    return beside[0] if beside else f"row {row}"


def names_of_rows(kept: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names of all samples from at least one saved column."""
    of_rows = (dict(zip(kept, texts, strict=True)) for texts in zip(*kept.values(), strict=True))
    return [row_name(row, texts) for row, texts in enumerate(of_rows)]


def _printable(text: str) -> str:
    """Return text with white space as blanks and non-printable characters replaced, since SVG does not allow them."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)
