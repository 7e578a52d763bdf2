"""What annotation tools export: which answers count, what they change, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest

from nearlabel.audit import Correction, apply_corrections, read_corrections

NAN = np.nan
NAMES = ("blue", "red", "sad")
Y = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 0], [1, NAN, 0]])
IDS = ["a", "b", "c", "d"]


def annotation(*choices, kind="choices", name="tags", **more):
    """An annotation as Label Studio exports it; without a choice its result is empty."""
    region = {"from_name": name, "to_name": "text", "type": kind, "value": {"choices": list(choices)}, "id": "x1"}
    return {"id": 7, "completed_by": 1, "was_cancelled": False, "result": [region] if choices else []} | more


def studio(row, *annotations, **data):
    """A task of Label Studio's JSON."""
    return {"id": 100 + row, "data": {"text": "t", "row": row, **data}, "annotations": list(annotations), "meta": {}}


def minimal(row, **more):
    """A record of Label Studio's JSON_MIN."""
    return {"text": "t", "row": row, "id": 100 + row, "annotator": 1, "annotation_id": 5, "lead_time": 1.5} | more


def prodigy(row, accept, answer="accept", options=NAMES):
    """A task that prodigy exports."""
    listed = [{"id": name, "text": name} for name in options]
    return {"text": "t", "row": row, "options": listed, "accept": accept, "answer": answer, "_task_hash": -12}


def doccano(row, *labels, **more):
    """A document that doccano exports."""
    return {"id": 100 + row, "text": "t", "row": row, "label": list(labels), "Comments": []} | more


def written(folder, records, name="export.json"):
    """Write records as an array, or as lines."""
    path = folder / name
    lines = [json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n" if name.endswith("l") else json.dumps(records, indent=2))
    return path


def corrected(path, y=Y, **options):
    """Apply an export."""
    found = read_corrections(path, y=y, label_names=NAMES, **options)
    return apply_corrections(y, found, label_names=NAMES, ids=options.get("ids"))


EXPORTS = {
    "Label Studio, JSON": ("export.json", [studio(0, annotation("red", "sad")), studio(1, annotation())]),
    "Label Studio, JSON_MIN": ("export.json", [minimal(0, tags={"choices": ["red", "sad"]}), minimal(1)]),
    "doccano, lines": ("export.jsonl", [doccano(0, "sad", "red"), doccano(1)]),
    "doccano, JSON": ("export.json", [doccano(0, "sad", "red"), doccano(1)]),
    "doccano, old": (
        "export.jsonl",
        [{"text": "t", "meta": {"row": row}, "labels": one} for row, one in ((0, ["red", "sad"]), (1, []))],
    ),
    "prodigy": ("export.jsonl", [prodigy(0, ["red", "sad"]), prodigy(1, [])]),
}  # fmt: skip


@pytest.mark.parametrize("tool", EXPORTS)
def test_each_tool(tmp_path, tool):
    """The answers replace the labels of their rows; the other rows stay."""
    name, records = EXPORTS[tool]
    found = corrected(written(tmp_path, records, name))
    np.testing.assert_array_equal(found, [[0, 1, 1], [0, 0, 0], [0, 0, 0], [1, NAN, 0]])


@pytest.mark.parametrize("row", ["row", "row_id"])
def test_csv_of_label_studio(tmp_path, row):
    """One choice is text, several are JSON, none is an empty cell; a row without annotation_id has no answer."""
    path = tmp_path / "export.csv"
    path.write_text(
        '"annotation_id","annotator","id","lead_time","row","row_id","tags","text"\n'
        '5,"1",100,1.5,0,"a","{""choices"":[""red"",""sad""]}","one,\ntwo"\n6,"1",101,1.5,1,"b","sad",""\n'
        '7,"1",102,1.5,2,"c","","x"\n"","",103,"",3,"d","",""\n'
    )
    options = {"id_column": "sid", "ids": IDS} if row == "row_id" else {}
    with pytest.warns(UserWarning, match="1 task has no answer that counts"):
        found = corrected(path, **options)
    np.testing.assert_array_equal(found, [[0, 1, 1], [0, 0, 1], [0, 0, 0], [1, NAN, 0]])


UNANSWERED = [
    studio(1, annotation("sad", was_cancelled=True)), studio(1), minimal(1, annotation_id=None),
    prodigy(1, ["sad"], "reject"), prodigy(1, ["sad"], "ignore"), doccano(1, "sad", is_confirmed=False),
    doccano(1, "sad", predicted=["sad"]),
]  # fmt: skip


@pytest.mark.parametrize("record", UNANSWERED)
def test_rows_without_an_answer_do_not_count(tmp_path, record):
    """Skipped, rejected, not yet labelled, or in doccano as predicted: a note has their number."""
    path = written(tmp_path, [doccano(0, "red"), record])
    with pytest.warns(UserWarning, match=r"1 task has no answer that counts, and no effect: skipped"):
        np.testing.assert_array_equal(corrected(path), [[0, 1, 0], *Y[1:]])
    with pytest.raises(ValueError, match=r"corrections must be answers to tasks, got none in .*: all are skipped"):
        corrected(written(tmp_path, [record]))


def test_unknown_cells(tmp_path):
    """A label that an annotator did not choose is absent; in doccano, labels as they were mean nothing."""
    assert corrected(written(tmp_path, [prodigy(3, ["blue"])], "e.jsonl"))[3].tolist() == [1, 0, 0]
    assert corrected(written(tmp_path, [prodigy(3, ["blue", "red"])], "e.jsonl"))[3].tolist() == [1, 1, 0]
    np.testing.assert_array_equal(corrected(written(tmp_path, [doccano(3, "blue")]))[3], Y[3])
    assert corrected(written(tmp_path, [doccano(3, "blue", is_confirmed=True)]))[3].tolist() == [1, 0, 0]
    some = prodigy(3, ["sad"], options=("sad",))  # nothing else was asked
    np.testing.assert_array_equal(corrected(written(tmp_path, [some], "e.jsonl"))[3], [1, NAN, 1])


def test_several_annotators(tmp_path):
    """Cells on which they agree change; ground truth decides alone."""
    two = [annotation("red", "sad"), annotation("red", "blue")]
    with pytest.warns(UserWarning, match="Annotators differ on 2 cells, such as row 0, label 'blue': no change there"):
        np.testing.assert_array_equal(corrected(written(tmp_path, [studio(0, *two)]))[0], [1, 1, 0])
    two[1]["ground_truth"] = True
    np.testing.assert_array_equal(corrected(written(tmp_path, [studio(1, *two)]))[1], [1, 1, 0])


def test_ids(tmp_path):
    """By row_id, or by the column's own name in Label Studio's data; the corrections name rows by id."""
    path = written(tmp_path, [studio(9, annotation("red"), row_id="b"), studio(9, annotation("sad"), sid="c")])
    found = read_corrections(path, id_column="sid", y=Y, label_names=NAMES, ids=IDS)
    by_place = pd.Series(IDS, index=range(len(IDS) - 1, -1, -1))
    assert read_corrections(path, id_column="sid", y=Y, label_names=NAMES, ids=by_place) == found
    assert found == [Correction("sad", 1, id="c", given=0)]
    np.testing.assert_array_equal(corrected(path, id_column="sid", ids=IDS)[2], [0, 0, 1])


def test_data_that_changed_since_the_task(tmp_path):
    """The labels in the task are those that a correction expects."""
    path = written(tmp_path, [doccano(0, "red", given=["blue"]), doccano(1, "red", given=["red"])])
    np.testing.assert_array_equal(corrected(path), [[0, 1, 0], *Y[1:]])
    path = written(tmp_path, [doccano(0, "red", given=["blue", "sad"])])
    with pytest.raises(ValueError, match="match the present data, got row 0, label 'sad', which was 1 and is 0"):
        corrected(path)


def test_several_controls(tmp_path):
    """The labels are the choices of the only control, or of that named tags; a comment is none of them."""
    comment = {"from_name": "note", "to_name": "text", "type": "textarea", "value": {"text": ["hm"]}}
    one = annotation("red", name="mood")
    one["result"].append(comment)
    assert corrected(written(tmp_path, [studio(0, one)]))[0].tolist() == [0, 1, 0]
    one["result"].append(annotation("sad")["result"][0])
    assert corrected(written(tmp_path, [studio(0, one)]))[0].tolist() == [0, 0, 1]
    one["result"][-1]["from_name"] = "topic"
    with pytest.raises(ValueError, match="choices must be those of one control, or of 'tags', got 'mood' and 'topic'"):
        corrected(written(tmp_path, [studio(0, one)]))


REFUSED = [
    ([doccano(4, "red")], {}, "record 1: a task must have the number of its row, row, from 0 to 3, got 4."),
    ([doccano(-1, "red")], {}, "from 0 to 3, got -1. Hint: tasks of nearlabel have it"),
    ([doccano(True, "red")], {}, "from 0 to 3, got True"),
    ([{"text": "t", "label": []}], {}, "from 0 to 3, got None"),
    ([doccano(0, "rde")], {}, "record 1: corrections must name labels of the data, got 'rde'. Did you mean 'red'?"),
    ([doccano(0, row_id="x")], {"id_column": "sid", "ids": IDS}, "the id of one row, got 'x', which no row has."),
    ([doccano(0)], {"id_column": "sid", "ids": IDS}, "the id of one row, got neither row_id nor sid."),
    ([doccano(0, row_id="a")], {"id_column": "s", "ids": ["a", "a", "b", "c"]}, "got 'a', which rows 0 and 1 have."),
    ([doccano(0), {"text": "t", "spans": []}], {}, "record 2 must be a task of .*, got the keys 'text', 'spans'"),
    ([{"text": "t", "label": [[0, 4, "red"]]}], {}, "record 1 must be a task of Label Studio"),
    ([studio(0, annotation("red", kind="labels"))], {}, "record 1: results must be choices of labels, got 'labels'."),
    ([studio(0, annotation("red", kind={"a": 1}))], {}, "results must be choices of labels, got {'a': 1}."),
    ([studio(0, annotation("red", kind=["choices"]))], {}, "results must be choices of labels, got \\['choices'\\]."),
    ([studio(0, {"result": 3})], {}, "record 1: annotations must be objects with a result"),
    ([studio(0, annotation(3))], {}, "record 1: choices must be a list of texts, got \\[3\\]."),
    ([minimal(0, mood="red")], {}, "must have choices named 'tags', got none. Hint: export from Label Studio as JSON."),
    ([prodigy(0, [], options=[1])], {}, "record 1: options must be objects with an id, a text"),
    ([3], {}, "record 1 must be an object, got 3."),
]  # fmt: skip


@pytest.mark.parametrize(("records", "options", "message"), REFUSED)
def test_what_is_refused(tmp_path, records, options, message):
    """With the place in the file."""
    with pytest.raises(ValueError, match=message):
        corrected(written(tmp_path, records), **options)


GOOD = json.dumps(doccano(0, "red"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[{GOOD}", "must be one whole array of JSON, got one that does not end."),
        (f"[{GOOD}] x", "must be one whole array of JSON, got more after its end."),
        (f"[{GOOD} {GOOD}]", "record 2: must come after a comma, got "),
        (f"[{GOOD}, x]", "record 2 must be JSON, got text that is not"),
        (f"{GOOD}\n{GOOD[:-2]}", "record 2 must be JSON, got text that is not"),
        ('{"a": ' + "[" * 100_000, "record 1 must be JSON, got text that is not .too many digits or levels"),
        ('{"a": ' + "9" * 10_000 + "}", "record 1 must be JSON, got text that is not .too many digits or levels"),
        (b'{"a": "\xff"}', "must be JSON in UTF-8, got other bytes"),
    ],
)
def test_damaged_files(tmp_path, text, message):
    """An error of ours, whatever is in the file."""
    path = tmp_path / "export.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        corrected(path)


def test_tables_of_corrections_are_none(tmp_path):
    """JSON lines with label and correct are read as before; an export needs the present labels."""
    path = tmp_path / "c.jsonl"
    path.write_text('{"row": 0, "label": "red", "correct": 1}\n')
    assert read_corrections(path) == [Correction("red", 1, row=0)]
    export = written(tmp_path, [doccano(0, "red")])
    with pytest.raises(ValueError, match=r"from an annotation tool must go with y, got .*export\.json alone"):
        read_corrections(export)
    with pytest.raises(ValueError, match="must go with ids with id_column, got"):
        read_corrections(export, y=Y, id_column="sid")


def test_sparse_labels_and_tags(tmp_path):
    """As in every container of label sets."""
    from scipy import sparse

    path = written(tmp_path, [doccano(1, "sad")])
    y = sparse.csr_array(np.nan_to_num(Y))
    assert apply_corrections(y, read_corrections(path, y=y, label_names=NAMES), label_names=NAMES).toarray()[
        1
    ].tolist() == [0, 0, 1]
