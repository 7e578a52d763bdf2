"""Read a file and detect its format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nearlabel.datasets._arff import find_label_xml, has_label_option, read_meka, read_mulan
from nearlabel.datasets._arff_parts import Header, read_header
from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.datasets._lines import A_TABLE, TABLES, Lines, format_of
from nearlabel.datasets._nominal import Nominal, check_arff
from nearlabel.datasets._npz import read_npz
from nearlabel.datasets._svmlight import read_svmlight
from nearlabel.datasets._table import POINT, SEPARATOR, read_table

_LABELS_OF = {
    "arff": "an XML file next to it, or -C in the relation's name, names its labels",
    "npz": "its labels are the array Y",
    "svmlight": "labels begin its rows",
}


def load_dataset(
    path: str | Path,
    *,
    labels: Sequence[str] | None = None,
    labels_prefix: str | None = None,
    labels_column: str | None = None,
    labels_separator: str = SEPARATOR,
    unknown: str | None = None,
    ignore: Sequence[str] = (),
    decimal: str = POINT,
    nominal: Nominal = "overlap",
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    dates: Sequence[str] = (),
    as_frame: bool = False,
    max_unpacked_bytes: int | None = None,
    isolate: bool = False,
) -> Dataset:
    r"""Read a data set in the format that its name and content show.

    ``.arff``: `read_mulan` if an XML file next to it names its labels, else `read_meka` if the relation's name
    contains ``-C``. ``.svm``, ``.svmlight``, ``.libsvm``, ``.txt``: `read_svmlight`. ``.csv``, ``.tsv``, ``.jsonl``,
    ``.ndjson``: `read_table`. Each may end in ``.gz`` or ``.bz2``. ``.parquet``, ``.xlsx``: `read_table`. ``.npz``:
    `read_npz`.

    Parameters
    ----------
    path : path-like
    labels : sequence of str, default=None
    labels_prefix : str, default=None
    labels_column : str, default=None
        Which columns of a table are labels, one of the three as `read_table` describes them.
    labels_separator : str, default=";"
        As in `read_table`.
    unknown : str, default=None
        The value of an unknown label, as in `read_table`, `read_mulan` and `read_npz`; svmlight has none.
    ignore : sequence of str, default=()
    decimal : {".", ","}, default="."
        As in `read_table`.
    nominal : {"overlap", "codes"}, default="overlap"
        What nominal features of ARFF become, as in `read_mulan`. Other formats have none.
    categorical, text, dates : sequence of str, default=()
        As in `read_table`. Only tables accept these nine parameters (apart from `unknown`): other formats declare their
        labels themselves.
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels, which classifiers fitted to them
        then use, as with `Dataset.with_frames`.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file, a workbook, an ``.npz`` file or the columns that are read from a Parquet file
        may unpack to. None: as in `read_table` and `read_npz`.
    isolate : bool, default=False
        As in `read_table`: a Parquet file at which pyarrow crashes is a ValueError. Other formats are read in this
        process.

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
    options: dict[str, Any] = {
        "labels": labels,
        "labels_prefix": labels_prefix,
        "labels_column": labels_column,
        "labels_separator": labels_separator,
        "ignore": ignore,
        "decimal": decimal,
        "categorical": categorical,
        "text": text,
        "dates": dates,
    }
    format_ = format_of(path)
    check_arff(path, format_, nominal)
    if format_ in TABLES:
        limits: dict[str, Any] = {"isolate": isolate, "max_unpacked_bytes": max_unpacked_bytes}
        return read_table(path, **options, unknown=unknown, as_frame=as_frame, **limits)
    _refuse_options(path, format_, options)
    data = _READERS[format_](path, nominal, unknown, max_unpacked_bytes)
    return data.with_frames() if as_frame else data


def _refuse_options(path: Path, format_: str, options: dict[str, Any]) -> None:
    """Raise ValueError if an option of tables is given for another format."""
    for name, value in options.items():
        if value not in (None, SEPARATOR, POINT, (), []):
            raise ValueError(f"{name} must go with {A_TABLE}, got {path}. Hint: {_LABELS_OF[format_]}.")


def _load_arff(path: Path, nominal: Nominal, unknown: str | None, limit: int | None) -> Dataset:
    header = _header(path, limit)
    xml_path = find_label_xml(header)
    if xml_path is not None:
        return read_mulan(path, xml_path, nominal=nominal, unknown=unknown, max_unpacked_bytes=limit)
    if has_label_option(header):
        return read_meka(path, nominal=nominal, unknown=unknown, max_unpacked_bytes=limit)
    raise ValueError(
        f"{path} must declare which attributes are labels, in an XML file next to it or by -C in the relation's name,"
        f" got neither (relation {header.relation!r})."
    )


def _load_svmlight(path: Path, _: Nominal, unknown: str | None, limit: int | None) -> Dataset:
    if unknown is not None:
        raise ValueError(f"unknown must be None for {path}, whose rows list the labels that apply, got {unknown!r}.")
    return read_svmlight(path, labels_zero_based="auto", max_unpacked_bytes=limit)


_READERS: dict[str, Callable[[Path, Nominal, str | None, int | None], Dataset]] = {
    "arff": _load_arff,
    "npz": lambda path, _, unknown, limit: read_npz(path, unknown=unknown, max_unpacked_bytes=limit),
    "svmlight": _load_svmlight,
}


def _header(path: Path, limit: int | None) -> Header:
    with Lines(path, limit) as lines:
        return read_header(lines)
