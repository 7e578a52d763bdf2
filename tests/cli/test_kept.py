import csv
import json

import pytest

from nearlabel.persistence import read_card, read_kept

TITLES = ("Abbey Road", "Help!", "red \x1b[31m alarm", "two\nlines", "Let It Be", "Revolver")


@pytest.fixture
def songs(tmp_path):
    """Sixty songs with an id, a title, a column of years that could be a feature, and tags; ids occur twice."""
    path = tmp_path / "songs.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "year", "a", "b", "tags"])
        for i in range(60):
            tags = ";".join(tag for tag, has in (("calm", i % 2), ("sad", i % 3 == 0)) if has)
            writer.writerow([4711 + i // 2, f"{TITLES[i % 6]} {i}", 1960 + i, i % 7, i % 2 + i / 100, tags])
    return path


@pytest.fixture
def fitted(nearlabel, songs, tmp_path):
    """Fit a model of the songs with some options and return its file."""

    def _fit(*options, command="fit"):
        out = tmp_path / f"m{len(list(tmp_path.glob('*.skops')))}.skops"
        few = ("--validate", "none") if command == "fit" else ("--methods", "brknn")
        fixed = ("--labels-column", "tags", "--method=mlknn", "--k", 3, *few, "--out", out)
        answer = nearlabel(command, songs, *fixed, *options)
        assert answer.code == 0, answer.err
        return out, answer.out

    return _fit


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_columns_are_kept_and_are_no_features(fitted, nearlabel, command):
    """The card and what is printed name them, the id first; numbers shown are no features either."""
    model, printed = fitted("--show", "title,year", "--id", "id", command=command)
    kept = read_kept(model)
    assert list(kept) == ["id", "title", "year"]
    assert (kept["id"][:3], kept["title"][0], kept["year"][59]) == (("4711", "4711", "4712"), "Abbey Road 0", "2019")
    assert read_card(model).data.feature_names == ("a", "b")
    assert "id, title, year" in printed
    assert "id, title, year" in nearlabel("card", model).out
    assert json.loads(nearlabel("card", model, "--format", "json").out)["kept"] == ["id", "title", "year"]


def test_explain_names_the_neighbours(fitted, nearlabel, songs):
    """In the table and in JSON; control characters of a title do not reach the terminal."""
    model, _ = fitted("--id", "id", "--show", "title", "--ignore", "year")
    answer = nearlabel("explain", model, songs, "--row", 3)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("neighbour"))
    assert lines[head].split() == ["neighbour", "id", "title", "distance", "labels"]
    assert lines[head + 1].split()[:5] == ["3", "4712", "two", "lines", "3"]
    assert "\x1b" not in nearlabel("explain", model, songs, "--row", 2).out
    assert r"red \x1b[31m alarm 2" in nearlabel("explain", model, songs, "--row", 2).out
    told = json.loads(nearlabel("explain", model, songs, "--row", 3, "--format", "json").out)
    assert (told["neighbors"][0]["id"], told["neighbors"][0]["title"]) == ("4712", "two\nlines 3")
    assert (told["row"], told["id"]) == (3, None)


def test_the_figure_names_the_neighbours(fitted, nearlabel, songs, tmp_path):
    """By title and id; by row number where the model keeps nothing."""
    for options, name in ((("--id", "id", "--show", "title", "--ignore", "year"), "two lines 3 (id 4712)"),
                          (("--ignore", "id,title,year"), "row 3")):  # fmt: skip
        model, _ = fitted(*options)
        figure = tmp_path / "why.svg"
        assert nearlabel("explain", model, songs, "--row", 3, "--figure", figure).code == 0
        assert f"<!-- {name}   0 -->" in figure.read_text()


@pytest.mark.long
def test_report_on_data_without_the_columns(fitted, nearlabel, songs, tmp_path):
    """Samples have numbers then, neighbours names; of some columns those that are there are shown."""
    model, _ = fitted("--id", "id", "--show", "title,year")
    with songs.open(newline="") as file:
        rows = list(csv.DictReader(file))[:5]
    for columns in (("a", "b", "tags"), ("a", "b", "year", "tags")):
        with (tmp_path / "new.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        assert nearlabel("report", model, tmp_path / "new.csv", "--out", tmp_path / "r.html").code == 0
        page = (tmp_path / "r.html").read_text()
        facts = json.loads(page.split('id="facts">')[1].split("</script>")[0])
        assert facts["rows"][1]["kept"] == ({"year": "1961"} if "year" in columns else {})
        assert facts["rows"][1]["name"] == ("1961" if "year" in columns else "")
        assert facts["kept_columns"] == ["id", "title", "year"]


def test_nothing_changes_without(fitted, nearlabel, songs):
    """A model that keeps nothing is explained as ever, and decides as the one that keeps something."""
    plain, _ = fitted("--ignore", "id,title,year")
    named, _ = fitted("--id", "id", "--show", "title,year")
    assert read_kept(plain) == {}
    assert read_card(plain).kept == ()
    texts = [nearlabel("explain", model, songs, "--row", 5).out for model in (plain, named)]
    assert "4713" not in texts[0]
    assert texts[0].split("\n\n")[0] == texts[1].split("\n\n")[0]
    assert texts[0].split("\n\n")[2:] == texts[1].split("\n\n")[2:]
    answers = [nearlabel("predict", model, songs, "--scores", "all").out for model in (plain, named)]
    assert answers[0] == answers[1]


def test_ids_of_predictions_are_those_of_the_new_rows(fitted, nearlabel, songs):
    """What predict calls --id stays what it was."""
    model, _ = fitted("--id", "id", "--show", "title,year")
    lines = nearlabel("predict", model, songs, "--id", "year").out.splitlines()
    assert (lines[0], lines[1].split(",")[0], len(lines)) == ("year,labels", "1960", 61)


@pytest.mark.parametrize("lacks", [(), ("id", "title", "year")])
def test_test_data(fitted, songs, tmp_path, lacks):
    """They may have the kept columns or not."""
    with songs.open(newline="") as file:
        rows = list(csv.DictReader(file))
    path = tmp_path / "test.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [name for name in rows[0] if name not in lacks], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows[:20])
    model, _ = fitted("--id", "id", "--show", "title,year", "--test-data", path)
    assert read_card(model).measured == "test data test, 20 rows"
    assert len(read_kept(model)["title"]) == 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--id", "idd"), "--id must name columns of {songs}, got 'idd'. Did you mean 'id'?"),
        (("--show", "title,tite"), "--show must name columns of {songs}, got 'tite'. Did you mean 'title'?"),
        (("--show", "tags"), "--show must name columns that are not labels, got 'tags'."),
        (("--id", "tags"), "--id must name columns that are not labels, got 'tags'."),
    ],
)
def test_wrong_columns(nearlabel, songs, tmp_path, options, message):
    """One line names the option and the column; nothing is written."""
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", songs, "--labels-column", "tags", *options, "--out", out)
    assert answer.code != 0
    assert message.format(songs=songs) in answer.err
    assert not out.exists()


def test_data_without_such_columns(nearlabel, tmp_path):
    """A catalogue's set, and tune without a file to keep them in."""
    out = tmp_path / "m.skops"
    assert "--id must go with a table" in nearlabel("fit", "multidigits", "--id", "id", "--out", out).err
    assert "--show must go with --out" in nearlabel("tune", "multidigits", "--show", "id").err


def test_labels_by_a_prefix(nearlabel, songs, tmp_path):
    """A column whose name starts with it is a label, hence cannot be shown."""
    fixed = ("--labels-prefix", "ti", "--out", tmp_path / "m.skops")
    answer = nearlabel("fit", songs, *fixed, "--show", "title")
    assert "--show must name columns that are not labels, got 'title'." in answer.err


def test_lists_are_not_kept(nearlabel, tmp_path):
    """A column of lists has no one text for a row."""
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"a": i, "v": [i, 1.0], "tags": ["x"] * (i % 2)}) + "\n" for i in range(9)))
    fixed = ("--labels-column", "tags", "--k", 1, "--validate", "none", "--out", tmp_path / "m.skops")
    assert (
        "--show must name columns of one value in a cell, got 'v'" in nearlabel("fit", path, *fixed, "--show", "v").err
    )
    assert nearlabel("fit", path, *fixed, "--id", "a").code == 0
    assert read_kept(tmp_path / "m.skops")["a"][:3] == ("0", "1", "2")


@pytest.mark.long
@pytest.mark.parametrize("seen", [True, False])
def test_report_names_samples_and_neighbours(fitted, nearlabel, songs, tmp_path, seen):
    """Samples by the columns of their own file; titles are data, which no browser takes for its own code."""
    lines = songs.read_text().replace("Help! 1,", "</script><b> 1,")
    songs.write_text(lines)
    model, _ = fitted("--id", "id", "--show", "title,year")
    data = songs
    if not seen:
        data = tmp_path / "new.csv"
        data.write_text("".join(lines.splitlines(keepends=True)[:2]).replace("Abbey Road 0", "New one"))
    out = tmp_path / "report.html"
    answer = nearlabel("report", model, data, "--out", out)
    assert answer.code == 0, answer.err
    page = out.read_text()
    assert "Saved columns of training samples" in page
    assert "Abbey Road 0" in page
    assert "</script><b>" not in page
    facts = json.loads(page.split('id="facts">')[1].split("</script>")[0])
    assert facts["kept_columns"] == ["id", "title", "year"]
    first = facts["rows"][0]
    title = "Abbey Road 0" if seen else "New one"
    assert first["kept"] == {"id": "4711", "title": title, "year": "1960"}
    assert first["name"] == f"{title} (id 4711)"
    assert first["neighbors"][0]["title"] == "Abbey Road 0"
