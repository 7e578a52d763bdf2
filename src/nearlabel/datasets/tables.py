"""Files of any format: the data set in one, and for the command line its names, columns, places and whole content."""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any

from nearlabel.datasets._arff import read_arff
from nearlabel.datasets._arff_header import Header, read_header
from nearlabel.datasets._arff_kinds import as_cells, attributes_beside, has_cells
from nearlabel.datasets._arff_labels import declared_labels, near_xml
from nearlabel.datasets._arff_parts import read_rows
from nearlabel.datasets._changed_table import check_same_format, copy_with_labels
from nearlabel.datasets._dataset import Dataset, check_as_frame, check_unweighted
from nearlabel.datasets._excel_file import read_sheets, reading_sheet
from nearlabel.datasets._fetch import catalogue
from nearlabel.datasets._json_file import decoded
from nearlabel.datasets._label_columns import TagColumns, needing_no_tag
from nearlabel.datasets._label_options import SEPARATOR, LabelOptions, guess_separator, is_among, some_cells
from nearlabel.datasets._label_rows import JoinedRows
from nearlabel.datasets._lines import A_TABLE, TABLES, Lines, format_of, name_of_data, names_data, suffix_of_content
from nearlabel.datasets._nominal import CodedColumns, FeatureMatch, Nominal, attribute_of, check_arff
from nearlabel.datasets._npz import matrix_of, names_of, read_npz
from nearlabel.datasets._numbered_names import NumberedNames, are_numbered
from nearlabel.datasets._numeric_columns import FeatureColumns, features_beside, kinds_of_options
from nearlabel.datasets._parquet_file import ParquetWriter
from nearlabel.datasets._row_blocks import rows_of_objects
from nearlabel.datasets._svmlight import read_svmlight, svmlight_rows
from nearlabel.datasets._table import POINT, open_table, read_table
from nearlabel.datasets._table_file import Kind, TableFile, did_you_mean, require_columns, shortened
from nearlabel.files.untrusted import damage_named, open_npz

__all__ = [
    "SEPARATOR", "FeatureMatch", "Kind", "NumberedNames", "ParquetWriter", "are_numbered", "attribute_of",
    "check_has_format", "check_same_format", "check_unweighted", "column_batches", "column_names_of",
    "columns_of_model", "copy_with_labels", "declared_kinds_of", "decoded", "did_you_mean", "feature_names_of",
    "guess_separator_of", "is_among", "locate_row", "name_of_data", "names_data", "needing_no_tag",
    "read_columns", "read_whole", "reading_sheet", "rows_of_objects", "shortened", "suffix_of_content",
]  # fmt: skip

_LABELS_OF = {
    "arff": "an XML file next to it, or -C in the relation's name, names its labels",
    "npz": "its labels are the array Y",
    "svmlight": "labels begin its rows, and a table must end in .csv or .tsv",
}
_OF_ARFF = ("ignore", "categorical", "text", "dates")


def load_dataset(
    path: str | Path,
    *,
    unknown: str | None = None,
    nominal: Nominal = "overlap",
    as_frame: bool = False,
    max_unpacked_bytes: int | None = None,
    isolate: bool = False,
    **options: Any,
) -> Dataset:
    r"""Read a data set in the format that its name and content show.

    ``.arff``: `read_mulan` if an XML file next to it names its labels, else `read_meka` if the relation's name
    contains ``-C``. ``.svm``, ``.svmlight``, ``.libsvm``, ``.txt``: `read_svmlight`. ``.csv``, ``.tsv``, ``.json``,
    ``.jsonl``, ``.ndjson``: `read_table`. Each may end in ``.gz`` or ``.bz2``. ``.parquet``, ``.xlsx``: `read_table`.
    ``.npz``: `read_npz`.

    Parameters
    ----------
    path : path-like
    unknown : str, default=None
        The value of an unknown label, as in `read_table`, `read_mulan` and `read_npz`; svmlight has none.
    nominal : {"overlap", "codes"}, default="overlap"
        What nominal features of ARFF become, as in `read_mulan`. Other formats have none.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels, which classifiers fitted to them
        then use, as with `Dataset.with_frames`.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file, a workbook, an ``.npz`` file or the columns that are read from a Parquet file
        may unpack to. None: as in `read_table` and `read_npz`.
    isolate : bool, default=False
        As in `read_table`: a Parquet file at which pyarrow crashes is a ValueError. Other formats are read in this
        process.

    **options
        The other parameters of `read_table`, such as `labels_column` and `text`. Other formats declare their labels
        themselves, and accept none; ARFF accepts `ignore`, and `categorical`, `text` and `dates` for attributes whose
        type is another one, such as strings that are dates.

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ImportError
        If `as_frame` and pandas (extra ``frames``) is not installed.
    TypeError, ValueError
        If the suffix is unknown or does not match the content, if the labels are declared not at all or twice, or if
        the file is malformed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.svm"
    >>> _ = path.write_text("0,1 0:3.5\n1 1:2\n")
    >>> load_dataset(path)
    Dataset 'pets': 2 rows, 2 features, 2 labels (sparse)
    """
    check_as_frame(as_frame)
    path = Path(path)
    _check_is_no_name(path)
    format_ = format_of(path)
    check_arff(path, format_, nominal)
    if format_ in TABLES:
        limits: dict[str, Any] = {"isolate": isolate, "max_unpacked_bytes": max_unpacked_bytes}
        return read_table(path, **options, unknown=unknown, as_frame=as_frame, **limits)
    kinds = {name: options.pop(name, ()) for name in _OF_ARFF if format_ == "arff"}
    for name, value in options.items():
        if value not in (None, POINT, (), [], {}):
            raise ValueError(f"{name} must go with {A_TABLE}, got {path}. Hint: {_LABELS_OF[format_]}.")
    data = _load(path, format_, nominal, unknown, max_unpacked_bytes, kinds)
    return data.with_frames() if as_frame else data


def _check_is_no_name(path: Path) -> None:
    """Raise FileNotFoundError, with a hint, if nothing is at a path that is the name of a data set of the catalogue."""
    name = path.name.partition(".")[0]
    if name in catalogue() and not path.exists():
        error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        error.add_note(f"Hint: fetch_dataset({name!r}) gets the data set of the catalogue.")
        raise error


def _load(
    path: Path, format_: str, nominal: Nominal, unknown: str | None, limit: int | None, others: dict[str, Any]
) -> Dataset:
    """Read a file that is no table, by the reader of its format."""
    if format_ == "arff":
        ignore, kinds = others.pop("ignore"), kinds_of_options(**others)
        return read_arff(path, _required_labels, nominal, unknown, limit, ignore=ignore, kinds=kinds)
    if format_ == "npz":
        return read_npz(path, unknown=unknown, max_unpacked_bytes=limit)
    if unknown is not None:
        raise ValueError(f"unknown must be None for {path}, whose rows list the labels that apply, got {unknown!r}.")
    return read_svmlight(path, labels_zero_based="auto", max_unpacked_bytes=limit)


def _required_labels(header: Header) -> Sequence[int]:
    labels = declared_labels(header)
    if not labels:
        raise ValueError(
            f"{header.path} must declare which attributes are labels, in an XML file next to it or by -C in the"
            f" relation's name, got neither (relation {header.relation!r})."
            f"{near_xml(header) or ' Hint: copy its XML file there, or in Python read_mulan(file, xml_path).'}"
        )
    return labels


# Names and columns of a file, for the command line.


def feature_names_of(path: Path, *, labels_prefix: str | None, others: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of the features of a file, without reading its rows; None for svmlight, which has no names.

    Features of a table are all columns except `others` and those whose names start with `labels_prefix`, which need not
    exist; features of other formats are all columns that are not labels.
    """
    format_ = format_of(path)
    if format_ in TABLES:
        table = open_table(path)
        prefixed = {name for name in table.columns if labels_prefix and name.startswith(labels_prefix)}
        return features_beside(table, {*others, *prefixed}).names
    if format_ == "npz":
        with open_npz(path) as arrays:
            return names_of(path, arrays, "feature_names", matrix_of(path, arrays, "X").shape[1])
    if format_ == "svmlight":
        return None
    with Lines(path) as lines:
        header = read_header(lines)
    used = attributes_beside(header, declared_labels(header), [name for name in others if name in header.names])
    attributes = [header.attributes[column] for column in used]
    if has_cells(attributes, {}):
        return tuple(attribute.name for attribute in attributes)
    return CodedColumns(attributes, "overlap").names


def declared_kinds_of(path: Path, *, ignore: Sequence[str], others: Collection[str]) -> set[str]:
    """Return the kinds of the features of an ARFF file that has texts or dates; none for other files.

    `others` are features whose kinds options name.
    """
    if (format_ := format_of(path)) in TABLES:
        return {"text" for name in open_table(path).texts if name not in {*ignore, *others}}
    if format_ != "arff":
        return set()
    with Lines(path) as lines:
        header = read_header(lines)
    used = [header.attributes[column] for column in attributes_beside(header, declared_labels(header), ignore)]
    used = [attribute for attribute in used if attribute.name not in others]
    return {as_cells(path, attribute)[1] for attribute in used} if has_cells(used, {}) else set()


def column_names_of(path: Path) -> tuple[str, ...] | None:
    """Return the names of all columns of a table, without reading its rows; None for other formats."""
    return tuple(open_table(path).columns) if format_of(path) in TABLES else None


def read_columns(
    path: Path, options: Mapping[str, str], *, decimal: str = POINT, join_by: str | None = None
) -> dict[str, list[Any]]:
    """Return the cells of some columns of a table; `options` contains the option that names each column, for messages.

    Cells of text files are texts, others have the types of the file; a missing one is None. With `join_by`, those of
    the first row of each id in that column.
    """
    cells: dict[str, list[Any]] = {name: [] for name in options}
    for columns in column_batches(path, options, decimal=decimal, join_by=join_by):
        for name, values in columns.items():
            cells[name] += values
    return cells


def column_batches(
    path: Path, options: Mapping[str, str], *, decimal: str = POINT, join_by: str | None = None
) -> Iterator[dict[str, list[Any]]]:
    """Return what `read_columns` does, rows after rows."""
    table = open_table(path, decimal)
    for name, option in options.items():
        require_columns(table, option, [name])
        column = table.columns[name]
        if column.kind in ("numbers", "texts"):
            raise ValueError(f"{option} must name columns of one value in a cell, got {name!r}, {column.description}.")
    return _column_batches(table, list(options), None if join_by is None else JoinedRows(table, join_by))


def _column_batches(table: TableFile, names: list[str], joined: JoinedRows | None) -> Iterator[dict[str, list[Any]]]:
    for batch in table.batches([*dict.fromkeys([*names, *([] if joined is None else [joined.column])])]):
        kept = None if joined is None else joined.are_new(batch)
        with damage_named(table.path, "a table of cells that can be read"):  # a date in the year 300,000
            columns = {name: batch.columns[name].to_pylist() for name in names}
        yield columns if kept is None else {name: list(compress(cells, kept)) for name, cells in columns.items()}


def columns_of_model(
    path: Path,
    features: tuple[str, ...],
    labels: tuple[str, ...],
    kept: Sequence[str] = (),
    *,
    separator: str | None,
    ignore: Sequence[str],
    kinds: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the options by which `load_dataset` finds the features and labels of a model in a table, by their names.

    Labels are columns, or the tags of the one additional column, not `kept`, most of whose tags are labels of the
    model. The result is empty if there is no such column, or if the file is no table.
    """
    if format_of(path) not in TABLES:
        return {}
    table = open_table(path)
    taken = {*FeatureColumns(table, features, kinds).columns, *ignore}
    others = [name for name in table.columns if name not in taken]
    if set(labels) <= set(others):
        return {"labels": labels, "ignore": (*ignore, *(name for name in others if name not in set(labels)))}
    tags = [name for name in others if name not in kept and _contains_tags(table, name, set(labels), separator)]
    if len(tags) != 1:
        return {}
    return {"labels_column": tags[0], "ignore": (*ignore, *(name for name in others if name != tags[0]))}


def _contains_tags(table: TableFile, column: str, known: set[str], separator: str | None) -> bool:
    """Return whether most of the tags in the first rows of a column are known."""
    try:
        notation = LabelOptions(labels_separator=separator).notation(some_cells(table, [column]))
        tags = TagColumns(table, (column,), notation)
        for batch in islice(table.batches([column]), 1):
            tags.append(batch)
        Y, names = tags.labels()
    except ValueError:  # numbers, dates, or nothing
        return False
    is_known = [name in known for name in names]
    carried = Y == 1  # everything else is 0 or unknown
    return bool(2 * carried[:, is_known].sum() > carried.sum())


def guess_separator_of(path: Path, columns: Sequence[str]) -> str | None:
    """Return the probable separator of the tags in columns of a table; None if it is unclear."""
    return guess_separator(open_table(path), columns) if format_of(path) in TABLES else None


def locate_row(path: Path, row: int) -> str:
    """Return where a row of a file, counted from 0, is: in a table its line or row, else its number, from 1."""
    if format_of(path) in TABLES:
        table = open_table(path)
        for batch in table.batches(list(table.columns)[:1]):
            if row < batch.n_rows:
                return batch.locate(row)
            row -= batch.n_rows
    return f"row {row + 1}"


# Read a data file of any format from the first byte to the last, whatever its columns mean.


def check_has_format(path: Path) -> None:
    """Raise ValueError if no format has the suffix of a file."""
    format_of(path)


def read_whole(path: Path) -> None:
    """Read a file to its end, block by block where its format allows.

    Raises
    ------
    ValueError
        If no format has its suffix, or it is malformed: the message names the file and, of text, the line.
    OSError
        If it cannot be read.
    ImportError
        If a library for its format is not installed.
    """
    format_ = format_of(path)
    if format_ in TABLES:
        if format_ == "xlsx" and read_sheets(path) > 1:
            return  # not each need be a table
        table = open_table(path)
        deque(table.batches(list(table.columns)), maxlen=0)
    elif format_ == "npz":
        read_npz(path)
    else:
        with Lines(path) as lines:
            rows = svmlight_rows(lines) if format_ == "svmlight" else read_rows(read_header(lines), lines).blocks
            deque(rows, maxlen=0)
