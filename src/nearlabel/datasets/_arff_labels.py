"""Which attributes of an ARFF file are labels: those in Mulan's XML file, or by the relation's name in MEKA."""

from __future__ import annotations

import re
import unicodedata
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from nearlabel.datasets._arff_header import Header, unescape
from nearlabel.datasets._lines import plain_name
from nearlabel.datasets._table_file import did_you_mean, shortened
from nearlabel.files.untrusted import open_regular

_XML_BYTES = 2**16  # that are parsed at once
_LONGEST_ROOT = 60  # characters of a name in a message
_OPTION = re.compile(r"(?:^|[\s:])-C\s*+(-?+\d++)(?![\w.])")
_MOST_DIGITS = 18  # of an integer of 64 bits, without its sign


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
    missing = _missing_labels(header, path)
    return missing is not None and not missing


def _missing_labels(header: Header, path: Path) -> list[str] | None:
    """Return the labels of a file that are no attributes; None if it lists none that is or resembles one."""
    try:
        labels = _label_names(path)
    except (ValueError, OSError):
        return None
    known = set(header.names)
    missing = [name for name in labels if name not in known and unescape(name) not in known]
    resembled = set(map(_folded, header.names))
    return missing if any(_folded(unescape(name)) in resembled for name in labels) else None


def near_xml(header: Header) -> str:
    """Return a hint of an XML file of which some labels are attributes, if no file fits."""
    for path in sorted(header.path.parent.glob("*.xml")):
        if missing := _missing_labels(header, path):
            return (
                f" {path.name} names {shortened(missing[0])}, which is no attribute.{_near(missing[0], header.names)}"
            )
    return ""


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
            f" ({len(missing)} of {len(names)} labels are missing).{_near(missing[0], header.names)}"
        )
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{xml_path}: every label must be named once, got {shortened(name)} {count} times.")
    counts = Counter(header.names)
    if twice := [name for name in names if counts[name] > 1]:
        raise ValueError(f"{header.path}: a label must be one attribute, got two of the name {shortened(twice[0])}.")
    return [position[name] for name in names]


def _near(name: str, known: Sequence[str]) -> str:
    """Return a hint of the attributes with a name like this one; other case, blanks or forms of Unicode come first."""
    same = [one for one in known if _folded(one) == _folded(name)]
    return did_you_mean(name, same or known) or (f" Did you mean {shortened(same[0])}?" if same else "")


def _folded(name: str) -> str:
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


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
