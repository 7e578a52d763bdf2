"""Files as other programs save them, on the command line: the same models and predictions."""

import csv
import gzip
import io
import json
import sys

import numpy as np
import openpyxl
import pytest

TAGS = ("apple", "lemon", "pear")


@pytest.fixture
def clean(tmp_path):
    """A CSV file as this library's own documents have it: 40 rows, 3 features, tags joined by semicolons."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    Y = X + rng.normal(size=X.shape) > 0
    tags = [";".join(tag for tag, has in zip(TAGS, y, strict=True) if has) for y in Y]
    rows = [[*x, of_row] for x, of_row in zip(X.tolist(), tags, strict=True)]
    write_csv(tmp_path / "clean.csv", [["kg", "cm", "ph", "tags"], *rows])
    return tmp_path / "clean.csv"


def write_csv(path, rows, **options):
    """Write rows, by default as Python does."""
    encoding = options.pop("encoding", "utf-8")
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, **options).writerows(rows)


def rows_of(path):
    """The rows of the clean file."""
    with path.open(newline="") as file:
        return list(csv.reader(file))


def by_a_spreadsheet(clean, folder):
    """Semicolons, decimal commas, a BOM, line ends of Windows, an id column."""
    names, *rows = rows_of(clean)
    cells = [[1000 + i, *(x.replace(".", ",") for x in row[:3]), row[3]] for i, row in enumerate(rows)]
    write_csv(folder / "sheet.csv", [["id", *names], *cells], delimiter=";", encoding="utf-8-sig")
    return "sheet.csv", ("--ignore", "id", "--decimal", ",")


def by_excel(clean, folder):
    """A workbook with numbers in its cells, which openpyxl writes with 16 digits."""
    names, *rows = rows_of(clean)
    workbook = openpyxl.Workbook()
    for row in [names, *([*map(float, row[:3]), row[3]] for row in rows)]:
        workbook.active.append([f"{cell!r}" if isinstance(cell, float) else cell for cell in row])
    workbook.save(folder / "book.xlsx")
    return "book.xlsx", ()


def by_json(clean, folder):
    """Lines of JSON with lists of tags."""
    names, *rows = rows_of(clean)
    cells = ([*map(float, row[:3]), row[3].split(";") if row[3] else []] for row in rows)
    lines = (json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in cells)
    (folder / "lines.jsonl").write_text("".join(lines))
    return "lines.jsonl", ()


def by_pandas(clean, folder):
    """Lists of tags as Python prints them, an index column, packed."""
    names, *rows = rows_of(clean)
    cells = [[i, *row[:3], str(row[3].split(";") if row[3] else [])] for i, row in enumerate(rows)]
    text = io.StringIO()
    csv.writer(text).writerows([["", *names], *cells])
    (folder / "frame.csv").write_bytes(gzip.compress(text.getvalue().encode()))
    return "frame.csv", ()


@pytest.mark.parametrize("save", [by_a_spreadsheet, by_excel, by_json, by_pandas])
def test_the_same_model(nearlabel, clean, tmp_path, save):
    """Whoever saved the table, the model predicts the same bits, and so does the clean one for these rows."""
    name, options = save(clean, tmp_path)
    options = (*options, "--labels-column", "tags")
    wanted = ("--method=mlknn", "--k", 3, "--validate", "none", "--out")
    assert nearlabel("fit", clean, "--labels-column", "tags", *wanted, tmp_path / "clean.skops").code == 0
    assert nearlabel("fit", tmp_path / name, *options, *wanted, tmp_path / "other.skops").code == 0
    expected = nearlabel("predict", tmp_path / "clean.skops", clean, "--scores", "all")
    decimal = ("--decimal", ",") if "--decimal" in options else ()
    for model in ("clean", "other"):
        for data, more in ((clean, ()), (tmp_path / name, decimal)):
            assert nearlabel("predict", tmp_path / f"{model}.skops", data, "--scores", "all", *more) == expected


def test_predictions_are_data(nearlabel, clean, tmp_path):
    """What predict writes can be described, fitted to and predicted for; labels are lists of names."""
    labels = ("--labels-column", "tags")
    nearlabel("fit", clean, *labels, "--method=mlknn", "--k", 3, "--validate", "none", "--out", tmp_path / "m.skops")
    nearlabel("predict", tmp_path / "m.skops", clean, "--scores", "all", "--out", tmp_path / "p.jsonl")
    of_predictions = (tmp_path / "p.jsonl", "--labels-column", "labels", "--ignore", "row")
    facts = json.loads(nearlabel("describe", *of_predictions, "--format", "json").out)
    assert (facts["instances"], facts["features"]) == (40, 3)
    assert (
        nearlabel(
            "fit", *of_predictions, "--method=mlknn", "--k", 3, "--validate", "none", "--out", tmp_path / "p.skops"
        ).code
        == 0
    )
    answer = nearlabel("predict", tmp_path / "p.skops", tmp_path / "p.jsonl", "--id", "row")
    assert [line.split(",")[0] for line in answer.out.splitlines()] == ["row", *map(str, range(40))]


@pytest.fixture
def pipe(monkeypatch):
    """Let bytes stand on standard input."""

    def _pipe(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    return _pipe


@pytest.mark.parametrize("save", [by_a_spreadsheet, by_excel, by_json, by_pandas])
def test_standard_input(nearlabel, clean, tmp_path, pipe, save):
    """It is read as the file would be, by its content."""
    name, options = save(clean, tmp_path)
    asked = (*options, "--labels-column", "tags", "--format", "json")
    facts = json.loads(nearlabel("describe", tmp_path / name, *asked).out)
    pipe((tmp_path / name).read_bytes())
    answer = nearlabel("describe", "-", *asked)
    told = json.loads(answer.out)
    assert told.pop("in_words").endswith(" (a guess by its content: --input-format sets another).")
    assert told == {name: facts[name] for name in facts if name != "in_words"} | {"name": "stdin"}


def test_the_sheet_of_a_workbook(nearlabel, pipe, tmp_path):
    """Several sheets must be told apart: the option holds for all that a command reads."""
    workbook = openpyxl.Workbook()
    for name, rows in {"Sheet": [[1, 1, 0]] * 3, "more": [[one, one, one % 2] for one in range(9)]}.items():
        sheet = workbook[name] if name in workbook.sheetnames else workbook.create_sheet(name)
        for row in [["i", "x", "y"], *rows]:
            sheet.append(row)
    workbook.save(tmp_path / "two.xlsx")
    error = (
        f"{tmp_path / 'two.xlsx'} must have one sheet with cells, got 'Sheet', 'more'. Hint: --sheet Sheet reads one."
    )
    assert nearlabel("describe", tmp_path / "two.xlsx", "--labels", "y") == (2, "", f"nearlabel: {error}\n")
    asked = ("--labels", "y", "--sheet", "more")
    assert json.loads(nearlabel("describe", tmp_path / "two.xlsx", *asked, "--format", "json").out)["instances"] == 9
    model = tmp_path / "m.skops"
    fitted = nearlabel(
        "fit", tmp_path / "two.xlsx", *asked, "--method", "brknn", "--k", "1", "--out", model, "--id", "x"
    )
    assert (fitted.code, fitted.err.count("must")) == (0, 0)
    answer = nearlabel("predict", model, tmp_path / "two.xlsx", "--sheet", "more", "--id", "i")
    assert answer.code == 0
    pipe((tmp_path / "two.xlsx").read_bytes())
    assert nearlabel("describe", "-", *asked).code == 0
    assert "sheet must name a sheet of" in nearlabel("describe", tmp_path / "two.xlsx", "--sheet", "mor").err
    (tmp_path / "x.csv").write_text("a,y\n1,0\n")
    error = f"--sheet must go with an Excel workbook, got {tmp_path / 'x.csv'}."
    assert nearlabel("describe", tmp_path / "x.csv", *asked) == (2, "", f"nearlabel: {error}\n")


def test_the_format_of_standard_input(nearlabel, pipe, tmp_path):
    """It can be said; the file is gone afterwards, and errors name standard input."""
    pipe(b"a\ty\n1\t0\n2\t1\n")
    assert nearlabel("describe", "-", "--input-format", "tsv", "--labels", "y").code == 0
    pipe(b"a;y\n1;0\nx;1\n")
    error = "standard input, line 3: column 'a' must contain numbers, got 'x'. Hint: --ignore a leaves it out."
    assert nearlabel("describe", "-", "--labels", "y") == (2, "", f"nearlabel: {error}\n")
    pipe(b"")
    assert nearlabel("describe", "-").err == "nearlabel: standard input must contain data, got nothing.\n"
    (tmp_path / "x.csv").write_text("a,y\n1,0\n")
    answer = nearlabel("describe", tmp_path / "x.csv", "--labels", "y", "--input-format", "tsv")
    assert "--input-format must go with - as DATA, got " in answer.err


@pytest.mark.parametrize(("cells", "labels"), [
    (["a|b", "b|c", "a"], 3),
    (["a, b", "b,c", "a"], 3),
    (["a,b", "a;b,c", "b,c"], 3),
    (["a,b|c", "b|c,a", "c|a"], 5),
    (["a,b", "c", "d"], 3),
    (['["a,b", "c"]', "['d']", "e,f"], 5),
    (["", "", "a|b"], 2),
])  # fmt: skip
def test_the_separator_is_guessed(nearlabel, tmp_path, cells, labels):
    """If no tag has a semicolon and most cells have another separator, that is taken, and told."""
    write_csv(tmp_path / "t.csv", [["x", "t"], *enumerate(cells)])
    answer = nearlabel("describe", tmp_path / "t.csv", "--labels-column", "t", "--format", "json")
    assert json.loads(answer.out)["labels"] == labels
    told = "Tags are joined by " in answer.err and "as many cells have it. Hint: --labels-separator sets" in answer.err
    assert told == (not any(";" in cell for cell in cells) and cells not in (["a,b", "c", "d"],))
    assert nearlabel("describe", tmp_path / "t.csv", "--labels-column", "t", "--labels-separator", ";").err == ""
