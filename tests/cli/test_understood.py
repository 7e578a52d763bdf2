"""What describe and --dry-run say of DATA: a paragraph, three rows as read, and what would be tried."""

import io
import json
import re
import sys

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, load_dataset, write_npz

SONGS = """id,day,tempo,genre,title,tags
s1,2026-01-01,92.5,soul,night rain,calm|sad
s2,2026-01-02,171,punk,"riot
fire",wild
s3,2026-01-03,128,,,
s4,2026-01-04,70,soul,slow rain,calm|wild
"""
OPTIONS = ("--labels-column", "tags", "--ignore", "id", "--categorical", "genre", "--text", "title", "--date", "day")


@pytest.fixture
def songs(tmp_path):
    """A table with a column of every kind, and of tags with a bar between them."""
    file = tmp_path / "songs.csv"
    file.write_text(SONGS)
    return file


def described(answer):
    """Return the paragraph, and the lines of the rows."""
    assert answer.code == 0, answer.err
    before = answer.out.partition("\nStatistics\n")[0].strip("\n").splitlines()
    return before[0], before[2:]


def test_a_table(nearlabel, songs):
    """Rows, features of each kind, labels as written and split, what is missing and left out, and three rows."""
    words, lines = described(nearlabel("describe", songs, *OPTIONS))
    assert words == (
        "Data set songs: 4 rows. 4 features: 1 date (day), 1 number (tempo), 1 category (genre), 1 text (title)."
        " 2 cells of features are missing (--impute in fit). 3 labels (calm, sad, wild), in the column tags,"
        " written as 'calm|sad', separated by '|' (a guess: --labels-separator sets another). A row has 1.25 labels on"
        " average. 1 row has none. Left out: id."
    )
    assert lines == [
        "row 1: day=2026-01-01, tempo=92.5, genre='soul', title='night rain'",
        "    -> calm, sad",
        r"row 2: day=2026-01-02, tempo=171, genre='punk', title='riot\nfire'",
        "    -> wild",
        "row 3: day=2026-01-03, tempo=128, genre=missing, title=missing",
        "    -> none",
    ]


def test_a_separator_that_is_given_is_no_guess(nearlabel, songs):
    """Nor is one said where no cell has it."""
    assert ", separated by '|'. A row" in nearlabel("describe", songs, *OPTIONS, "--labels-separator", "|").out
    words, _ = described(nearlabel("describe", songs, *OPTIONS, "--labels-separator", "+"))
    assert "in the column tags, written as 'calm|sad'. A row" in words


def test_json_has_the_same(nearlabel, songs):
    """The paragraph, the columns left out, and the rows with their values."""
    told = json.loads(nearlabel("describe", songs, *OPTIONS, "--format", "json").out)
    words, _ = described(nearlabel("describe", songs, *OPTIONS))
    assert (told["in_words"], told["left_out"]) == (words, ["id"])
    assert told["first_rows"][0] == {
        "features": {"day": "2026-01-01T00:00:00", "tempo": 92.5, "genre": "soul", "title": "night rain"},
        "more_features": 0,
        "labels": ["calm", "sad"],
        "more_labels": 0,
        "unknown_labels": [],
        "more_unknown_labels": 0,
    }
    assert [row["features"]["genre"] for row in told["first_rows"]] == ["soul", "punk", None]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            ["['calm', 'sad']", "['wild']"],
            """3 labels (calm, sad, wild), in the column tags, written as "['calm', 'sad']".""",
        ),
        ([["calm"], []], "1 label (calm), in the column tags, written as ['calm']. A row"),
        ([[0, 1, 1], [0, 0, 0]], "3 labels (0, 1, 2), in the column tags, written as [0, 1, 1]. A row"),
    ],
)
@pytest.mark.filterwarnings("ignore:Each cell of")
def test_lists(nearlabel, tmp_path, cells, words):
    """A cell is shown as it is; nothing separates its tags."""
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps({"x": row, "tags": cell}) + "\n" for row, cell in enumerate(cells)))
    assert words in described(nearlabel("describe", file, "--labels-column", "tags"))[0]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["yes,no", "no,no", "no,yes"], "2 labels (a, b), a column each, written as yes, no. A row"),
        (["1,0", ",1", "0,1"], "2 labels (a, b), a column each, written as 1, 0 or empty. A row"),
    ],
)
def test_columns_of_labels(nearlabel, tmp_path, cells, words):
    """The values that stand there are shown, and what is unknown is counted and named."""
    file = tmp_path / "t.csv"
    file.write_text("\n".join(["x,a,b", *(f"{row},{cell}" for row, cell in enumerate(cells))]) + "\n")
    told, lines = described(nearlabel("describe", file, "--labels", "a,b"))
    assert words in told
    assert ("1 label cell is unknown (16.7%)" in told) == (",1" in cells)
    assert lines[3] == ("    -> b; unknown: a" if ",1" in cells else "    -> none")


def test_arff(nearlabel, tmp_path):
    """A category is one feature with several columns, shown as in the file; a missing one is one cell."""
    file = tmp_path / "c.arff"
    file.write_text(
        "@relation 'c: -C 1'\n@attribute y {0,1}\n@attribute x real\n@attribute colour {red,green,'dark blue'}\n"
        "@attribute loud {YES,NO}\n@data\n1,1.5,red,YES\n?,?,'dark blue',NO\n0,2,?,?\n"
    )
    words, lines = described(nearlabel("describe", file))
    features = "8 features: 1 number (x), 1 category (colour) in 6 columns, 1 yes/no (loud)"
    assert f"{features}. 3 cells of features are missing" in words
    assert "1 label (y), as the file declares them. A row has 0.5 labels" in words
    assert lines == [
        "row 1: x=1.5, colour='red', loud=1",
        "    -> y",
        "row 2: x=missing, colour='dark blue', loud=0",
        "    -> unknown: y",
        "row 3: x=2, colour=missing, loud=missing",
        "    -> none",
    ]
    assert load_dataset(file).X.shape == (3, 8)


def test_sparse_rows(nearlabel, tmp_path):
    """Only features that are not 0 are shown."""
    file = tmp_path / "s.svm"
    file.write_text("1,2 1:0.5 7:1 99:2\n0\n 3:1\n")
    words, lines = described(nearlabel("describe", file))
    assert "100 features: 100 numbers (0, 1, 2, 3 and 96 more)" in words
    assert lines[:4] == ["row 1: 1=0.5, 7=1, 99=2", "    -> 1, 2", "row 2: all features are 0", "    -> 0"]


def test_sparse_npz(nearlabel, tmp_path):
    """A row with many features says how many more are not 0."""
    X = sparse.csr_array(np.tile(np.arange(3000) % 2, (3, 1)).astype(float))
    names = tuple(f"word{n}" for n in range(3000))
    write_npz(tmp_path / "n.npz", Dataset(X, np.eye(3, dtype=int), names, tuple("abc"), "n"))
    _, lines = described(nearlabel("describe", tmp_path / "n.npz"))
    assert lines[0].startswith("row 1: word1=1, word3=1, ")
    assert lines[0].endswith(" more (not 0)")
    shown = lines[0].count("=")
    assert f" and {1500 - shown:,} more" in lines[0]


def test_wide_tables_fit_the_width(nearlabel, tmp_path, monkeypatch):
    """Three thousand columns and labels with long names: 80 columns, both ends of a name, and how many more."""
    file = tmp_path / "wide.csv"
    names = [f"a_feature_with_quite_a_long_name_{n}" for n in range(3000)]
    labels = [f"label_{'very_' * 20}long_{n}" for n in range(40)]
    row = ["123456.789"] * 3000 + ["1"] * 20 + [""] * 20
    file.write_text("\n".join([",".join([*names, *labels]), *[",".join(row)] * 3]) + "\n")
    words, lines = described(nearlabel("describe", file, "--labels-prefix", "label_"))
    assert len(words) < 700
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("row 1: a_feature_wi..._name_0=123457")
    assert "and 2,99" in lines[0]
    assert lines[1].endswith("; 20 unknown")
    monkeypatch.setenv("COLUMNS", "150")
    _, wider = described(nearlabel("describe", file, "--labels-prefix", "label_"))
    assert 80 < max(map(len, wider)) <= 150


def test_names_move_no_cursor(nearlabel, tmp_path):
    """Control characters of names and texts are escaped."""
    file = tmp_path / "n.csv"
    file.write_text('"x\x1b[2J",t,tags\n1,"a\x1b[31m",r\x07\n', newline="")
    answer = nearlabel("describe", file, "--labels-column", "tags", "--text", "t")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert r"row 1: x\x1b[2J=1, t='a\x1b[31m'" in answer.out


def test_standard_input(nearlabel, songs, monkeypatch):
    """Its format is a guess unless it is said."""
    for format_ in ([], ["--input-format", "csv"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(songs.read_bytes())))
        words, _ = described(nearlabel("describe", "-", *OPTIONS, *format_))
        guessed = "Standard input is csv (a guess by its content: --input-format sets another)."
        assert words.endswith(guessed) == (not format_)
        assert "nearlabel-stdin-" not in words


def test_the_embedded_data_set(nearlabel):
    """It is no file, which would have its own way to declare labels."""
    words, lines = described(nearlabel("describe", "multidigits"))
    assert "10 labels (0, 1, 2, 3 and 6 more). A row has 1.94" in words
    assert len(lines) == 6


# --dry-run


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Forty songs, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    lines = [f"s{n},{n}.5,{'soul' if n % 3 else 'punk'},{n % 5},{'calm;sad' if n % 2 else 'wild'}" for n in range(40)]
    (tmp_path / "songs.csv").write_text("\n".join(["id,tempo,genre,part,tags", *lines]) + "\n")
    return ("songs.csv", "--labels-column", "tags", "--categorical", "genre")


@pytest.fixture
def no_work(monkeypatch):
    """Fail where models are tried or fitted."""

    def work(*_, **__):
        pytest.fail("work was done")

    for name in ("Tuning.run", "NeighborsChoice.run", "Candidate.fit"):
        monkeypatch.setattr(f"nearlabel.experiments.{name}", work)


def plan(answer):
    """Return the table of what would be tried."""
    assert answer.code == 0, answer.err
    table = answer.out.partition("Would be tried and fitted\n")[2]
    return dict(re.findall(r"^  (\S.*?)  +(\S.*?) *$", table.partition("── \n")[2], re.MULTILINE))


@pytest.mark.usefixtures("no_work")
def test_fit_without_a_method(nearlabel, rows, tmp_path):
    """What the selection would try, which columns are left out or saved, and nothing is written."""
    answer = nearlabel("fit", *rows, "--id", "id", "--groups", "part", "--out", "m.skops", "--dry-run")
    words = answer.out.splitlines()[0]
    assert "40 rows in 5 groups (--groups)." in words
    assert words.endswith("Left out: id, part.")
    assert "row 1: tempo=0.5, genre='punk'\n    -> wild\n" in answer.out
    assert plan(answer) == {
        "method": "brknn, mlknn, mlmlm",
        "neighbours (k)": "1, 2, 3, 5, 7, 10, 14",
        "scaling": "minmax, standard",
        "distance": "euclidean",
        "thresholds": "micro-f",
        "columns": "1 number, 1 category, by MixedFeaturesEncoder",
        "selected by": "micro F1",
        "evaluated by": "leave-one-out",
        "time limit": "60 seconds",
        "fitted to": "40 rows",
        "model": "m.skops",
    }
    assert answer.out.endswith("Nothing was tried or written (--dry-run).\n")
    assert [file.name for file in tmp_path.iterdir()] == ["songs.csv"]


@pytest.mark.usefixtures("no_work")
def test_fit_by_a_method(nearlabel, rows):
    """The numbers of neighbours that auto tries, the encoder's columns, and the rows held out for a guarantee."""
    options = ("--ignore", "id,part", "--method", "mlknn@macro-f", "--k", "auto", "--validate", "5", "--out", "m.skops")
    told = plan(nearlabel("fit", *rows, *options, "--dry-run"))
    assert (told["method"], told["neighbours (k)"], told["scaling"]) == ("mlknn@macro-f", "1 to 30", "minmax")
    assert (told["search"], told["evaluated by"], told["fitted to"]) == ("exact", "5 folds", "40 rows")
    assert told["thresholds"] == "macro-f"
    options = ("--ignore", "id,part", "--method", "mlknn", "--k", "3", "--guarantee", "recall=0.8", "--out", "m.skops")
    answer = nearlabel("fit", *rows, *options, "--dry-run")
    assert answer.out.startswith("Data set songs: 40 rows.")
    assert (plan(answer)["guarantee"], plan(answer)["fitted to"]) == ("recall 0.8, by 12 rows held out", "28 rows")
    assert plan(answer)["thresholds"] == "the method's own"
    options = ("--ignore", "id,part", "--method", "br", "--validate", "none", "--out", "m.skops")
    told = plan(nearlabel("fit", *rows, *options, "--dry-run"))
    assert not {"neighbours (k)", "search", "evaluated by"} & set(told)


@pytest.mark.usefixtures("no_work")
def test_tune(nearlabel, rows, tmp_path):
    """Methods and numbers as the options say, as a table, JSON and CSV; without --out no model is named."""
    methods = ("--methods", "brknn,mlknn", "--k", "2-5", "--cv", "3", "--state", "s")
    options = ("--ignore", "id,part", *methods, "--dry-run")
    told = plan(nearlabel("tune", *rows, *options))
    assert (told["method"], told["neighbours (k)"], told["evaluated by"]) == ("brknn, mlknn", "2 to 5", "3 folds")
    assert not {"model", "fitted to"} & set(told)
    as_json = json.loads(nearlabel("tune", *rows, *options, "--format", "json").out)
    assert as_json["would_be_tried"] == told
    assert as_json["in_words"].startswith("Data set songs: 40 rows. 2 features: 1 number (tempo), 1 category (genre).")
    as_csv = nearlabel("tune", *rows, *options, "--format", "csv").out
    assert as_csv.splitlines()[:2] == ["property,value", 'method,"brknn, mlknn"']
    assert [file.name for file in tmp_path.iterdir()] == ["songs.csv"]


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("fit", ("--out", "no/m.skops"), "no/m.skops"),
        ("fit", ("--out", "old.skops"), "old.skops already exists. Hint: --force"),
        ("fit", ("--out", "m.skops", "--scale", "tfidf"), "--scale must be one of none, minmax, standard with"),
        ("fit", ("--out", "m.skops", "--method", "mlknn", "--scale", "tfidf"), "--scale must be one of none, minmax,"),
        ("fit", ("--out", "m.skops", "--method", "mlknn", "--k", "99"), "--k must be at most 38 where some of 40 rows"),
        ("fit", ("--out", "m.skops", "--metric", "nosuch"), "metric must be a name of the catalogue"),
        ("fit", ("--out", "m.skops", "--split-by", "nosuch"), "--split-by must name columns of songs.csv, got"),
        ("tune", ("--k", "99"), "--k must be at most 38"),
        ("tune", ("--state", "old.skops"), "--state must be a file that tuning wrote, got old.skops"),
    ],
)
def test_errors_are_those_of_the_run(nearlabel, rows, tmp_path, command, options, message):
    """What the run would refuse, the dry run refuses in the same words."""
    (tmp_path / "old.skops").touch()
    given = (command, *rows, "--ignore", "id,part", *options)
    dry, run = nearlabel(*given, "--dry-run"), nearlabel(*given)
    assert message in dry.err
    assert dry == run
    assert (dry.code, dry.out) == (2, "")


def test_a_dry_run_needs_no_file(nearlabel, songs):
    """A fit does."""
    answer = nearlabel("fit", songs, *OPTIONS, "--dry-run")
    assert answer.code == 0
    assert "Nothing was tried or written (--dry-run)." in answer.out
    answer = nearlabel("fit", songs, *OPTIONS)
    assert answer.code == 2
    assert "the following arguments are required: --out. Hint: nearlabel fit --help." in answer.err
