import csv
import io
import json

import numpy as np
import pytest

from nearlabel import labels


def test_json(nearlabel, meka, rows):
    """The figures of Y, the shape and storage of X, and each label's, as JSON."""
    X, Y = rows
    answer = nearlabel("describe", meka, "--format", "json")
    facts = json.loads(answer.out)
    per_label = facts.pop("per_label")
    assert facts.pop("in_words").startswith("Data set fruit: 30 rows. 3 features: 3 numbers (x0, x1, x2). 3 labels")
    assert (facts.pop("left_out"), len(facts.pop("first_rows"))) == ([], 3)
    assert (answer.code, answer.err) == (0, "")
    assert facts == labels.describe(Y) | {
        "name": "fruit",
        "features": 3,
        "storage": "dense",
        "nonzero_share": np.count_nonzero(X) / X.size,
        "missing_values": 0,
        "infinite_values": 0,
    }
    assert [row["rows"] for row in per_label] == Y.sum(axis=0).tolist()


def test_csv_is_one_row_a_label(nearlabel, meka, rows):
    """A table of labels that any reader of CSV takes."""
    answer = nearlabel("describe", meka, "--format", "csv")
    table = list(csv.DictReader(io.StringIO(answer.out)))
    assert [row["label"] for row in table] == ["[red] apple", "[/b] pear", ":lemon:"]
    assert [int(row["rows"]) for row in table] == rows[1].sum(axis=0).tolist()


def test_statistics_have_the_names_of_the_field(nearlabel, meka, rows):
    """Cardinality and density, as papers have them beside the number of label sets."""
    lines = [line.split() for line in nearlabel("describe", meka).out.splitlines()]
    for of in (labels.cardinality, labels.density):
        assert [of.__name__, f"{of(rows[1]):.4g}"] in lines


def test_table_shows_names_as_they_are(nearlabel, meka):
    """Brackets and colons in a label's name are neither markup nor a picture."""
    answer = nearlabel("describe", meka)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Data set fruit: 30 rows. 3 features: 3 numbers (x0, x1, x2). 3 labels ([red] apple, ")
    for name in ("[red] apple", "[/b] pear", ":lemon:"):
        assert name in answer.out


def test_a_pipe_folds_no_line(nearlabel, tmp_path):
    """However long a name, it stays on its line when the output is no terminal."""
    name = "very-" * 60 + "long"
    (tmp_path / "long.arff").write_text(
        f"@relation 'l: -C 1'\n@attribute {name} {{0,1}}\n@attribute x real\n@data\n1,2\n"
    )
    answer = nearlabel("describe", tmp_path / "long.arff")
    assert sum(line.split()[:2] == [name, "1"] for line in answer.out.splitlines()) == 1


def test_sparse_and_missing(nearlabel, tmp_path, svmlight):
    """The storage of the file is told, and how many values are missing."""
    assert json.loads(nearlabel("describe", svmlight, "--format", "json").out)["storage"] == "sparse"
    (tmp_path / "gap.arff").write_text("@relation 'g: -C 1'\n@attribute y {0,1}\n@attribute x real\n@data\n1,?\n0,2\n")
    assert json.loads(nearlabel("describe", tmp_path / "gap.arff", "--format", "json").out)["missing_values"] == 1
    (tmp_path / "inf.csv").write_text("a,b,y\ninf,1,yes\n-inf,,no\n")
    facts = json.loads(nearlabel("describe", tmp_path / "inf.csv", "--labels", "y", "--format", "json").out)
    assert (facts["missing_values"], facts["infinite_values"]) == (1, 2)


def test_a_label_without_rows(nearlabel, tmp_path):
    """Its imbalance is infinite: null in JSON, inf where text is read by people."""
    file = tmp_path / "rare.arff"
    file.write_text(
        "@relation 'r: -C 2'\n@attribute y {0,1}\n@attribute z {0,1}\n@attribute x real\n@data\n1,0,1\n1,0,2\n"
    )
    per_label = json.loads(nearlabel("describe", file, "--format", "json").out)["per_label"]
    assert per_label[1] == {"label": "z", "rows": 0, "imbalance_ratio": None}
    assert "inf" in nearlabel("describe", file).out


def test_embedded_data_set(nearlabel):
    """The embedded data set needs no file and no network."""
    facts = json.loads(nearlabel("describe", "multidigits", "--format", "json").out)
    assert (facts["name"], facts["labels"]) == ("multidigits", 10)


def test_catalogue_name(nearlabel, data_folder):
    """A name of the catalogue is found in NEARLABEL_DATA."""
    facts = json.loads(nearlabel("describe", "emotions", "--format", "json").out)
    assert (facts["name"], facts["instances"], facts["features"], facts["labels"]) == ("emotions", 593, 72, 6)


@pytest.mark.parametrize(("name", "text"), [("x.ods", "1,2\n"), ("plain", "1,2\n")])
def test_unknown_format(nearlabel, tmp_path, monkeypatch, name, text):
    """A file that is no data set is told from a misspelt name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    answer = nearlabel("describe", name)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"nearlabel: {name} must end in one of .arff, ")
