"""Readers of binary files: NPZ, Excel workbooks, Parquet, stores, models and their cards."""

from __future__ import annotations

import io
import random
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse

from fuzz.mutation import ANY_BYTES, ARCHIVE, PARQUET, Files
from fuzz.oracles import check, check_dataset, check_rows, check_same, same_matrix
from fuzz.target import Target
from nearlabel.datasets import (
    append_to_store,
    load_dataset,
    open_store,
    read_npz,
    read_table,
    remove_from_store,
    write_npz,
    write_store,
)
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, read_card, read_kept, save_model, update_model

X = np.array([[1.0, 2.5], [-3.0, 0.0], [0.0, 1e-3], [4.0, np.nan]])
Y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]])
ROWS = np.arange(24.0).reshape(8, 3) % 5
SPARSE_ROWS = sparse.csr_array(np.where(ROWS > 2, ROWS, 0))


def files_of(folder: Path) -> Files:
    """Return the names and contents of the files of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def made_in_folder(make: Callable[[Path], object]) -> Files:
    """Return the files that a function makes in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder))
        return files_of(Path(folder))


# NPZ.


def _npz(**arrays: Any) -> Files:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return {"in.npz": file.getvalue()}


def _csr_parts(name: str, matrix: Any) -> dict[str, Any]:
    rows = sparse.csr_array(matrix)
    parts = {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr, "shape": np.array(rows.shape)}
    return {f"{name}_{part}": array for part, array in parts.items()}


def _npz_sparse() -> list[Files]:
    return [_npz(**_csr_parts("X", np.nan_to_num(X)), **_csr_parts("Y", Y)), _npz(X=X, **_csr_parts("Y", Y))]


def _npz_named() -> list[Files]:
    names = {"feature_names": np.array(["x", "y y"]), "label_names": np.array(["a", "b", "ü"])}
    return [_npz(X=X, Y=np.where(Y == 0, np.nan, Y), feature_kinds=np.array(["number", "flag"]), **names)]


def _read_npz(folder: Path) -> None:
    data = read_npz(folder / "in.npz")
    check_dataset(data)
    again = read_npz(write_npz(folder / "again.npz", data))
    check_same(data, again, "written and read again")
    check_rows(folder / "in.npz", data)


# Tables.


def _xlsx() -> list[Files]:
    from openpyxl import Workbook

    def make(folder: Path) -> None:
        book = Workbook()
        for row in (["x", "y", "l_a", "l_b"], [1, 2.5, 1, 0], [3, None, 0, 1], ["4", "-1e3", "yes", True]):
            book.active.append(row)
        notes = book.create_sheet("notes")
        notes.append(["x", "l_a", "=1+1", "#N/A"])
        notes.sheet_state = "hidden"
        book.save(folder / "in.xlsx")

    return [made_in_folder(make)]


def _read_xlsx(folder: Path) -> None:
    check_dataset(read_table(folder / "in.xlsx", labels_prefix="l_"))


def _parquet() -> list[Files]:
    import pyarrow as pa
    from pyarrow import parquet

    def make(compression: str) -> Callable[[Path], None]:
        columns = {"x": [1.0, 2.5, None], "n": [1, 2, 3], "l_a": [1, 0, 1], "l_b": [True, None, False]}
        table = pa.table(columns)
        return lambda folder: parquet.write_table(table, folder / "in.parquet", compression=compression)

    return [made_in_folder(make("none")), made_in_folder(make("snappy"))]


def _read_parquet(folder: Path) -> None:
    data = read_table(folder / "in.parquet", labels_prefix="l_")
    check_dataset(data)
    check_rows(folder / "in.parquet", data)


def _parquet_lists() -> list[Files]:
    import pyarrow as pa
    from pyarrow import parquet

    def make(folder: Path) -> None:
        lists = pa.array([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]], pa.list_(pa.float32(), 2))
        tags = pa.array([["a", "b"], [], ["b"]], pa.list_(pa.string()))
        genre = pa.array(["rock", None, "jazz"]).dictionary_encode()
        table = pa.table({"id": ["p", "q", "r"], "e": lists, "tags": tags, "g": genre})
        parquet.write_table(table, folder / "in.parquet")

    return [made_in_folder(make)]


def _read_parquet_lists(folder: Path) -> None:
    data = read_table(folder / "in.parquet", labels_column="tags", ignore=["id"], categorical=["g"])
    check_dataset(data)


def _isolated(folder: Path) -> None:
    check_dataset(read_table(folder / "in.parquet", labels_prefix="l_", isolate=True))


def _isolated_lists(folder: Path) -> None:
    read_table(folder / "in.parquet", labels_column="tags", ignore=["id"], categorical=["g"], isolate=True)


_OF_COLUMNS: tuple[tuple[str, tuple[Any, ...]], ...] = (  # names of types of pyarrow, and values
    *(("null", (None,)), ("bool_", (True, False, None)), ("int8", (0, 1, None)), ("uint64", (0, 2**63, None))),
    *(("float16", (0.5, None)), ("float64", (1.0, float("nan"), None)), ("string", ("", " ", "1", "a", None))),
    *(("large_string", ("0", "yes", None)), ("binary", (b"", b"a", None)), ("date32", (0, None))),
    *(("timestamp", (0, 2**40, None)), ("dictionary", ("a", "", None)), ("struct", ({}, {"a": 1}, None))),
    *(("list_", ([], [1.0, 2.0], None)), ("texts", ([], ["a"], [""], None))),
    *(("fixed", ([1.0, 2.0], None)), ("map_", ([], [("a", 1)], None))),
)


def _types() -> dict[str, Any]:
    import pyarrow as pa

    return {
        "timestamp": pa.timestamp("us", "UTC"),
        "dictionary": pa.dictionary(pa.int8(), pa.string()),
        "struct": pa.struct([("a", pa.int64())]),
        "list_": pa.list_(pa.float32()),
        "texts": pa.list_(pa.string()),
        "fixed": pa.list_(pa.float64(), 2),
        "map_": pa.map_(pa.string(), pa.int64()),
    }


def _drawn_parquet(folder: Path) -> None:
    """Write and read columns of any types, with no rows, no group of rows, or cells that are all empty."""
    import pyarrow as pa
    from pyarrow import parquet

    rng, types = random.Random((folder / "in.parquet").read_bytes()), _types()
    n_rows = rng.choice((0, 1, 2, 5))
    columns = {}
    for name in ("x", "l_a", *rng.sample(("l_b", "tags", "ä", ""), rng.choice((0, 0, 1, 2)))):
        kind, values = rng.choice(_OF_COLUMNS if rng.random() < 0.3 else _OF_COLUMNS[:3])
        cells = [rng.choice(values) for _ in range(n_rows)] if rng.random() < 0.8 else [None] * n_rows
        if kind == "float16":
            cells = [None if cell is None else np.float16(cell) for cell in cells]
        columns[name] = pa.array(cells, types[kind] if kind in types else getattr(pa, kind)())
    table = pa.table(columns)
    with parquet.ParquetWriter(folder / "in.parquet", table.schema) as writer:
        for _ in range(rng.choice((0, 1, 1, 2))):
            writer.write_table(table)
    options = rng.choice(({"labels_prefix": "l_"}, {"labels_column": "tags"}, {"labels": ["l_a"], "ignore": ["x"]}))
    data = read_table(folder / "in.parquet", **options)
    check_dataset(data)
    check_rows(folder / "in.parquet", data, feature_kinds=data.feature_kinds)


def _isolated_either(folder: Path) -> None:
    (_isolated_lists if b"tags" in (folder / "in.parquet").read_bytes() else _isolated)(folder)


def _any_suffix(folder: Path) -> None:
    """Read what has the suffix of another format."""
    for path in sorted(folder.iterdir()):
        check_dataset(load_dataset(path))


# Stores.


def _store(rows: Any) -> Callable[[], list[Files]]:
    return lambda: [made_in_folder(lambda folder: write_store(folder / "store", rows))]


def _use(matrix: Any) -> None:
    """Do with rows what a search does: sums, slices, products, all of which may follow indices out of an array."""
    n_rows, n_columns = matrix.shape
    if n_rows * n_columns > 10**7:
        return
    with np.errstate(all="ignore"):
        matrix.sum()
        matrix[1:3].sum(axis=0)
        matrix[::-1].sum()
        matrix @ np.ones((n_columns, 2))
        if sparse.issparse(matrix):
            matrix.toarray()
            (matrix @ matrix.T).sum()


def _read_store(folder: Path) -> None:
    matrix = open_store(folder / "store")
    check(matrix.ndim == 2, "store: two dimensions")
    _use(matrix)


def _check_store(folder: Path) -> None:
    """Open a store with its check sums: what is taken is what was written."""
    matrix = open_store(folder / "store", check=True)
    written = SPARSE_ROWS if sparse.issparse(matrix) else ROWS
    check(same_matrix(matrix[:].copy(), written), "store: its check sums are right, and its rows are others")


def _change_store(folder: Path) -> None:
    path = folder / "store"
    before = open_store(path)
    if before.shape[0] * before.shape[1] > 10**6:
        return
    before = before.copy()
    width = before.shape[1]
    append_to_store(path, np.zeros((1, width), dtype=before.dtype))
    check(open_store(path).shape == (before.shape[0] + 1, width), "store: a row more")
    remove_from_store(path, [before.shape[0]])
    check(same_matrix(open_store(path)[:].copy(), before), "store: other rows than before")


# Models.

FEATURES = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [5.0, 5.0], [6.0, 5.0], [0.5, 0.5]])
LABELS = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [0, 1], [1, 0]])


def _models() -> list[Files]:
    def make(model: Any, **options: Any) -> Callable[[Path], None]:
        return lambda folder: _saved(model.fit(FEATURES, LABELS), folder / "model.skops", **options)

    kept = {"id": list("abcdef"), "title": ["A title", "", "ä", "x", "y", "z"]}
    made = [make(MLkNN(2), keep=kept), make(BRkNN(1), compress=True)]
    with patch("nearlabel.persistence._searches.PACKED_FROM", 1):
        return [*map(made_in_folder, made), made_in_folder(make(BRkNN(1, search=ExactNeighbors(algorithm="brute"))))]


def _saved(model: Any, path: Path, **options: Any) -> None:
    save_model(model, path, data=(FEATURES, LABELS), scores={"micro_f1": 0.5}, notes="a note", **options)


def _read_card(folder: Path) -> None:
    path = folder / "model.skops"
    card = read_card(path)
    check(card.from_json(card.to_json().encode()) == card, "card: written and read again, it is another")
    kept = read_kept(path)
    check(tuple(kept) == card.kept, "kept: other columns than on the card")
    check(card.data.rows is None or all(len(c) == card.data.rows for c in kept.values()), "kept: other rows")


def _load_model(folder: Path) -> None:
    model = load_model(folder / "model.skops")
    try:
        repr(model)
        model.predict(FEATURES[:3])
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001  # whoever writes a file decides what its model says; it may not kill the process
        return


def _update_model(folder: Path) -> None:
    load_model(folder / "model.skops")
    try:
        update_model(folder / "model.skops", FEATURES[:1], LABELS[:1])
    except (MemoryError, RecursionError):
        raise
    except Exception:  # noqa: BLE001  # as above: of a model that is sound as a file, and makes no sense
        return
    check(load_model(folder / "model.skops") is not None, "update: the file is read again")


def _quiet(read: Callable[[Path], None]) -> Callable[[Path], None]:
    def quiet(folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions of the libraries
            read(folder)

    return quiet


def _copied(suffixes: tuple[str, ...]) -> Callable[[], list[Files]]:
    """Return files of some binary formats, each under the suffix of each."""

    def make() -> list[Files]:
        contents = [next(iter(files.values())) for files in (*_npz_named(), *_npz_sparse(), *_xlsx(), *_parquet())]
        return [{f"in{suffix}": content} for content in contents for suffix in suffixes]

    return make


# pyarrow takes what a page says that it unpacks to, up to 2 GiB.

TARGETS = (
    Target("npz", lambda: [_npz(X=X, Y=Y), _npz(X=X.astype(np.float32), Y=Y.astype(bool))], _read_npz, ARCHIVE),
    Target("npz-sparse", _npz_sparse, _read_npz, ARCHIVE),
    Target("npz-named", _npz_named, _read_npz, ARCHIVE),
    Target("xlsx", _xlsx, _read_xlsx, ARCHIVE, share=0.25, needs=("openpyxl", "pyarrow")),
    Target("parquet", _parquet, _read_parquet, PARQUET, isolated=_isolated, needs=("pyarrow",)),
    Target("parquet-lists", _parquet_lists, _read_parquet_lists, PARQUET, isolated=_isolated_lists, needs=("pyarrow",)),
    Target(
        "parquet-isolated",
        lambda: _parquet() + _parquet_lists(),
        _isolated_either,
        PARQUET,
        share=0.01,
        needs=("pyarrow",),
    ),
    Target(
        "parquet-drawn",
        lambda: [{"in.parquet": bytes([seed])} for seed in range(50)],
        _drawn_parquet,
        ANY_BYTES,
        is_valid=False,
        needs=("pyarrow",),
    ),
    Target(
        "suffixes",
        _copied((".npz", ".csv", ".xlsx", ".svm")),
        _any_suffix,
        share=0.25,
        needs=("openpyxl", "pyarrow"),
        is_valid=False,
    ),
    Target("store-dense", _store(ROWS), _read_store),
    Target("store-sparse", _store(SPARSE_ROWS), _read_store),
    Target("store-sums", lambda: _store(ROWS)() + _store(SPARSE_ROWS)(), _check_store, fixed=("store/store.json",)),
    Target("store-change", lambda: _store(ROWS)() + _store(SPARSE_ROWS)(), _change_store, share=0.5),
    Target("model-card", _models, _read_card, ARCHIVE, needs=("skops",)),
    Target("model", _models, _quiet(_load_model), ARCHIVE, share=0.25, needs=("skops",)),
    Target("model-update", _models, _quiet(_update_model), ARCHIVE, share=0.05, needs=("skops",)),
)
