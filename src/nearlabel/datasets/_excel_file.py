"""Excel workbooks: the first sheet, a row of names, then rows of cells.

This is the one place that imports openpyxl.
"""

from __future__ import annotations

import os
import re
import warnings
import zipfile
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from nearlabel.datasets._table_file import Batch, TableFile, array_of, check_filled, located, named_columns
from nearlabel.files import untrusted
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


class ExcelFile(TableFile):
    """The rows of the first sheet; a cell is its text, as in a CSV file of the sheet.

    A formula is read as the value that was saved with it. Rows without any cell are skipped.
    """

    def __init__(self, path: Path, decimal: str = ".", max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self.decimal = decimal
        self._n_bytes = _checked_size(path, max_unpacked_bytes)
        with closing(self._rows()) as rows:
            _, header, _ = next(rows, (0, [], 0.0))
        self._names = [self._text(cell) or "" for cell in _without_tail(header)]
        if not self._names:
            raise ValueError(f"{path} must begin with a row of column names, got an empty sheet.")
        self.columns = named_columns(path, self._names)

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
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
                texts = ([self._text(cells[place]) for _, cells, _ in some] for place in places)
                columns = {name: array_of(column, "text") for name, column in zip(names, texts, strict=True)}
                yield Batch(len(some), columns, some[-1][2], located("row", [number for number, _, _ in some]))

    def _text(self, cell: Any) -> str | None:
        """Return a cell as text, numbers in full and with the decimals that cells of text have; None if empty."""
        if isinstance(cell, float):
            return repr(cell).replace(".", self.decimal)
        return None if cell is None or cell == "" else str(cell)

    def _fitted(self, number: int, cells: Sequence[Any]) -> Sequence[Any]:
        """Return as many cells as there are names; raise ValueError if there are more."""
        n_names, n_cells = len(self._names), len(_without_tail(cells))
        if n_cells > n_names:
            problem = f"a row must have {n_names} cells, as the row of names has, got {n_cells}."
            raise ValueError(f"{self.path}, row {number}: {problem}")
        return [*cells[:n_names], *[None] * (n_names - len(cells))]

    def _rows(self) -> Generator[tuple[int, Sequence[Any], float], None, None]:
        """Yield (number in the sheet, cells, share of the rows) of rows with a cell, the names included."""
        with _sheet(self.path) as sheet:
            last = sheet.max_row or 1  # as the file declares, which need not be right
            sheet.reset_dimensions()  # otherwise each row would be as wide as the file declares
            n_cells = 0
            for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
                if number > _MOST_ROWS:
                    raise ValueError(f"it has more than {_MOST_ROWS} rows")
                n_cells += len(cells)
                if n_cells > max(_CELLS_ALWAYS_ALLOWED, self._n_bytes):
                    raise ValueError("nearly all of its cells are empty")
                if _without_tail(cells):
                    yield number, cells, min(1.0, number / last)


def _checked_size(path: Path, max_unpacked_bytes: int | None) -> int:
    """Return how many bytes the archive unpacks to; raise ValueError if that would fill the memory."""
    with untrusted.open_regular(path) as file, untrusted.damage_named(path, _EXPECTED):
        limit = untrusted.unpacked_limit(os.fstat(file.fileno()).st_size, max_unpacked_bytes)
        with zipfile.ZipFile(file) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
            if n_bytes > limit:
                raise untrusted.unpacks_to_more(path, limit)
            # checks that sizes are as declared
            untrusted.check_unpacked_size(archive, -(-limit // untrusted.ALLOWED_RATIO))
            for member in archive.infolist():
                _check_part(member)
                if _SHEET.fullmatch(member.filename):
                    with archive.open(member) as sheet:
                        check_ascending(member.filename, sheet)
    return n_bytes


def _check_part(member: zipfile.ZipInfo) -> None:
    """Raise ValueError for a part without cells that would take too long."""
    for names, largest in ((_OF_THE_WORKBOOK, _MOST_BESIDE_CELLS), (_STYLES_OR_LINKS, _MOST_STYLES_OR_LINKS)):
        if names.fullmatch(member.filename) and member.file_size > largest:
            got = f"{member.filename} of {member.file_size}"
            raise ValueError(f"parts without cells must have at most {largest} bytes, got {got}")


@contextmanager
def _sheet(path: Path) -> Iterator[Any]:
    """Open the first sheet; any error while it is read is an error of the file."""
    openpyxl = import_optional("openpyxl", extra="xlsx", purpose="Reading Excel workbooks")
    # openpyxl would leave a file open that it cannot read, so it does not open any itself.
    with untrusted.open_regular(path) as file, untrusted.damage_named(path, _EXPECTED):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # on styles and other things that are not data
            workbook = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        with closing(workbook):
            yield workbook.worksheets[0]


def _without_tail(cells: Sequence[Any]) -> Sequence[Any]:
    """Return the cells up to the last that is not empty."""
    last = next((place for place in range(len(cells), 0, -1) if cells[place - 1] not in (None, "")), 0)
    return cells[:last]


# Check that the rows of an Excel sheet ascend, before openpyxl reads them: it drops those that do not, in silence.

_CHUNK = 2**20
_LONGEST_TAG = 2**20  # a longer one is cut: else a file without an end of one would take quadratic time
_ROW = re.compile(rb"""<(?:\w++:)?+row(?=[\s/>])(?:[^<>]*?\sr\s*+=\s*+["'](\d{1,18})["'])?+""")


def check_ascending(name: str, sheet: IO[bytes]) -> None:
    """Raise ValueError for the first row of a sheet, read as XML, whose number is not above that of the row before.

    A row without a number is the next one.
    """
    last = 0
    for part in _parts(sheet):
        for written in _ROW.findall(part):
            number = int(written) if written else last + 1
            if number <= last:
                raise ValueError(f"rows of {name} must ascend, got {number} behind {last}")
            last = number


def _parts(sheet: IO[bytes]) -> Iterator[bytes]:
    """Yield the text in parts that end before a tag, so that no tag is cut."""
    rest = b""
    while chunk := sheet.read(_CHUNK):
        part = rest + chunk
        end = part.rfind(b"<") if len(rest) < _LONGEST_TAG else len(part)
        yield part[: max(end, 0)]
        rest = part[max(end, 0) :]
    yield rest
