"""Tables: CSV, Excel, JSON and Parquet files with some columns as labels."""

from __future__ import annotations

import bz2
import gzip
import json
import math
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

from nearlabel.datasets import _label_columns as label_columns
from nearlabel.datasets._csv_file import CsvFile
from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.datasets._excel_file import ExcelFile
from nearlabel.datasets._json_file import open_json
from nearlabel.datasets._lines import A_TABLE, BYTE_ORDER_MARK, Lines, format_of, malformed, name_of_data, plain_name
from nearlabel.datasets._nominal import CellRows, DenseRows
from nearlabel.datasets._numeric_columns import FeatureKind, features_beside, kinds_of_options
from nearlabel.datasets._parquet_file import ParquetFile, copy_parquet
from nearlabel.datasets._table_file import TableFile, columns_hint, require_columns
from nearlabel.files.atomic_file import whole_file
from nearlabel.utils.messages import ParameterError, tell
from nearlabel.utils.validation import check_choice, check_flag, check_integer

SEPARATOR = ";"
POINT = "."


def read_table(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    labels_prefix: str | None = None,
    labels_column: str | None = None,
    labels_separator: str = SEPARATOR,
    unknown: str | None = None,
    ignore: Sequence[str] = (),
    decimal: str = POINT,
    sheet: str | None = None,
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    as_frame: bool = False,
    max_unpacked_bytes: int | None = None,
    isolate: bool = False,
) -> Dataset:
    r"""Read a CSV, Excel, JSON or Parquet file, block by block.

    Exactly one of `labels`, `labels_prefix` and `labels_column` names the labels. All other columns that are not
    ignored are features and must contain numbers or booleans, unless `categorical`, `text` or `dates` names them; then
    X contains the cells, for `nearlabel.preprocessing.MixedFeaturesEncoder`. In Parquet and JSON, a column of lists of
    numbers, all of one length, has a feature for each number, named ``embedding[0]``, ``embedding[1]`` and so on; no
    other column may have such a name. Index columns are no features: the first column of a CSV or Excel file if it has
    no name, or if the rows of a CSV file have a cell more than the names, as R writes them; and in Parquet the index of
    a pandas data frame.

    Parameters
    ----------
    path : path-like
        ``.csv`` or ``.tsv``, plain, gzip or bzip2: UTF-8 with a line of names; cells end in a comma, or where
        the names have none in a semicolon, a tab, or a blank as R writes them; in ``.tsv`` in a tab. A ``.txt`` file is
        the same if it begins with a quote. ``.jsonl`` or ``.ndjson``, plain, gzip or bzip2: an object
        on each line. ``.json``: the same, or an array of objects. ``.xlsx``: a sheet with a row of names.
        ``.parquet``.
    labels : sequence of str, default=None
        Columns of 0 and 1 (also 0.0, false, "true", "yes", "no"), each a label, in the desired order.
    labels_prefix : str, default=None
        The same for all columns whose name starts with this prefix, in the order of the file, under their full names.
    labels_column : str, default=None
        A column of tags: lists of text or integers, such lists, tuples or sets as JSON, Python or numpy writes them, or
        text with a separator between tags. The labels are the distinct tags, sorted. Objects are read as their
        ``choices``, as the ``name`` of each, or as the tags whose answers are true. Lists of one length of true and
        false, or of 0 and 1 of which some repeat a value, are a label for each place, named by its number; a warning
        tells so.
    labels_separator : str, default=";"
        The separator between tags; blanks around a tag are removed. A warning tells if no tag has a semicolon and
        cells are joined by another usual separator: ``|``, a comma, ``#``, ``::``, `` / `` or a tab.
    unknown : str, default=None
        A text that marks an unknown label, in addition to a missing cell: "-1", "?" or "n/k" in columns of 0 and 1. In
        a column of tags, as a cell or a tag: the row's other tags are unknown; "" makes empty cells unknown.
    ignore : sequence of str, default=()
        Columns that are neither labels nor features.
    decimal : {".", ","}, default="."
        The decimal separator of numbers in a CSV file, or in text of an Excel file. With "," a point in a number is an
        error: it might be a thousands separator.
    sheet : str, default=None
        The name of the sheet of an Excel workbook. None: the only one with cells; hidden sheets do not count.
    categorical, text : sequence of str, default=()
        Features that are categories, such as a genre or the number of a place, and features that are texts, made of
        words.
    dates : sequence of str, default=()
        Features that are dates or times, in text as 2026-01-31 or 2026-01-31T12:00. Those with a time zone are
        converted to UTC.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels, which classifiers fitted to them
        then use, as with `Dataset.with_frames`.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file, or a workbook, may unpack to. None: 100 times its size, at least 512 MiB. For
        Parquet, how much memory the columns that are read may take, a cell at least 8 bytes. None: 512 MiB, or 1000
        times the size of the file if that is more.
    isolate : bool, default=False
        Whether to read a Parquet file in a process of its own. pyarrow crashes on some damaged files; that is then a
        ValueError and does not end this process, with its unsaved data. It takes a second more. Use it for untrusted
        files. Other formats are read in this process.

    Returns
    -------
    Dataset
        X is a dense array (n_samples, n_features): of float64, or, if `categorical`, `text` or `dates` name a feature,
        of objects, with `Dataset.feature_kinds`: numbers as float, categories and texts as str, dates as
        ``datetime.datetime``. Y is an indicator matrix (n_samples, n_labels) of int64, or of float64 with NaN if a
        label is unknown: a CSR array where a dense one would take more than 64 MiB and fewer than one cell in ten is
        not 0.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ImportError
        If pyarrow (extra ``tables``), for Excel openpyxl (extra ``xlsx``), or for `as_frame` pandas (extra ``frames``),
        is not installed.
    TypeError, ValueError
        If the file is malformed or a cell is invalid (with the file and the line or row), a name is not a column, or a
        parameter has a wrong type.

    See Also
    --------
    open_rows : Read rows for prediction in blocks.

    Notes
    -----
    A missing feature (in CSV and Excel: an empty cell, NA, N/A, NaN, null or None) is NaN, for which estimators raise
    an error. A missing category or text (an empty cell only: "none" may be a category) is None, a missing date NaN.

    A missing cell in a column of 0 and 1 is an unknown label. A row without tags has no label: in CSV and Excel the
    cell is empty, in Parquet and JSON the list or text is empty; null means that all labels of the row are unknown. A
    repeated tag counts once.

    A file of JSON is read twice, since no object declares the names and types of all. A name that an object lacks is a
    missing value, and one that it has twice an error. The value of a formula in Excel is the one that was saved with
    it; a formula without one, and an error such as #N/A, is an error.

    A number that float64 cannot store is an error where it is a feature: an integer that would be rounded, such as
    9007199254740993, or a number beyond 1.8e308. As an id, a category or a tag it keeps all digits.

    In CSV, a quote opens a quoted cell only at its beginning; inside, it is doubled. Lines end as on Linux or Windows;
    empty lines are skipped. Line numbers in errors start at 1.

    In a Parquet column of fixed-size lists a missing list needs pyarrow 26; older versions raise an error.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("kg,purrs,tags\n3.5,true,cat;pet\n20,false,dog; pet\n400,false,\n")
    >>> pets = read_table(path, labels_column="tags")
    >>> pets
    Dataset 'pets': 3 rows, 2 features, 3 labels (dense)
    >>> pets.label_names, pets.Y.tolist()
    (('cat', 'dog', 'pet'), [[1, 0, 1], [0, 1, 1], [0, 0, 0]])
    """
    check_as_frame(as_frame)
    label_columns.check_unknown(unknown, beside_zero_and_one=labels_column is None)
    check_flag("isolate", isolate)
    if max_unpacked_bytes is not None:
        check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    table = open_table(Path(path), decimal, max_unpacked_bytes, isolate=isolate, sheet=sheet)
    ignored = _names("ignore", ignore)
    require_columns(table, "ignore", ignored)
    _check_text("labels_separator", labels_separator)
    columns = _label_columns(table, labels, labels_prefix, labels_column, ignored)
    if labels_column is None:
        source: label_columns.LabelColumns = label_columns.IndicatorColumns(table, columns, unknown)
    elif (width := label_columns.width_of_indicators(table, labels_column)) is not None:
        source = label_columns.IndicatorLists(table, labels_column, width)
        _tell_of_indicators(labels_column, width)
    else:
        source = label_columns.TagColumn(table, labels_column, labels_separator, unknown)
    kinds = _kinds(table, {*ignored, *columns}, categorical=categorical, text=text, dates=dates)
    features = features_beside(table, {*ignored, *columns}, kinds)
    X: Any = (CellRows if features.kinds else DenseRows)(len(features.names))
    for batch in table.batches([*features.columns, *columns]):
        X.append(features.matrix(batch))
        source.append(batch)
        tell(batch.share_done)
    if not len(X):
        raise ValueError(f"{path} must contain at least one row below the column names, got none.")
    Y, label_names = source.labels()
    if labels_column is not None and labels_separator == SEPARATOR:
        _warn_of_unsplit_tags(table, labels_column)
    data = Dataset(
        X.matrix(), Y, features.names, label_names, name_of_data(table.path), features.kinds, source=str(path)
    )
    return data.with_frames() if as_frame else data


def _tell_of_indicators(column: str, width: int) -> None:
    warnings.warn(
        f"Each cell of {column!r} is a list of {width} times 0 or 1, read as {width} labels, named 0 to {width - 1}.",
        UserWarning,
        stacklevel=3,
    )


def _warn_of_unsplit_tags(table: TableFile, column: str) -> None:
    """Warn if the cells of a column look like tags with another separator than the default one."""
    guess = label_columns.guess_separator(table, column)
    if guess is not None:
        warnings.warn(
            f"Each cell of {column!r} is one tag, as none contains {SEPARATOR!r}, but many contain {guess!r}."
            f" Hint: labels_separator={guess!r}.",
            UserWarning,
            stacklevel=3,
        )


def open_table(
    path: Path,
    decimal: str = POINT,
    max_unpacked_bytes: int | None = None,
    *,
    isolate: bool = False,
    sheet: str | None = None,
) -> TableFile:
    """Open a file with named columns; the parameters are those of `read_table`."""
    check_choice("decimal", decimal, (POINT, ","))
    format_ = format_of(path)
    if format_ == "xlsx":
        return ExcelFile(path, decimal, max_unpacked_bytes, sheet)
    if sheet is not None:
        raise ValueError(f"sheet must go with an Excel workbook, got {path}.")
    if format_ == "csv":
        return CsvFile(path, decimal, max_unpacked_bytes)
    if format_ not in ("json", "jsonl", "parquet"):
        raise ValueError(f"{path} must be {A_TABLE}, got one in another format. Hint: load_dataset.")
    if decimal != POINT:
        raise ValueError(f"decimal must go with a CSV or Excel file, got {path}, whose numbers are no text.")
    if format_ in ("json", "jsonl"):
        return open_json(path, max_unpacked_bytes)
    return ParquetFile(path, largest=max_unpacked_bytes, isolate=isolate)


def _label_columns(
    table: TableFile, labels: Sequence[str] | None, prefix: str | None, column: str | None, ignored: Sequence[str]
) -> tuple[str, ...]:
    """Return the columns of the labels, or the one of tags, from exactly one of the three ways to name them."""
    given = sum(choice is not None for choice in (labels, prefix, column))
    if given != 1:
        raise ParameterError(
            "one of {labels}, {labels_prefix} and {labels_column} must name the labels of {path}, got {given} of them."
            "{hint}",
            dict.fromkeys(("labels", "labels_prefix", "labels_column")),
            {"path": table.path, "given": given or "none", "hint": columns_hint(table)},
        )
    if prefix is not None:
        return _with_prefix(table, prefix, ignored)
    if column is not None:
        return _chosen(table, "labels_column", (column,), ignored)
    return _chosen(table, "labels", labels or (), ignored)


def _chosen(table: TableFile, option: str, names: Sequence[str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns of labels; raise ValueError if one is missing, ignored or named twice."""
    chosen = _names(option, names)
    require_columns(table, option, chosen)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{option} must name at least one column, each once, got {list(chosen)!r}.")
    if both := set(ignored).intersection(chosen):
        raise ValueError(f"{option} must name columns that are not ignored, got {min(both)!r} in both.")
    return chosen


def _with_prefix(table: TableFile, prefix: str, ignored: Sequence[str]) -> tuple[str, ...]:
    _check_text("labels_prefix", prefix)
    names = tuple(name for name in table.columns if name.startswith(prefix) and name not in ignored)
    if not names:
        problem = f"labels_prefix must begin the name of some column of {table.path}, got {prefix!r}."
        raise ValueError(problem + columns_hint(table))
    return names


def _kinds(table: TableFile, others: set[str], **options: Sequence[str]) -> dict[str, FeatureKind]:
    """Return the kinds of the features that options name."""
    for option, names in options.items():
        require_columns(table, option, _names(option, names))
        if both := sorted(others.intersection(names)):
            raise ValueError(f"{option} must name features, got {both[0]!r}, which is a label or ignored.")
    return kinds_of_options(**options)


def _names(option: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{option} must be a sequence of column names, got {names!r}. Hint: [{names!r}].")
    return tuple(names)


def _check_text(option: str, text: object) -> None:
    if not isinstance(text, str) or not text:
        raise ValueError(f"{option} must be text of at least one character, got {text!r}.")


# Copies of tables in which some labels are changed, and everything else is unchanged.

LabelChange: TypeAlias = tuple[int, str, float]  # number of the row, name of the label, 0, 1 or NaN
Edit: TypeAlias = Callable[[Any], Any]
Edits: TypeAlias = Mapping[str, Mapping[int, Edit]]  # by column and row

_SAME_ENDINGS = ({".csv"}, {".tsv"}, {".jsonl", ".ndjson"}, {".parquet"})


def copy_with_labels(
    path: Path,
    out: Path,
    changes: Iterable[LabelChange],
    *,
    labels_column: str | None,
    separator: str,
    unknown: str | None,
) -> None:
    """Copy a CSV, JSON lines or Parquet file with other labels in some rows; the copy appears when it is complete.

    In CSV, all bytes except those of the changed cells are unchanged. Labels are columns of 0 and 1, unless
    `labels_column` has their tags, with this separator; `unknown` is the text for an unknown cell.

    Raises
    ------
    ValueError
        If the copy would have another format, or a cell of tags cannot express a correction.
    """
    check_same_format(path, out)
    if labels_column is None:
        edits = _edits_of_columns(changes, unknown)
    else:
        edits = _edits_of_tags(path, changes, labels_column, separator)
    with whole_file(out, name="--out") as place:
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


def _edits_of_columns(changes: Iterable[LabelChange], unknown: str | None) -> Edits:
    edits: dict[str, dict[int, Edit]] = defaultdict(dict)
    for row, label, value in changes:
        edits[label][row] = partial(label_columns.zero_one_cell, value=value, unknown=unknown)
    return edits


def _edits_of_tags(path: Path, changes: Iterable[LabelChange], column: str, separator: str) -> Edits:
    tags: dict[int, dict[str, bool]] = defaultdict(dict)
    for row, label, value in changes:
        if math.isnan(value):
            raise ValueError(f"corrections must be 0 or 1 where labels are tags, got ? for row {row}, label {label!r}.")
        tags[row][label] = value == 1

    def edit(old: Any, row: int) -> Any:
        try:
            return label_columns.tags_cell(old, tags[row], separator)
        except ValueError as error:
            raise ValueError(f"{path}, row {row}: column {column!r} must take corrections, got {error}.") from None

    return {column: {row: partial(edit, row=row) for row in tags}}


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
    quoted = part.startswith('"') or re.search('[",;\t\r\n]', new) or delimiter in new
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
