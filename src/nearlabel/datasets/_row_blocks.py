"""Read rows for prediction from a file in blocks of limited size."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from scipy import sparse

from nearlabel.datasets._mixed_columns import FeatureKind
from nearlabel.datasets._nominal import Nominal
from nearlabel.datasets._numbered_names import NumberedNames, counts_of
from nearlabel.datasets._row_sources import RowBlock, RowSource, open_source
from nearlabel.datasets._table import POINT
from nearlabel.utils.blocks import BLOCK_BYTES
from nearlabel.utils.types import IntArray
from nearlabel.utils.validation import check_flag, check_integer

_CELL_BYTES = 12  # of a stored value in a CSR array, with its index


def open_rows(
    path: str | Path,
    feature_names: Sequence[str],
    *,
    id_column: str | None = None,
    block_rows: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    decimal: str = POINT,
    nominal: Nominal = "overlap",
    feature_kinds: Sequence[str] = (),
    max_unpacked_bytes: int | None = None,
    isolate: bool = False,
) -> RowBlocks:
    r"""Open a file to read the features of a model, block by block.

    Features are found by name, in any order; other columns, including labels, are ignored. The file is never in memory
    as a whole, except for ``.npz``, of which X is loaded at once.

    Parameters
    ----------
    path : path-like
        ARFF, svmlight, CSV, JSON lines (each plain, gzip or bzip2), Excel, Parquet or ``.npz``, by its suffix. It needs
        no labels. In svmlight, features are named by index, and those left out of a row are 0; in Parquet and JSON,
        ``embedding[3]`` is number 3 of the lists in column ``embedding``.
    feature_names : sequence of str of length n_features
        The columns of X in their order, such as `Dataset.feature_names` of the training data.
    id_column : str, default=None
        A column to return with the rows; of ``.npz`` an array.
    block_rows : int, default=None
        Number of rows in a block; the last may have fewer. None: as many as `block_bytes` allows.
    block_bytes : int, default=64 MiB
        Limit of the size of X in a block. A block has at least one row.
    decimal : {".", ","}, default="."
        As in `read_table`.
    nominal : {"overlap", "codes"}, default="overlap"
        As in `read_mulan`, and as the training file was read. Nominal features of ARFF are found by name and category,
        in whatever order this file declares them; rows with a category that is not among `feature_names` are refused.
    feature_kinds : sequence of str of length n_features, default=()
        The kind of each feature of a table, such as `Dataset.feature_kinds` of the training data. Empty: all are
        numbers.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file, a workbook, an ``.npz`` file or the columns that are read from a Parquet file
        may unpack to. None: as in `read_table` and `read_npz`.
    isolate : bool, default=False
        As in `read_table`: a Parquet file at which pyarrow crashes is a ValueError.

    Returns
    -------
    RowBlocks
        Each iteration reads the file again.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    TypeError, ValueError
        If the suffix is unknown, a feature or the column of ids is missing, or a parameter has a wrong type; while
        reading, if the file has no rows, is malformed (with the line or row) or has a row with an unknown category.

    See Also
    --------
    load_dataset : Read a data set whole, label sets included.

    Notes
    -----
    In addition to a block, the reader takes some MiB for the present part of the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.csv"
    >>> _ = path.write_text("name,purrs,kg\nTom,1,3.5\nRex,0,20\nJumbo,0,400\n")
    >>> for block in open_rows(path, ["kg", "purrs"], id_column="name", block_rows=2):
    ...     print(block.ids.tolist(), block.X.tolist(), block.share_done)
    ['Tom', 'Rex'] [[3.5, 1.0], [20.0, 0.0]] 1.0
    ['Jumbo'] [[400.0, 0.0]] 1.0
    """
    if block_rows is not None:
        block_rows = check_integer("block_rows", block_rows, low=1)
    block_bytes = check_integer("block_bytes", block_bytes, low=1)
    names = _distinct(feature_names)
    check_flag("isolate", isolate)
    if max_unpacked_bytes is not None:
        check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    kinds = _kinds_by_name(names, feature_kinds)
    source = open_source(Path(path), names, id_column, decimal, nominal, kinds, max_unpacked_bytes, isolate)
    return RowBlocks(Path(path), source, block_rows, block_bytes)


@dataclass(frozen=True, eq=False)
class RowBlocks:
    """An iterable of `RowBlock`, made by `open_rows`.

    Parameters
    ----------
    path : pathlib.Path
    source : RowSource
        Gives the rows in blocks of any size.
    block_rows : int or None
    block_bytes : int
        Limits of a block.
    """

    path: Path
    source: RowSource
    block_rows: int | None
    block_bytes: int

    @property
    def n_rows(self) -> int | None:
        """Number of rows, None if unknown before reading; `RowBlock.share_done` is always known."""
        return self.source.n_rows

    def __iter__(self) -> Iterator[RowBlock]:
        most_rows = np.iinfo(np.intp).max if self.block_rows is None else self.block_rows
        empty = True
        for block in _fitted(self.source.blocks(), int(most_rows), self.block_bytes):
            empty = False
            yield block
        if empty:
            raise ValueError(f"{self.path} must contain at least one row, got none.")


def _distinct(names: Sequence[str]) -> Sequence[str]:
    if isinstance(names, NumberedNames) and len(names):
        return names
    if isinstance(names, str) or not len(names) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"feature_names must be a sequence of at least one text, got {names!r}.")
    if len(set(names)) < len(names):
        twice, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"feature_names must be distinct, got {twice!r} twice.")
    return tuple(names)


def _kinds_by_name(names: Sequence[str], kinds: Sequence[str]) -> dict[str, FeatureKind]:
    """Return the kinds of the features that are no numbers."""
    known = get_args(FeatureKind)
    found = set(counts_of(kinds))
    if kinds and (len(kinds) != len(names) or not found <= set(known)):
        expected = f"{len(names)} of {', '.join(known)}"
        raise ValueError(f"feature_kinds must be empty or contain {expected}, got {kinds!r}.")
    if found <= {"number"}:
        return {}
    return {name: kind for name, kind in zip(names, kinds, strict=False) if kind != "number"}  # type: ignore[misc]


def _fitted(blocks: Iterable[RowBlock], most_rows: int, most_bytes: int) -> Iterator[RowBlock]:
    """Yield the rows in order, in blocks as large as the limits allow."""
    held: list[RowBlock] = []
    rows_left, bytes_left = most_rows, most_bytes
    for block in blocks:
        start, n_rows, ends = 0, block.X.shape[0], _byte_ends(block)
        while start < n_rows:
            fitting = int(np.searchsorted(ends, ends[start] + bytes_left, side="right")) - 1
            stop = max(min(fitting, start + rows_left), start if held else start + 1)
            held.append(_some(block, start, stop))
            rows_left, bytes_left = rows_left - (stop - start), bytes_left - int(ends[stop] - ends[start])
            start = stop
            if start < n_rows or not rows_left:
                yield _joined(held)
                held, rows_left, bytes_left = [], most_rows, most_bytes
    if held:
        yield _joined(held)


def _byte_ends(block: RowBlock) -> IntArray:
    """Return the size of the rows before each row, and of all rows (n_rows + 1,)."""
    if sparse.issparse(block.X):
        ends: IntArray = block.X.indptr.astype(np.intp) * _CELL_BYTES
        return ends
    n_rows, n_features = block.X.shape
    return np.arange(n_rows + 1) * int(n_features * block.X.itemsize)


def _some(block: RowBlock, start: int, stop: int) -> RowBlock:
    return RowBlock(block.X[start:stop], None if block.ids is None else block.ids[start:stop], block.share_done)


def _joined(blocks: Sequence[RowBlock]) -> RowBlock:
    """Return the rows of all blocks as one."""
    if len(blocks) == 1:
        return blocks[0]
    parts = [block.X for block in blocks]
    X = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    ids = [block.ids for block in blocks if block.ids is not None]
    return RowBlock(X, np.concatenate(ids) if ids else None, blocks[-1].share_done)
