"""Data frames as tables: of pandas, polars, pyarrow, the hub of Hugging Face, and of the interchange protocols."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.datasets._json_file import FoundTypes
from nearlabel.datasets._label_options import LabelOptions
from nearlabel.datasets._parquet_rows import classes_in
from nearlabel.datasets._table import Values, dataset_of, names_of_option
from nearlabel.datasets._table_file import (
    Batch,
    Column,
    TableFile,
    columns_by_name,
    interchanged,
    is_nested,
    kind_of,
    located,
    plain,
    pyarrow,
)
from nearlabel.files.untrusted import arrow_errors_named

_ROWS = 2**16  # of a batch


def from_frame(
    frame: Any,
    *,
    ignore: Sequence[str] = (),
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    unlabelled: Values | None = None,
    join_by: str | None = None,
    name: str = "frame",
    as_frame: bool = False,
    **labels: Any,
) -> Dataset:
    """Read a data frame as `read_table` reads a file: its columns of labels, however they are written, and features.

    Parameters
    ----------
    frame : data frame of shape (n_samples, n_columns)
        Of pandas, polars or pyarrow, a ``datasets.Dataset`` of Hugging Face, or any object with ``__arrow_c_stream__``
        or ``__dataframe__``. The index of pandas is no column.
    ignore, categorical, text, dates : sequence of str, default=()
        As in `read_table`.
    unlabelled : mapping of str to str or sequence of str, default=None
    join_by : str, default=None
        As in `read_table`.
    name : str, default="frame"
        Name of the data set.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames, as with `Dataset.with_frames`.
    **labels
        The parameters of `read_table` for labels: `labels`, `labels_prefix` or `labels_column`, and how these are
        written, such as `labels_separator`, `unknown`, `negative` and `label_key`.

    Returns
    -------
    Dataset
        As `read_table` returns it.

    Raises
    ------
    ImportError
        If pyarrow (extra ``tables``) is not installed, or for `as_frame` pandas (extra ``frames``).
    TypeError, ValueError
        If `frame` is no data frame, or as `read_table`.

    See Also
    --------
    from_hub : The same for data sets of Hugging Face, whose classes have names.

    Examples
    --------
    >>> import pandas as pd
    >>> pets = pd.DataFrame({"kg": [3.5, 20.0], "tags": [{"cat", "pet"}, {"dog", "pet"}]})
    >>> read = from_frame(pets, labels_column="tags")
    >>> read.label_names, read.Y.tolist()
    (('cat', 'dog', 'pet'), [[1, 0, 1], [0, 1, 1]])
    """
    check_as_frame(as_frame)
    if wrong := [option for option in labels if option not in LabelOptions._fields]:
        raise TypeError(f"from_frame takes the parameters of read_table for labels, got {wrong[0]!r}.")
    kinds = {"categorical": categorical, "text": text, "dates": dates}
    ignored = names_of_option("ignore", ignore)
    with arrow_errors_named(name):
        table = FrameTable(frame, name)
        data = dataset_of(table, table, LabelOptions(**labels), unlabelled, join_by, ignored, kinds)
    return data.with_frames() if as_frame else data


def from_hub(dataset: Any, *, labels: str | Sequence[str], text: str | Sequence[str] = (), **options: Any) -> Dataset:
    """Read a data set of the Hugging Face hub, as the library ``datasets`` loads it.

    Parameters
    ----------
    dataset : datasets.Dataset
        One split, such as ``load_dataset("go_emotions")["train"]``. Labels that are numbers of classes get their names.
    labels : str or sequence of str
        The column of lists of labels, of 0 and 1 or of answers by label; or several columns of 0 and 1.
    text : str or sequence of str, default=()
        Columns of texts.
    **options
        The other parameters of `from_frame`, such as `ignore` and `label_names`.

    Returns
    -------
    Dataset

    Raises
    ------
    TypeError, ValueError
        If `dataset` has several splits, or as `from_frame`.
    """
    if isinstance(dataset, Mapping):
        splits = ", ".join(map(repr, dataset))
        raise TypeError(f"dataset must be one split, got {splits}. Hint: dataset[{next(iter(dataset), '')!r}].")
    of_labels = {"labels_column": labels} if isinstance(labels, str) else {"labels": labels}
    texts = (text,) if isinstance(text, str) else tuple(text)
    return from_frame(dataset, text=texts, **of_labels, **options)


class FrameTable(TableFile):
    """The rows of a data frame."""

    def __init__(self, frame: Any, name: str) -> None:
        self.path = Path(name)
        arrow = pyarrow()
        names, arrays, metadata = _columns_of(frame, arrow)
        are_plain = [
            not isinstance(array, _WrittenTexts | _OtherColumn) and not is_nested(array.type) for array in arrays
        ]
        arrays = [array.texts if isinstance(array, _WrittenTexts) else array for array in arrays]
        found = [self._column(str(one), array) for one, array in zip(names, arrays, strict=True)]
        self.columns = columns_by_name(self.path, found)
        self._arrays = dict(zip(self.columns, arrays, strict=True))
        self._classes = classes_in(metadata)
        self._plain_texts = {name for name, is_plain in zip(self.columns, are_plain, strict=True) if is_plain}
        self.n_rows = len(arrays[0]) if arrays else 0

    @staticmethod
    def _column(name: str, array: Any) -> Column:
        if isinstance(array, _OtherColumn):
            return Column(name, "other", array.description)
        return Column(name, kind_of(array.type), str(array.type))

    def _batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the rows in batches."""
        for name in names:
            if self.columns[name].kind == "other":
                got = self.columns[name].description
                raise ValueError(f"{self.path} must have values of one type in column {name!r}, got {got}.")
        for start in range(0, self.n_rows or 0, _ROWS):
            columns = {name: plain(_one_array(self._arrays[name].slice(start, _ROWS))) for name in names}
            n_rows = min(_ROWS, (self.n_rows or 0) - start)
            locate = located("row", range(start + 1, start + n_rows + 1))
            yield Batch(n_rows, columns, (start + n_rows) / (self.n_rows or 1), locate)

    def width(self, name: str) -> int:
        """Return the length of the first list that is not empty."""
        size = getattr(self._arrays[name].type, "list_size", None)
        for batch in self.batches([name]) if size is None else ():
            lengths = batch.columns[name].value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
            if lengths.any():
                size = int(lengths[lengths > 0][0])
                break
        if not size:
            raise ValueError(f"column {name!r} of {self.path} must contain some list of at least one number, got none.")
        return int(size)

    def has_plain_texts(self, name: str) -> bool:
        """Return whether the cells of a column are texts, and none is an object or a list that became one."""
        return name in self._plain_texts

    def class_names(self, name: str) -> Sequence[str] | None:
        """Return the names of classes, as Hugging Face's schema has them."""
        return self._classes.get(name)


class _WrittenTexts(NamedTuple):
    """A column of Python objects, as their JSON."""

    texts: Any


class _OtherColumn:
    """A column of Python objects that have no one type, or cannot be in an array."""

    def __init__(self, values: Sequence[Any], error: Exception | None = None) -> None:
        self._values = values
        names = " and ".join(sorted({type(value).__name__ for value in values if value is not None}))
        self.description = next((got for kind, got in _CAUSES.items() if isinstance(error, kind)), names)

    def __len__(self) -> int:
        return len(self._values)


_CAUSES = {
    UnicodeError: "text with half a character",
    OverflowError: "an integer of more than 64 bits",
    RecursionError: "a list in a list in a list, and so on",
}


def _columns_of(frame: Any, arrow: Any) -> tuple[Sequence[Any], list[Any], Mapping[bytes, bytes]]:
    """Return the names and arrays of a frame, and the metadata of its schema."""
    if hasattr(frame, "iloc") and hasattr(frame, "dtypes") and hasattr(frame, "columns"):  # of pandas
        arrays = [_array_of_series(frame.iloc[:, place], arrow) for place in range(frame.shape[1])]
        return list(frame.columns), arrays, {}
    table = _arrow_table(frame, arrow)
    return table.column_names, list(table.columns), table.schema.metadata or {}


def _arrow_table(frame: Any, arrow: Any) -> Any:
    if isinstance(frame, arrow.Table | arrow.RecordBatch):
        return frame
    if hasattr(frame, "with_format") and hasattr(frame, "features"):  # of Hugging Face, whose rows may be a selection
        rows = frame.with_format("arrow")[:]
        described = frame.features.arrow_schema.metadata
        return rows.replace_schema_metadata({**(rows.schema.metadata or {}), **(described or {})})
    if hasattr(frame, "__arrow_c_stream__"):
        return arrow.table(frame)
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow()
    if hasattr(frame, "__dataframe__"):
        return interchanged(frame)
    hint = "frame.collect()" if hasattr(frame, "collect") else "pandas.DataFrame(...)"
    raise TypeError(f"frame must be a data frame, got {type(frame).__name__}. Hint: {hint}.")


def _array_of_series(series: Any, arrow: Any) -> Any:
    """Return a column of pandas as an array; Python's objects get the type that they have in JSON lines."""
    try:
        if series.dtype == object:
            return _array_of_objects([_plain_value(value) for value in series.tolist()], arrow)
        if hasattr(series.dtype, "subtype") and hasattr(series, "sparse"):
            series = series.sparse.to_dense()
        return arrow.array(series, from_pandas=True)
    except (arrow.ArrowException, TypeError, *_CAUSES) as error:
        return _OtherColumn(series.tolist(), error)


def _array_of_objects(values: list[Any], arrow: Any) -> Any:
    found = FoundTypes()
    for value in values:
        found.add(value)
    if found.kind == "other":
        return arrow.array(values)
    array, are_texts = found.array(values), all(isinstance(value, str) for value in values if value is not None)
    return array if are_texts or found.kind != "text" else _WrittenTexts(array)


def _plain_value(value: Any) -> Any:
    """Return a value as JSON has it: lists for tuples, sets and arrays, None for a missing value."""
    if hasattr(value, "tolist"):  # of numpy and pandas
        value = value.tolist()
    if isinstance(value, Set):
        return [_plain_value(one) for one in sorted(value, key=str)]
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return [_plain_value(one) for one in value]
    if isinstance(value, Mapping):
        return {str(name): _plain_value(one) for name, one in value.items()}
    if value is None or isinstance(value, str | int) or (isinstance(value, float) and not math.isnan(value)):
        return value
    is_missing = isinstance(value, float) or type(value).__name__ in ("NAType", "NaTType")
    return None if is_missing else value


def _one_array(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
