"""Data sets as data frames: the names survive `fit(data.X, data.Y)`."""

import sys
from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import (
    Dataset,
    examine,
    fetch_dataset,
    load_dataset,
    load_multidigits,
    read_meka,
    read_npz,
    read_table,
    write_npz,
)
from nearlabel.experiments import Plan, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.persistence import DataSummary
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.thresholds import FixedThresholdsClassifier
from nearlabel.utils.validation import as_dense

TABLE = "kg,purrs,tags\n3.5,1,cat;pet\n20,0,dog;pet\n400,0,\n4,1,cat\n"
PETS = """@relation 'pets: -C 2'
@attribute cat {0,1}
@attribute pet {0,1}
@attribute kg numeric
@attribute coat {plain,tabby,white}
@data
1,1,3.5,tabby
0,1,20,?
0,0,400,plain
"""


@pytest.fixture
def songs(write):
    """Return what reads a table with columns of every kind, each with a hole."""
    path = write(
        "songs.csv",
        "tempo,genre,released,title,moods\n92,soul,1971-05-21,What a night,calm\n"
        "171,punk,0001-10-28,Riot,wild;dance\n,,,,calm\n70,soul,1968-07-01 12:30,Slow night,calm\n",
    )
    options = {"labels_column": "moods", "categorical": ["genre"], "text": ["title"], "dates": ["released"]}
    return lambda **others: read_table(path, **options, **others)


def assert_same(one, other):
    """Names, containers, types and values are equal."""
    assert (one.feature_names, one.label_names, one.name) == (other.feature_names, other.label_names, other.name)
    for mine, its in ((one.X, other.X), (one.Y, other.Y)):
        assert type(mine) is type(its)
        assert mine.dtype == its.dtype
        pd.testing.assert_frame_equal(pd.DataFrame(as_dense(mine)), pd.DataFrame(as_dense(its)))


def test_names_survive_a_table(write):
    """Features and labels of a file are known to the classifier, and are what it answers with."""
    pets = read_table(write("pets.csv", TABLE), labels_column="tags", as_frame=True)
    model = BRkNN(1).fit(pets.X, pets.Y)
    assert model.feature_names_in_.tolist() == ["kg", "purrs"]
    assert model.predict_labels(pets.X) == [("cat", "pet"), ("dog", "pet"), (), ("cat",)]
    assert model.explain(pets.X[:1])[0].predicted == ["cat", "pet"]
    assert repr(pets) == "Dataset 'pets': 4 rows, 2 features, 3 labels (dense data frame)"


@pytest.mark.parametrize("suffix", ["csv", "npz", "arff", "svm"])
def test_every_format(write, tmp_path, suffix):
    """`load_dataset(as_frame=True)` is `load_dataset().with_frames()`, and goes back without loss."""
    if suffix == "npz":
        write_npz(tmp_path / "a.npz", load_multidigits())
    else:
        write(f"a.{suffix}", {"csv": TABLE, "arff": PETS, "svm": "0,1 0:3.5\n1 1:2\n"}[suffix])
    options = {"labels_column": "tags"} if suffix == "csv" else {}
    plain, framed = (load_dataset(tmp_path / f"a.{suffix}", **options, as_frame=flag) for flag in (False, True))
    assert isinstance(framed.X, pd.DataFrame)
    assert tuple(framed.X.columns) == plain.feature_names
    assert tuple(framed.Y.columns) == plain.label_names
    assert_same(framed.with_arrays(), plain)
    assert framed.with_frames().X is framed.X
    assert plain.with_arrays().X is plain.X
    assert plain.source == framed.source == str(tmp_path / f"a.{suffix}")


def test_well_known_data_sets(tmp_path, monkeypatch):
    """The embedded set, and one of the catalogue with its published split."""
    digits, plain = load_multidigits(as_frame=True), load_multidigits()
    assert_same(digits.with_arrays(), plain)
    assert np.shares_memory(plain.with_frames().with_arrays().X, plain.X)
    monkeypatch.setenv("NEARLABEL_DATA", str(tmp_path))
    with pytest.raises(TypeError, match="as_frame must be True or False, got 'yes'"):
        fetch_dataset("emotions", as_frame="yes")


def test_a_set_of_the_catalogue(data_folder):
    """emotions: labels by name; the source is the publication."""
    emotions = fetch_dataset("emotions", "test", as_frame=True)
    assert emotions.source.startswith("K. Trohidis")
    model = MLkNN().fit(emotions.X, emotions.Y)
    assert model.label_names_.tolist() == list(emotions.label_names)


def test_cells(songs):
    """Categories, texts and dates have types of their own, and their holes are pandas' own; back they are as read."""
    framed = songs(as_frame=True)
    assert framed.X["genre"].cat.categories.tolist() == ["punk", "soul"]
    assert framed.X["released"].dtype == "datetime64[us]"
    assert framed.X["released"].tolist()[:2] == [datetime(1971, 5, 21), datetime(1, 10, 28)]
    assert framed.X["tempo"].dtype == np.float64
    assert framed.X.isna().sum().tolist() == [1, 1, 1, 1]
    assert_same(framed.with_arrays(), songs())


def test_the_encoder_knows_categories(songs):
    """`MixedFeaturesEncoder` encodes the frame as it does the cells."""
    framed, cells = songs(as_frame=True), songs().X
    by_name = MixedFeaturesEncoder(text=["title"], dates=["released"])
    by_place = MixedFeaturesEncoder(categorical=[1], text=[3], dates=[2])
    np.testing.assert_array_equal(by_name.fit_transform(framed.X), by_place.fit_transform(cells))
    model = make_pipeline(by_name, BRkNN(1)).fit(framed.X, framed.Y)
    assert model[-1].label_names_.tolist() == ["calm", "dance", "wild"]


def test_nominal_attributes(write):
    """Codes are categories; coordinates stay numbers, which every classifier takes."""
    path = write("pets.arff", PETS)
    codes, overlap = (read_meka(path, nominal=nominal).with_frames() for nominal in ("codes", "overlap"))
    assert codes.X["coat"].cat.categories.tolist() == [0, 1]
    assert codes.X["coat"].tolist()[0] == 1
    assert codes.X["coat"].isna().tolist() == [False, True, False]
    assert MixedFeaturesEncoder().fit(codes.X).groups_ == {"numbers": [0], "categories": [1]}
    assert_same(codes.with_arrays(), read_meka(path, nominal="codes"))
    assert (overlap.X.dtypes == np.float64).all()


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_sparse_stays_sparse(store):
    """Sparse columns in, CSR predictions out, by the same votes."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((20, 4)) * (rng.random((20, 4)) < 0.4), (rng.random((20, 3)) < 0.4).astype(np.int64)
    data = Dataset(store(X), store(Y), ("a", "b", "sparse", "iloc"), ("x", "y", "sparse"), "random")
    framed = data.with_frames()
    model = MLkNN(3).fit(framed.X, framed.Y)
    predicted, expected = model.predict(framed.X), MLkNN(3).fit(data.X, data.Y).predict(data.X)
    assert type(predicted) is type(expected)
    np.testing.assert_array_equal(as_dense(predicted), as_dense(expected))
    assert model.label_names_.tolist() == ["x", "y", "sparse"]
    assert micro_f1(framed.Y, predicted) == micro_f1(data.Y, expected)
    assert str(examine(framed.X, framed.Y)) == str(examine(data))
    thresholds = [FixedThresholdsClassifier(BRkNN(3), 0.3).fit(one.X, one.Y).predict(one.X) for one in (framed, data)]
    np.testing.assert_array_equal(*map(as_dense, thresholds))
    assert ("sparse" in repr(framed)) == sparse.issparse(data.X)
    assert_same(framed.with_arrays(), data)


def test_unknown_labels():
    """Y is float64 with NaN where a label is not known."""
    data = Dataset(np.eye(2), np.array([[1.0, np.nan], [0, 1]]), ("a", "b"), ("x", "y"), "holes")
    assert np.isnan(data.with_frames().Y["y"][0])
    assert_same(replace(data, X=data.with_frames().X).with_arrays(), data)
    assert_same(data.with_frames().with_arrays(), data)


def test_features_of_one_name():
    """Classifiers of data frames refuse them, so the frame is refused."""
    data = Dataset(np.eye(2), np.eye(2, dtype=int), ("a", "a"), ("x", "y"), "twice")
    with pytest.raises(ValueError, match="feature_names must be distinct in a data frame, got 'a' twice"):
        data.with_frames()


def test_whoever_takes_data_sets_takes_frames(tmp_path, songs):
    """Files, findings, summaries and experiments are those of the arrays."""
    plain = load_multidigits()
    plain = replace(plain, X=plain.X[:60], Y=plain.Y[:60])
    framed = plain.with_frames()
    assert framed.with_features(np.array([2, 0])).X.columns.tolist() == ["pixel_0_2", "pixel_0_0"]
    assert_same(read_npz(write_npz(tmp_path / "multidigits.npz", framed)), plain)
    assert str(examine(framed)) == str(examine(plain))
    assert str(examine(songs(as_frame=True))) == str(examine(songs()))
    assert DataSummary.of_data(framed) == DataSummary.of_data(plain)
    plan = Plan({"brknn": BRkNN()}, [3], metrics=["micro_f1"], cv=2)
    values = [[record["value"] for record in run(plan, [data])] for data in (framed, plain)]
    assert values[0] == values[1]


def test_without_pandas(write, monkeypatch):
    """The error names the extra, before the file is read."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas: pip install 'nearlabel\[frames\]'"):
        read_table("no_such_file.csv", labels_column="tags", as_frame=True)
    assert load_multidigits().X.shape == (2000, 81)
