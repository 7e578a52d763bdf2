"""Read a file whose format is to be found out."""

from __future__ import annotations

from pathlib import Path

from nearlabel.datasets._arff_header import Header, read_header
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._lines import Lines, plain_name
from nearlabel.datasets._meka import has_label_option, read_meka
from nearlabel.datasets._mulan import find_label_xml, read_mulan
from nearlabel.datasets._svmlight import read_svmlight

_SVMLIGHT = (".libsvm", ".svm", ".svmlight", ".txt")


def load_dataset(path: str | Path) -> Dataset:
    r"""Read a data set in the format that its name and content show.

    ``.arff``: an XML file beside it that names its labels decides (`read_mulan`), else ``-C`` in the relation's name
    (`read_meka`). ``.svm``, ``.svmlight``, ``.libsvm``, ``.txt``: `read_svmlight`. Each may end in ``.gz`` or ``.bz2``.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    Dataset

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the suffix is unknown, nothing says which attributes are labels, or the file is malformed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.svm"
    >>> _ = path.write_text("0,1 0:3.5\n1 1:2\n")
    >>> load_dataset(path)
    Dataset 'pets': 2 rows, 2 features, 2 labels (sparse)
    """
    path = Path(path)
    suffix = Path(plain_name(path)).suffix.lower()
    if suffix in _SVMLIGHT:
        return read_svmlight(path, labels_zero_based="auto")
    if suffix != ".arff":
        known = ", ".join((".arff", *_SVMLIGHT))
        raise ValueError(f"{path} must end in one of {known} (and .gz or .bz2), got {suffix or 'no suffix'!r}.")
    return _load_arff(path)


def _load_arff(path: Path) -> Dataset:
    header = _header(path)
    xml_path = find_label_xml(header)
    if xml_path is not None:
        return read_mulan(path, xml_path)
    if has_label_option(header):
        return read_meka(path)
    raise ValueError(
        f"{path} must say which attributes are labels, by an XML file beside it or by -C in the relation's name,"
        f" got neither (relation {header.relation!r})."
    )


def _header(path: Path) -> Header:
    with Lines(path) as lines:
        return read_header(lines)
