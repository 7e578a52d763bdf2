"""Each line of a file of records is checked, whoever wrote it, and each error names the file and the line."""

import json
from copy import deepcopy

import pytest

from nearlabel.experiments import Plan, read_records, run, summarise, summarise_labels
from nearlabel.experiments._record_lines import line_of, record_of
from nearlabel.experiments.records import read_plan

RECORD = {"dataset": "toy", "seed": 0, "fold": 0, "method": "brknn", "n_neighbors": 2, "metric": "a", "value": 0.5}
TABLE = {
    "rows": 3, "label": ["one", "two"], "support": [1, 2], "true_positives": [1, 1], "false_positives": [0, 0],
    "false_negatives": [0, 1], "roc_auc": [None, 0.5], "average_precision": [None, 1.0], "log_loss": [0.1, 0.2],
    "brier_score": [0.1, 0.2],
}  # fmt: skip
PLAN = Plan(("brknn",), (2,), cv=3, metrics=("hamming_loss",), per_label=True)


def changed(**fields):
    """Return a line, without a sum, of a record with other fields; None leaves one out where it is `...`."""
    record = {name: value for name, value in (RECORD | fields).items() if value is not ...}
    return json.dumps(record).encode() + b"\n"


def table(**fields):
    """Return a line of a record with a table of labels, some columns of which are others."""
    of = {name: value for name, value in (TABLE | fields).items() if value is not ...}
    return changed(metric="per_label", value=None, table=of)


def rows(**fields):
    """Return a line of a record with the label sets of two rows, some columns of which are others."""
    of = {"label": ["one", "two"], "row": [0, 5], "true": [[0, 1], []], "predicted": [[], [1]]}
    return changed(metric="per_row", value=None, table={k: v for k, v in (of | fields).items() if v is not ...})


def test_a_table_of_rows_is_read():
    """With and without unknown labels."""
    for line in (rows(), rows(unknown=[[], [0]])):
        assert record_of(line, "file", 1).content["table"]["row"] == [0, 5]


@pytest.fixture
def folder(toy, tmp_path):
    """Return the folder of a finished run."""
    run(PLAN, {"toy": toy}, out=tmp_path / "run")
    return tmp_path / "run"


def test_each_line_has_its_sum_and_readers_do_not_see_it(toy, folder):
    """The last field of a line; what is read is what was returned."""
    lines = (folder / "records.jsonl").read_text(encoding="ascii").splitlines()
    assert [list(json.loads(line))[-1] for line in lines] == ["crc"] * 6
    assert list(read_records(folder)) == run(PLAN, {"toy": toy})
    assert "crc" not in read_plan(folder)


def test_lines_without_a_sum_are_read(toy, folder):
    """An earlier nearlabel wrote none; a run goes on behind them."""
    file = folder / "records.jsonl"
    records = list(read_records(folder))
    file.write_text("".join(json.dumps(record) + "\n" for record in records[:4]))
    assert list(read_records(folder)) == records[:4]
    assert run(PLAN, {"toy": toy}, out=folder) == records


@pytest.mark.parametrize("place", [0, 20, 60, 90, 130, -12, -4, -2])
def test_a_changed_character_is_never_kept(toy, folder, place):
    """Neither by readers nor by a run that goes on; nothing is changed."""
    file = folder / "records.jsonl"
    content = bytearray(file.read_bytes())
    start = content.index(b"\n", content.index(b"\n") + 1) + 1  # of the third line
    end = content.index(b"\n", start)
    at = start + place if place >= 0 else end + place
    content[at] = ord("1") if content[at] != ord("1") else ord("2")
    file.write_bytes(content)
    for act in (lambda: list(read_records(folder)), lambda: run(PLAN, {"toy": toy}, out=folder)):
        with pytest.raises(ValueError, match=r"records\.jsonl, line 3: must be"):
            act()
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\xff\n", r"must be JSON in UTF-8, got '\\\\xff"),
        (b"[" * 100_000 + b"\n", "must be JSON in UTF-8, got '"),
        (b'{"value": ' + b"1" * 5_000 + b"}\n", "must be JSON in UTF-8, got '"),
        (b"{\n", "must be JSON, got '"),
        (b"\n", "must be JSON, got '"),
        (b"3\n", "must be an object of JSON, got '3"),
        (changed(crc="00000000"), "must be as nearlabel wrote it, got other content: its checksum does not match"),
        (changed(crc=None), "must be as nearlabel wrote it"),
        (changed(n_neighbors=...), "must be a record, got one without n_neighbors"),
        (changed(dataset=1), "dataset must be a name, got 1"),
        (changed(dataset=" "), "dataset must be a name, got ' '"),
        (changed(dataset="\ud800"), "dataset must be a name"),
        (changed(seed=-1), "seed must be a number from 0 or null, got -1"),
        (changed(seed=0.5), "seed must be a number from 0 or null"),
        (changed(fold=True), "fold must be a number from 0, got True"),
        (changed(fold=None), "fold must be a number from 0, got None"),
        (changed(fold=2**63), "fold must be a number from 0"),
        (changed(n_neighbors="mean"), "n_neighbors must be a number from 0 or null"),
        (changed(method=["brknn"]), "method must be a name"),
        (changed(value="0.5"), "value must be a finite number or null, got '0.5'"),
        (changed(value=float("nan")), "value must be a finite number or null, got nan"),
        (changed(value=10**400), "value must be a finite number or null, got 1000"),
        (changed(value=True), "value must be a finite number or null"),
        (changed().replace(b"0.5", b"1e999"), "value must be a finite number or null, got inf"),
        (changed(greater_is_better=1), "greater_is_better must be true or false"),
        (changed(note={"deep": []}), "note must be text, a number or null"),
        (changed(crc=..., metric="per_label"), "must be a record with a table of labels, got none"),
        (changed(metric="per_label", table=[]), "table must be a table of labels"),
        (table(rows=None), "table must be a table of labels"),
        (table(label=["one"]), "table must be a table of labels"),
        (table(label=[1, 2]), "table must be a table of labels"),
        (table(support=...), "table must be a table of labels"),
        (table(support=[1, None]), "table must be a table of labels"),
        (table(roc_auc=["a", "b"]), "table must be a table of labels"),
        (table(known_rows=[1]), "table must be a table of labels"),
        (changed(table=TABLE), "must be a record without a table, got one"),
        (changed(metric="per_row"), "must be a record with a table of rows, got none"),
        (changed(metric="per_row", table=TABLE), "table must be a table of rows, got {'rows': 3"),
        (rows(row=[0]), "table must be a table of rows"),
        (rows(row=[0, -1]), "table must be a table of rows"),
        (rows(label=["one", ""]), "table must be a table of rows"),
        (rows(label=3), "table must be a table of rows"),
        (rows(true=...), "table must be a table of rows"),
        (rows(true=[[0], None]), "table must be a table of rows"),
        (rows(predicted=[[0], [2]]), "table must be a table of rows"),
        (rows(predicted=[[1, 0], []]), "table must be a table of rows"),
        (rows(predicted=[[0, 0], []]), "table must be a table of rows"),
        (rows(predicted=[[0.0], []]), "table must be a table of rows"),
        (rows(unknown=[[]]), "table must be a table of rows"),
        (rows(more=[["one"], []]), "table must be a table of rows"),
    ],
)
def test_what_is_no_record_is_named(tmp_path, line, message):
    """Whatever Python would raise, the reader raises one error, with the file and the line."""
    (tmp_path / "records.jsonl").write_bytes(json.dumps(RECORD | {"fold": 7}).encode() + b"\n" + line)
    with pytest.raises(ValueError, match=rf"records\.jsonl, line 2: {message}") as told:
        summarise(read_records(tmp_path))
    assert len(str(told.value)) < 600 + len(str(tmp_path))


def test_a_line_that_lost_its_sum_is_noticed(toy, folder):
    """An earlier nearlabel wrote its lines before those with sums, never behind or between them."""
    file = folder / "records.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    content = json.loads(lines[2]) | {"value": 0.25}
    content.pop("crc")
    file.write_bytes(b"".join([*lines[:2], json.dumps(content).encode() + b"\n", *lines[3:]]))
    for act in (lambda: list(read_records(folder)), lambda: run(PLAN, {"toy": toy}, out=folder)):
        with pytest.raises(ValueError, match=r"records\.jsonl, line 3: must have a checksum, as the line before"):
            act()


def test_sound_tables_are_taken(tmp_path):
    """The tables above are refused for what was changed in them."""
    (tmp_path / "records.jsonl").write_bytes(table(known_rows=[2, 3]) + changed())
    assert [row["label"] for row in summarise_labels(read_records(tmp_path))] == ["one", "two"]


def test_tables_of_other_labels(tmp_path):
    """Folds whose labels differ cannot be put together."""
    other = deepcopy(TABLE) | {"label": ["one", "three"]}
    (tmp_path / "records.jsonl").write_bytes(table() + changed(metric="per_label", fold=1, value=None, table=other))
    with pytest.raises(ValueError, match="records must have the same labels in each fold, got others in a fold of toy"):
        summarise_labels(read_records(tmp_path))


def test_a_record_comes_once(tmp_path):
    """A second one with another value would count twice in a mean."""
    (tmp_path / "records.jsonl").write_bytes(line_of(RECORD) + line_of(RECORD | {"fold": 1}) + line_of(RECORD))
    with pytest.raises(ValueError, match=r"line 3: must be a record of its own, got that of line 1 again"):
        list(read_records(tmp_path))


def test_names_of_any_alphabet(tmp_path):
    """A line is ASCII, in any locale; a line of another program may be UTF-8."""
    named = RECORD | {"dataset": "Ænima \u2028 \x85"}
    assert line_of(named).isascii()
    plain = json.dumps(named | {"fold": 1}, ensure_ascii=False).encode() + b"\n"
    (tmp_path / "records.jsonl").write_bytes(plain + line_of(named))
    assert [record["dataset"] for record in read_records(tmp_path)] == [named["dataset"]] * 2


def test_a_sum_is_of_what_a_line_says_not_of_its_spelling(tmp_path):
    """Another order of the fields and other spaces are no damage."""
    content = json.loads(line_of(RECORD))
    spelled = json.dumps(dict(sorted(content.items())), separators=(" ,", ": ")).encode()
    assert record_of(spelled, tmp_path, 1) == (1, RECORD, True)


@pytest.mark.parametrize("name", ["plan.json", "records.jsonl", "made_with.jsonl"])
def test_no_link_is_written_through(toy, tmp_path, name):
    """In a folder of several users a link may lead to anybody's file."""
    victim = tmp_path / "victim"
    victim.write_text("")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(victim)
    with pytest.raises(ValueError, match=rf"{name} must be a file, got a link"):
        run(PLAN, {"toy": toy}, out=tmp_path / "run")
    assert victim.read_text() == ""


def test_a_link_under_the_name_of_a_draft_is_not_followed(toy, tmp_path):
    """Temporary files have names that nobody can know before."""
    victim = tmp_path / "victim"
    victim.write_text("years of work")
    (tmp_path / "run").mkdir()
    for name in ("plan.draft", "made_with.draft", "records.draft"):
        (tmp_path / "run" / name).symlink_to(victim)
    run(PLAN, {"toy": toy}, out=tmp_path / "run")
    assert victim.read_text() == "years of work"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"problems": {"toy": 3}}, "with digests as problems"),
        ({"cv": 0}, "with a number of folds up to 1,000,000 as cv"),
        ({"cv": 10**12}, "with a number of folds up to 1,000,000 as cv"),
        ({"seeds": "0"}, "with a list of numbers as seeds"),
        ({"seeds": [0] * 1000, "cv": 1001}, "must be a plan of at most 1,000,000 folds"),
        ({"methods": None}, "with a list of names as methods"),
        ({"scale": []}, "with a name or null as scale"),
        ({"kinds": {"toy": []}}, "with kinds as kinds"),
        ({"cv": ...}, "got one without cv"),
    ],
)
def test_plans_are_checked(folder, plan, message):
    """What readers of records ask a plan for is what they expect; the error names the file."""
    found = {name: value for name, value in (read_plan(folder) | plan).items() if value is not ...}
    (folder / "plan.json").write_text(json.dumps(found))
    with pytest.raises(ValueError, match=rf"plan\.json must be a plan .*{message.removeprefix('must be a plan ')}"):
        read_plan(folder)


def test_a_changed_plan_is_noticed(folder):
    """By its check sum, as a record."""
    text = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(text.replace('"cv": 3', '"cv": 2'))
    with pytest.raises(ValueError, match=r"plan\.json, line 1: must be as nearlabel wrote it, got other content"):
        read_plan(folder)
