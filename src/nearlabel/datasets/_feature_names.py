"""What the features of a file are called, without reading its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nearlabel.datasets._arff_header import Header, read_header
from nearlabel.datasets._formats import Format, format_of
from nearlabel.datasets._lines import Lines
from nearlabel.datasets._meka import has_label_option, labels_of_option
from nearlabel.datasets._mulan import find_label_xml, labels_of_xml
from nearlabel.datasets._npz import matrix_of, names_of, open_npz
from nearlabel.datasets._table import features_beside, open_table


def feature_names_of(path: Path, *, labels_prefix: str | None, others: Sequence[str]) -> tuple[str, ...] | None:
    """Return the names of the features of a file; None of svmlight, whose features are the numbers that rows name.

    Of a table, features are all columns but `others` and those whose names begin with `labels_prefix`, none of which
    need be there; of other formats, what is no label.
    """
    format_ = format_of(path)
    if format_ in ("csv", "parquet"):
        table = open_table(path)
        prefixed = {name for name in table.columns if labels_prefix and name.startswith(labels_prefix)}
        return features_beside(table, {*others, *prefixed}).names
    return _NAMES[format_](path)


def _of_arff(path: Path) -> tuple[str, ...]:
    with Lines(path) as lines:
        header = read_header(lines)
    labels = set(_labels(header))
    return tuple(name for column, name in enumerate(header.names) if column not in labels)


def _labels(header: Header) -> Sequence[int]:
    """Return the columns of the labels; rows to be predicted need have none."""
    xml_path = find_label_xml(header)
    if xml_path is not None:
        return labels_of_xml(header, xml_path)
    return labels_of_option(header) if has_label_option(header) else ()


def _of_npz(path: Path) -> tuple[str, ...]:
    with open_npz(path) as arrays:
        return names_of(path, arrays, "feature_names", matrix_of(path, arrays, "X").shape[1])


_NAMES: dict[Format, Callable[[Path], tuple[str, ...] | None]] = {
    "arff": _of_arff,
    "npz": _of_npz,
    "svmlight": lambda path: None,
}
