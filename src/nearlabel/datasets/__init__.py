"""Data sets: readers of the field's formats, well-known sets by name, and one that needs no file.

`read_mulan`, `read_meka` and `read_svmlight` take a path; `load_dataset` finds out which of them a file wants.
`fetch_dataset` takes a name of the `catalogue`. `load_multidigits` makes a small data set out of scikit-learn's digits.
Each gives a `Dataset`. `write_store` and `open_store` keep a matrix on disk and map it into memory.
"""

from nearlabel._store import open_store, write_store
from nearlabel.datasets._catalogue import CatalogueEntry, CatalogueFile, catalogue
from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._fetch import fetch_dataset
from nearlabel.datasets._load import load_dataset
from nearlabel.datasets._meka import read_meka
from nearlabel.datasets._mulan import read_mulan
from nearlabel.datasets._multidigits import load_multidigits
from nearlabel.datasets._svmlight import read_svmlight

__all__ = [
    "CatalogueEntry",
    "CatalogueFile",
    "Dataset",
    "catalogue",
    "fetch_dataset",
    "load_dataset",
    "load_multidigits",
    "open_store",
    "read_meka",
    "read_mulan",
    "read_svmlight",
    "write_store",
]
