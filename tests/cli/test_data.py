"""DATA and its options, on every command that takes them."""

import argparse
import json
import os
import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from nearlabel.cli import _data
from nearlabel.cli._data import add_data_options
from nearlabel.datasets import Dataset, write_npz

LABELS = ("[red] apple", "[/b] pear", "le,mon")


@pytest.fixture
def table(tmp_path, rows):
    """The fruit as CSV, Parquet with a list of tags, and NPZ."""
    X, Y = rows
    columns = {f"x{j}": X[:, j] for j in range(3)}
    indicators = {label: Y[:, j] for j, label in enumerate(LABELS)}
    lines = [",".join(f'"{name}"' for name in [*columns, "note", *indicators])]
    lines += [",".join([*map(str, x), "text", *map(str, y)]) for x, y in zip(X, Y, strict=True)]
    (tmp_path / "fruit.csv").write_text("\n".join(lines) + "\n")
    tags = [[LABELS[j] for j in range(3) if y[j]] for y in Y]
    parquet.write_table(pa.table(columns | {"tags": tags}), tmp_path / "fruit.parquet")
    joined = ["|".join(labels) for labels in tags]
    parquet.write_table(pa.table(columns | {"tags": joined}), tmp_path / "joined.parquet")
    write_npz(tmp_path / "fruit.npz", Dataset(X, Y, tuple(columns), LABELS, "fruit"))
    return tmp_path


WAYS = {
    "labels": ("fruit.csv", "--labels", '[red] apple, [/b] pear,"le,mon"', "--ignore", "note"),
    "column": ("fruit.parquet", "--labels-column", "tags"),
    "separator": ("joined.parquet", "--labels-column", "tags", "--labels-separator", "|"),
    "npz": ("fruit.npz",),
}


@pytest.mark.parametrize("way", WAYS)
def test_describe(nearlabel, table, rows, way):
    """Each way to say what the labels are gives the same data set."""
    name, *options = WAYS[way]
    facts = json.loads(nearlabel("describe", table / name, *options, "--format", "json").out)
    assert (facts["instances"], facts["features"], facts["labels"]) == (30, 3, 3)
    counts = {label["label"]: label["rows"] for label in facts["per_label"]}
    assert counts == dict(zip(LABELS, rows[1].sum(axis=0).tolist(), strict=True))


def test_evaluate(nearlabel, table, meka):
    """The same rows in CSV and in ARFF have the same scores."""
    name, *options = WAYS["labels"]
    run = ("--methods", "brknn", "--k", "3", "--cv", "3", "--metrics", "hamming_loss", "--format", "json")
    from_table = nearlabel("evaluate", table / name, *options, *run)
    assert (from_table.code, from_table.err) == (0, "")
    assert from_table.out == nearlabel("evaluate", meka, *run).out


@pytest.mark.parametrize(("name", "options", "message"), [
    ("fruit.csv", (), "one of --labels, --labels-prefix and --labels-column must name .* got none of them"),
    ("fruit.csv", ("--labels-prefix", "["), r"column 'note' must contain numbers, got 'text'\. Hint: .*--ignore note"),
    ("fruit.npz", ("--labels", "a"), r"--labels must go with a CSV, .* file, got .*npz\. Hint: its labels are"),
    ("multidigits", ("--labels-prefix", "a"), "--labels-prefix must go with a file, got the data set 'multidigits'"),
    ("emotions", ("--ignore", "a"), r"--ignore must go with a file, got the data set 'emotions'\. Hint: its labels"),
    ("fruit.csv", ("--labels", ","), r"argument --labels: must name columns, separated by commas, got ','"),
    ("fruit.csv", ("--ignore", ""), r"argument --ignore: must name columns, separated by commas, got ''"),
])  # fmt: skip
def test_bad_options(nearlabel, table, name, options, message):
    """One line on standard error says what is wrong, and the exit code is 2."""
    answer = nearlabel("describe", table / name if "." in name else name, *options)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("nearlabel: ")
    assert re.search(message, answer.err)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("command", [("describe",), ("predict", "m.skops")])
def test_a_pipe(nearlabel, table, tmp_path, command):
    """It can be read but once: told, without waiting for who writes."""
    os.mkfifo(tmp_path / "pipe.csv")
    labels = ("--labels-column", "tags")
    assert (
        nearlabel(
            "fit", table / "fruit.parquet", *labels, "--method=mlknn", "--k", 2, "--out", tmp_path / "m.skops"
        ).code
        == 0
    )
    name, *model = command
    answer = nearlabel(name, *(tmp_path / file for file in model), tmp_path / "pipe.csv", *labels)
    message = "must be a file that can be read twice, got a pipe. Hint: - reads standard input."
    assert answer == (2, "", f"nearlabel: {tmp_path / 'pipe.csv'} {message}\n")


def test_another_command_can_use_it(table):
    """Two functions are all that a command needs."""
    parser = argparse.ArgumentParser()
    add_data_options(parser)
    arguments = parser.parse_args([str(table / "fruit.parquet"), "--labels-column", "tags"])
    assert _data.open_data(arguments).label_names == tuple(sorted(LABELS))
    with pytest.raises(ValueError, match=r"must be a name of the catalogue to have a given split\. Hint: --cv 10"):
        _data.open_data(arguments, subset="train")
