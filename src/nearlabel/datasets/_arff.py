"""ARFF files with some attributes as labels, in the dialects of Mulan and MEKA."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_header import Attribute, Header, read_header
from nearlabel.datasets._arff_kinds import SAMPLE_WEIGHT, MixedRows, as_cells, attributes_beside, check_named, has_cells
from nearlabel.datasets._arff_labels import find_label_xml, labels_of_option, labels_of_xml, near_xml
from nearlabel.datasets._arff_parts import SparseCells, read_rows
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._label_codes import as_stored, check_unknown
from nearlabel.datasets._lines import Lines, name_of_data
from nearlabel.datasets._nominal import (
    CodedColumns,
    CodedRows,
    DenseRows,
    Nominal,
    SparseRows,
    check_overlap,
    is_true,
    says_yes_or_no,
)
from nearlabel.datasets._numeric_columns import Kinds
from nearlabel.datasets._table_file import check_filled
from nearlabel.files.untrusted import naming_too_large
from nearlabel.utils.types import CSR, BoolArray, IntArray, Matrix


@naming_too_large
def read_arff(
    path: str | Path,
    choose_labels: Callable[[Header], Sequence[int]],
    nominal: Nominal,
    unknown: str | None = None,
    max_unpacked_bytes: int | None = None,
    *,
    ignore: Sequence[str] = (),
    kinds: Kinds | None = None,
) -> Dataset:
    """Read an ARFF file in one pass.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bzip2.
    choose_labels : callable
        Takes the header, returns the columns of the labels in the desired order.
    nominal : {"overlap", "codes"}
        How nominal features are encoded.
    unknown : str, default=None
        A text that means an unknown label, in addition to ``?``.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file may unpack to.
    ignore : sequence of str, default=()
        Attributes that are no features; "sample_weight" ignores the weights of rows, too.
    kinds : mapping of str to {"category", "text", "date"}, default=None
        Features that are read as another kind than they declare.

    Raises
    ------
    ValueError
        If the file is malformed (with file and line), or a label is not binary.
    """
    check_unknown(unknown, beside_zero_and_one=True)
    path = Path(path)
    with Lines(path, max_unpacked_bytes) as lines:
        header = read_header(lines)
        columns = _Columns(header, choose_labels(header), nominal, unknown, ignore, kinds or {})
        rows = read_rows(columns.header, lines)
        if rows.are_sparse:
            columns.check_sparse()
        X, Y = (_read_sparse if rows.are_sparse else _read_dense)(columns, rows.blocks)
    label_names = tuple(header.names[column] for column in columns.labels)
    if len(set(label_names)) < len(label_names):
        name, _ = Counter(label_names).most_common(1)[0]
        raise ValueError(f"{path} must have labels of distinct names, got {name!r} twice.")
    weights = None if SAMPLE_WEIGHT in ignore else rows.weights.weights()
    names, name, source = columns.names, name_of_data(path), str(path)
    return Dataset(X, as_stored(Y), names, label_names, name, columns.kinds, source=source, sample_weight=weights)


_SKIPPED = Attribute("", declared="text")


class _Columns:
    """Which columns of the file are features and which labels, and how a label's code becomes 0 or 1."""

    def __init__(
        self,
        header: Header,
        labels: Sequence[int],
        nominal: Nominal,
        unknown: str | None,
        ignore: Sequence[str],
        kinds: Kinds,
    ) -> None:
        binary = {column: _binary(header, header.attributes[column], unknown) for column in labels}
        features = attributes_beside(header, labels, ignore)
        check_named(header, features, kinds)
        used = {column: header.attributes[column] for column in features}
        self.declared = header
        self.labels: IntArray = np.array(labels, dtype=np.intp)
        self.features: IntArray = np.array(features, dtype=np.intp)
        self._coded: CodedColumns | None = None
        if has_cells(used.values(), kinds):
            check_overlap(header.path, nominal)
            read = {column: as_cells(header.path, one, kinds.get(one.name)) for column, one in used.items()}
            used = {column: attribute for column, (attribute, _) in read.items()}
            self.names = tuple(attribute.name for attribute in used.values())
            self.kinds: tuple[str, ...] = tuple(kind for _, kind in read.values())
        else:
            self._coded = CodedColumns(list(used.values()), nominal)
            self.names, self.kinds = self._coded.names, self._coded.kinds
        self._used = list(used.values())
        skipped = set(range(len(header.attributes))).difference(labels, features)
        self.header = header.with_attributes(used | binary | dict.fromkeys(skipped, _SKIPPED))
        self.is_label: BoolArray = np.zeros(len(header.attributes), dtype=np.bool_)
        self.is_label[self.labels] = True
        self.place: IntArray = np.full(len(header.attributes), -1, dtype=np.intp)  # column in X or in Y
        self.place[self.labels] = np.arange(len(self.labels))
        self.place[self.features] = np.arange(len(self.features))
        # If "1" is declared first its code is 0, also for the cells that a sparse row leaves out.
        self.inverted: IntArray = np.flatnonzero([is_true(binary[column]) for column in labels])

    def rows(self, *, are_sparse: bool) -> CodedRows | MixedRows:
        """Return the growing matrix of the features."""
        if self._coded is None:
            return MixedRows(self.header.path, self._used)
        return CodedRows(self.header.path, self._coded, is_sparse=are_sparse)

    def check_sparse(self) -> None:
        """Raise ValueError if cells that a sparse row leaves out are unknown: they have the value declared first."""
        for column in self.labels:
            attribute = self.declared.attributes[column]
            if attribute.values and attribute.values[0] == self.header.attributes[column].unknown:
                raise ValueError(
                    f"{self.header.path}: label {attribute.name!r} must not be declared with {attribute.values[0]!r}"
                    " for unknown first, got it in sparse rows, where each cell left out would be unknown."
                )


def _binary(header: Header, attribute: Attribute, unknown: str | None) -> Attribute:
    """Return the label's attribute as a nominal one with the values 0, 1 and unknown."""
    if attribute.values is None:
        if attribute.declared != "number":
            problem = f"label {attribute.name!r} must be numeric or declared {{0,1}}, got {attribute.declared}"
            raise ValueError(f"{header.path}: {problem}.")
        return Attribute(attribute.name, ("0", "1"), unknown)
    attribute = replace(attribute, values=tuple(v for v in attribute.values if v != unknown), unknown=unknown)
    if not says_yes_or_no(attribute):
        raise ValueError(
            f"{header.path}: label {attribute.name!r} must be numeric or declared {{0,1}} (or YES, NO; true, false),"
            f" got {{{','.join((attribute.values or ())[:5])}}}."
        )
    return attribute


def _read_sparse(columns: _Columns, blocks: Iterator[Any]) -> tuple[Any, CSR]:
    X, Y = columns.rows(are_sparse=True), SparseRows()
    for n_rows, rows, cells, values in blocks:
        place, label = columns.place[cells], columns.is_label[cells]
        feature = ~label & (place >= 0)
        Y.append(n_rows, rows[label], place[label], values[label])
        X.append(SparseCells(n_rows, rows[feature], place[feature], values[feature]))
    labels = Y.matrix(len(columns.labels))
    hint = "declare labels as {0,1}, so that cells left out are 0"
    check_filled(columns.header.path, len(Y) * len(columns.inverted), len(Y) + labels.nnz, hint)
    return X.matrix(), _invert_sparse(labels, columns.inverted)


def _read_dense(columns: _Columns, blocks: Iterator[Any]) -> tuple[Any, Matrix]:
    X, Y = columns.rows(are_sparse=False), DenseRows(len(columns.labels))
    for cells in blocks:
        X.append(cells[:, columns.features])
        Y.append(cells[:, columns.labels])
    labels = Y.matrix()
    labels[:, columns.inverted] = 1 - labels[:, columns.inverted]
    return X.matrix(), labels


def _invert_sparse(codes: CSR, inverted: IntArray) -> CSR:
    """Return 1 - code in some columns, which become dense: there an absent cell means 1."""
    if not inverted.size:
        return codes
    n_rows, n_labels = codes.shape
    sign = np.ones(n_labels)
    sign[inverted] = -1
    ones = np.zeros((1, n_labels))
    ones[0, inverted] = 1
    signed = codes @ sparse.csr_array(sparse.diags_array(sign))
    labels = signed + sparse.csr_array(np.ones((n_rows, 1))) @ sparse.csr_array(ones)
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels


# Mulan's dialect: an ARFF file, and an XML file that names its labels.


@naming_too_large
def read_mulan(
    arff_path: str | Path,
    xml_path: str | Path | None = None,
    *,
    nominal: Nominal = "overlap",
    unknown: str | None = None,
    ignore: Sequence[str] = (),
    max_unpacked_bytes: int | None = None,
) -> Dataset:
    r"""Read a data set in Mulan's format.

    The labels are those in the XML file, in its order, wherever their attributes are in the ARFF file. Nested
    (hierarchical) labels become separate labels, parents before children. Sparse rows give sparse matrices; a cell they
    leave out is 0, or for a nominal attribute the first declared value. Cells may have blanks or tabs between them, as
    in WEKA.

    If an attribute is a string or a date, and not ignored, X contains the cells themselves, for
    `nearlabel.preprocessing.MixedFeaturesEncoder`, as `read_table` returns them: texts, dates, categories of nominal
    attributes, and numbers, among them 1 for YES and 0 for NO. A sparse row must then have each text and date. Dates
    are in the format of the attribute, in the letters of Java's SimpleDateFormat.

    A row may end in its weight, ``{2}``: see `Dataset.sample_weight`.

    Parameters
    ----------
    arff_path : path-like
        The ARFF file: plain, gzip or bzip2.
    xml_path : path-like, default=None
        The XML file. By default ``NAME.xml`` next to ``NAME.arff``, else the only XML file there whose every label is
        an attribute of the ARFF file (``yeast.xml`` for ``yeast-train.arff.gz``).
    nominal : {"overlap", "codes"}, default="overlap"
        How nominal features are encoded.

        - "overlap": columns whose Euclidean distance is 1 between different values, as in WEKA and Mulan. Values such
          as 0 and 1 or NO and YES, in any order, are one column that is 1 for yes. Others have two
          columns for each declared value, ``attribute=value`` and ``attribute=value (again)``, which contain 1/2. A
          missing value, ``?``, is NaN in all columns of its attribute.
        - "codes": one column with the position of the value in the declaration, from 0.

    unknown : str, default=None
        A value of labels that means unknown, as ``?`` always does: "-1" in a column of 0, 1 and -1, or "n/k".
    ignore : sequence of str, default=()
        Attributes that are no features; "sample_weight" ignores the weights of rows. Relational attributes must be
        ignored.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file may unpack to. None: 100 times its size, at least 512 MiB.

    Returns
    -------
    Dataset
        X (n_samples, n_features) and Y (n_samples, n_labels), with NaN where a label is unknown; its
        `feature_kinds` shows which columns were nominal, texts or dates.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If a file is malformed (with file and line), a label of the XML file is no attribute, no XML file fits,
        `nominal` is neither value, `unknown` means 0 or 1, `ignore` names no feature, or a date has a format that is
        not known.

    References
    ----------
    G. Tsoumakas, E. Spyromitros-Xioufis, J. Vilcek, I. Vlahavas. Mulan: a Java library for multi-label learning.
    Journal of Machine Learning Research 12, 2011.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> arff = "@relation pets\n@attribute weight numeric\n@attribute cat {0,1}\n@data\n3.5,1\n20,0\n"
    >>> _ = (folder / "pets.arff").write_text(arff)
    >>> xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="cat"></label></labels>'
    >>> _ = (folder / "pets.xml").write_text(xml)
    >>> pets = read_mulan(folder / "pets.arff")
    >>> pets
    Dataset 'pets': 2 rows, 1 feature, 1 label (dense)
    >>> pets.Y.tolist()
    [[1], [0]]
    """
    arff_path = Path(arff_path)

    def choose_labels(header: Header) -> Sequence[int]:
        chosen = Path(xml_path) if xml_path is not None else find_label_xml(header)
        if chosen is None:
            raise ValueError(
                f"{arff_path} must have an XML file next to it that names its labels, got none."
                f" Hint: pass xml_path, or use read_meka if the relation's name contains -C.{near_xml(header)}"
            )
        return labels_of_xml(header, chosen)

    return read_arff(arff_path, choose_labels, nominal, unknown, max_unpacked_bytes, ignore=ignore)


# MEKA's dialect: the relation's name contains the number of labels.


@naming_too_large
def read_meka(
    path: str | Path,
    *,
    nominal: Nominal = "overlap",
    unknown: str | None = None,
    ignore: Sequence[str] = (),
    max_unpacked_bytes: int | None = None,
) -> Dataset:
    r"""Read a data set in MEKA's format.

    The relation's name ends in options, ``'Music: -C 6'``: with ``-C n`` the first n attributes are the labels, with
    ``-C -n`` the last n. Other options (``-R``, ``-split-number``) are ignored; all rows are read. Strings, dates and
    weights are read as in `read_mulan`.

    Parameters
    ----------
    path : path-like
        The ARFF file: plain, gzip or bzip2.
    nominal : {"overlap", "codes"}, default="overlap"
        What nominal features become, as in `read_mulan`.
    unknown : str, default=None
        A value of labels that means unknown, as ``?`` always does: "-1" in a column of 0, 1 and -1, or "n/k".
    ignore : sequence of str, default=()
        Attributes that are no features; "sample_weight" ignores the weights of rows. Relational attributes must be
        ignored.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file may unpack to. None: 100 times its size, at least 512 MiB.

    Returns
    -------
    Dataset
        X (n_samples, n_features) and Y (n_samples, n_labels), with NaN where a label is unknown; labels in the order
        of the file.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is malformed (with file and line), ``-C`` is missing or out of range, `nominal` is
        neither value, `unknown` means 0 or 1, `ignore` names no feature, or a date has a format that is not known.

    References
    ----------
    J. Read, P. Reutemann, B. Pfahringer, G. Holmes. MEKA: a multi-label/multi-target extension to WEKA. Journal of
    Machine Learning Research 17, 2016.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.arff"
    >>> _ = path.write_text("@relation 'pets: -C 1'\n@attribute cat {0,1}\n@attribute kg numeric\n@data\n{1 3.5}\n")
    >>> pets = read_meka(path)
    >>> pets.label_names, pets.X.toarray().tolist(), pets.Y.toarray().tolist()
    (('cat',), [[3.5]], [[0]])
    """
    return read_arff(path, labels_of_option, nominal, unknown, max_unpacked_bytes, ignore=ignore)
