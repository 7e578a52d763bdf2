"""``nearlabel audit``: what it prints and writes, and how corrections come back into the data."""

import csv
import json

import numpy as np
import pytest

from nearlabel.audit import audit
from nearlabel.datasets import Dataset, load_dataset, read_npz, write_npz
from nearlabel.lazy import MLkNN
from nearlabel.persistence import save_model
from nearlabel.preprocessing import FeatureScaler

LABELS = ("--labels-prefix", "m_")
NAMED = (*LABELS, "--id", "sid", "--show", "title")
N_ROWS = 60


@pytest.fixture
def songs(tmp_path):
    """Sixty songs in two clouds that have labels of their own, but for three cells; ids and titles."""
    rng = np.random.default_rng(0)
    cloud = np.repeat([0, 1], N_ROWS // 2)
    X = (10 * cloud[:, np.newaxis] + rng.normal(size=(N_ROWS, 2))).round(3)
    Y = np.column_stack([cloud, 1 - cloud])
    for row, label in ((3, 0), (7, 1), (40, 0)):
        Y[row, label] = 1 - Y[row, label]
    path = tmp_path / "songs.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sid", "title", "x", "y", "m_calm", "m_loud"])
        for row, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            writer.writerow([f"s{100 - row}", f'"Song" {row}, live', *x, *y])
    return path


def table_of(path):
    """The lines of a CSV file as dictionaries."""
    return list(csv.DictReader(path.read_text().splitlines()))


def filled(path, values):
    """Write a list of cells with values in its column `correct`, in their order."""
    lines = table_of(path)
    out = path.with_name("corrections.csv")
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(line | {"correct": value} for line, value in zip(lines, values, strict=False))
    return out


def test_the_planted_cells_come_first(nearlabel, songs):
    """As text with names, as JSON as the library has it, and as CSV."""
    answer = nearlabel("audit", songs, *NAMED)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        "songs, by mlknn, k 20, with mlmlm and rfpct\n\n60 rows, 2 labels: confident learning flags 3"
    )
    assert '"Song" 3, live (sid s97), m_calm: yes, but 20 of 20 neighbours (' in answer.out
    told = json.loads(nearlabel("audit", songs, *NAMED, "--n", 3, "--format", "json").out)
    assert {(one["row"], one["label_name"]) for one in told["cells"]} == {(3, "m_calm"), (7, "m_loud"), (40, "m_calm")}
    data = load_dataset(songs, labels_prefix="m_", ignore=["sid", "title"])
    X = FeatureScaler("minmax").fit_transform(data.X)
    found = audit(MLkNN(20).fit(X, data.Y), n_cells=3, label_names=data.label_names)
    assert tuple(told["evidence"]) == found.evidence == ("model", "mlmlm", "rfpct")
    expected = json.loads(json.dumps(found.to_dict()))
    for of_kind in ("cells", "rows", "conflicts", "hubs"):
        names = {"name", "names"}
        assert [{k: v for k, v in one.items() if k not in names} for one in told[of_kind]] == [
            {k: v for k, v in one.items() if k not in names} for one in expected[of_kind]
        ]
    lines = list(csv.DictReader(nearlabel("audit", songs, *NAMED, "--format", "csv").out.splitlines()))
    assert list(lines[0])[:7] == ["row", "sid", "title", "label", "given", "suggested", "correct"]
    (first,) = (line for line in lines[:3] if line["sid"] == "s97")
    assert (first["title"], first["label"], first["correct"]) == ('"Song" 3, live', "m_calm", "")
    assert [len(line["neighbors"].split()) for line in lines[:3]] == [20] * 3


@pytest.mark.parametrize("options", [("--method", "mlknn@micro-f"), ("--k", "3", "--scale", "minmax"), ("--n", "1")])
def test_by_other_methods(nearlabel, songs, options):
    """Another method, k or scaling, and fewer cells."""
    told = json.loads(nearlabel("audit", songs, *LABELS, "--ignore", "sid,title", *options, "--format", "json").out)
    assert told["cells"][0]["row"] in (3, 7, 40)
    assert len(told["cells"][0]["neighbors"]) == (3 if "--k" in options else 20)
    assert "--n" not in options or len(told["cells"]) == 1


def test_a_model(nearlabel, songs, tmp_path):
    """Its training rows, by its own method, with the names that it keeps; ids go into the list."""
    model = tmp_path / "songs.skops"
    fit = ("--method", "mlknn", "--k", 5, "--validate", "none", "--scale", "minmax", "--out", model)
    assert nearlabel("fit", songs, *NAMED, *fit).code == 0
    answer = nearlabel("audit", model, "--out", tmp_path / "a.html", "--csv", tmp_path / "s.csv")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(
        "songs, by Pipeline(FeatureScaler, MLkNN), with mlmlm and rfpct\n\n60 rows, 2 labels: "
    )
    assert answer.out.endswith(f"\n\nPage: {tmp_path / 'a.html'}\nCells: {tmp_path / 's.csv'}\n")
    assert {line["sid"] for line in table_of(tmp_path / "s.csv")[:3]} == {"s97", "s93", "s60"}
    page = (tmp_path / "a.html").read_text()
    assert 'data-id-column="sid"' in page
    assert "&quot;Song&quot; 3, live (sid s97)" in page


def test_a_model_without_names(nearlabel, tmp_path, rows):
    """Of arrays: labels and rows are numbers."""
    X, Y = rows
    data = Dataset(X, Y, tuple("abc"), tuple("012"), "fruit")
    model = save_model(MLkNN(3).fit(X, Y), tmp_path / "m.skops", data=data)
    told = json.loads(nearlabel("audit", model, "--format", "json").out)
    assert told["n_rows"] == 30
    assert {one["label_name"] for one in told["cells"]} == {"0", "1", "2"}


@pytest.mark.parametrize("key", ["--id", "row"])
@pytest.mark.parametrize("moved", [False, True])
def test_corrections_come_back(nearlabel, songs, tmp_path, key, moved):
    """By id, also where rows have moved, or by number: the file has the truth, and every other byte."""
    named = NAMED if key == "--id" else (*LABELS, "--ignore", "sid,title")
    assert nearlabel("audit", songs, *named, "--n", 4, "--csv", tmp_path / "s.csv").code == 0
    suspects = table_of(tmp_path / "s.csv")
    corrections = filled(tmp_path / "s.csv", [*(line["suggested"] for line in suspects[:3]), suspects[3]["given"]])
    before = songs.read_bytes().splitlines(keepends=True)
    if moved:
        songs.write_bytes(before[0] + b"".join(before[:0:-1]))
    out = tmp_path / "corrected.csv"
    answer = nearlabel("audit", songs, *named, "--apply", corrections, "--out", out)
    if moved and key == "row":
        assert answer.code == 2
        assert "must match the present data, got row" in answer.err
        assert not out.exists()
        return
    said = f"Corrected 3 cells in 3 rows; 1 had the correct value already.\nData: {out}\n"
    assert answer == (0, said, "")
    changed = {line["row"] for line in suspects[:3]}
    after = sorted(out.read_bytes().splitlines(keepends=True))
    assert sum(old != new for old, new in zip(sorted(before), after, strict=True)) == len(changed)
    Y = load_dataset(out, labels_prefix="m_", ignore=["sid", "title"]).Y
    cloud = np.repeat([1, 0] if moved else [0, 1], N_ROWS // 2)
    np.testing.assert_array_equal(Y, np.column_stack([cloud, 1 - cloud]))


def test_tags(nearlabel, tmp_path, table):
    """In one column, with the separator that is guessed; a tag that nobody has is a mistake."""
    data, path = table
    path.write_text(path.read_text().replace("lemon, sour", "lemon").replace(";", "|"))
    row = int(np.flatnonzero((data.Y[:, 0] == 1) & (data.Y[:, 2] == 1))[0])
    (tmp_path / "c.csv").write_text(f"id,label,given,correct\nf{row},apple,1,0\nf{row},lemon,,1\n")
    words = ("audit", path, "--labels-column", "tags", "--labels-separator", "|", "--id", "id")
    out = tmp_path / "out.csv"
    assert nearlabel(*words, "--apply", tmp_path / "c.csv", "--out", out).code == 0
    found = load_dataset(out, labels_column="tags", labels_separator="|", ignore=["id"])
    expected = data.Y.copy()
    expected[row, :2] = 0, 1
    np.testing.assert_array_equal(found.Y, expected)
    (tmp_path / "c.csv").write_text("id,label,correct\nf0,appel,1\n")
    answer = nearlabel(*words, "--apply", tmp_path / "c.csv", "--out", tmp_path / "no.csv")
    assert (answer.code, answer.err) == (
        2, "nearlabel: --apply must name labels of the data, got 'appel'. Did you mean 'apple'?\n",
    )  # fmt: skip


@pytest.mark.parametrize("form", ["meka", "mulan", "svmlight", "npz", "csv"])
def test_other_formats_become_arrays(nearlabel, request, tmp_path, rows, form):
    """All that readers take, with unknown cells, into NPZ."""
    X, Y = rows
    if form == "npz":
        path = write_npz(tmp_path / "a.npz", Dataset(X, Y.astype(np.int64), tuple("abc"), tuple("uvw"), "a"))
    elif form == "csv":
        path = tmp_path / "a.csv"
        np.savetxt(path, np.hstack([X, Y]), delimiter=",", header="a,b,c,l_u,l_v,l_w", comments="")
    else:
        path = request.getfixturevalue(form)
    options = ("--labels-prefix", "l_") if form == "csv" else ()
    label = load_dataset(path, labels_prefix="l_" if form == "csv" else None).label_names[1]
    (tmp_path / "c.csv").write_text(f'row,label,correct\n0,"{label}",{1 - Y[0, 1]}\n2,"{label}",?\n')
    out = tmp_path / "out.npz"
    answer = nearlabel("audit", path, *options, "--apply", tmp_path / "c.csv", "--out", out)
    assert answer.code == 0, answer.err
    expected = Y.astype(float)
    expected[0, 1], expected[2, 1] = 1 - Y[0, 1], np.nan
    found = read_npz(out)
    np.testing.assert_array_equal(found.Y.toarray() if form == "svmlight" else found.Y, expected)
    np.testing.assert_array_equal(found.X.toarray() if form == "svmlight" else found.X, X)


REFUSED = [
    (("--out", "a.txt"), "--out must end in .html, got 'a.txt'. Hint: --csv, or --apply."),
    (("--apply", "c.csv"), "--apply must go with --out, the file for the corrected data, got none."),
    (("--apply", "c.csv", "--out", "x.csv", "--csv", "y.csv"), "--csv must not go with --apply, which audits nothing"),
    (("--apply", "c.csv", "--out", "x.parquet"), "--out must end in .csv or .npz for "),
    (("--apply", "c.csv", "--out", "songs.csv"), "songs.csv already exists. Hint: --force overwrites it."),
    (("--apply", "c.csv", "--out", "nowhere/x.csv"), "--out must be in a folder that exists, got nowhere/x.csv."),
    (("--csv", "c.csv"), "c.csv already exists. Hint: --force overwrites it."),
    (("--n", "0"), "--n must be at least 1, got 0."),
    (("--k", "60"), "--k must be smaller than n_samples=60, got 60."),
    (("--method", "br"), "--method must be a method by votes of neighbours, such as mlknn, got br."),
    (("--method", "iblr"), "model must be a method by votes of neighbours, such as MLkNN"),
    (("--apply", "c.csv", "--out", "x.csv", "--id", "title"), "--apply must name one row by each id, got 's0'"),
    (("--apply", "c.csv", "--out", "x.csv"), "--apply must name rows from 0 to 59, got row 99, label 'm_calm'."),
    (("--apply", "bad.csv", "--out", "x.csv"), "bad.csv, line 2: correct must be 0, 1, ? or empty, got 'maybe'."),
]  # fmt: skip


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_is_refused(nearlabel, songs, tmp_path, monkeypatch, options, message):
    """In one line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.csv").write_text("row,title,label,correct\n99,s0,m_calm,1\n")
    (tmp_path / "bad.csv").write_text("row,label,correct\n9,m_calm,maybe\n")
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ignored = () if "--id" in options else ("--ignore", "sid,title")
    answer = nearlabel("audit", "songs.csv", *LABELS, *(ignored or ("--ignore", "sid")), *options)
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer.out
    assert message in answer.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--labels-prefix", "m_"), "--labels-prefix must go with DATA, got the model m.skops, which contains it."),
        (("--k", "3"), "--k must go with DATA"),
        (("--apply", "c.csv", "--out", "x.csv"), "--apply must go with DATA, got the model m.skops. Hint: correct the"),
    ],
)
def test_a_model_takes_no_options_of_data(nearlabel, options, message):
    """It knows them, or has no place for corrections."""
    answer = nearlabel("audit", "m.skops", *options)
    assert answer.code == 2
    assert message in answer.err


@pytest.mark.parametrize("name", ["label", "correct", "row"])
def test_kept_columns_have_names_of_their_own(nearlabel, songs, name):
    """Or the list would have two columns of one name."""
    songs.write_text(songs.read_text().replace("title", name, 1))
    answer = nearlabel("audit", songs, *LABELS, "--id", "sid", "--show", name)
    assert answer.err == f"nearlabel: --show must name columns other than those of corrections, got {name!r}.\n"


def test_force(nearlabel, songs, tmp_path):
    """The data can be corrected in their place; an error leaves them as they are."""
    (tmp_path / "c.csv").write_text("sid,label,given,correct\ns97,m_calm,1,0\n")
    words = ("audit", songs, *NAMED, "--apply", tmp_path / "c.csv", "--out", songs, "--force")
    before = songs.read_bytes()
    assert nearlabel(*words).code == 0
    after = songs.read_bytes()
    assert after != before
    answer = nearlabel(*words)
    assert (answer.code, songs.read_bytes()) == (0, after)
    assert "Corrected 0 cells in 0 rows; 1 had the correct value already." in answer.out
    (tmp_path / "c.csv").write_text("sid,label,given,correct\ns97,m_calm,1,0\ns98,m_calm,1,?\n")
    before = songs.read_bytes()
    answer = nearlabel(*words)
    assert "label 'm_calm', which was 1 and is 0. Hint: repeat the audit.\n" in answer.err
    assert songs.read_bytes() == before


def test_mixed_columns(nearlabel, songs, tmp_path):
    """Titles as texts are features; such data are no arrays."""
    kinds = (*LABELS, "--id", "sid", "--text", "title")
    assert nearlabel("audit", songs, *kinds).code == 0
    (tmp_path / "c.csv").write_text("sid,label,correct\ns97,m_calm,0\n")
    apply = ("--apply", tmp_path / "c.csv", "--out")
    assert nearlabel("audit", songs, *kinds, *apply, tmp_path / "x.csv").code == 0
    answer = nearlabel("audit", songs, *kinds, *apply, tmp_path / "x.npz")
    assert answer.err == "nearlabel: --out must end like DATA if columns contain no numbers, got 'x.npz'.\n"


@pytest.mark.long
def test_the_report_of_a_model_shows_them(nearlabel, songs, tmp_path):
    """If it is of the training rows; of other rows without these it has no such section."""
    model, page, other = tmp_path / "m.skops", tmp_path / "r.html", tmp_path / "other.csv"
    fit = ("--method", "brknn", "--k", 5, "--validate", "none", "--out", model)
    assert nearlabel("fit", songs, *NAMED, *fit).code == 0
    other.write_text("".join(songs.read_text().splitlines(keepends=True)[:20]))
    for options, is_shown in (((songs,), True), ((other,), False), ((other, "--training", songs), True)):
        assert nearlabel("report", model, *options, "--out", page).code == 0
        text = page.read_text()
        assert ("<h2>Suspicious labels" in text) == is_shown
        assert (text.count("Song&quot; 3, live (sid s97)</span>") > 0) == is_shown


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("how", ["guarantee", "forgotten"])
def test_rows_of_a_model_that_has_others_than_the_data_are_not_named_by_number(nearlabel, songs, tmp_path, how, ids):
    """Corrections of row 3 of the model would be applied to row 3 of the data, which is another one."""
    model, suspects, page = tmp_path / "m.skops", tmp_path / "s.csv", tmp_path / "a.html"
    named = NAMED if ids else (*LABELS, "--ignore", "sid,title")
    options = ("--guarantee", "recall=0.8") if how == "guarantee" else ()
    fit = ("--method", "mlknn", "--k", 5, "--validate", "none", *options, "--out", model)
    assert nearlabel("fit", songs, *named, *fit).code == 0
    if how == "forgotten":
        assert nearlabel("forget", model, "--rows", "0").code == 0
    answer = nearlabel("audit", model, "--n", 5, "--csv", suspects, "--out", page)
    assert "are those of the model, not of the data that it was fitted to" in answer.out
    assert {line["row"] for line in table_of(suspects)} == {""}
    corrections = filled(suspects, [line["suggested"] for line in table_of(suspects)])
    apply = ("--apply", corrections, "--out", tmp_path / "corrected.csv")
    by_number = nearlabel("audit", songs, *LABELS, "--ignore", "sid,title", *apply)
    assert (by_number.code, "row must be the number of a row" in by_number.err) == (2, True)
    assert page.read_text().count('type="checkbox"') == (5 if ids else 0)
    if ids:
        assert 'data-row=""' in page.read_text()
        assert nearlabel("audit", songs, *NAMED, *apply).out.startswith("Corrected 5 cells in ")


@pytest.mark.parametrize("which", ["data", "page", "corrections"])
def test_no_file_takes_the_place_of_another_one_of_the_command(nearlabel, songs, tmp_path, which):
    """With --force, too: the data, the page and the corrections would be lost."""
    page, corrections = tmp_path / "a.html", tmp_path / "c.csv"
    corrections.write_text("sid,label,correct\ns97,m_calm,0\n")
    link = tmp_path / "link.csv"
    link.symlink_to(songs)
    options = {
        "data": ("--csv", link),
        "page": ("--out", page, "--csv", page),
        "corrections": ("--apply", corrections, "--out", corrections),
    }[which]
    before = songs.read_bytes(), corrections.read_bytes()
    answer = nearlabel("audit", songs, *NAMED, *options, "--force")
    assert answer.code == 2
    assert "must be another file than" in answer.err
    assert (songs.read_bytes(), corrections.read_bytes(), page.exists()) == (*before, False)


@pytest.mark.parametrize("twice", ["s99", ""])
def test_ids_of_several_rows_name_no_row(nearlabel, songs, tmp_path, twice):
    """The page saves corrections by number then: by id they would be refused."""
    songs.write_text(songs.read_text().replace("\ns100,", f"\n{twice},"))
    page = tmp_path / "a.html"
    assert nearlabel("audit", songs, *NAMED, "--out", page).code == 0
    assert "data-id-column" not in page.read_text().partition("<script")[0]
    assert "nearlabel audit DATA --apply corrections.csv" in page.read_text()
