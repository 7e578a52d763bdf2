"""Excel workbooks: a sheet with a row of names, then rows of cells.

This is the one place that imports openpyxl.
"""

from __future__ import annotations

import math
import os
import re
import warnings
import zipfile
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from itertools import islice
from pathlib import Path
from typing import IO, Any

from nearlabel.datasets._table_file import (
    Batch,
    TableFile,
    array_of,
    check_filled,
    did_you_mean,
    located,
    named_columns,
    shortened,
)
from nearlabel.files import untrusted
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.naming import import_optional

_BATCH_CELLS = 2**17
_MOST_ROWS = 2**20  # of a sheet; a file may claim more
_CELLS_ALWAYS_ALLOWED = 2**24  # also empty ones, before the last of each row, of which the file has no byte
# Bytes of parts without cells: openpyxl compares sheets and names with one another. Sound files may have many styles.
_MOST_BESIDE_CELLS, _MOST_STYLES_OR_LINKS = 2**22, 2**24
_OF_THE_WORKBOOK = re.compile(
    r"\[Content_Types\]\.xml|(?!xl/worksheets/).*\.rels|docProps/.*\.xml|xl/(?:workbook|theme/.*)\.xml", re.DOTALL
)
_STYLES_OR_LINKS = re.compile(r"xl/styles\.xml|xl/worksheets/.*\.rels", re.DOTALL)
_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml")
_EXPECTED = "a whole Excel workbook with a sheet"
# What Excel shows in place of a value that a formula does not have.
_ERRORS = frozenset(
    ("#BLOCKED!", "#CALC!", "#CONNECT!", "#DIV/0!", "#FIELD!", "#GETTING_DATA", "#N/A", "#NAME?", "#NULL!", "#NUM!",
     "#REF!", "#SPILL!", "#UNKNOWN!", "#VALUE!")
)  # fmt: skip

_sheet_to_read: ContextVar[str | None] = ContextVar("sheet", default=None)


@contextmanager
def reading_sheet(name: str) -> Iterator[None]:
    """Read the sheet of this name, in the block, where no other is asked for."""
    token = _sheet_to_read.set(name)
    try:
        yield
    finally:
        _sheet_to_read.reset(token)


class ExcelFile(TableFile):
    """The rows of a sheet, by default the only one with cells; a cell is its text, as in a CSV file of the sheet.

    A formula is read as the value that was saved with it. Rows without any cell are skipped.
    """

    def __init__(
        self, path: Path, decimal: str = ".", max_unpacked_bytes: int | None = None, sheet: str | None = None
    ) -> None:
        self.path = path
        self.decimal = decimal
        self._n_bytes, n_sheets, may_lack_values = _checked_size(path, max_unpacked_bytes)
        self._place = 0
        sheet = _sheet_to_read.get() if sheet is None else sheet
        if n_sheets != 1 or sheet is not None:
            self._place = _place_of(path, sheet, self._n_bytes)
        if may_lack_values:
            _check_formulas(path, self._place)
        with closing(self._rows()) as rows:
            _, header, _ = next(rows, (0, [], 0.0))
        self._names = [self._text(cell) or "" for cell in _without_tail(header)]
        if not self._names:
            raise ValueError(f"{path} must begin with a row of column names, got an empty sheet.")
        self.columns = named_columns(path, self._names)

    def _batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the cells as text, an empty one as null."""
        place_of = {name: place for place, name in enumerate(self._names)}
        places = [place_of[name] for name in names]
        size = max(1, _BATCH_CELLS // len(self._names))
        with closing(self._rows()) as all_rows:
            rows = islice(all_rows, 1, None)
            n_rows, n_values = 0, 0
            while some := [(number, self._fitted(number, cells), share) for number, cells, share in islice(rows, size)]:
                n_rows += len(some)
                n_values += sum(len(cells) - cells.count(None) for _, cells, _ in some)
                check_filled(self.path, n_rows * len(self._names), n_values)
                texts = [[self._text(cells[place]) for _, cells, _ in some] for place in places]
                for name, column in zip(names, texts, strict=True):
                    self._check_errors(name, column, [number for number, _, _ in some])
                columns = {name: array_of(column, "text") for name, column in zip(names, texts, strict=True)}
                yield Batch(len(some), columns, some[-1][2], located("row", [number for number, _, _ in some]))

    def _text(self, cell: Any) -> str | None:
        """Return a cell as text, numbers in full and with the decimals that cells of text have; None if empty."""
        if isinstance(cell, float):
            if math.isinf(cell):  # Excel knows no infinity: the file has a number that is too large
                return ">1.8e308" if cell > 0 else "<-1.8e308"
            return repr(cell).replace(".", self.decimal)
        return None if cell is None or cell == "" else str(cell)

    def _check_errors(self, name: str, column: Sequence[str | None], numbers: Sequence[int]) -> None:
        """Raise ValueError for the first error of Excel in a column."""
        if found := _ERRORS.intersection(column):
            row = next(row for row, text in enumerate(column) if text in found)
            problem = f"column {name!r} must contain values, got the error {column[row]}"
            raise ValueError(
                f"{self.path}, row {numbers[row]}: {problem}. Hint: correct its formula, or clear the cell."
            )

    def _fitted(self, number: int, cells: Sequence[Any]) -> Sequence[Any]:
        """Return as many cells as there are names; raise ValueError if there are more."""
        n_names, n_cells = len(self._names), len(_without_tail(cells))
        if n_cells > n_names:
            problem = f"a row must have {n_names} cells, as the row of names has, got {n_cells}."
            raise ValueError(f"{self.path}, row {number}: {problem}")
        return [*cells[:n_names], *[None] * (n_names - len(cells))]

    def _rows(self) -> Generator[tuple[int, Sequence[Any], float], None, None]:
        """Yield (number in the sheet, cells, share of the rows) of rows with a cell, the names included."""
        with _sheets(self.path) as sheets:
            yield from _rows_of(sheets[self._place], self._n_bytes)


def _rows_of(sheet: Any, n_bytes: int) -> Iterator[tuple[int, Sequence[Any], float]]:
    """Yield (number, cells, share of the rows) of the rows of a sheet with a cell."""
    last = sheet.max_row or 1  # as the file declares, which need not be right
    sheet.reset_dimensions()  # otherwise each row would be as wide as the file declares
    n_cells = 0
    for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MOST_ROWS:
            raise ValueError(f"it has more than {_MOST_ROWS} rows")
        n_cells += len(cells)
        if n_cells > max(_CELLS_ALWAYS_ALLOWED, n_bytes):
            raise ValueError("nearly all of its cells are empty")
        if _without_tail(cells):
            yield number, cells, min(1.0, number / last)


def read_sheets(path: Path) -> int:
    """Read all sheets of a workbook, whatever is in them, and return how many have a cell; ValueError if damaged."""
    n_bytes, _, _ = _checked_size(path, None)
    with _sheets(path) as sheets:
        return sum(bool(sum(1 for _ in _rows_of(sheet, n_bytes))) for sheet in sheets)


def _is_filled(sheet: Any, n_bytes: int) -> bool:
    return sheet.sheet_state == "visible" and next(_rows_of(sheet, n_bytes), None) is not None


def _place_of(path: Path, name: str | None, n_bytes: int) -> int:
    """Return the place of the sheet of a name, or of the only visible one with cells; the first if all are empty."""
    with _sheets(path) as sheets:
        titles = [sheet.title for sheet in sheets]
        filled = [place for place, sheet in enumerate(sheets) if name is None and _is_filled(sheet, n_bytes)]
    if name in titles:
        return titles.index(name)
    if name is not None:
        hint = did_you_mean(name, titles) or f" Hint: its sheets are {_listed(titles)}."
        raise ValueError(f"sheet must name a sheet of {path}, got {name!r}.{hint}")
    if len(filled) > 1:
        several = [titles[place] for place in filled]
        problem = f"{path} must have one sheet with cells, got {_listed(several)}."
        raise ParameterError("{problem} Hint: {sheet} reads one.", {"sheet": several[0]}, {"problem": problem})
    return filled[0] if filled else 0


def _listed(titles: Sequence[str]) -> str:
    return ", ".join(map(shortened, titles[:8])) + (", ..." if len(titles) > 8 else "")


def _check_formulas(path: Path, place: int) -> None:
    """Raise ValueError for the first formula of a sheet with which no value was saved: it would be an empty cell."""
    with _sheets(path) as of_values, _sheets(path, data_only=False) as of_formulas:
        found = next(_without_value(of_values[place], of_formulas[place]), None)
    if found is not None:
        problem = f"a formula must be saved with its value, got none in cell {found}"
        hint = "open the file in a spreadsheet program, and save it there"
        raise ValueError(f"{path}, sheet {shortened(of_values[place].title)}: {problem}. Hint: {hint}.")


def _without_value(values: Any, formulas: Any) -> Iterator[str]:
    """Yield the cells of formulas that have no value; one of type "str" has an empty text."""
    for sheet in (values, formulas):
        sheet.reset_dimensions()
    for row, others in zip(islice(values.iter_rows(), _MOST_ROWS), formulas.iter_rows(), strict=False):
        for cell, formula in zip(row, others, strict=False):
            if formula.data_type == "f" and cell.value is None and cell.data_type != "str":
                yield formula.coordinate


def _checked_size(path: Path, max_unpacked_bytes: int | None) -> tuple[int, int, bool]:
    """Return how many bytes the archive unpacks to, the number of its sheets, and whether a formula may lack a value.

    Raises
    ------
    ValueError
        If it would fill the memory.
    """
    with untrusted.open_regular(path) as file, untrusted.damage_named(path, _EXPECTED):
        limit = untrusted.unpacked_limit(os.fstat(file.fileno()).st_size, max_unpacked_bytes)
        with zipfile.ZipFile(file) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
            if n_bytes > limit:
                raise untrusted.unpacks_to_more(path, limit)
            # checks that sizes are as declared
            untrusted.check_unpacked_size(archive, -(-limit // untrusted.ALLOWED_RATIO))
            n_sheets, may_lack_values = 0, False
            for member in archive.infolist():
                _check_part(member)
                if _SHEET.fullmatch(member.filename):
                    n_sheets += 1
                    with archive.open(member) as sheet:
                        may_lack_values |= check_rows(member.filename, sheet)
    return n_bytes, n_sheets, may_lack_values


def _check_part(member: zipfile.ZipInfo) -> None:
    """Raise ValueError for a part without cells that would take too long."""
    for names, largest in ((_OF_THE_WORKBOOK, _MOST_BESIDE_CELLS), (_STYLES_OR_LINKS, _MOST_STYLES_OR_LINKS)):
        if names.fullmatch(member.filename) and member.file_size > largest:
            got = f"{member.filename} of {member.file_size}"
            raise ValueError(f"parts without cells must have at most {largest} bytes, got {got}")


@contextmanager
def _sheets(path: Path, *, data_only: bool = True) -> Iterator[list[Any]]:
    """Open the sheets; any error while they are read is an error of the file."""
    openpyxl = import_optional("openpyxl", extra="xlsx", purpose="Reading Excel workbooks")
    # openpyxl would leave a file open that it cannot read, so it does not open any itself.
    with untrusted.open_regular(path) as file, untrusted.damage_named(path, _EXPECTED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # on styles and other things that are not data
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=data_only, keep_links=False)
        with closing(workbook):
            yield [workbook.worksheets[0], *workbook.worksheets[1:]]  # there must be one


def _without_tail(cells: Sequence[Any]) -> Sequence[Any]:
    """Return the cells up to the last that is not empty."""
    last = next((place for place in range(len(cells), 0, -1) if cells[place - 1] not in (None, "")), 0)
    return cells[:last]


# What openpyxl does not report: rows that do not ascend, which it drops in silence, and formulas without a value.

_CHUNK = 2**20
_LONGEST_TAG = 2**20  # a longer one is cut: else a file without an end of one would take quadratic time
_ROW = re.compile(rb"""<(?:\w++:)?+row(?=[\s/>])(?:[^<>]*?\sr\s*+=\s*+["'](\d{1,18})["'])?+""")
# A formula as the last or the last but one of a cell, before an empty value.
_NO_VALUE = re.compile(
    rb"(?:</(?:\w++:)?+f\s*+>|<(?:\w++:)?+f(?=[\s/])[^<>]*+(?<=/)>)\s*+"
    rb"(?:<(?:\w++:)?+v\s*+/>\s*+|<(?:\w++:)?+v\s*+>\s*+</(?:\w++:)?+v\s*+>\s*+)?+</(?:\w++:)?+c\s*+>"
)
_LONGEST_END = 512  # bytes of the end of a cell, which may be in two parts


def check_rows(name: str, sheet: IO[bytes]) -> bool:
    """Return whether a sheet, read as XML, seems to have a formula without a value.

    Raises
    ------
    ValueError
        For the first row whose number is not above that of the row before. A row without a number is the next one.
    """
    last, lacks_value, end = 0, False, b""
    for part in _parts(sheet):
        text = end + part
        if not lacks_value and any(mark in text for mark in (b"f>", b"f ", b"f/")):
            lacks_value = _NO_VALUE.search(text) is not None
        end = text[-_LONGEST_END:]
        for written in _ROW.findall(part):
            number = int(written) if written else last + 1
            if number <= last:
                raise ValueError(f"rows of {name} must ascend, got {number} behind {last}")
            last = number
    return lacks_value


def _parts(sheet: IO[bytes]) -> Iterator[bytes]:
    """Yield the text in parts that end before a tag, so that no tag is cut."""
    rest = b""
    while chunk := sheet.read(_CHUNK):
        part = rest + chunk
        end = part.rfind(b"<") if len(rest) < _LONGEST_TAG else len(part)
        yield part[: max(end, 0)]
        rest = part[max(end, 0) :]
    yield rest
