"""Tables: CSV, Excel, JSON and Parquet files with some columns as labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nearlabel.datasets._csv_file import CsvFile
from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.datasets._excel_file import ExcelFile
from nearlabel.datasets._fasttext_file import FastTextFile
from nearlabel.datasets._json_file import open_json
from nearlabel.datasets._label_codes import as_stored, check_codes, check_unknown
from nearlabel.datasets._label_columns import IndicatorColumns, LabelColumns, tag_columns
from nearlabel.datasets._label_options import LabelOptions
from nearlabel.datasets._label_rows import JoinedRows, Unlabelled, aligned, check_not_long
from nearlabel.datasets._lines import A_TABLE, format_of, name_of_data
from nearlabel.datasets._nominal import CellRows, DenseRows
from nearlabel.datasets._numeric_columns import FeatureKind, features_beside, kinds_of_options
from nearlabel.datasets._parquet_file import ParquetFile
from nearlabel.datasets._table_file import TableFile, columns_hint, require_columns
from nearlabel.datasets._written_tags import Normalisation, check_notation
from nearlabel.files.untrusted import arrow_errors_named, naming_too_large
from nearlabel.utils.messages import ParameterError, tell
from nearlabel.utils.tags import in_its_storage
from nearlabel.utils.types import CSR
from nearlabel.utils.validation import check_choice, check_flag, check_integer

POINT = "."

Values: TypeAlias = Mapping[str, str | Sequence[str]]  # texts of cells, by column


@naming_too_large
def read_table(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    labels_prefix: str | None = None,
    labels_column: str | Sequence[str] | None = None,
    labels_separator: str | None = None,
    unknown: str | None = None,
    negative: str | None = None,
    positive: str | None = None,
    label_names: Sequence[str] | None = None,
    label_key: str | None = None,
    label_threshold: float | None = None,
    normalise: Normalisation = "nfc",
    unlabelled: Values | None = None,
    join_by: str | None = None,
    labels_file: str | Path | None = None,
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
        ``.parquet``. A ``.txt`` file whose first line has a label of fastText, as ``__label__red``, has columns
        ``labels`` and ``text`` and needs no option.
    labels : sequence of str, default=None
        Columns of 0 and 1 (also 0.0, false, "true", "yes", "no"), each a label, in the desired order.
    labels_prefix : str, default=None
        The same for all columns whose name starts with this prefix, in the order of the file, under their full names.
    labels_column : str or sequence of str, default=None
        A column of tags, or several, whose names may end in ``*``, as ``tag*``: a row has the tags of all. The labels
        are the distinct tags, sorted. A cell is a list of text or integers; such a list, tuple or set as JSON, Python
        or numpy writes it; tags joined by a separator; labels of fastText, as ``__label__red``; an object, of which the
        ``choices``, or the tags whose answers are true, apply; or a list of objects, each with the name of a tag.
        Lists of one length of true and false, or of 0 and 1 of which some repeat a value, are a label for each place.
    labels_separator : str, default=None
        The separator between tags; blanks around a tag are removed. None: a semicolon, or, if no cell has one and cells
        are joined by another usual separator, that one: ``|``, a comma, ``#``, ``::``, `` / `` or a tab; a warning
        tells so.
    unknown : str, default=None
        A text that marks an unknown label, in addition to a missing cell: "-1", "?" or "n/k" in columns of 0 and 1. In
        a column of tags, as a cell or a tag: the row's other tags are unknown; "" makes empty cells unknown.
    negative, positive : str, default=None
        The two values that say no and yes in columns of labels, such as "-1" and "1", or "" and "x"; other values are
        errors. None: 0 and 1; or, if all label columns have just two values that mean no and yes in some language, such
        as nein and ja, or F and T, these: a warning tells so.
    label_names : sequence of str of length n_labels, default=None
        The labels of a column of lists of 0 and 1, place by place. None: their numbers; a warning tells so.
    label_key : str, default=None
        The key under which an object has the name of its tag. None: the one of ``name``, ``label``, ``text``, ``id``
        and ``value`` that an object has.
    label_threshold : float, default=None
        The least score with which a tag applies, of objects of scores by tag and of objects with a ``score``,
        ``confidence`` or ``probability``. None: scores other than 0 and 1 are an error.
    normalise : {"nfc", "none", "case"}, default="nfc"
        Which tags are the same: those equal in Unicode's composed form NFC; as written; or also in upper and lower
        case, of which the lower is the label.
    unlabelled : mapping of str to str or sequence of str, default=None
        Columns, and the cells in them that mark rows nobody has labelled: all labels of such a row are unknown. The
        columns are no features. None: ``answer``, ``is_confirmed``, ``cancelled`` and ``was_cancelled``, if their cells
        are those of annotation tools, and Label Studio's empty ``annotation_id``; a warning tells so. {}: no column.
    join_by : str, default=None
        A column of ids. Rows of one id, which must have the same features, become one row with the tags of all; in a
        column of tags, a missing cell is no tag then. It is no feature.
    labels_file : path-like, default=None
        Another table with the columns of labels, and `join_by` in both; ids without a row there have no tags or, in
        columns of 0 and 1, unknown labels.
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
    MemoryError
        If there is too little memory for the table (with the file).
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
    check_flag("isolate", isolate)
    if max_unpacked_bytes is not None:
        check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    options = LabelOptions(
        labels, labels_prefix, labels_column, labels_separator, unknown, negative, positive, label_names, label_key,
        label_threshold, normalise,
    )  # fmt: skip
    table = open_table(Path(path), decimal, max_unpacked_bytes, isolate=isolate, sheet=sheet)
    of_labels = table
    if labels_file is not None:
        of_labels = open_table(Path(labels_file), decimal, max_unpacked_bytes, isolate=isolate)
    kinds = {"categorical": categorical, "text": text, "dates": dates}
    with arrow_errors_named(table.path):
        data = dataset_of(table, of_labels, options, unlabelled, join_by, names_of_option("ignore", ignore), kinds)
    return data.with_frames() if as_frame else data


def dataset_of(
    table: TableFile,
    of_labels: TableFile,
    options: LabelOptions,
    unlabelled: Values | None,
    join_by: str | None,
    ignored: Sequence[str],
    kinds_by_option: Mapping[str, Sequence[str]],
) -> Dataset:
    """Return the data set in a table, whose labels may be in another one; the other parameters are of `read_table`."""
    require_columns(table, "ignore", ignored)
    is_apart = of_labels is not table
    if is_apart and join_by is None:
        raise ParameterError("{labels_file} must go with {join_by}.", dict.fromkeys(("labels_file", "join_by")))
    source = label_source(of_labels, options, () if is_apart else ignored, is_long=join_by is not None)
    kinds_by_option = {option: names_of_option(option, names) for option, names in kinds_by_option.items()}
    named = {name for names in kinds_by_option.values() for name in names}
    texts = [name for name in table.texts if name not in {*named, *ignored, *source.columns}]
    kinds_by_option["text"] = (*kinds_by_option["text"], *texts)
    skipped = Unlabelled(of_labels, unlabelled, {*source.columns, *named})
    others = {*ignored, *((join_by,) if join_by else ())} | (set() if is_apart else {*source.columns, *skipped.columns})
    kinds = _kinds(table, others, **kinds_by_option)
    tags = () if is_apart or isinstance(source, IndicatorColumns) else source.columns
    features = features_beside(table, others, kinds, tags)
    joined = None if join_by is None else JoinedRows(table, join_by)
    ids = () if join_by is None else (join_by,)
    X: Any = (CellRows if features.kinds else DenseRows)(len(features.names))
    in_labels = () if is_apart else (*source.columns, *skipped.columns)
    for batch in table.batches(tuple(dict.fromkeys([*features.columns, *in_labels, *ids]))):
        rows = features.matrix(batch)
        X.append(rows if joined is None else rows[joined.are_new(batch, rows)])
        if not is_apart:
            source.append(skipped.marked(batch))
        tell(batch.share_done)
    if not len(X):
        raise ValueError(f"{table.path} must contain at least one row below the column names, got none.")
    cells = X.matrix()
    if is_apart and joined is not None:
        Y, label_names = _labels_by_id(of_labels, source, skipped, joined)
    else:
        Y, label_names = source.labels()
        skipped.check_found(table, Y.shape[0])
        if joined is not None:
            Y = joined.of_ids(Y)
        elif not isinstance(source, IndicatorColumns):
            check_not_long(table, source.columns, ignored, cells, Y)
    return Dataset(
        cells,
        in_its_storage(as_stored(Y)),
        features.names,
        label_names,
        name_of_data(table.path),
        features.kinds,
        source=str(table.path),
    )


def _labels_by_id(
    table: TableFile, source: LabelColumns, skipped: Unlabelled, rows: JoinedRows
) -> tuple[CSR, tuple[str, ...]]:
    """Return the labels in a table of their own, for each id of the joined rows."""
    joined = JoinedRows(table, rows.column)
    for batch in table.batches(tuple(dict.fromkeys([*source.columns, *skipped.columns, rows.column]))):
        joined.are_new(batch)
        source.append(skipped.marked(batch))
    Y, label_names = source.labels()
    skipped.check_found(table, Y.shape[0])
    return aligned(rows.ids, joined, Y, np.nan if isinstance(source, IndicatorColumns) else 0.0), label_names


def label_source(
    table: TableFile, options: LabelOptions, ignored: Sequence[str], *, is_long: bool = False
) -> LabelColumns:
    """Return the columns of labels in a table; raise TypeError or ValueError for a wrong option."""
    if table.tags is not None and options[:3] == (None, None, None):
        options = options._replace(labels_column=table.tags)
    is_tags = options.labels_column is not None
    check_unknown(options.unknown, beside_zero_and_one=not is_tags and options.negative is None)
    check_codes(options.negative, options.positive, options.unknown, are_columns=not is_tags)
    check_notation(options.labels_separator, options.label_key, options.label_threshold, options.normalise)
    if options.label_names is not None:
        options = options._replace(label_names=names_of_option("label_names", options.label_names))
    columns = _label_columns(table, options, ignored)
    for name in ("label_names", "label_key", "label_threshold"):
        if not is_tags and getattr(options, name) is not None:
            names = {name: None, "labels_column": None}
            raise ParameterError(f"{{{name}}} must go with {{labels_column}}, got columns of 0 and 1.", names)
    if is_tags:
        return tag_columns(table, columns, options, is_long=is_long)
    return IndicatorColumns(table, columns, options.codes)


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
    with arrow_errors_named(path):
        return _opened(path, decimal, max_unpacked_bytes, isolate=isolate, sheet=sheet)


def _opened(path: Path, decimal: str, max_unpacked_bytes: int | None, *, isolate: bool, sheet: str | None) -> TableFile:
    format_ = format_of(path)
    if format_ == "xlsx":
        return ExcelFile(path, decimal, max_unpacked_bytes, sheet)
    if sheet is not None:
        raise ValueError(f"sheet must go with an Excel workbook, got {path}.")
    if format_ == "csv":
        return CsvFile(path, decimal, max_unpacked_bytes)
    if format_ not in ("fasttext", "json", "jsonl", "parquet"):
        raise ValueError(f"{path} must be {A_TABLE}, got one in another format. Hint: load_dataset.")
    if decimal != POINT:
        raise ValueError(f"decimal must go with a CSV or Excel file, got {path}, whose numbers are no text.")
    if format_ == "fasttext":
        return FastTextFile(path, max_unpacked_bytes)
    if format_ in ("json", "jsonl"):
        return open_json(path, max_unpacked_bytes)
    return ParquetFile(path, largest=max_unpacked_bytes, isolate=isolate)


def _label_columns(table: TableFile, options: LabelOptions, ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of the labels, or of tags, from exactly one of the three ways to name them."""
    labels, prefix, column = options[:3]
    given = sum(choice is not None for choice in (labels, prefix, column))
    if given != 1:
        raise ParameterError(
            "one of {labels}, {labels_prefix} and {labels_column} must name the labels of {path}, got {given} of them."
            "{hint}",
            dict.fromkeys(("labels", "labels_prefix", "labels_column")),
            {"path": table.path, "given": given or "none", "hint": columns_hint(table)},
        )
    if prefix is not None:
        return _with_prefix(table, "labels_prefix", prefix, ignored)
    if column is None:
        return _chosen(table, "labels", labels or (), ignored)
    named = (column,) if isinstance(column, str) else names_of_option("labels_column", column)
    if len(named) == 1 and named[0].endswith("*") and named[0] not in table.columns:
        return _with_prefix(table, "labels_column", named[0].removesuffix("*"), ignored)
    return _chosen(table, "labels_column", named, ignored)


def _chosen(table: TableFile, option: str, names: Sequence[str], ignored: Sequence[str]) -> tuple[str, ...]:
    """Return the names of columns of labels; raise ValueError if one is missing, ignored or named twice."""
    chosen = names_of_option(option, names)
    require_columns(table, option, chosen)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"{option} must name at least one column, each once, got {list(chosen)!r}.")
    if both := set(ignored).intersection(chosen):
        raise ValueError(f"{option} must name columns that are not ignored, got {min(both)!r} in both.")
    return chosen


def _with_prefix(table: TableFile, option: str, prefix: str, ignored: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(prefix, str) or not prefix:
        raise ValueError(f"{option} must be text of at least one character, got {prefix!r}.")
    names = tuple(name for name in table.columns if name.startswith(prefix) and name not in ignored)
    if not names:
        problem = f"{option} must begin the name of some column of {table.path}, got {prefix!r}."
        raise ValueError(problem + columns_hint(table))
    return names


def _kinds(table: TableFile, others: set[str], **options: Sequence[str]) -> dict[str, FeatureKind]:
    """Return the kinds of the features that options name."""
    for option, names in options.items():
        require_columns(table, option, names)
        if both := sorted(others.intersection(names)):
            raise ValueError(f"{option} must name features, got {both[0]!r}, which is a label or ignored.")
    return kinds_of_options(**options)


def names_of_option(option: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return names as a tuple; raise TypeError unless they are a collection of texts: one text is its letters."""
    if isinstance(names, str) or not isinstance(names, Collection) or not all(isinstance(one, str) for one in names):
        raise TypeError(f"{option} must be a sequence of column names, got {names!r}. Hint: [{names!r}].")
    return tuple(names)
