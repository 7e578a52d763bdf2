"""Tasks of annotation tools: what predict and audit write, and that what comes back corrects the data."""

import csv
import io
import json

import numpy as np
import pytest

from nearlabel.datasets import Dataset, load_dataset
from nearlabel.lazy import MLkNN
from nearlabel.persistence import save_model

TOOLS = ("label-studio", "doccano", "prodigy")
WORDS = {"money": ("bank", "tax"), "sport": ("goal", "team")}
LABELS = tuple(WORDS)
NAMED = ("--labels-column", "tags", "--id", "sid", "--show", "title", "--text", "body")
CONFIGURATION = """<View><Text name="text" value="$text"/><Choices name="tags" toName="text" choice="multiple">
<Choice value="money"/><Choice value="sport"/></Choices></View>"""
ODD = 'A "quote",\nNaN, \\ and 💶'


@pytest.fixture
def news(tmp_path):
    """Forty texts of two topics, the first ten of both; row 12 lacks its tag."""
    path = tmp_path / "news.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sid", "title", "body", "tags"])
        for row in range(40):
            topics = LABELS if row < 10 else (LABELS[row % 2],)
            text = " ".join(word for topic in topics for word in WORDS[topic])
            writer.writerow(
                [f"n{row}", ODD if row == 0 else f"Title {row}", text, "" if row == 12 else ";".join(topics)]
            )
    return path


@pytest.fixture
def model(nearlabel, news, tmp_path):
    """A model of the texts."""
    path = tmp_path / "news.skops"
    answer = nearlabel(
        "fit", news, *NAMED, "--method", "mlknn", "--k", 5, "--validate", "none", "--out", path, "--quiet"
    )
    assert answer.code == 0, answer.err
    return path


def tasks_in(text, tool):
    """Return the tasks of a file; JSON has no NaN, and the text is ASCII."""
    assert text.isascii()

    def refuse(constant):
        raise AssertionError(constant)

    parts = [text] if tool == "label-studio" else text.splitlines()
    read = [json.loads(part, parse_constant=refuse) for part in parts]
    return read[0] if tool == "label-studio" else read


def check_schema(task, tool):
    """Check a task by what its tool's documentation says of tasks of choices, and return its keys."""
    if tool == "label-studio":
        assert set(task) == {"data", "predictions"}
        for prediction in task["predictions"]:
            assert set(prediction) <= {"model_version", "score", "result"}
            assert 0 <= prediction.get("score", 0) <= 1
            for region in prediction["result"]:
                assert (region["from_name"], region["to_name"], region["type"]) == ("tags", "text", "choices")
                assert region["value"]["choices"]
                assert set(region["value"]["choices"]) <= set(LABELS)
        return task["data"]
    if tool == "doccano":
        assert all(isinstance(label, str) for label in task["label"])
        assert not {"filename", "upload_name", "example_uuid"} & set(task)
        return task
    assert [option["id"] for option in task["options"]] == list(LABELS)
    assert set(task["accept"]) <= set(LABELS)
    assert all(isinstance(value, str) for value in task["meta"].values())  # which are printed below the text
    return task | task["meta"]


def preselected(task, tool):
    """The labels that an annotator finds chosen."""
    if tool == "label-studio":
        return [choice for region in task["predictions"][0]["result"] for choice in region["value"]["choices"]]
    return task["label" if tool == "doccano" else "accept"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("block_cells", [2**20, 2])
def test_predictions(nearlabel, news, model, tmp_path, monkeypatch, tool, block_cells):
    """A task for each row, with text, labels, scores, number and id; the same in small blocks and in a file."""
    monkeypatch.setattr("nearlabel.cli._model._BLOCK_CELLS", block_cells)
    words = ("predict", model, news, "--id", "sid", "--show", "title", "--format", tool)
    printed = nearlabel(*words)
    assert (printed.code, printed.err) == (0, "")
    out = tmp_path / f"tasks.{'json' if tool == 'label-studio' else 'jsonl'}"
    assert nearlabel(*words, "--out", out).code == 0
    assert out.read_text() == printed.out
    tasks = tasks_in(printed.out, tool)
    rows = [check_schema(task, tool) for task in tasks]
    assert [(row["row"], row["row_id"]) for row in rows] == [(n, f"n{n}") for n in range(40)]
    assert rows[0]["title"] == ODD
    assert rows[0]["text"] == "bank tax goal team"
    lines = nearlabel("predict", model, news, "--scores", "chosen", "--format", "jsonl").out.splitlines()
    for task, row, line in zip(tasks, rows, map(json.loads, lines), strict=True):
        assert preselected(task, tool) == row["predicted"] == line["labels"]
        scored = zip(line["labels"], line["scores"], strict=True)
        assert row["scores"] == ", ".join(f"{label} {score:.2f}" for label, score in scored)
        if tool == "label-studio":
            assert task["predictions"][0]["score"] == pytest.approx(np.mean(line["scores"]))


def test_formats_of_predictions(nearlabel, news, model, tmp_path):
    """CSV and JSON lines to the screen, too."""
    lines = nearlabel("predict", model, news, "--format", "jsonl").out.splitlines()
    rows = list(csv.DictReader(io.StringIO(nearlabel("predict", model, news, "--format", "csv").out)))
    assert [json.loads(line)["labels"] for line in lines] == [row["labels"].split(";") for row in rows]


@pytest.mark.parametrize("tool", TOOLS)
def test_abstentions(nearlabel, news, model, tool):
    """Nothing is predicted, and nothing preselected."""
    news.write_text("sid,title,body\nx,Odd,zebra quagga\ny,Usual,bank tax\n")
    answer = nearlabel("predict", model, news, "--format", tool, "--abstain", "0.05")
    odd, usual = (check_schema(task, tool) for task in tasks_in(answer.out, tool))
    assert (odd["abstained"], odd["predicted"], usual["abstained"]) == (1, [], 0)
    if tool == "label-studio":
        assert tasks_in(answer.out, tool)[0]["predictions"] == []


def test_a_model_of_numbers(nearlabel, tmp_path):
    """The text is what --show names, or the id; scores that are no probabilities are text only."""
    X, Y = np.array([[0.0], [1], [2], [3]]), np.array([[0, 1], [1, 0], [1, 0], [0, 1]])
    path = tmp_path / "n.csv"
    path.write_text("id,note,page,a\np0,one,7,0\np1,,8,1\n")
    data = Dataset(X, Y, ("a",), LABELS, "n")
    out = save_model(MLkNN(1).fit(X, Y), tmp_path / "n.skops", data=data)
    shown = nearlabel("predict", out, path, "--show", "note,page", "--format", "doccano").out
    assert [json.loads(line)["text"] for line in shown.splitlines()] == ["one\n\n7", "8"]
    assert json.loads(shown.splitlines()[1])["note"] == ""
    answer = nearlabel("predict", out, path, "--show", "note", "--format", "prodigy")
    assert answer.err == "nearlabel: 1 task has no text, which doccano refuses.\n"
    assert (
        json.loads(nearlabel("predict", out, path, "--id", "id", "--format", "prodigy").out.splitlines()[0])["text"]
        == "p0"
    )
    answer = nearlabel("predict", out, path, "--format", "prodigy")
    assert (
        answer.err == "nearlabel: --format prodigy must have a text to show, got none. Hint: --show COLUMN, or --id.\n"
    )


def test_decision_values(nearlabel, table, tmp_path):
    """Label Studio takes scores from 0 to 1; the others are text."""
    out, options = tmp_path / "m.skops", ("--labels-column", "tags", "--ignore", "id")
    fit = ("fit", table[1], *options, "--method", "ranksvm", "--validate", "none", "--out", out)
    assert nearlabel(*fit).code == 0
    answer = nearlabel("predict", out, table[1], "--id", "id", "--format", "label-studio")
    assert answer.err == "nearlabel: The scores are no probabilities: they are written as text only.\n"
    tasks = json.loads(answer.out)
    assert not any("score" in prediction for task in tasks for prediction in task["predictions"])
    assert any(task["data"]["scores"] for task in tasks)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "doccano", "--out", "x.json"), "--out must end in .jsonl, got x.json."),
        (("--format", "label-studio", "--out", "x.jsonl"), "--out must end in .json, got x.jsonl."),
        (("--format", "jsonl", "--out", "x.csv"), "--out must end in .jsonl, got x.csv."),
        (("--format", "table"), "--format table must go with --score. Hint: predictions are csv, jsonl, label-studio,"),
        (("--format", "doccano", "--score"), "--format must be that of the metrics with --score, got doccano."),
        (("--format", "doccano", "--scores", "all"), "--scores must be left out with --format label-studio"),
        (("--show", "title"), "--show must go with --format label-studio or doccano or prodigy."),
        (("--format", "doccano", "--show", "label"), "--show must name columns other than the keys of tasks, got"),
        (("--format", "doccano", "--show", "titel"), "--show must name columns of news.csv, got 'titel'. Did you mean"),
    ],
)  # fmt: skip
def test_what_is_refused(nearlabel, news, model, tmp_path, monkeypatch, options, message):
    """In one line, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("predict", model, "news.csv", *options)
    assert (answer.code, answer.err.count("\n"), answer.out) == (2, 1, "")
    assert message in answer.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news.csv", "news.skops"]


def test_only_tables(nearlabel, rows, meka, tmp_path):
    """Other data have no texts to show."""
    X, Y = rows
    model = save_model(
        MLkNN(3).fit(X, Y), tmp_path / "m.skops", data=Dataset(X, Y, ("x0", "x1", "x2"), tuple("abc"), "m")
    )
    answer = nearlabel("predict", model, meka, "--show", "x0", "--format", "prodigy")
    assert answer == (
        2,
        "",
        f"nearlabel: --format must go with a table as DATA to make tasks of it, got {str(meka)!r}.\n",
    )


def answered(task, tool, labels):
    """What the tool exports of a task that someone gave labels."""
    if tool == "label-studio":
        value = {"choices": labels}
        region = {"from_name": "tags", "to_name": "text", "type": "choices", "value": value, "id": "r"}
        annotation = {"id": 1, "completed_by": 1, "was_cancelled": False, "result": [region] if labels else []}
        return {"id": 11, "data": task["data"], "annotations": [annotation], "predictions": [], "meta": {}}
    if tool == "doccano":
        return {"id": 11, **task, "label": sorted(labels), "Comments": []}
    return task | {"accept": labels, "answer": "accept", "_input_hash": 1, "_task_hash": -2, "_view_id": "choice"}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("by", ["id", "number"])
def test_suspects_come_back(nearlabel, news, tmp_path, tool, by):
    """The row that lacks its tag is a task with a suggestion; what an annotator chose is in the corrected file."""
    named = NAMED if by == "id" else ("--labels-column", "tags", "--ignore", "sid,title", "--text", "body")
    out = tmp_path / f"tasks.{'json' if tool == 'label-studio' else 'jsonl'}"
    answer = nearlabel("audit", news, *named, "--n", 3, "--quiet", "--format", tool, "--out", out)
    assert answer.code == 0
    assert answer.out.endswith(f"Tasks: {out}\n")
    assert nearlabel("audit", news, *named, "--n", 3, "--quiet", "--format", tool).out == out.read_text()
    tasks = tasks_in(out.read_text(), tool)
    keys = check_schema(tasks[0], tool)
    assert (keys["row"], keys["given"], preselected(tasks[0], tool)) == (12, [], [])
    assert keys["suggestion"].startswith("add money (probability 0.")
    assert ("row_id" in keys) == (by == "id")
    if tool == "label-studio":
        present, proposed = tasks[0]["predictions"]
        assert (present["model_version"], present["result"]) == ("present labels", [])
        assert proposed["result"][0]["value"] == {"choices": ["money"]}
        assert present["score"] + proposed["score"] == pytest.approx(1)
    answers = [answered(tasks[0], tool, ["money"]), *(answered(t, tool, preselected(t, tool)) for t in tasks[1:])]
    export = tmp_path / f"export{out.suffix}"
    export.write_text(json.dumps(answers) if tool == "label-studio" else "".join(json.dumps(a) + "\n" for a in answers))
    fixed = tmp_path / "fixed.csv"
    answer = nearlabel("audit", news, *named, "--apply", export, "--out", fixed)
    assert answer == (0, f"Corrected 1 cell in 1 row.\nData: {fixed}\n", "")
    assert fixed.read_text() == news.read_text().replace("bank tax,\n", "bank tax,money\n")


@pytest.mark.parametrize("tool", TOOLS)
def test_predictions_come_back(nearlabel, news, model, tmp_path, tool):
    """Answers to predictions correct the data, too; in doccano only those that were changed."""
    tasks = tasks_in(nearlabel("predict", model, news, "--id", "sid", "--format", tool).out, tool)
    answers = [answered(tasks[12], tool, preselected(tasks[12], tool)), answered(tasks[0], tool, ["sport"])]
    export = tmp_path / ("export.json" if tool == "label-studio" else "export.jsonl")
    export.write_text("\n".join(json.dumps(answer) for answer in answers))
    fixed = tmp_path / "fixed.csv"
    answer = nearlabel("audit", news, *NAMED, "--apply", export, "--out", fixed)
    assert answer.code == 0, answer.err
    options = {"labels_column": "tags", "ignore": ["sid", "title"], "text": ["body"]}
    before, after = (load_dataset(path, **options).Y for path in (news, fixed))
    assert after[0].tolist() == [0, 1]
    assert after[12].tolist() == ([0, 0] if tool == "doccano" else [1, 0])
    assert ("1 task has no answer that counts" in answer.err) == (tool == "doccano")
    others = [row for row in range(40) if row not in (0, 12)]
    np.testing.assert_array_equal(before[others], after[others])


def test_suspects_of_a_model(nearlabel, model):
    """Their texts are the columns that it keeps, without the id."""
    tasks = [json.loads(line) for line in nearlabel("audit", model, "--format", "doccano", "--n", 2).out.splitlines()]
    assert (tasks[0]["row"], tasks[0]["row_id"], tasks[0]["text"]) == (12, "n12", "Title 12")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--format", "doccano", "--out", "x.html"),
            "--out must end in .jsonl, got 'x.html'. Hint: tasks are written in",
        ),
        (("--format", "prodigy", "--ignore", "sid,title"), "--format prodigy must have a text to show, got none."),
    ],
)
def test_audits_that_are_refused(nearlabel, tmp_path, options, message):
    """A page is no task, and tasks need something to show."""
    path = tmp_path / "n.csv"
    path.write_text("sid,title,a,l\n" + "".join(f"s{n},t,{n % 7},{n % 2}\n" for n in range(30)))
    ignored = () if "--ignore" in options else ("--ignore", "sid,title")
    answer = nearlabel("audit", path, "--labels", "l", *options, *ignored)
    assert answer.code == 2
    assert message in answer.err


def test_label_studio_itself(nearlabel, news, model):
    """Its own checks of predictions, where its library is installed."""
    interfaces = pytest.importorskip("label_studio_sdk.label_interface")
    interface = interfaces.LabelInterface(CONFIGURATION)
    for task in tasks_in(nearlabel("predict", model, news, "--format", "label-studio").out, "label-studio"):
        assert interface.validate_task({"data": task["data"]})
        assert [interface.validate_prediction(one, return_errors=True) for one in task["predictions"]] == [[]]
