"""Every file of the folder of real data sets, against the manifest beside them."""

import csv
import gzip
import os
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import load_dataset, read_meka
from nearlabel.labels import describe


def manifest():
    """Rows of the manifest that are data files with a stated shape."""
    if "NEARLABEL_DATA" not in os.environ:
        return []
    with (Path(os.environ["NEARLABEL_DATA"]) / "MANIFEST.csv").open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.DictReader(stream) if row["instances"] and row["format"].startswith(("arff", "svm"))]


@cache
def load(file):
    """A file of the folder; several tests look at the same."""
    return load_dataset(Path(os.environ["NEARLABEL_DATA"]) / file)


def dense(matrix):
    """Either kind of matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def columns(names, wanted):
    """Where the wanted names stand."""
    return [names.index(name) for name in wanted]


def assert_same_data(one, other):
    """The same rows once the columns are matched by name."""
    assert set(one.label_names) == set(other.label_names)
    assert set(one.feature_names) == set(other.feature_names)
    Y = dense(other.Y)[:, columns(other.label_names, one.label_names)]
    X = dense(other.X)[:, columns(other.feature_names, one.feature_names)]
    np.testing.assert_array_equal(dense(one.Y), Y)
    np.testing.assert_array_equal(dense(one.X), X)


@pytest.mark.usefixtures("data_folder")
def test_there_is_a_manifest():
    """The folder describes what the next test is run on."""
    assert len(manifest()) >= 60


def rows_to_check():
    """Return all rows of the manifest as parameters; ordinarily the smallest file of each format suffices."""
    smallest = {row["format"]: row["file"] for row in sorted(manifest(), key=lambda row: -int(row["bytes"]))}
    return [
        pytest.param(row, id=row["file"], marks=() if row["file"] in smallest.values() else pytest.mark.long)
        for row in manifest()
    ]


@pytest.mark.parametrize("row", rows_to_check())
def test_as_the_manifest_says(row):
    """Shape, label statistics, value range, missing values and empty rows are those of the manifest, by codes."""
    nominal = "codes" if ".arff" in row["file"] else "overlap"
    data = load_dataset(Path(os.environ["NEARLABEL_DATA"]) / row["file"], nominal=nominal)
    stored = data.X.data if sparse.issparse(data.X) else data.X
    figures = describe(data.Y)
    assert (*data.X.shape, data.Y.shape[1]) == tuple(int(row[key]) for key in ("instances", "features", "labels"))
    assert f"{figures['cardinality']:.4f}" == row["cardinality"]
    assert f"{figures['density']:.4f}" == row["density"]
    assert figures["labelset_diversity"] == int(row["distinct_labelsets"])
    assert figures["rows_without_labels"] == int(row["rows_without_labels"])
    assert f"{data.X.min():.6g}" == f"{float(row['x_min']):.6g}"
    assert f"{data.X.max():.6g}" == f"{float(row['x_max']):.6g}"
    assert np.isnan(stored).sum() == int(row["missing_values"])
    assert (abs(data.X).sum(axis=1) == 0).sum() == int(row["zero_rows"])
    assert sparse.issparse(data.X) == sparse.issparse(data.Y) == ("dense" not in row["format"])


@pytest.mark.usefixtures("data_folder")
def test_missing_labels():
    """The file without label values gives NaN labels and whole features."""
    data = load("meka/Music_missing_classes.arff")
    assert data.Y.shape == (592, 6)
    assert data.Y.dtype == np.float64
    assert np.isnan(data.Y).all()
    assert not np.isnan(data.X).any()


@pytest.mark.parametrize("name", ["yeast", "enron"])
def test_xml_order(data_folder, name):
    """The labels stand in the order of the XML file, which is not that of the ARFF file."""
    text = (data_folder / name / f"{name}.xml").read_text()
    header = gzip.decompress((data_folder / name / f"{name}.arff.gz").read_bytes()).decode().partition("@data")[0]
    in_xml = re.findall('label name="(.*?)"', text)
    in_arff = [label for label in re.findall(r"@attribute\s+(\S+)", header) if label in in_xml]
    assert list(load(f"{name}/{name}.arff.gz").label_names) == in_xml != in_arff


@pytest.mark.usefixtures("data_folder")
def test_medical_labels_are_the_last():
    """The XML decides, not the -C 45 that is left in the relation's name."""
    names = load("medical/medical.arff").label_names
    assert len(names) == 45
    assert all(name.startswith("Class-") for name in names)


@pytest.mark.long
@pytest.mark.parametrize("file", ["REUTERS-K500-EX2.arff.gz", "Reuters-K500.arff.gz"])
def test_three_dialects_of_reuters(data_folder, file):
    """Labels first by XML, labels first by -C 103 and labels last by -C -103 are the same data."""
    assert_same_data(load("reuters-k500/reuters-k500.arff.gz"), read_meka(data_folder / "reuters-k500" / file))


@pytest.mark.usefixtures("data_folder")
def test_dense_and_sparse_corel():
    """The dense and the sparse file of the test part are the same data."""
    one, other = load("corel5k/Corel5k-test.arff.gz"), load("corel5k/Corel5k-test-sparse.arff")
    assert one.feature_names == other.feature_names
    assert_same_data(one, other)


@pytest.mark.usefixtures("data_folder")
def test_meka_copy_of_enron():
    """MEKA's copy has Mulan's rows in Mulan's order once the columns are matched by name."""
    assert_same_data(load("enron/enron.arff.gz"), load("meka/Enron.arff.bz2"))


@pytest.mark.long
@pytest.mark.usefixtures("data_folder")
def test_meka_copy_of_yeast():
    """MEKA's copy has Mulan's rows, the training part before the test part."""
    copy = load("meka/Yeast.arff.bz2")
    assert_same_data(load("yeast/yeast-train.arff.gz"), replace(copy, X=copy.X[:1500], Y=copy.Y[:1500]))
    assert_same_data(load("yeast/yeast-test.arff.gz"), replace(copy, X=copy.X[1500:], Y=copy.Y[1500:]))


@pytest.mark.long
@pytest.mark.usefixtures("data_folder")
def test_meka_copy_of_scene():
    """MEKA's copy has Mulan's training rows, then the test rows; labels are written in lower case."""
    copy = load("meka/Scene.arff.bz2")
    copy = replace(copy, label_names=tuple(name.replace("foliage", "fallfoliage") for name in copy.label_names))
    for part, rows in (("train", slice(1211)), ("test", slice(1211, None))):
        one = load(f"scene/scene-{part}.arff.gz")
        one = replace(one, label_names=tuple(name.lower() for name in one.label_names))
        assert_same_data(one, replace(copy, X=copy.X[rows], Y=copy.Y[rows]))
