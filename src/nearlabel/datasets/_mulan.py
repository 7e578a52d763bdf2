"""Mulan's dialect: an ARFF file, and an XML file that names its labels."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nearlabel.datasets._arff import read_arff
from nearlabel.datasets._arff_header import Header, unescape
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._lines import plain_name
from nearlabel.datasets._nominal import Nominal
from nearlabel.datasets._table_file import shortened
from nearlabel.files.regular_file import open_regular

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
    _check_unique(f"{xml_path}: every label must be named once", names)
    counts = Counter(header.names)
    if twice := [name for name in names if counts[name] > 1]:
        raise ValueError(f"{header.path}: a label must be one attribute, got two of the name {shortened(twice[0])}.")
    return [position[name] for name in names]


def _check_unique(rule: str, names: list[str]) -> None:
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{rule}, got {shortened(name)} {count} times.")


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
