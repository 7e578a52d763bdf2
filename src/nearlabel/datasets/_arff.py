"""ARFF files with some attributes as labels, in the dialects of Mulan and MEKA."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._arff_parts import Attribute, Header, SparseCells, read_header, read_rows, unescape
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._label_codes import as_stored, check_unknown
from nearlabel.datasets._lines import Lines, name_of_data, plain_name
from nearlabel.datasets._nominal import CodedColumns, CodedRows, DenseRows, Nominal, SparseRows, is_true, says_yes_or_no
from nearlabel.datasets._table_file import check_filled, shortened
from nearlabel.files.untrusted import open_regular
from nearlabel.utils.types import CSR, BoolArray, IntArray, Matrix


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
    check_unknown(unknown, beside_zero_and_one=True)
    path = Path(path)
    with Lines(path, max_unpacked_bytes) as lines:
        header = read_header(lines)
        columns = _Columns(header, choose_labels(header), nominal, unknown)
        is_sparse, blocks = read_rows(columns.header, lines)
        if is_sparse:
            columns.check_sparse()
        X, Y = (_read_sparse if is_sparse else _read_dense)(columns, blocks)
    label_names = tuple(header.names[column] for column in columns.labels)
    if len(set(label_names)) < len(label_names):
        name, _ = Counter(label_names).most_common(1)[0]
        raise ValueError(f"{path} must have labels of distinct names, got {name!r} twice.")
    coded = columns.coded
    return Dataset(X, as_stored(Y), coded.names, label_names, name_of_data(path), coded.kinds, source=str(path))


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


def _read_sparse(columns: _Columns, blocks: Iterator[Any]) -> tuple[CSR, CSR]:
    X, Y = CodedRows(columns.header.path, columns.coded, is_sparse=True), SparseRows()
    for n_rows, rows, cells, values in blocks:
        place, label = columns.place[cells], columns.is_label[cells]
        Y.append(n_rows, rows[label], place[label], values[label])
        X.append(SparseCells(n_rows, rows[~label], place[~label], values[~label]))
    labels = Y.matrix(len(columns.labels))
    hint = "declare labels as {0,1}, so that cells left out are 0"
    check_filled(columns.header.path, len(Y) * len(columns.inverted), len(Y) + labels.nnz, hint)
    return X.matrix(), _invert_sparse(labels, columns.inverted)


def _read_dense(columns: _Columns, blocks: Iterator[Any]) -> tuple[Matrix, Matrix]:
    X, Y = CodedRows(columns.header.path, columns.coded, is_sparse=False), DenseRows(len(columns.labels))
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

_XML_BYTES = 2**16  # that are parsed at once
_LONGEST_ROOT = 60  # characters of a name in a message


def read_mulan(
    arff_path: str | Path,
    xml_path: str | Path | None = None,
    *,
    nominal: Nominal = "overlap",
    unknown: str | None = None,
    max_unpacked_bytes: int | None = None,
) -> Dataset:
    r"""Read a data set in Mulan's format.

    The labels are those in the XML file, in its order, wherever their attributes are in the ARFF file. Nested
    (hierarchical) labels become separate labels, parents before children. Sparse rows give sparse matrices; a cell they
    leave out is 0, or for a nominal attribute the first declared value.

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
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file may unpack to. None: 100 times its size, at least 512 MiB.

    Returns
    -------
    Dataset
        X (n_samples, n_features) and Y (n_samples, n_labels), with NaN where a label is unknown; its
        `feature_kinds` shows which columns were nominal.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    ValueError
        If a file is malformed (with file and line), a label of the XML file is no attribute, no XML file fits,
        `nominal` is neither value, or `unknown` means 0 or 1.

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
                " Hint: pass xml_path, or use read_meka if the relation's name contains -C."
            )
        return labels_of_xml(header, chosen)

    return read_arff(arff_path, choose_labels, nominal, unknown, max_unpacked_bytes)


def declared_labels(header: Header) -> Sequence[int]:
    """Return the columns of the labels, in whichever dialect the file declares them; none if it does not."""
    xml_path = find_label_xml(header)
    if xml_path is not None:
        return labels_of_xml(header, xml_path)
    return labels_of_option(header) if _OPTION.search(header.relation) else ()


def find_label_xml(header: Header) -> Path | None:
    """Return the XML file that belongs to an ARFF file: of the same stem, else the only one whose labels all occur."""
    folder = header.path.parent
    namesake = folder / Path(plain_name(header.path)).with_suffix(".xml")
    if namesake.is_file():
        return namesake
    fitting = [path for path in sorted(folder.glob("*.xml")) if _fits(header, path)]
    if len(fitting) > 1:
        names = ", ".join(path.name for path in fitting)
        raise ValueError(
            f"{header.path} must have one XML file next to it whose labels all occur in it, got {names}."
            " Hint: pass xml_path."
        )
    return fitting[0] if fitting else None


def _fits(header: Header, path: Path) -> bool:
    """Return whether a file lists labels that all occur; other XML files are no error."""
    try:
        labels = _label_names(path)
    except (ValueError, OSError):
        return False
    known = set(header.names)
    return all(name in known or unescape(name) in known for name in labels)


def labels_of_xml(header: Header, xml_path: Path) -> list[int]:
    """Return the columns of the labels that an XML file names."""
    position = {name: column for column, name in enumerate(header.names)}
    labels = _label_names(xml_path)
    # The ARFF name lost its backslashes with its quotes; some XML files still have them.
    names = [name if name in position else unescape(name) for name in labels]
    missing = [name for name in names if name not in position]
    if missing:
        raise ValueError(
            f"{xml_path}: every label must be an attribute of {header.path}, got {shortened(missing[0])}"
            f" ({len(missing)} of {len(names)} labels are missing)."
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{xml_path}: every label must be named once, got {shortened(name)} {count} times.")
    counts = Counter(header.names)
    if twice := [name for name in names if counts[name] > 1]:
        raise ValueError(f"{header.path}: a label must be one attribute, got two of the name {shortened(twice[0])}.")
    return [position[name] for name in names]


def _label_names(path: Path) -> list[str]:
    """Return the names in the order of the document, whatever the nesting; the namespace may be left out."""
    found = _FoundLabels()
    parser = ET.XMLParser(target=found)
    with open_regular(path) as file:
        try:
            while part := file.read(_XML_BYTES):
                parser.feed(part)
            parser.close()
        except (ET.ParseError, LookupError, ValueError) as error:  # the last two: an unknown encoding
            raise ValueError(f"{path} must be well-formed XML, got: {error}.") from error
    if found.root != "labels":
        raise ValueError(f"{path} must have the root element <labels>, got <{found.root}>.")
    if not found.names or None in found.names:
        raise ValueError(
            f"{path} must contain elements <label name=...>, got {len(found.names)} elements or one without name."
        )
    return [name for name in found.names if name is not None]


class _FoundLabels:
    """The target of the parser; no tree is made, so that depth and other elements take no memory."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.names: list[str | None] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Record an element."""
        name = tag.rpartition("}")[2]
        if self.root is None:
            self.root = name[:_LONGEST_ROOT]
        if name == "label":
            self.names.append(attributes.get("name"))

    def close(self) -> None:
        """Do nothing more at the end."""


# MEKA's dialect: the relation's name contains the number of labels.

_OPTION = re.compile(r"(?:^|[\s:])-C\s*+(-?+\d++)(?![\w.])")

_MOST_DIGITS = 18  # of an integer of 64 bits, without its sign


def read_meka(
    path: str | Path,
    *,
    nominal: Nominal = "overlap",
    unknown: str | None = None,
    max_unpacked_bytes: int | None = None,
) -> Dataset:
    r"""Read a data set in MEKA's format.

    The relation's name ends in options, ``'Music: -C 6'``: with ``-C n`` the first n attributes are the labels, with
    ``-C -n`` the last n. Other options (``-R``, ``-split-number``) are ignored; all rows are read.

    Parameters
    ----------
    path : path-like
        The ARFF file: plain, gzip or bzip2.
    nominal : {"overlap", "codes"}, default="overlap"
        What nominal features become, as in `read_mulan`.
    unknown : str, default=None
        A value of labels that means unknown, as ``?`` always does: "-1" in a column of 0, 1 and -1, or "n/k".
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
        neither value, or `unknown` means 0 or 1.

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
    return read_arff(path, labels_of_option, nominal, unknown, max_unpacked_bytes)


def labels_of_option(header: Header) -> range:
    """Return the columns of the labels that the relation's name declares."""
    option = _OPTION.search(header.relation)
    if option is None:
        got = shortened(header.relation)
        raise ValueError(f"{header.path}: the relation's name must contain -C n, got {got}.")
    digits, width = option[1], len(header.attributes)
    count = int(digits) if len(digits) <= _MOST_DIGITS else 0
    if not 0 < abs(count) < width:
        got = digits if len(digits) <= _MOST_DIGITS else f"a number of {len(digits)} characters"
        raise ValueError(f"{header.path}: -C must be from 1 to {width - 1} for {width} attributes, got {got}.")
    return range(count) if count > 0 else range(width + count, width)
