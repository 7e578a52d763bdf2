"""A folder with a table, and for some tests a model."""

import os
from importlib.util import find_spec

import pytest

from faults._scenarios import OF_TABLE, run_command, write_table

if os.name != "posix":
    collect_ignore_glob = ["*"]  # signals, limits and devices of POSIX
if find_spec("distributed") is None:
    collect_ignore = ["_dask_workers.py"]


@pytest.fixture
def folder(tmp_path):
    """A folder with a table of 60 rows."""
    write_table(tmp_path / "data.csv", 60, 0)
    return tmp_path


@pytest.fixture
def with_model(folder):
    """The same with a model and rows to predict."""
    write_table(folder / "new.csv", 30, 1)
    options = ("--method", "mlknn", "--k", "3", "--validate", "none")
    run_command(folder, "fit", "data.csv", *OF_TABLE, *options, "--out", "m.skops")
    return folder
