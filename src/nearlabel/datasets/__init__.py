"""Data sets: readers of the field's formats, well-known sets by name, and one that needs no file.

`read_mulan`, `read_meka`, `read_svmlight`, `read_table` (CSV, Excel, JSON, Parquet) and `read_npz` take a path;
`load_dataset` detects the format of a file; `from_frame` and `from_hub` take a data frame. `read_reuters` takes the
folder of the news texts of Reuters-21578.
`fetch_dataset` takes a name of the `catalogue`. `load_multidigits` makes a small data set from scikit-learn's digits.
Each returns a `Dataset`, which `write_npz` writes. `open_rows` reads the rows of a file in blocks, for prediction.
`write_store` and `open_store` save a matrix to disk and map it into memory; `append_to_store` and `remove_from_store`
change it. `examine` reports problems of a data set that make neighbours worse, `describe_columns` describes each
column; `duplicate_groups` numbers equal rows.
"""

from nearlabel.datasets import tables as tables  # functions of files for the command line
from nearlabel.datasets._arff import read_meka, read_mulan
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._fetch import CatalogueEntry, CatalogueFile, cache_folder, catalogue, fetch_dataset, is_on_disk
from nearlabel.datasets._frame_table import from_frame, from_hub
from nearlabel.datasets._multidigits import load_multidigits
from nearlabel.datasets._npz import read_npz, write_npz
from nearlabel.datasets._reuters import read_reuters
from nearlabel.datasets._row_blocks import RowBlock, RowBlocks, open_rows
from nearlabel.datasets._svmlight import read_svmlight
from nearlabel.datasets._table import read_table
from nearlabel.datasets.doctor import Examination, Finding, describe_columns, duplicate_groups, examine
from nearlabel.datasets.tables import load_dataset
from nearlabel.files.store import append_to_store, open_store, remove_from_store, write_store

__all__ = [
    "CatalogueEntry", "CatalogueFile", "Dataset", "Examination", "Finding", "RowBlock", "RowBlocks", "append_to_store",
    "cache_folder", "catalogue", "describe_columns", "duplicate_groups", "examine", "fetch_dataset", "from_frame",
    "from_hub", "is_on_disk", "load_dataset", "load_multidigits", "open_rows", "open_store", "read_meka", "read_mulan",
    "read_npz", "read_reuters", "read_svmlight", "read_table", "remove_from_store", "write_npz", "write_store",
]  # fmt: skip
