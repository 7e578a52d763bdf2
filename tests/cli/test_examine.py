"""``nearlabel examine``, and what other commands say of severe findings."""

import csv
import json
import re

import numpy as np
import pytest

from nearlabel.datasets import Dataset, write_npz

SECONDS = re.compile(r"\b\d+\.\d\d\b")  # and sizes; not what has four digits


@pytest.fixture
def texts(tmp_path):
    """Sixty rows of words, of which three are empty, and tags that were joined."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 9)) * (rng.random((60, 9)) < 0.3)
    X[np.arange(60), np.arange(60) % 9] = 1
    X[[5, 6, 7]] = 0
    Y = (rng.random((60, 4)) < 0.4).astype(np.int64)
    file = tmp_path / "texts.npz"
    write_npz(file, Dataset(X, Y, tuple("abcdefghi"), ("A", "B", "A|B", "B|C"), "texts"))
    return file


@pytest.fixture
def numbered(tmp_path):
    """A CSV file with an identifier, a feature of a wide range, and labels."""
    rng = np.random.default_rng(0)
    file = tmp_path / "numbered.csv"
    lines = [f"{row},{rng.random():.3f},{5000 * rng.random():.0f},{row % 2},{row % 3 // 2}" for row in range(60)]
    file.write_text("\n".join(["id,width,price,mood_calm,mood_sad", *lines]) + "\n")
    return file


def test_table(nearlabel, texts):
    """The worst comes first; lines fit 80 columns, each finding has its remedy."""
    answer = nearlabel("examine", texts)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "texts: 60 rows, 9 features, 4 labels"
    assert lines[2].startswith("severe   empty_rows: 3 rows (5 %) contain no value but 0.")
    assert max(map(len, lines)) <= 80
    assert "--labels-separator '|'" in answer.out


def test_formats_agree(nearlabel, texts):
    """JSON has the figures, CSV the same findings as text."""
    found = json.loads(nearlabel("examine", texts, "--format", "json").out)
    assert (found["name"], found["rows"], found["features"], found["labels"]) == ("texts", 60, 9, 4)
    assert [finding["kind"] for finding in found["findings"]][:2] == ["empty_rows", "joined_tags"]
    assert found["findings"][0].items() >= {"rows": 3, "share": 0.05, "first_row": 5}.items()
    rows = list(csv.DictReader(nearlabel("examine", texts, "--format", "csv").out.splitlines()))
    assert [row["sentence"] for row in rows] == [finding["sentence"] for finding in found["findings"]]
    assert rows[0]["evidence"] == "rows=3; share=0.05; first_row=5"


def test_csv_of_no_finding_is_a_header(nearlabel, tmp_path):
    """Where nothing is wrong there is no row."""
    rng = np.random.default_rng(0)
    data = Dataset(rng.random((90, 3)), rng.integers(0, 2, (90, 2)), tuple("abc"), ("x", "y"), "fine")
    write_npz(tmp_path / "fine.npz", data)
    assert (
        nearlabel("examine", tmp_path / "fine.npz", "--format", "csv").out == "severity,kind,sentence,remedy,evidence\n"
    )


def test_what_options_mend_is_not_reported(nearlabel, texts, numbered):
    """Scaling mends ranges, the cosine empty rows; hubs are those of the scaled rows."""
    columns = ("--labels-prefix", "mood_", "--ignore", "id")
    assert "ranges_far_apart" in nearlabel("examine", numbered, *columns).out
    assert "ranges_far_apart" not in nearlabel("examine", numbered, *columns, "--scale", "minmax").out
    for options in (("--search", "exact:metric=cosine"), ("--scale", "tfidf")):
        assert "empty_rows" not in nearlabel("examine", texts, *options).out


def test_test_data_and_no_search(nearlabel, texts):
    """Rows in training and test are counted; without a search there is no finding in neighbours."""
    answer = nearlabel("examine", texts, "--test-data", texts, "--search", "none", "--format", "json")
    found = {finding["kind"]: finding for finding in json.loads(answer.out)["findings"]}
    assert found["test_rows_in_training"]["rows"] == 57
    assert "hubs" not in found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--k", "0"), "--k must be at least 1, got 0."),
        (("--search", "far"), "search must be one of"),
        (("--test-data", "nosuch.arff"), "nosuch.arff: No such file or directory."),
    ],
)
def test_bad_options(nearlabel, texts, options, message):
    """What is wrong is named in a line."""
    answer = nearlabel("examine", texts, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("command", ["fit", "tune", "evaluate"])
def test_commands_say_what_is_severe(nearlabel, numbered, tmp_path, command):
    """A line on standard error names the column and the option; results are the same, and `--quiet` silences it."""
    options = {
        "fit": ("--method", "brknn", "--k", 3, "--out", tmp_path / "model.skops", "--force"),
        "tune": ("--methods", "brknn", "--k", 3),
        "evaluate": ("--methods", "brknn", "--k", 3, "--cv", 2, "--metrics", "micro_f1"),
    }
    given = (command, numbered, "--labels-prefix", "mood_", *options[command])
    loud, quiet = nearlabel(*given), nearlabel(*given, "--quiet")
    assert (loud.code, quiet.code, quiet.err) == (0, 0, "")
    assert re.sub(SECONDS, "", loud.out) == re.sub(SECONDS, "", quiet.out)
    expected = ["numbered: 1 column numbers the rows, like identifiers: id. Remedy: Leave out"]
    if command != "tune":  # which tries scaled features too
        expected.append("numbered: Ranges of features differ by up to")
    lines = loud.err.splitlines()
    assert len(lines) == len(expected)
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(f"nearlabel: {beginning}")
    assert "ranges" not in nearlabel(*given, "--scales" if command == "tune" else "--scale", "minmax").err.lower()


def test_methods_without_neighbours_mind_no_distance(nearlabel, numbered):
    """Of ranges nothing is said where no method has neighbours; an identifier misleads all."""
    given = ("evaluate", numbered, "--labels-prefix", "mood_", "--methods", "rfpct:n_estimators=2", "--cv", 2)
    answer = nearlabel(*given, "--metrics", "micro_f1")
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert "identifiers" in answer.err


def test_scaled_words_are_searched_by_the_cosine(nearlabel, texts, tmp_path):
    """`fit --scale tfidf` names the cosine, so does the search of `evaluate`; a named search is taken as it is."""
    given = ("fit", texts, "--method", "brknn", "--k", 3, "--out", tmp_path / "model.skops", "--force", "--scale")
    assert "exact:metric=cosine" in nearlabel(*given, "tfidf").out
    assert "cosine" not in nearlabel(*given, "minmax").out
    assert "cosine" not in nearlabel(*given, "tfidf", "--search", "exact").out
    compared = (
        "evaluate",
        texts,
        "--methods",
        "brknn",
        "--k",
        3,
        "--cv",
        2,
        "--metrics",
        "micro_f1",
        "--scale",
        "tfidf",
    )
    searched = nearlabel(*compared, "--search", "exact:metric=cosine", "--format", "json").out
    plain = nearlabel(*compared, "--format", "json").out
    assert json.loads(plain)[0]["mean"] == pytest.approx(json.loads(searched)[0]["value"], abs=1e-12)


def test_ids_of_several_rows_and_rows_without_tags(nearlabel, tmp_path):
    """Named with their rows; the column of ids is no feature, and an unknown label is not the lack of one."""
    random = np.random.default_rng(0)
    ids = [f"T{row}" for row in range(40)]
    ids[7] = ids[9] = "T3"
    ids[11] = ids[12] = ""
    tags = ["a", "b", "", "a;b"] * 10
    tags[2] = "?"
    rows = [f"{name},{random.random():.3f},{tag}" for name, tag in zip(ids, tags, strict=True)]
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["key,x,tags", *rows]) + "\n")
    options = ("--labels-column", "tags", "--unknown", "?", "--search", "none", "--format", "json")
    answer = nearlabel("examine", file, "--id", "key", *options)
    assert (answer.code, answer.err) == (0, "")
    found = {one["kind"]: one for one in json.loads(answer.out)["findings"]}
    assert json.loads(answer.out)["features"] == 1
    assert found["duplicate_ids"]["sentence"] == "1 id is in several rows, from 0: 'T3' (rows 3, 7, 9)."
    assert found["rows_without_tags"]["sentence"] == "9 rows have no tag, from 0: 6, 10, 14 and 6 more."
    assert found["rows_without_tags"]["rows"] == 9
    assert "id_like" not in found
    refused = nearlabel("examine", "multidigits", "--id", "key")
    assert (refused.code, refused.err) == (2, "nearlabel: --id must go with a table, got 'multidigits'.\n")
