"""Data in the order of a model."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nearlabel.cli._matched_data import Matching
from nearlabel.datasets import Dataset
from nearlabel.datasets.tables import columns_of_model
from nearlabel.persistence import DataSummary

NAMED = DataSummary(features=2, feature_names=("z", "x"), labels=3, label_names=("b", "new", "a"))


def data_of(X, Y, features="xyz", labels="ab"):
    """A data set with names."""
    return Dataset(np.array(X, dtype=float), np.array(Y), tuple(features), tuple(labels), "toy")


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_columns_are_found_by_name(storage):
    """Features and labels in another order; one that the model does not know is left out."""
    data = Dataset(storage([[1.0, 2, 3]]), storage([[1, 0, 1, 0]]), tuple("xyz"), ("a", "b", "c", "new"), "toy")
    matched, notes = Matching(NAMED).match(data)
    X, Y = ((part.toarray() if sparse.issparse(part) else part).tolist() for part in (matched.X, matched.Y))
    assert (X, Y) == ([[3, 1]], [[0, 0, 1]])
    assert (matched.feature_names, matched.label_names) == (("z", "x"), ("b", "new", "a"))
    assert notes == ["Labels unknown to the model are left out: 'c'."]


def test_a_tag_that_no_row_has():
    """Nothing names it: it is absent from every row."""
    data, notes = Matching(NAMED).match(data_of([[1, 2, 3]], [[1, 0, 1]], labels="abc"), tags=True)
    assert data.Y.tolist() == [[0, 0, 1]]
    assert notes == [
        "No row of the data has the label 'new'.",
        "Labels unknown to the model are left out: 'c'.",
    ]


def test_a_label_that_the_data_do_not_name():
    """Columns of labels name it, whether or not a row has it: without, every measure would be wrong."""
    with pytest.raises(
        ValueError, match=r"DATA must have every label of the model, got none named 'new'\. Hint: --lab"
    ):
        Matching(NAMED).match(data_of([[1, 2, 3]], [[1, 0, 1]], labels="abc"))


def test_no_known_tag():
    """Tags that were joined by another separator: no row has a label that the model knows."""
    message = (
        r"DATA must have tags that are known to the model, such as 'b', 'new', 'a', got 'a\|b', 'c'\. Hint: --labels-"
    )
    with pytest.raises(ValueError, match=message):
        Matching(NAMED).match(data_of([[1, 2, 3]], [[1, 0]], labels=("a|b", "c")), tags=True)


def test_a_feature_that_the_data_lack():
    """It is named."""
    with pytest.raises(ValueError, match="DATA must have the features of the model, got none named 'z'"):
        Matching(NAMED).match(data_of([[1, 2]], [[1, 0]], features="xy"))


@pytest.mark.parametrize("names", [None, ("0", "1", "2")])
def test_columns_without_names(names):
    """A model that was fitted to arrays takes columns by position, and as many as it had."""
    data = data_of([[1, 2, 3]], [[1, 0]])
    summary = DataSummary(features=3, feature_names=names, labels=2, label_names=("0", "1"))
    assert Matching(summary).match(data) == (data, [])
    with pytest.raises(
        ValueError, match=r"DATA must have the 4 features of the model, got 3\. Hint: --ignore and --lab"
    ):
        Matching(DataSummary(features=4, labels=2)).match(data)
    with pytest.raises(ValueError, match="DATA must have the 1 labels of the model, got 2"):
        Matching(DataSummary(features=3, labels=1)).match(data)


def test_columns_that_are_named_by_their_numbers():
    """The columns of an array are found by number where data have such names, as svmlight files and frames have."""
    data, _ = Matching(DataSummary(features=2, labels=2)).match(data_of([[1, 2, 3]], [[1, 0]], features="210"))
    assert (data.X.tolist(), data.feature_names) == ([[3, 2]], ("0", "1"))


def test_tags_that_are_numbers():
    """They are names, not positions: 2 is none of the model's."""
    summary = DataSummary(features=3, labels=2, label_names=("0", "1"))
    data, notes = Matching(summary).match(data_of([[1, 2, 3]], [[1, 1]], labels="12"), tags=True)
    assert (data.Y.tolist(), len(notes)) == ([[0, 1]], 2)


TAGS = ["a;b", "", "b", "a", "b;new", "a;b"]
FRAME = pd.DataFrame({
    "key": [f"k{row}" for row in range(6)],
    "x": range(6),
    "title": ["one", "two", "a", "b", "three", "four"],
    "z": [0.5] * 6,
})  # fmt: skip


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
@pytest.mark.parametrize("kind", ["tags", "columns"])
def test_the_columns_of_a_model(tmp_path, suffix, kind):
    """Its features and labels are found by name, as columns or as tags; the other columns are ignored."""
    frame = FRAME.assign(moods=TAGS) if kind == "tags" else FRAME.assign(a=[0, 1] * 3, b=[1, 0] * 3)
    file = tmp_path / f"new{suffix}"
    if suffix == ".parquet":
        frame.to_parquet(file)
    else:
        frame.to_csv(file, index=False, sep="\t" if suffix == ".tsv" else ",")
    found = columns_of_model(file, ("z", "x"), ("a", "b"), separator=None, ignore=("key",))
    if kind == "tags":
        assert found == {"labels_column": "moods", "ignore": ("key", "title")}
    else:
        assert found == {"labels": ("a", "b"), "ignore": ("key", "title")}


@pytest.mark.parametrize("others", [{}, {"one": TAGS, "two": TAGS}, {"a": [0, 1] * 3}])
def test_labels_that_are_not_found(tmp_path, others):
    """Nothing is guessed where no column, or more than one, may hold them, or where a label lacks its column."""
    FRAME.assign(**others).to_csv(tmp_path / "new.csv", index=False)
    assert columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), separator=None, ignore=()) == {}


def test_a_saved_column_is_no_guess(tmp_path):
    """Though its words are those of labels; as columns, labels may be saved, too."""
    FRAME.assign(moods=TAGS).to_csv(tmp_path / "new.csv", index=False)
    options = {"separator": None, "ignore": ()}
    assert columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), ("title", "moods"), **options) == {}
    found = columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), ("key",), **options)
    assert found["labels_column"] == "moods"
    FRAME.assign(a=[0, 1] * 3, b=[1, 0] * 3).to_csv(tmp_path / "new.csv", index=False)
    found = columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), ("a",), **options)
    assert found["labels"] == ("a", "b")


def test_a_separator_that_is_guessed(tmp_path):
    """As where labels are read; one that is given counts alone."""
    FRAME.assign(tags=["a|b"] * 6).to_csv(tmp_path / "new.csv", index=False)
    found = columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), separator=None, ignore=())
    assert found == {"labels_column": "tags", "ignore": ("key", "title")}
    assert columns_of_model(tmp_path / "new.csv", ("x", "z"), ("a", "b"), separator=";", ignore=()) == {}


def test_embeddings_of_a_model(tmp_path):
    """A column of lists holds features by their places."""
    frame = FRAME.assign(moods=TAGS, e=[[row, 1.0] for row in range(6)])
    frame.to_parquet(tmp_path / "new.parquet")
    found = columns_of_model(tmp_path / "new.parquet", ("e[0]", "e[1]"), ("a", "b"), separator=";", ignore=())
    assert found == {"labels_column": "moods", "ignore": ("key", "x", "title", "z")}


@pytest.mark.long
def test_a_model_knows_the_columns_of_its_data(nearlabel, table, tmp_path, monkeypatch):
    """`report`, `predict --score` and `explain` need no option that fit was given, with the same answers."""
    monkeypatch.chdir(tmp_path)
    file = table[1]
    options = ("--labels-column", "tags", "--ignore", "id")
    assert nearlabel("fit", file, *options, "--method=mlknn", "--k", 3, "--out", "m.skops").code == 0
    for command in (("predict", "m.skops", file, "--score"), ("explain", "m.skops", file, "--row", "0")):
        assert nearlabel(*command) == nearlabel(*command, *options)
        assert nearlabel(*command).code == 0
    pages = []
    files = ("m.skops", file, "--training", file, "--out", "r.html")
    for given in (options, ()):
        assert nearlabel("report", *files, *given) == (0, "Report: r.html\n", "")
        pages.append(Path("r.html").read_text())
    assert pages[0] == pages[1]
    assert "The model was fitted to these samples" in pages[0]


def test_a_file_that_lacks_a_feature(nearlabel, table, tmp_path):
    """It is named, whether or not the labels are."""
    assert (
        nearlabel(
            *("fit", table[1], "--labels-column=tags", "--ignore=id"),
            *("--method=mlknn", "--k=3", "--out", tmp_path / "m.skops"),
        ).code
        == 0
    )
    (tmp_path / "new.csv").write_text("x0,x2,tags\n1,2,apple\n")
    answer = nearlabel("report", tmp_path / "m.skops", tmp_path / "new.csv", "--out", tmp_path / "r.html")
    assert (answer.code, answer.out) == (2, "")
    assert "'x1'" in answer.err
    assert answer.err.count("\n") == 1
