"""Frames and data sets of numbers, categories, texts and dates: examined by all of their columns."""

from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from nearlabel.datasets import Dataset, describe_columns, examine
from nearlabel.experiments import make_preparation
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import MixedFeaturesEncoder

N = 60
NAMES = ("tempo", "genre", "title", "released", "code", "unit", "zip")
KINDS = ("number", "category", "text", "date", "category", "category", "category")
WORDS = ("night", "riot", "body", "slow", "move", "machine", "talk", "song")


@pytest.fixture(scope="module")
def cells():
    """Sixty rows: a number with a hole, categories with holes, texts, dates, codes that identify, one constant."""
    rng = np.random.default_rng(0)
    X = np.empty((N, len(NAMES)), dtype=object)
    X[:, 0] = rng.normal(100, 20, N)
    X[:, 1] = rng.choice(["soul", "punk", "house"], N)
    X[:, 2] = [" ".join(rng.choice(WORDS, 4)) for _ in range(N)]
    X[:, 3] = [datetime(2020, 1, 1) + timedelta(days=int(day)) for day in rng.integers(0, 900, N)]
    X[:, 4] = [f"c{number}" for number in rng.permutation(N)]
    X[:, 5] = "bpm"
    X[:, 6] = [f"{number:05}" for number in rng.permutation(N) // 1.5]
    X[7, 0], X[8, 3], X[9, 1], X[10, 1], X[11, 2] = np.nan, np.nan, None, None, " "
    return X


@pytest.fixture
def data(cells):
    """The cells as a data set, with labels that no finding concerns."""
    Y = np.random.default_rng(1).integers(0, 2, (N, 2))
    return Dataset(cells.copy(), Y, NAMES, ("calm", "wild"), "songs", feature_kinds=KINDS)


def found_in(*arguments, **named):
    """The findings of `examine` by kind: the severity and the columns."""
    found = examine(*arguments, **named)
    return {finding.kind: (finding.severity, finding.evidence.get("columns")) for finding in found}


def test_declared_columns(data):
    """What is declared is no fault; identifiers, constants and holes are found in columns of every kind."""
    found = found_in(data, search=False)
    assert found == {
        "missing_values": ("warning", "tempo (1), released (1)"),
        "id_like": ("severe", "code"),
        "many_categories": ("warning", f"zip ({len(set(data.X[:, 6]))})"),
        "constant_columns": ("note", "unit"),
        "missing_categories": ("note", "genre (2), title (1)"),
    }


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow", "array"])
def test_undeclared_columns(cells, container):
    """Of a frame without kinds columns are what they seem: few values are categories, words are texts."""
    frame = (
        pd.DataFrame(cells, columns=NAMES).astype({"tempo": float, "released": "datetime64[us]"}).drop(columns="zip")
    )
    frame = frame.where(frame.notna(), None) if container == "array" else frame
    X = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "arrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "array": lambda: frame.to_numpy(dtype=object),
    }[container]()
    found = examine(X, feature_names=NAMES[:-1] if container == "array" else None, search=False)
    by_kind = {finding.kind: finding for finding in found}
    assert set(by_kind) == {
        "missing_values", "id_like", "date_like", "text_columns", "missing_categories", "constant_columns",
    }  # fmt: skip
    assert by_kind["text_columns"].evidence["columns"] == "genre, title, unit"
    assert "--categorical genre,unit --text title, in Python" in by_kind["text_columns"].remedy
    assert (by_kind["id_like"].evidence["columns"], by_kind["date_like"].evidence["columns"]) == ("code", "released")


def test_neighbours_are_those_of_the_encoder(data):
    """The search is that of encoded rows: by default, and with a preparation that imputes and scales otherwise."""
    other = make_preparation(data, impute="mean", scale="none")
    for transformer, parameters in ((None, {}), (other, {"missing_numbers": "mean", "scale": "none"})):
        encoder = MixedFeaturesEncoder(categorical=[1, 4, 5, 6], text=[2], dates=[3], **parameters)
        with pytest.warns(UserWarning, match="Column [46] has [46]0 categories"):  # which is a finding of `examine`
            encoded = encoder.fit_transform(data.X)
        searched = ExactNeighbors().fit(encoded).kneighbors(n_neighbors=10)
        expected = examine(data, neighbors=searched)
        assert examine(data, transformer=transformer).to_records() == expected.to_records()


def test_rows_are_compared_by_all_columns(cells, data):
    """A copy is equal in its categories and texts too, in training and in test; case and missing cells count."""
    rows = np.vstack([cells, cells[7:9], cells[20:21]])
    rows[-1, 1] = "ska"
    found = {finding.kind: finding for finding in examine(rows, feature_kinds=KINDS, search=False)}
    assert found["duplicates"].evidence["rows"] == 2
    found = {finding.kind: finding for finding in examine(cells, X_test=rows[-3:], feature_kinds=KINDS, search=False)}
    assert found["test_rows_in_training"].evidence["rows"] == 2
    (common,) = (f for f in examine(data, X_test=data, search=False) if f.kind == "test_rows_in_training")
    assert common.sentence.startswith("60 test samples (100 %) are equal")


def test_what_cannot_be_searched_is_a_note(data):
    """A column without a value is no error."""
    data.X[:, 1] = None
    (note,) = examine(data).notes
    assert note.startswith("Neighbours were not searched: X must have a value in each column, got column 'genre'")


def test_rows_with_missing_numbers_and_dates_are_left_out(data):
    """Without imputation the search is that of the other rows, and evidence counts rows as X does."""
    complete = ~pd.isna(data.X[:, [0, 3]].astype(object)).any(axis=1)
    assert 0 < (~complete).sum() < 3
    found = examine(data, transformer=make_preparation(data, scale="minmax"))
    words = f"Neighbours are those among the {complete.sum()} rows without missing or infinite values."
    assert found.notes == (words,)
    (missing,) = (finding for finding in found if finding.kind == "missing_values")
    assert (missing.evidence["rows"], missing.evidence["first_row"]) == ((~complete).sum(), complete.argmin())
    encoder = MixedFeaturesEncoder(categorical=[1, 4, 5, 6], text=[2], dates=[3], missing_numbers="distance")
    with pytest.warns(UserWarning, match="categories"):
        rows = encoder.fit_transform(data.X)[complete]
    of_rows = examine(np.zeros((complete.sum(), 1)), neighbors=ExactNeighbors().fit(rows).kneighbors(n_neighbors=10))
    kinds = ("hubs", "near_duplicates", "equal_distances")
    expected = {finding.kind: finding.sentence for finding in of_rows if finding.kind in kinds}
    assert {finding.kind: finding.sentence for finding in found if finding.kind in kinds} == expected


def test_one_blank_date_is_a_finding_with_its_row(data):
    """The neighbours of the others are examined; where missing dates are imputed, those of all."""
    data.X[:, 0] = np.arange(60.0)[::-1] ** 2
    data.X[:, 3] = np.datetime64("2020-01-01") + np.arange(60)
    data.X[17, 3] = None
    found = examine(data, transformer=make_preparation(data, scale="minmax"))
    (missing,) = (finding for finding in found if finding.kind == "missing_values")
    assert missing.sentence.startswith("X has 1 missing value in row 17 (counted from 0), by column: released (1).")
    assert "--impute median" in missing.remedy
    assert found.notes == ("Neighbours are those among the 59 rows without missing or infinite values.",)
    assert not examine(data, transformer=make_preparation(data, impute="median", scale="minmax")).notes


def test_mixed_objects_are_no_error():
    """Booleans, numbers and texts in one column are categories, equal as texts are."""
    X = pd.DataFrame({"a": [1, "x", True, 1, "x", None] * 5, "b": pd.Categorical([1, 2, 1, 2, 1, 2] * 5)})
    found = found_in(X)
    assert found["text_columns"] == ("severe", "a, b")


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (("number",), r"feature_kinds must be 7 kinds, one for each column of X, got 1"),
        (("number",) * 7, r"X must contain numbers in column 'genre', as feature_kinds declares, got other values"),
    ],
)
def test_kinds_that_do_not_fit(cells, kinds, message):
    """They are named."""
    with pytest.raises(ValueError, match=message):
        examine(cells, feature_kinds=kinds, feature_names=NAMES)


def test_columns_described(data):
    """Kind, holes, distinct values and what is odd, in the order of the columns; of numbers by slow counts."""
    described = describe_columns(data)
    assert [(column["column"], column["kind"]) for column in described] == list(zip(NAMES, KINDS, strict=True))
    assert [column["missing"] for column in described] == [1, 2, 1, 1, 0, 0, 0]
    assert [column["note"] for column in described] == ["", "", "", "", "id_like", "constant", "many_categories"]
    assert described[0]["distinct"] == len(set(data.X[:, 0].tolist())) - 1
    assert described[1]["distinct"] == 3
    matrix = np.column_stack([np.arange(N), np.zeros(N), np.arange(N) % 3])
    assert [(column["distinct"], column["note"]) for column in describe_columns(matrix)] == [
        (N, "id_like"),
        (1, "constant"),
        (3, ""),
    ]
