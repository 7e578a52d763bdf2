"""Tables with categories, texts, dates and holes, from the file to the report."""

import re
import shlex
from pathlib import Path

import pytest

from _pages import blocks
from nearlabel.cli._data import kinds_of_model
from nearlabel.datasets import load_dataset
from nearlabel.persistence import load_model
from nearlabel.utils.validation import as_dense

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "mixed_columns.md").read_text()
(SONGS,) = (block.text for block in blocks("howto/mixed_columns") if block.file == "songs.csv")
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^nearlabel .+$", PAGE, re.MULTILINE)]
KINDS = ("--categorical", "genre", "--text", "title", "--date", "released")
NO_TEXT = ("--categorical", "genre,title", "--date", "released")
LABELS = ("--labels-column", "moods", "--ignore", "id")


@pytest.fixture(autouse=True)
def songs(tmp_path, monkeypatch):
    """The table of the page."""
    monkeypatch.chdir(tmp_path)
    Path("songs.csv").write_text(SONGS)


@pytest.fixture
def model(nearlabel):
    """A model of the table."""
    answer = nearlabel(
        *("fit", "songs.csv", *LABELS, *KINDS, "--impute=median"),
        *("--method=mlknn", "--k=2", "--validate=none", "--out=m.skops"),
    )
    assert answer.code == 0, answer.err
    return load_model("m.skops")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")  # of NLDD, on ten rows
def test_the_commands_of_the_page(nearlabel):
    """From a table with holes to a tuned model, an explanation, a report and predictions, in a command each."""
    expected = ["describe", "examine", "evaluate", "tune", "explain", "report", "fit", "predict"]
    assert [words[0] for words in COMMANDS] == expected
    answers = {words[0]: nearlabel(*words) for words in COMMANDS}
    assert {name: answer.err for name, answer in answers.items() if answer.code} == {}
    assert "1 number, 1 category, 1 text, 1 date" in answers["tune"].out
    assert "Row 4 of songs.csv, whose id is s5" in answers["explain"].out
    assert "The model was fitted to these samples" in Path("songs.html").read_text()  # known by the digest of the cells
    assert answers["predict"].out.startswith("id,labels\ns1,calm\n")


def test_the_model_equals_one_of_python(model):
    """What the command saved predicts as a pipeline on a frame does, and knows what its columns are."""
    pandas = pytest.importorskip("pandas")
    data = load_dataset("songs.csv", labels_column="moods", ignore=["id"], categorical=["genre"], text=["title"],
                        dates=["released"])  # fmt: skip
    assert kinds_of_model(model) == data.feature_kinds == ("number", "category", "date", "text")
    frame = pandas.read_csv("songs.csv", parse_dates=["released"]).drop(columns=["id", "moods"])
    expected = type(model[0])(categorical=["genre"], text=["title"], dates=["released"]).fit(frame)
    assert (as_dense(model[0].transform(data.X)) == as_dense(expected.transform(frame))).all()


def test_prediction_from_other_files(nearlabel, model):
    """Columns are found by name, whatever their order and types; an unseen category and missing cells are no error."""
    arrow = pytest.importorskip("pyarrow")
    from datetime import date

    from pyarrow import parquet

    Path("new.csv").write_text("title,more,genre,released,tempo\nNo riot,x,ska,1979-02-02,165\n,y,,,\n")
    columns = {"released": [date(1979, 2, 2), None], "tempo": [165, None], "title": ["No riot", None]}
    parquet.write_table(arrow.table({**columns, "genre": ["ska", None]}), "new.parquet")
    answers = [nearlabel("predict", "m.skops", file, "--scores", "all") for file in ("new.csv", "new.parquet")]
    assert answers[0].code == 0
    assert answers[0].out.splitlines()[1].startswith("0,wild")
    assert answers[0] == answers[1]


def test_evaluate(nearlabel):
    """Methods are compared by folds that refit the encoder, also on a file of one's own."""
    options = (*LABELS, *KINDS, "--impute", "median", "--methods", "brknn", "--k", 1, "--metrics", "micro_f1")
    for held_out in (("--cv", 2), ("--test-data", "songs.csv")):
        answer = nearlabel("evaluate", "songs.csv", *options, *held_out, "--format", "csv")
        assert answer.code == 0, answer.err
    assert ",1.0," in answer.out.splitlines()[1]  # the test rows are those of training


@pytest.mark.parametrize("held_out", [("--cv", 2), ("--test-data", "songs.csv")])
def test_report_of_a_run(nearlabel, held_out):
    """The run knows the kinds of the columns: a report of it needs no options for them."""
    options = (*LABELS, *KINDS, "--impute", "median", "--methods", "brknn", "--k", 1, "--metrics", "micro_f1")
    assert nearlabel("evaluate", "songs.csv", *options, *held_out, "--out", "run").code == 0
    tested = held_out if held_out[0] == "--test-data" else ()
    answer = nearlabel("report", "run", "songs.csv", *LABELS, *tested, "--out", "r.html")
    assert answer.code == 0, answer.err
    assert "Label cardinality" in Path("r.html").read_text()


def test_other_kinds_are_another_run(nearlabel):
    """Records of categories are no records of texts, though the cells are the same."""
    options = (*LABELS, "--impute", "median", "--methods", "brknn", "--k", 1, "--cv", 2, "--out", "run")
    others = ("--text", "title", "--date", "released")
    assert nearlabel("evaluate", "songs.csv", *options, "--categorical", "genre", *others).code == 0
    answer = nearlabel("evaluate", "songs.csv", *options, "--text", "genre,title", "--date", "released")
    assert answer.code == 2
    assert "run must contain records of the same plan, got kinds={" in answer.err


def test_a_text_is_a_feature_and_names_neighbours(nearlabel):
    """A column of --show stays a feature if --text names it too."""
    options = ("--labels-column", "moods", "--id", "id", "--show", "title", *KINDS, "--impute", "median")
    answer = nearlabel("fit", "songs.csv", *options, "--method", "mlknn", "--k", 2, "--out", "m.skops")
    assert answer.code == 0, answer.err
    assert kinds_of_model(load_model("m.skops")) == ("number", "category", "date", "text")
    assert re.search(r"s4 +Slow night", nearlabel("explain", "m.skops", "songs.csv", "--id", "id=s1").out)


def test_the_hint_for_text_columns(nearlabel):
    """It names the option for each column: all dates, few distinct values, others."""
    answer = nearlabel("fit", "songs.csv", *LABELS, "--out", "m.skops")
    hint = (
        "Hint: --categorical genre, --date released, --text title, or leave them out: --ignore genre,released,title.\n"
    )
    assert answer.code == 2
    assert answer.err.endswith(hint)
    assert nearlabel("describe", "songs.csv", *LABELS).err.endswith(hint)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--categorical", "gener"), r"must name columns of songs.csv, got 'gener'\. Did you mean 'genre'"),
        ((*KINDS, "--text", "genre,title"), r"--text must name columns of no other kind, each once, got 'genre' again"),
        ((*KINDS, "--date", "moods"), "--date must name features, got 'moods', which is a label or ignored"),
        ((*KINDS, "--date", "tempo"), "line 2: column 'tempo' must contain dates such as 2026-01-31, got '92'"),
        (KINDS, "line 7: column 'tempo' must contain numbers that are finite, got a missing value; .*: --impute"),
        ((*NO_TEXT, "--impute", "mean", "--scale", "tfidf"), "--scale must be one of none, minmax, standard with"),
    ],
)  # fmt: skip
def test_errors(nearlabel, options, message):
    """One line says what is wrong."""
    answer = nearlabel("fit", "songs.csv", *LABELS, *options, "--out", "m.skops")
    assert answer.code == 2
    assert re.search(message, answer.err)


def test_a_hole_without_imputation(nearlabel):
    """A model of rows without holes refuses one, with its place."""
    whole = [line for line in SONGS.splitlines() if line.split(",")[0] not in ("s6", "s8")]
    Path("whole.csv").write_text("\n".join(whole) + "\n")
    fitted = nearlabel(
        "fit", "whole.csv", *LABELS, *KINDS, "--method=mlknn", "--k=2", "--validate=none", "--out=m.skops"
    )
    assert fitted.code == 0, fitted.err
    answer = nearlabel("predict", "m.skops", "songs.csv")
    assert answer.code == 2
    assert "songs.csv, line 7: column 'tempo' must contain numbers that are finite, got a missing value" in answer.err
