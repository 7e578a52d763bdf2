import csv
import io
import json
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from nearlabel.cli import _model
from nearlabel.cli._predict import Layout, Scores, csv_writer
from nearlabel.datasets import load_multidigits, read_table, write_npz
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import score_all
from nearlabel.persistence import load_model, save_model

CSV = ("--labels-column", "tags", "--ignore", "id")


@pytest.fixture
def model(table, tmp_path):
    """A model of the table in a file."""
    data, _ = table
    file = tmp_path / "m.skops"
    save_model(MLkNN(3).fit(data.X, data.Y), file, data=data)
    return file


@pytest.fixture
def queries(tmp_path):
    """Seven rows with features in another order, a column of notes, and an id that must be quoted."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(7, 3)).round(3)
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    frame.insert(1, "note", "none")
    frame["key"] = [f"q,{row}" for row in range(7)]
    file = tmp_path / "queries.csv"
    frame[["x2", "note", "x0", "key", "x1"]].to_csv(file, index=False)
    return X, file


def rows_of(text):
    """CSV as dictionaries."""
    return list(csv.DictReader(io.StringIO(text)))


def chosen(data, labels):
    """The names of the labels of every row."""
    return [[name for name, there in zip(data.label_names, row, strict=True) if there] for row in labels]


def test_screen(nearlabel, table, model, queries):
    """Row numbers and joined names; features are found by name."""
    data, _ = table
    X, file = queries
    answer = nearlabel("predict", model, file)
    assert (answer.code, answer.err) == (0, "")
    rows = rows_of(answer.out)
    assert list(rows[0]) == ["row", "labels"]
    assert [row["row"] for row in rows] == list(map(str, range(7)))
    expected = chosen(data, load_model(model).predict(X))
    assert [row["labels"] for row in rows] == [";".join(names) for names in expected]


def test_a_line_on_the_file(nearlabel, model, queries, tmp_path):
    """Behind the notes; none if the command is quiet, and none without a file."""
    _, file = queries
    out = tmp_path / "p.csv"
    answer = nearlabel("predict", model, file, "--scores", "top:2", "--abstain", "0.5", "--out", out)
    line = f"nearlabel: {out}: 7 rows, 5 columns (row, labels, abstained, top, top_scores)."
    assert answer.err.splitlines()[-1] == line
    assert nearlabel("predict", model, file, "--out", out, "--quiet") == (0, "", "")
    assert "columns" not in nearlabel("predict", model, file).err


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("scores", ["none", "chosen", "top:2", "all"])
def test_columns(nearlabel, table, model, queries, tmp_path, suffix, scores):
    """The same columns in every format: lists where there are any, joined in CSV; numbers to the last bit."""
    data, _ = table
    X, file = queries
    out = tmp_path / f"out{suffix}"
    answer = nearlabel("predict", model, file, "--id", "key", "--scores", scores, "--out", out)
    columns = {"none": 2, "chosen": 3, "top:2": 4, "all": 5}[scores]
    assert (answer.code, answer.out) == (0, "")
    assert answer.err.startswith(f"nearlabel: {out}: 7 rows, {columns} columns (key, labels")
    known = load_model(model)
    labels, proba = known.predict(X), known.predict_proba(X)
    names = chosen(data, labels)
    best = np.argsort(-proba, axis=1, kind="stable")[:, :2]
    expected = {"key": [f"q,{row}" for row in range(7)], "labels": names} | {
        "none": {},
        "chosen": {"scores": [row[here == 1].tolist() for row, here in zip(proba, labels, strict=True)]},
        "top:2": {
            "top": [[data.label_names[label] for label in row] for row in best],
            "top_scores": np.take_along_axis(proba, best, axis=1).tolist(),
        },
        "all": {f"score_{name}": proba[:, label].tolist() for label, name in enumerate(data.label_names)},
    }[scores]
    if suffix == ".csv":
        found = {name: [row[name] for row in rows_of(out.read_text())] for name in expected}
        expected = {
            name: [";".join(map(str, cell)) if isinstance(cell, list) else str(cell) for cell in cells]
            for name, cells in expected.items()
        }
    elif suffix == ".jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        found = {name: [row[name] for row in rows] for name in rows[0]}
    else:
        found = pq.read_table(out).to_pydict()
    assert found == expected


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_predictions_are_a_table_again(nearlabel, table, model, tmp_path, suffix):
    """`read_table` reads the labels as they were predicted, the scores as features; other rows come in blocks."""
    data, path = table
    out = tmp_path / f"out{suffix}"
    assert nearlabel("predict", model, path, "--scores", "all", "--out", out).code == 0
    found = read_table(out, labels_column="labels", ignore=["row"])
    known = load_model(model)
    columns = [data.label_names.index(name) for name in found.label_names]
    assert np.array_equal(found.Y, known.predict(data.X)[:, columns])
    assert np.array_equal(found.X, known.predict_proba(data.X))


def test_blocks_change_nothing(nearlabel, model, queries, monkeypatch):
    """One row at a time gives the same lines."""
    whole = nearlabel("predict", model, queries[1], "--scores", "all")
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 1)
    assert nearlabel("predict", model, queries[1], "--scores", "all") == whole


@pytest.mark.parametrize("fixture", ["meka", "mulan"])
def test_arff(nearlabel, request, tmp_path, fixture):
    """Sparse or dense, Mulan or MEKA: the features are found by name."""
    path = request.getfixturevalue(fixture)
    assert nearlabel("fit", path, "--method=mlknn", "--k", 2, "--out", tmp_path / "m.skops").code == 0
    answer = nearlabel("predict", tmp_path / "m.skops", path)
    assert (answer.code, answer.out.count("\n")) == (0, 31)


def test_embedded_data_and_data_in_memory(nearlabel, tmp_path):
    """A name instead of a file; NPZ; several blocks."""
    digits = load_multidigits()
    first = replace(digits, X=digits.X[:200], Y=digits.Y[:200])
    save_model(BRkNN(3).fit(first.X, first.Y), tmp_path / "m.skops", data=first)
    by_name = nearlabel("predict", tmp_path / "m.skops", "multidigits")
    path = write_npz(tmp_path / "digits.npz", digits)
    assert nearlabel("predict", tmp_path / "m.skops", path) == by_name
    assert by_name.out.count("\n") == 2001
    assert nearlabel("predict", tmp_path / "m.skops", "multidigits", "--id", "pixel_0_0").err == (
        "nearlabel: --id must go with a file, got 'multidigits', whose rows have numbers only.\n"
    )


def test_score(nearlabel, table, model, tmp_path):
    """All measures, labels matched by name; without --out nothing else is printed."""
    data, path = table
    known = load_model(model)
    measures = score_all(data.Y, known.predict(data.X), known.predict_proba(data.X))
    answer = nearlabel("predict", model, path, *CSV, "--score")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "Metrics on 30 rows"
    assert any(line.split() == ["micro", "F1", f"{measures['micro_f1']:.4f}"] for line in lines)
    out = tmp_path / "out.csv"
    both = nearlabel("predict", model, path, "--labels-column", "tags", "--id", "id", "--score", "--out", out)
    assert both.out == answer.out
    assert [row["id"] for row in rows_of(out.read_text())] == [f"f{row}" for row in range(30)]


def test_score_of_other_labels(nearlabel, table, model, tmp_path):
    """A tag that the model does not know is left out, with a note; one that no row has counts as absent."""
    path = tmp_path / "few.csv"
    path.write_text("x0,x1,x2,tags\n1,0,1,apple;plum\n0,1,1,\n")
    answer = nearlabel("predict", model, path, "--labels-column", "tags", "--score")
    assert answer.code == 0
    assert "nearlabel: Labels unknown to the model are left out: 'plum'.\n" in answer.err
    assert answer.out.startswith("Metrics on 2 rows")


def test_decision_values(nearlabel, table, tmp_path):
    """Scores of methods without probabilities; one that is infinite is null in JSON."""
    data, path = table
    out = tmp_path / "m.skops"
    assert nearlabel("fit", path, *CSV, "--method", "ranksvm", "--validate", "none", "--out", out).code == 0
    found = rows_of(nearlabel("predict", out, path, "--scores", "all").out)
    expected = load_model(out).decision_function(data.X)
    assert [float(row["score_apple"]) for row in found] == expected[:, 0].tolist()


def test_a_forest_needs_no_option(nearlabel, table, tmp_path):
    """What scikit-learn's trees say is checked on loading, so that nobody has to name their type."""
    _, path = table
    out = tmp_path / "m.skops"
    fit = nearlabel("fit", path, *CSV, "--method", "rfpct:n_estimators=2", "--validate", "none", "--out", out)
    assert (fit.code, fit.err) == (0, "")
    assert nearlabel("predict", out, path).code == 0


def test_a_model_without_names(nearlabel, tmp_path):
    """Features are named by their numbers, as svmlight files have them; labels by theirs."""
    model = BRkNN(1).fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], [[1, 0], [0, 1], [1, 1]])
    save_model(model, tmp_path / "m.skops")
    (tmp_path / "rows.svm").write_text(" 1:1\n 0:1\n")
    assert nearlabel("predict", tmp_path / "m.skops", tmp_path / "rows.svm").out == "row,labels\n0,0\n1,1\n"
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [1.0, 0.0, 2.0]})
    save_model(BRkNN(1).fit(frame, [[1, 0], [0, 1], [1, 1]]), tmp_path / "m.skops")
    (tmp_path / "rows.csv").write_text("b,a\n1,0\n")
    assert nearlabel("predict", tmp_path / "m.skops", tmp_path / "rows.csv").out == "row,labels\n0,0\n"


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes(nearlabel, table, model, queries, monkeypatch):
    """A model of another version: one line on standard error, predictions all the same."""
    monkeypatch.setattr("nearlabel.persistence._model_file.versions", lambda: {"numpy": "99"})
    answer = nearlabel("predict", model, queries[1])
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert answer.err.startswith(f"nearlabel: {model} was saved with numpy ")


def test_our_handling_of_warnings_ends_with_the_command(nearlabel, model, queries):
    """Who runs commands from Python keeps their own."""
    before = warnings.showwarning
    nearlabel("predict", model, queries[1])
    assert warnings.showwarning is before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "out.xlsx"), "--out must end in one of .csv, .parquet, .jsonl, got out.xlsx"),
        (("--out", "nowhere/out.csv"), "--out must be in a folder that exists"),
        (("--out", "queries.csv"), "--out must be another file than MODEL and DATA"),
        (("--scores", "top"), "argument --scores: must be none, chosen, top:N with N of at least 1, or all, got 'top'"),
        (("--scores", "top:0"), "argument --scores: must be none"),
        (("--scores", "top:9"), "--scores must be top:N with N at most 3 labels, got 9"),
        (("--id", "kez"), "--id must name columns of"),
        (
            ("--labels-separator", ","),
            "--labels-separator must be a text that no label contains, got ',', and a label 'lemon,",
        ),
        (
            ("--labels-separator", "-", "--scores", "chosen"),
            "--labels-separator must be a text that no number contains, got '-', which joins scores, too.",
        ),
        (
            ("--labels-separator", "e1", "--scores", "top:2"),
            "--labels-separator must be a text that no number contains",
        ),
        (("--score",), "one of --labels, --labels-prefix and --labels-column must name the labels of"),
    ],
)
def test_bad_options(nearlabel, model, queries, tmp_path, monkeypatch, options, message):
    """One line, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    before = {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}
    answer = nearlabel("predict", model, queries[1].name, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert {file: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()} == before


@pytest.mark.parametrize(
    ("separator", "name"),
    [("aa", "la"), ("pp", "apple"), (";", " pear"), (";", "")],
)
def test_a_separator_that_hides_a_label(separator, name):
    """A label that ends as the separator begins could not be split off either, nor one of blanks."""
    layout = Layout(None, Scores("none"), ("lemon", name))
    with pytest.raises(ValueError, match=f"that no label contains, got '{separator}', and a label '{name}'"):
        csv_writer(io.StringIO(), layout, separator)


def test_labels_that_the_file_does_not_name(nearlabel, table, model, tmp_path):
    """Some columns of labels are no measure of all: an error, not a note beside wrong figures."""
    path = tmp_path / "some.csv"
    path.write_text("x0,x1,x2,apple,pear\n1,0,1,1,0\n0,1,1,0,0\n")
    answer = nearlabel("predict", model, path, "--labels", "apple,pear", "--score")
    assert (answer.code, answer.out) == (2, "")
    assert "DATA must have every label of the model, got none named 'lemon, sour'. Hint: --labels" in answer.err
    answer = nearlabel("predict", model, table[1], *CSV, "--labels-separator", "|", "--score")
    assert (answer.code, answer.out) == (0, answer.out)


def test_tags_joined_by_something_else(nearlabel, model, tmp_path):
    """Not one tag is known: the error asks for the separator."""
    path = tmp_path / "joined.csv"
    path.write_text("x0,x1,x2,tags\n1,0,1,apple=pear\n0,1,1,pear=apple\n")
    answer = nearlabel("predict", model, path, "--labels-column", "tags", "--score")
    assert (answer.code, answer.out) == (2, "")
    assert "Hint: --labels-separator sets the separator." in answer.err


@pytest.mark.parametrize(("cell", "got"), [("", "a missing value"), ("NaN", "a missing value"), ("-inf", "-inf")])
@pytest.mark.parametrize("command", ["predict", "explain", "report"])
def test_a_value_that_is_not_finite(nearlabel, table, tmp_path, monkeypatch, command, cell, got):
    """File, line and column, in whatever block and behind whatever scaling."""
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 6)
    out, path = tmp_path / "m.skops", tmp_path / "holes.csv"
    assert (
        nearlabel(
            "fit", table[1], *CSV, "--method=mlknn", "--k", 3, "--scale", "minmax", "--validate", "none", "--out", out
        ).code
        == 0
    )
    path.write_text("x2,x1,x0,tags\n" + "1,2,3,apple\n\n" * 7 + f"1,{cell},3,\n")
    options = {
        "predict": ("--out", tmp_path / "p.csv"),
        "explain": ("--row", 7),
        "report": ("--labels-column", "tags", "--out", tmp_path / "r.html"),
    }
    answer = nearlabel(command, out, path, *options[command])
    problem = f"column 'x1' must contain numbers that are finite, got {got}."
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith(f"nearlabel: {path}, line 16: {problem}\n")


def test_a_model_that_fills_gaps(nearlabel, table, tmp_path):
    """It takes missing values, and what else it says is not taken for a word on them."""
    data, _ = table
    holes = data.X.copy()
    holes[::4, 1] = np.nan
    model = make_pipeline(SimpleImputer(), MLkNN(3)).fit(holes, data.Y)
    save_model(model, tmp_path / "m.skops", data=replace(data, X=holes))
    path = tmp_path / "holes.csv"
    path.write_text("x0,x1,x2\n1,,3\n")
    answer = nearlabel("predict", tmp_path / "m.skops", path)
    assert answer.code == 0, answer.err
    asked = _model.OpenModel(model, None, data.feature_names, data.label_names)
    with pytest.raises(ValueError, match="other words"), _model.asking(asked, str(path), holes, first=0):
        raise ValueError("other words")


@pytest.mark.long
def test_a_model_of_arrays_takes_columns_by_position(nearlabel, table, tmp_path):
    """As many columns as it had, beside those that are said to be something else; the same with explain and report."""
    data, path = table
    out = tmp_path / "m.skops"
    save_model(MLkNN(3).fit(data.X, data.Y), out)
    expected = load_model(out).predict(data.X)
    answer = nearlabel("predict", out, path, *CSV)
    assert (answer.code, answer.err) == (0, "")
    assert [row["labels"] for row in rows_of(answer.out)] == [
        ";".join(str(label) for label in np.flatnonzero(row)) for row in expected
    ]
    assert nearlabel("predict", out, path, "--ignore", "tags", "--id", "id").code == 0
    assert nearlabel("explain", out, path, *CSV, "--row", 3).code == 0
    assert nearlabel("report", out, path, *CSV, "--out", tmp_path / "r.html").code == 0
    answer = nearlabel("predict", out, path, "--ignore", "id")
    assert answer.err == (
        "nearlabel: DATA must have the 3 features of the model, got 4. Hint: --ignore and --labels leave columns out.\n"
    )


def test_bad_files(nearlabel, table, model, tmp_path):
    """A missing column, a file that is no model, no file: named."""
    (tmp_path / "short.csv").write_text("x0,x1\n1,2\n")
    assert (
        "must have a column for every feature, got none for 'x2'"
        in nearlabel("predict", model, tmp_path / "short.csv").err
    )
    assert nearlabel("predict", table[1], table[1]).code == 2
    assert "but does not exist" in nearlabel("predict", tmp_path / "none.skops", table[1]).err
    digits = load_multidigits()
    other = tmp_path / "digits.skops"
    first = replace(digits, X=digits.X[:9], Y=digits.Y[:9])
    save_model(BRkNN(1).fit(first.X, first.Y), other, data=first)
    assert (
        "got none for 'pixel_0_0', 'pixel_0_1', 'pixel_0_2', 'pixel_0_3', 'pixel_0_4' and 76 more."
        in nearlabel("predict", other, table[1]).err
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_whole_or_not_at_all(nearlabel, model, tmp_path, monkeypatch, suffix):
    """A bad cell in the last row: what was there before stays, and nothing is left over."""
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 3)
    data, out = tmp_path / "bad.csv", tmp_path / f"out{suffix}"
    data.write_text("x0,x1,x2\n" + "1,2,3\n" * 2000 + "1,oops,3\n")
    out.write_text("before")
    files = set(tmp_path.iterdir())
    answer = nearlabel("predict", model, data, "--out", out)
    assert answer.code == 2
    assert "column 'x1' must contain numbers, got 'oops'" in answer.err
    assert out.read_text() == "before"
    assert set(tmp_path.iterdir()) == files


def test_a_name_of_a_column_that_is_ours(nearlabel, model, tmp_path):
    """An id column called labels would be lost beside ours."""
    data = tmp_path / "d.csv"
    data.write_text("x0,x1,x2,labels\n1,2,3,a\n")
    assert (
        "--id must name a column other than those of the predictions, got 'labels'"
        in nearlabel("predict", model, data, "--id", "labels").err
    )


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(nearlabel, model, tmp_path, monkeypatch):
    """Eight times the rows, in blocks of a hundred: as much memory at most, but for the reader's block of text."""
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 300)
    peaks = []
    for n_rows in (2_000, 16_000):
        data, out = tmp_path / f"{n_rows}.csv", tmp_path / "out.jsonl"
        data.write_text("x0,x1,x2\n" + "0.25,-0.5,1.0\n" * n_rows)
        tracemalloc.start()
        assert nearlabel("predict", model, data, "--scores", "all", "--out", out).code == 0
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert out.read_text().count("\n") == n_rows
    assert peaks[1] < peaks[0] + 2**20 + data.stat().st_size


def test_nominal_features_of_arff(nearlabel, tmp_path):
    """A model of colours finds them in a file that declares them in another order; a new colour is refused."""
    head = "@relation 'toy: -C 1'\n@attribute y {{0,1}}\n@attribute n numeric\n@attribute colour {{{}}}\n@data\n"
    training, queries, new = (tmp_path / f"{name}.arff" for name in ("training", "queries", "new"))
    rows = "1,0,red\n1,1,red\n0,0,green\n0,1,green\n0,0,'dark blue'\n0,1,'dark blue'\n"
    training.write_text(head.format("red,green,'dark blue'") + rows)
    queries.write_text(head.format("'dark blue',red") + "0,0,'dark blue'\n1,0,red\n")
    new.write_text(head.format("red,violet") + "1,0,red\n0,0,violet\n")
    model = tmp_path / "m.skops"
    assert nearlabel("fit", training, "--method", "brknn", "--k", 1, "--out", model).code == 0
    assert nearlabel("predict", model, queries).out.splitlines() == ["row,labels", "0,", "1,y"]
    evaluate = ("evaluate", training, "--methods", "brknn", "--k", 1, "--metrics", "micro_f1", "--format", "csv")
    split = nearlabel(*evaluate, "--test-data", queries)
    assert split.out.splitlines()[1].startswith("training,brknn,1,micro_f1,1.0"), split.err
    for command in ("predict", model, new), (*evaluate, "--test-data", new):
        refused = nearlabel(*command)
        assert refused.code == 2
        assert "must contain categories that the model knows, got 'colour=violet'" in refused.err.replace(
            "the training data", "the model"
        )
