"""MEKA's dialect: the relation's name contains the number of labels."""

from __future__ import annotations

import re
from pathlib import Path

from nearlabel.datasets._arff import read_arff
from nearlabel.datasets._arff_header import Header
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._nominal import Nominal
from nearlabel.datasets._table_file import shortened

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


def has_label_option(header: Header) -> bool:
    """Return whether the relation's name contains the number of labels."""
    return _OPTION.search(header.relation) is not None


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
