"""ARFF files, dense and sparse, with some attributes as labels.

The format is WEKA's attribute-relation file. It does not declare which attributes are labels: Mulan has an XML file for
that, MEKA the relation's name, so the caller passes a function of the header.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_cells import CellReader, SparseCells
from nearlabel.datasets._arff_header import Attribute, Header, read_header
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._lines import Lines, plain_name
from nearlabel.datasets._nominal import CodedColumns, CodedRows, Nominal, is_true, says_yes_or_no
from nearlabel.datasets._row_store import DenseRows, SparseRows
from nearlabel.datasets._table_file import check_filled
from nearlabel.datasets._unknown import as_stored, check_beside_zero_and_one, check_unknown
from nearlabel.utils.types import CSR, BoolArray, IntArray, Matrix

Blocks = Iterator[tuple[int, bytes]]


def read_arff(
    path: str | Path,
    choose_labels: Callable[[Header], Sequence[int]],
    nominal: Nominal,
    unknown: str | None = None,
    max_unpacked_bytes: int | None = None,
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

    Raises
    ------
    ValueError
        If the file is malformed (with file and line), or a label is not binary.
    """
    check_unknown(unknown)
    check_beside_zero_and_one(unknown)
    path = Path(path)
    with Lines(path, max_unpacked_bytes) as lines:
        header = read_header(lines)
        columns = _Columns(header, choose_labels(header), nominal, unknown)
        is_sparse, blocks = peek_storage(path, lines.blocks())
        if is_sparse:
            columns.check_sparse()
        X, Y = (_read_sparse if is_sparse else _read_dense)(columns, blocks)
    label_names = tuple(header.names[column] for column in columns.labels)
    if len(set(label_names)) < len(label_names):
        name, _ = Counter(label_names).most_common(1)[0]
        raise ValueError(f"{path} must have labels of distinct names, got {name!r} twice.")
    coded = columns.coded
    name = Path(plain_name(path)).stem
    return Dataset(X, as_stored(Y), coded.names, label_names, name, coded.kinds, source=str(path))


class _Columns:
    """Which columns of the file are features and which labels, and how a label's code becomes 0 or 1."""

    def __init__(self, header: Header, labels: Sequence[int], nominal: Nominal, unknown: str | None) -> None:
        binary = {column: _binary(header, header.attributes[column], unknown) for column in labels}
        self.declared = header
        self.header = header.with_attributes(binary)
        self.labels: IntArray = np.array(labels, dtype=np.intp)
        self.is_label: BoolArray = np.zeros(len(header.attributes), dtype=np.bool_)
        self.is_label[self.labels] = True
        self.features: IntArray = np.flatnonzero(~self.is_label)
        self.coded = CodedColumns([header.attributes[column] for column in self.features], nominal)
        self.place: IntArray = np.empty(len(header.attributes), dtype=np.intp)  # column in X or in Y
        self.place[self.labels] = np.arange(len(self.labels))
        self.place[self.features] = np.arange(len(self.features))
        # If "1" is declared first its code is 0, also for the cells that a sparse row leaves out.
        self.inverted: IntArray = np.flatnonzero([is_true(binary[column]) for column in labels])

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
        return Attribute(attribute.name, ("0", "1"), unknown)
    attribute = replace(attribute, values=tuple(v for v in attribute.values if v != unknown), unknown=unknown)
    if not says_yes_or_no(attribute):
        raise ValueError(
            f"{header.path}: label {attribute.name!r} must be numeric or declared {{0,1}} (or YES, NO; true, false),"
            f" got {{{','.join((attribute.values or ())[:5])}}}."
        )
    return attribute


def peek_storage(path: Path, blocks: Blocks) -> tuple[bool, Blocks]:
    """Return whether the first row is sparse, and all blocks from the one that contains it."""
    for number, block in blocks:
        for line in block.split(b"\n"):
            text = line.strip()
            if text and not text.startswith(b"%"):
                return text.startswith(b"{"), chain([(number, block)], blocks)
    raise ValueError(f"{path} must contain at least one row behind @data, got none.")


def _read_sparse(columns: _Columns, blocks: Blocks) -> tuple[CSR, CSR]:
    reader = CellReader(columns.header)
    X, Y = CodedRows(columns.header.path, columns.coded, is_sparse=True), SparseRows()
    for first_line, block in blocks:
        n_rows, rows, cells, values = reader.sparse(first_line, block)
        place, label = columns.place[cells], columns.is_label[cells]
        Y.append(n_rows, rows[label], place[label], values[label])
        X.append(SparseCells(n_rows, rows[~label], place[~label], values[~label]))
    labels = Y.matrix(len(columns.labels))
    hint = "declare labels as {0,1}, so that cells left out are 0"
    check_filled(columns.header.path, len(Y) * len(columns.inverted), len(Y) + labels.nnz, hint)
    return X.matrix(), _invert_sparse(labels, columns.inverted)


def _read_dense(columns: _Columns, blocks: Blocks) -> tuple[Matrix, Matrix]:
    reader = CellReader(columns.header)
    X, Y = CodedRows(columns.header.path, columns.coded, is_sparse=False), DenseRows(len(columns.labels))
    for first_line, block in blocks:
        cells = reader.dense(first_line, block)
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
