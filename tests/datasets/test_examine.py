"""The doctor finds what was planted, names it, and finds nothing in clean data."""

import json
import os
import runpy
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from conftest import CONTAINERS
from nearlabel.datasets import (
    Examination,
    Finding,
    describe_columns,
    examine,
    fetch_dataset,
    load_dataset,
    load_multidigits,
)
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.preprocessing import FeatureScaler

N = 400
NAMES = tuple("abcd")
WIDE = np.random.default_rng(0).permutation(N) * 7919
LABELS = ("calm", "sad", "wild", "loud")


def clean():
    """Rows in four dimensions and four labels, each of many rows."""
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (N, len(NAMES)))
    return X, (X + rng.normal(size=X.shape) > 1.5).astype(int)


def kinds(found):
    """The kinds of findings, each with its severity."""
    return {finding.kind: finding.severity for finding in found}


def evidence(found, kind):
    """The evidence of the one finding of a kind."""
    (finding,) = (finding for finding in found if finding.kind == kind)
    return finding.evidence


def planted():
    """A data frame and label sets with the twelve faults of `test_twelve_planted_faults`."""
    rng = np.random.default_rng(1)
    X, Y = clean()
    words = rng.uniform(1, 2, (N, 10)) * (rng.random((N, 10)) < 0.05)
    X = np.column_stack([X, words, np.zeros(N), rng.uniform(0, 5000, N)])  # a constant, and a far wider range
    X[1:4] = 0  # empty rows
    copied = np.arange(9, N, 10)
    X[copied], Y[copied] = X[copied - 5], Y[copied - 5]  # equal rows
    Y[copied[:4], 0] = 1 - Y[copied[:4], 0]  # of which some have other label sets
    X[100:140:10] = X[101:141:10] * (1 + 1e-9)  # rows that are nearly equal
    Y = np.column_stack([Y, np.zeros(N, dtype=int), Y[:, 0], np.arange(N) < 3])  # one class; equal to "A"; few rows
    frame = pd.DataFrame(X, columns=[*NAMES, *(f"word{number}" for number in range(10)), "unit", "price"])
    frame["id"] = [f"s{number:03}" for number in rng.permutation(N)]
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, N), unit="D")
    return frame, Y, ("A", "B", "A|B", "C", "none", "B|C", "few")


def test_twelve_planted_faults():
    """Each of twelve faults of one data set is found, with its rows, columns and labels, and nothing else."""
    frame, Y, labels = planted()
    found = examine(frame, Y, label_names=labels)
    expected = {
        "id_like": ("severe", {"columns": "id"}),
        "ranges_far_apart": ("severe", {"columns": "price", "count": 1}),
        "empty_rows": ("severe", {"rows": 3, "first_row": 1}),
        "duplicates": ("severe", {"rows": 40, "share": 0.1, "first_row": 4}),
        "joined_tags": ("severe", {"labels": "A|B, B|C", "separator": "|"}),
        "date_like": ("warning", {"columns": "day"}),
        "conflicting_duplicates": ("warning", {"rows": 8, "groups": 4}),
        "near_duplicates": ("warning", {"rows": 8, "share": 0.02}),
        "one_class_labels": ("warning", {"labels": "none"}),
        "equal_labels": ("warning", {"labels": "B|C = A"}),
        "constant_columns": ("note", {"columns": "unit"}),
        "rare_labels": ("note", {"labels": "few"}),
    }
    assert kinds(found) == {kind: severity for kind, (severity, _) in expected.items()}
    for kind, (_, figures) in expected.items():
        assert evidence(found, kind).items() >= figures.items()


@pytest.mark.parametrize("container", CONTAINERS)
def test_clean_data_have_no_findings(container):
    """Nothing is found where nothing is wrong."""
    X, Y = clean()
    store = CONTAINERS[container]
    assert examine(store(X), store(Y), X_test=store(X[:5] + 0.5)).to_records() == []
    assert str(examine(X, search=False)) == "Nothing was found."


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("multidigits", {"duplicates": "warning", "constant_columns": "note", "hubs": "note"}),
        ("yeast", {"hubs": "note"}),
        ("emotions", {"ranges_far_apart": "severe"}),
    ],
)
def test_real_data_have_what_is_really_there(name, expected):
    """Equal pictures and unused pixels; rows near the centre that are neighbours of many; tempo in beats a minute."""
    if name != "multidigits" and "NEARLABEL_DATA" not in os.environ:
        pytest.skip("NEARLABEL_DATA names no folder")
    data = load_multidigits() if name == "multidigits" else fetch_dataset(name)
    assert kinds(examine(data)) == expected


def test_findings_of_real_data_by_slow_counts():
    """The figures of the embedded set are those of counts without hashing or blocks."""
    data = load_multidigits()
    found = examine(data)
    n_distinct = len({tuple(row) for row in data.X.tolist()})
    assert evidence(found, "duplicates")["rows"] == len(data.X) - n_distinct
    constant = [name for name, column in zip(data.feature_names, data.X.T, strict=True) if np.ptp(column) == 0]
    assert evidence(found, "constant_columns")["columns"] == ", ".join(constant)
    indices = ExactNeighbors().fit(data.X).kneighbors(n_neighbors=10)[1]
    occurrences = np.bincount(indices.ravel(), minlength=len(data.X))
    hubs = evidence(found, "hubs")
    assert hubs["skewness"] == pytest.approx(((occurrences - 10) ** 3).mean() / occurrences.std() ** 3)
    assert hubs["never_share"] == (occurrences == 0).mean()
    assert hubs["share"] == sum(sorted(occurrences)[-20:]) / (10 * len(data.X))


def test_sparse_equals_dense():
    """Storage changes no finding, explicit zeros neither."""
    frame, Y, _ = planted()
    X = frame.iloc[:, :-2].to_numpy(copy=True)
    X[7, 0] = -0.0
    stored = sparse.csr_array(X)
    stored.data[stored.indptr[5]] = X[5, stored.indices[stored.indptr[5]]] = 0.0
    dense = examine(X, Y, X_test=X[:9]).to_records()
    assert len(dense) == 10
    assert examine(stored, sparse.csr_array(Y), X_test=X[:9]).to_records() == dense


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_missing_and_infinite_values(store):
    """They are counted by column, and the search is that of the other rows, which a note says."""
    X, _ = clean()
    X[3:5, 0], X[6, 2], X[7, 3], X[8, 3] = np.nan, np.inf, -np.inf, np.nan
    found = examine(store(X), feature_names=NAMES)
    assert kinds(found) == {"missing_values": "warning", "infinite_values": "warning"}
    assert evidence(found, "missing_values") == {"values": 3, "columns": "a (2), d (1)", "rows": 3, "first_row": 3}
    assert evidence(found, "infinite_values") == {"values": 2, "columns": "c (1), d (1)", "rows": 2, "first_row": 6}
    assert found.notes == (f"Neighbours are those among the {len(X) - 5} rows without missing or infinite values.",)


def test_rows_without_missing_values_are_searched():
    """A row that is everybody's neighbour is found by its number in X, also where a transformer refuses the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    X[200] = 0  # nearer to most than they are to each other
    X[[10, 20], [0, 3]] = np.nan, np.inf
    for transformer in (None, FeatureScaler("standard"), FeatureScaler()):
        found = examine(X, transformer=transformer)
        assert found.notes == ("Neighbours are those among the 298 rows without missing or infinite values.",)
        assert evidence(found, "hubs")["first_row"] == 200
    X[:, 5] = np.nan
    (note,) = examine(X).notes
    assert note == "Neighbours were not searched: rows have missing or infinite values."
    (note,) = examine(X, transformer=FeatureScaler()).notes
    assert note.startswith("Neighbours were not searched: Input X contains")


@pytest.mark.parametrize(
    ("column", "kind", "severity"),
    [
        (np.arange(N), "id_like", "severe"),
        (np.arange(N)[::-1] * 1000, "id_like", "severe"),
        (np.random.default_rng(0).permutation(N) + 5, "id_like", "severe"),
        (np.random.default_rng(0).permutation(N) * 37, "id_like", "warning"),
        (np.sort(np.random.default_rng(0).random(N)), "id_like", "severe"),
        (np.random.default_rng(0).choice([20251231, 20260131, 20260229], N), "date_like", "warning"),
        (1.7e9 + 86400 * np.random.default_rng(0).permutation(N), "date_like", "warning"),
        (1.7e12 + 1000 * np.random.default_rng(0).permutation(N), "date_like", "warning"),
    ],
)
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_columns_that_are_no_measurement(store, column, kind, severity):
    """Identifiers are distinct whole numbers or in the order of the rows; dates are plausible as dates."""
    X, _ = clean()
    found = examine(store(np.column_stack([X[:, 0], column])), feature_names=("width", "x"), search=False)
    assert kinds(found) == {kind: severity}
    assert evidence(found, kind)["columns"] == "x"


@pytest.mark.parametrize("column", [np.arange(N) // 2, np.arange(N) % 300, 20260001 + np.arange(N) % 100, WIDE])
def test_whole_numbers_that_are_measurements(column):
    """Whole numbers that occur twice, or are distinct by chance, identify nothing; a month 0 is no date."""
    X, _ = clean()
    assert {"id_like", "date_like"}.isdisjoint(kinds(examine(np.column_stack([X[:, 0], column]), search=False)))


def test_columns_of_text():
    """Text is named and left out; a frame of text alone can be examined, as arrays of objects can."""
    frame = pd.DataFrame(
        {"genre": ["rock", "pop", "rock"], "day": ["31.12.2025", None, "1.2.2026"], "size": [1, None, 2]}
    )
    for X in (frame, frame.to_numpy()):
        found = examine(X, feature_names=tuple(frame.columns))
        assert evidence(found, "text_columns")["columns"] == "genre"
        assert evidence(found, "date_like")["columns"] == "day"
        assert evidence(found, "missing_values")["columns"] == "size (1)"
    assert kinds(examine(frame[["genre"]])) == {"text_columns": "severe", "duplicates": "severe"}  # rock twice


def test_more_columns_than_rows():
    """Dense rows of more features than rows are reported, sparse ones of few words are not."""
    rng = np.random.default_rng(0)
    assert "more_columns_than_rows" in kinds(examine(rng.normal(size=(30, 40))))
    words = sparse.random_array((30, 400), density=0.02, random_state=rng, format="csr")
    assert "more_columns_than_rows" not in kinds(examine(words))


def test_rows_in_training_and_test():
    """Test rows that are training rows are counted, whatever their storage; empty ones are not."""
    X, Y = clean()
    X[0] = 0
    test = np.vstack([X[:3], X[:1], X[:96] + 0.25]).astype(np.float32)
    X = X.astype(np.float32)
    for store in (np.asarray, sparse.csr_array):
        found = examine(X, Y, X_test=store(test), search=False)
        assert evidence(found, "test_rows_in_training") == {"rows": 2, "share": 0.02}
    with pytest.raises(ValueError, match=r"X_test must have 4 features, as X, got 3"):
        examine(X, X_test=test[:, :3])


def test_hubs_of_empty_rows_by_the_metric():
    """A few empty rows take most places by the Euclidean distance, and none by the cosine."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 300), density=0.02, random_state=rng, format="lil")
    X[:10] = 0
    X = sparse.csr_array(X)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    X = sparse.diags_array(1 / np.where(lengths > 0, lengths, 1)) @ X
    assert kinds(examine(X))["hubs"] == "severe"
    assert kinds(examine(X, search=ExactNeighbors("cosine"))).get("hubs") != "severe"


def test_equal_distances():
    """Rows of one word each are all at one distance."""
    found = examine(np.eye(50))
    assert evidence(found, "equal_distances") == {"share": 1.0, "n_neighbors": 10}


def test_neighbors_found_before():
    """A fitted search, precomputed neighbours and a pair of arrays give the findings of a search."""
    X, _ = clean()
    X = np.column_stack([X] * 20) + np.random.default_rng(0).normal(size=(N, 80))
    expected = examine(X).to_records()
    assert "hubs" in {record["kind"] for record in expected}
    search = ExactNeighbors(n_neighbors=10).fit(X)
    for neighbors in (search, PrecomputedNeighbors.from_search(search, X, n_neighbors=10), search.kneighbors()):
        assert examine(X, neighbors=neighbors).to_records() == expected
    with pytest.raises(ValueError, match=r"neighbors must be distances and indices of shape \(399, n_neighbors\), got"):
        examine(X[1:], neighbors=search.kneighbors())


def test_many_rows_are_searched_in_part():
    """The search sees a seeded part of the rows, which a note says; all else sees all rows."""
    X, _ = clean()
    X[-1] = X[0]
    found = examine(X, max_rows=50)
    assert found.notes == ("Neighbours are those among 50 of the 400 rows, drawn at random.",)
    assert evidence(found, "duplicates")["rows"] == 1
    assert examine(X, max_rows=50).to_records() == found.to_records()


def test_forms_of_y():
    """A single label, sparse label sets and frames are examined; unknown values are counted, other labels examined."""
    X, Y = clean()
    Y[:, 0] = 0
    for y in (Y[:, 0], Y[:, :1], sparse.csr_array(Y[:, :1])):
        assert evidence(examine(X, y, search=False), "one_class_labels") == {"labels": "0", "count": 1}
    assert evidence(examine(X, pd.DataFrame(Y, columns=LABELS)), "one_class_labels")["labels"] == "calm"
    unknown = Y.astype(float)
    unknown[2:4, 1] = np.nan
    for y in (unknown, sparse.csr_array(unknown)):
        found = examine(X, y, label_names=LABELS, search=False)
        assert kinds(found) == {"missing_labels": "warning", "one_class_labels": "warning"}
        share = 2 / unknown.size
        assert evidence(found, "missing_labels") == {"values": 2, "share": share, "count": 1, "labels": "sad"}


def test_labels_are_examined_where_they_are_known():
    """Classes, rare labels and equal ones are those of the known cells; rows without a known label are told."""
    X, Y = clean()
    Y = Y[:, :4].astype(float)
    Y[:, 0] = np.where(np.arange(len(Y)) % 2, 1, np.nan)  # one class is known
    Y[np.flatnonzero(Y[:, 1] == 1)[:-3], 1] = np.nan  # three rows are known to carry it
    Y[:5] = np.nan
    Y[:, 3] = Y[:, 2]
    for y in (Y, sparse.csr_array(Y), pd.DataFrame(Y), np.ma.masked_invalid(Y)):
        found = examine(X, y, label_names=("one", "rare", "c", "d"), search=False)
        assert evidence(found, "one_class_labels") == {"labels": "one", "count": 1}
        assert evidence(found, "rare_labels")["labels"] == "rare"
        assert evidence(found, "equal_labels")["labels"] == "d = c"
        assert evidence(found, "rows_without_known_labels") == {"rows": 5, "share": 5 / len(Y), "first_row": 0}
        assert "5 rows (1.2 %) have no known label" in str(found).replace("\n         ", " ")


@pytest.mark.parametrize(
    ("first", "second", "conflict"),
    [
        ([1, 0], [1, 0], False),
        ([1, 0], [1, np.nan], False),
        ([1, np.nan], [np.nan, 0], False),
        ([np.nan, np.nan], [1, 1], False),
        ([1, 0], [np.nan, 1], True),
        ([0, 0], [0, 1], True),
    ],
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_equal_rows_conflict_where_both_are_known(first, second, conflict, container):
    """A label that one of two equal rows does not know contradicts nothing."""
    X, Y = clean()
    X[1], Y = X[0], Y[:, :2].astype(float)
    Y[0], Y[1] = first, second
    found = examine(X, container(Y), search=False)
    assert ("conflicting_duplicates" in kinds(found)) == conflict


def test_tags_that_share_no_part_are_whole():
    """A separator inside names says nothing unless parts occur again."""
    X, Y = clean()
    assert "joined_tags" not in kinds(examine(X, Y, label_names=("rock, slow", "a; b", "c", "d"), search=False))
    assert "joined_tags" in kinds(examine(X, Y, label_names=("rock, slow", "slow, pop", "c", "d"), search=False))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"X": np.zeros(3)},
            r"X must be of shape \(n_samples, n_features\), with a row and a column, got shape \(3,\)",
        ),
        ({"X": np.zeros((0, 3))}, r"X must be of shape .*, got shape \(0, 3\)"),
        ({"X": np.eye(3), "y": np.eye(2)}, "y must have as many rows as X, 3, got 2"),
        ({"X": np.eye(3), "y": np.full((3, 1), 7)}, "y must contain 0 and 1 only, got 7"),
        ({"X": np.eye(3), "feature_names": ("a",)}, "feature_names must be 3 names, one for each column of X, got 1"),
        (
            {"X": np.eye(3), "y": np.eye(3), "label_names": "ab"},
            "label_names must be 3 names, one for each label, got 2",
        ),
        ({"X": np.eye(3), "n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
        ({"X": np.eye(3), "max_rows": 1}, "max_rows must be at least 2, got 1"),
    ],
)
def test_wrong_arguments(arguments, message):
    """What is wrong is named."""
    with pytest.raises(ValueError, match=message):
        examine(**arguments)


def test_few_rows():
    """One row and two equal rows are examined."""
    assert kinds(examine([[1.0, 2.0]])) == {"constant_columns": "note"}
    assert "duplicates" in kinds(examine([[1.0, 2.0], [1.0, 2.0]]))


def test_forms_of_the_findings():
    """Records are flat and plain, the frame has a row for each, the text fits 80 columns, the worst comes first."""
    frame, Y, labels = planted()
    found = examine(frame, Y, label_names=labels)
    records = found.to_records()
    assert json.loads(json.dumps(records)) == records
    assert all(isinstance(value, (str, int, float)) for record in records for value in record.values())
    assert found.to_frame().shape[0] == len(found) == 12
    assert max(map(len, str(found).splitlines())) <= 80
    assert [finding.severity for finding in found] == ["severe"] * 5 + ["warning"] * 5 + ["note"] * 2
    assert found.severe == found[:5]
    assert repr(found) == "Examination: 5 severe, 5 warning, 2 note"
    assert str(Examination([Finding("a", "note", "b.", "c.")], ["d."])).split() == [
        "note",
        "a:",
        "b.",
        "Remedy:",
        "c.",
        "d.",
    ]


@pytest.mark.long
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_memory_is_bounded(store):
    """Without a search, no copy of X is made."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 100))
    X = store(X if store is np.asarray else X * (rng.random(X.shape) < 0.5))
    size = sum(part.nbytes for part in ((X.data, X.indices) if sparse.issparse(X) else (X,)))
    before = X.copy()
    tracemalloc.start()
    examine(X, search=False)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size
    assert abs(X - before).max() == 0


@pytest.mark.skipif("NEARLABEL_DATA" not in os.environ, reason="NEARLABEL_DATA names no folder")
@pytest.mark.parametrize("name", ["emotions", "enron", "medical", "reuters-k500"])
def test_the_page_has_the_findings(name):
    """The table of the documentation is what its script makes."""
    root = Path(__file__).parents[2]
    row_of = runpy.run_path(str(root / "benchmarks" / "findings.py"))["row_of"]
    assert row_of(fetch_dataset(name)) in (root / "docs" / "figures" / "findings.md").read_text()


def test_notes_stand_apart_from_the_last_finding():
    """What was not examined is no part of a remedy; one value is not called values."""
    X = np.random.default_rng(0).random((30, 2))
    X[3, 0] = np.nan
    lines = str(examine(X)).splitlines()
    assert "X has 1 missing value in row 3 (counted from 0), by column: 0 (1)." in " ".join(map(str.strip, lines[:2]))
    assert lines[-2:] == ["", "Neighbours are those among the 29 rows without missing or infinite values."]


@pytest.mark.parametrize("n_copied", [0, 1, 30, N])
@pytest.mark.parametrize(
    ("ids", "severity"),
    [(np.arange(N), "severe"), (WIDE // 7919 * 3, "warning"), ([f"s{7 * number}" for number in range(N)], "severe")],
)
@pytest.mark.filterwarnings("ignore:.*categories")
def test_identifiers_that_were_copied(ids, severity, n_copied):
    """Rows that are repeated with their ids do not hide the ids."""
    frame = pd.DataFrame(clean()[0], columns=NAMES).assign(id=ids)
    frame = pd.concat([frame, frame[:n_copied]], ignore_index=True)
    found = examine(frame, search=False)
    assert kinds(found)["id_like"] == severity
    assert evidence(found, "id_like")["columns"] == "id"
    assert "text_columns" not in kinds(found)
    assert describe_columns(frame)[-1]["note"] == "id_like"


@pytest.mark.parametrize(
    ("n_values", "expected"),
    [(60, ("id_like", "severe")), (40, ("many_categories", "warning")), (4, None), (600, ("id_like", "severe"))],
)
def test_nominal_attributes_that_distinguish_rows(tmp_path, n_values, expected):
    """A nominal attribute of ARFF with a value for each row is found, dense (60 values) or sparse (600)."""
    values = [f"v{number}" for number in range(n_values)]
    rows = [f"{n % 5 % 2},{values[n % n_values]},{n % 7}.5" for n in range(max(60, n_values))]
    header = ["@relation 'made: -C 1'", "@attribute A {0,1}", f"@attribute code {{{','.join(values)}}}"]
    (tmp_path / "made.arff").write_text("\n".join([*header, "@attribute width numeric", "@data", *rows]))
    data = load_dataset(tmp_path / "made.arff")
    assert sparse.issparse(data.X) == (n_values == 600)
    found = examine(data, search=False)
    of_code = [(finding.kind, finding.severity) for finding in found if "code" in str(finding.evidence.get("columns"))]
    assert of_code == ([expected] if expected else [])
    if expected:
        assert "--ignore code." in next(finding.remedy for finding in found if finding.kind == expected[0])


@pytest.mark.parametrize("of_ages", [["age"], ["age", "sex"]])
def test_copies_make_no_identifiers(of_ages):
    """Rows of few columns repeat because their values do."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 3 * N, N), "sex": rng.integers(0, 2, N)})[of_ages]
    assert len(frame.drop_duplicates()) < N
    assert "id_like" not in kinds(examine(frame, search=False))


def test_names_of_labels_that_are_alike():
    """With the number of samples of each; digits and short names may differ on purpose."""
    names = ("Rock", "rock", "jazz music", "jazz_music", "politics", "poltics", "label1", "label2", "cat", "cot", "nan")
    counts = (200, 3, 10, 5, 150, 2, 100, 1, 100, 1, 4)
    rng = np.random.default_rng(0)
    Y = np.zeros((250, len(names)), dtype=int)
    for label, count in enumerate(counts):
        Y[rng.choice(250, count, replace=False), label] = 1
    found = [finding for finding in examine(rng.random((250, 3)), Y, label_names=names, search=False)
             if finding.kind in ("alike_labels", "missing_cells_as_labels")]  # fmt: skip
    assert [(finding.kind, finding.severity, finding.evidence["labels"]) for finding in found] == [
        ("missing_cells_as_labels", "warning", "'nan' (4 rows)"),
        ("alike_labels", "warning",
         "'Rock' (200 rows) and 'rock' (3 rows); 'jazz music' (10 rows) and 'jazz_music' (5 rows)"),
        ("alike_labels", "note", "'politics' (150 rows) and 'poltics' (2 rows)"),
    ]  # fmt: skip
    assert "--unknown nan" in found[0].remedy


def test_one_blank_cell_is_not_severe():
    """The neighbours are those of the other rows; many missing cells are severe."""
    X = np.random.default_rng(0).random((60, 3))
    X[7, 1] = np.nan
    found = examine(X)
    assert kinds(found)["missing_values"] == "warning"
    assert "among the 59 rows without missing" in found.notes[0]
    X[:10, 1] = np.nan
    assert kinds(examine(X))["missing_values"] == "severe"
