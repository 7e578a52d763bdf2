"""Copies of tables in which some labels are changed, and everything else is unchanged."""

from __future__ import annotations

import bz2
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any

from nearlabel.datasets._csv_file import CsvFile
from nearlabel.datasets._label_options import Edit, Edits, LabelChange, LabelOptions
from nearlabel.datasets._lines import BYTE_ORDER_MARK, Lines, format_of, malformed, plain_name
from nearlabel.datasets._parquet_file import copy_parquet
from nearlabel.datasets._table import label_source, open_table
from nearlabel.files.atomic_file import whole_file
from nearlabel.files.untrusted import arrow_errors_named

_SAME_ENDINGS = ({".csv"}, {".tsv"}, {".jsonl", ".ndjson"}, {".parquet"})


def copy_with_labels(path: Path, out: Path, changes: Iterable[LabelChange], options: Mapping[str, Any]) -> None:
    """Copy a CSV, JSON lines or Parquet file with other labels in some rows; the copy appears when it is complete.

    In CSV, all bytes except those of the changed cells are unchanged. `options` are the fields of `LabelOptions` by
    which the table was read.

    Raises
    ------
    ValueError
        If the copy would have another format, or a cell of tags cannot express a correction.
    """
    check_same_format(path, out)
    edits = label_source(open_table(path), LabelOptions(**options), ()).edits(changes)
    with arrow_errors_named(path), whole_file(out, name="--out") as place:
        if (format_ := format_of(path)) == "parquet":
            copy_parquet(path, place, edits)
        else:
            (_copy_csv if format_ == "csv" else _copy_json_lines)(path, place, edits, out)


def check_same_format(path: Path, out: Path) -> None:
    """Raise ValueError unless a copy of a table under this name has the format of the table."""
    before, after = (Path(plain_name(one)).suffix.lower() for one in (path, out))
    endings = next((sorted(same) for same in _SAME_ENDINGS if before in same), [])
    if after not in endings:
        raise ValueError(f"--out must end in {' or '.join([*endings, '.npz'])} for {path}, got {out.name!r}.")


def _by_row(edits: Edits) -> dict[int, dict[str, Edit]]:
    rows: dict[int, dict[str, Edit]] = defaultdict(dict)
    for column, of_rows in edits.items():
        for row, edit in of_rows.items():
            rows[row][column] = edit
    return rows


def _copy_csv(path: Path, place: Path, edits: Edits, out: Path) -> None:
    table, of_rows = CsvFile(path), _by_row(edits)
    with Lines(path) as lines, _open_as(out, place) as file:
        for _ in range(table.header_lines):
            file.write(lines.raw_line())
        with closing(table.raw_rows(lines)) as rows:
            for row, (raw, cells) in enumerate(rows):
                of_row = {table.places[column]: edit for column, edit in of_rows.get(row, {}).items()}
                file.write(_edited_line(raw, cells, of_row, table.delimiter) if of_row else raw)


def _edited_line(raw: bytes, cells: list[str], edits: Mapping[int, Edit], delimiter: str) -> bytes:
    """Return the text of a row, whose cells are as Latin-1, with some cells edited."""
    text = raw.decode("latin-1")
    start, end = len(text) - len(text.lstrip("\r\n")), len(text.rstrip("\r\n"))
    one = re.compile(rf'(?:"(?:[^"]|"")*+")?[^{re.escape(delimiter)}]*+')
    parts, at = [], start
    for place, value in enumerate(cells):
        found = one.match(text, at, end)
        assert found is not None, "the pattern takes an empty cell, too"
        parts.append(_edited(found[0], value, edits.get(place), delimiter))
        at = found.end() + 1
    return (text[:start] + delimiter.join(parts) + text[end:]).encode("latin-1")


def _edited(part: str, value: str, edit: Edit | None, delimiter: str) -> str:
    """Return a cell as the file writes it, in quotes where it was or must be."""
    if edit is None:
        return part
    new: str = edit(value.encode("latin-1").decode("utf-8"))
    quoted = part.startswith('"') or delimiter in new or re.search('[",;\t\r\n]', new)
    written = '"' + new.replace('"', '""') + '"' if quoted else new
    return written.encode("utf-8").decode("latin-1")


def _copy_json_lines(path: Path, place: Path, edits: Edits, out: Path) -> None:
    of_rows, row = _by_row(edits), -1
    with Lines(path) as lines, _open_as(out, place) as file:
        while line := lines.raw_line():
            row += bool(line.removeprefix(BYTE_ORDER_MARK).strip())
            if row in of_rows:
                try:
                    line = _edited_object(line, of_rows.pop(row))
                except ValueError as error:  # an integer of 5,000 digits, which a table takes as a float
                    raise malformed(path, lines.number, f"the line cannot be changed: {error}.") from error
            file.write(line)


def _edited_object(line: bytes, edits: Mapping[str, Edit]) -> bytes:
    values = json.loads(line.decode("utf-8-sig"))
    values |= {name: edit(values.get(name)) for name, edit in edits.items()}
    ending = line[len(line.rstrip(b"\r\n")) :]
    return json.dumps(values, ensure_ascii=line.isascii()).encode() + ending  # half a pair of surrogates has no UTF-8


@contextmanager
def _open_as(out: Path, place: Path) -> Iterator[IO[bytes]]:
    """Open the file at a place for writing, compressed as the suffix of `out` demands."""
    suffix = out.suffix.lower()
    with place.open("wb") as file:
        if suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        elif suffix == ".bz2":
            with bz2.BZ2File(file, "wb") as packed_too:
                yield packed_too
        else:
            yield file
