"""The label sets of test rows in records are those that the methods predict, and are no metric to anybody else."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold

from nearlabel.comparison import compare
from nearlabel.experiments import Plan, read_records, run, summarise
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.report import run_facts

PLAN = Plan(("brknn", "mlknn"), (3,), cv=4, metrics=("micro_f1",), per_row=True)
MODELS = {"brknn": BRkNN(3), "mlknn": MLkNN(3)}


def tables(records):
    """The tables of rows: (method, fold) -> table."""
    return {(r["method"], r["fold"]): r["table"] for r in records if r["metric"] == "per_row"}


def matrix(label_sets):
    """The indicator matrix of numbers of four labels."""
    return np.array([[int(label in one) for label in range(4)] for one in label_sets])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_label_sets_are_those_of_the_models(make_dataset, store):
    """Of each fold the numbers of the test rows in the data, their label sets, and what each method predicts."""
    data, dense = make_dataset(store=store), make_dataset()
    found = tables(run(PLAN, [data]))
    assert len(found) == 2 * 4
    for fold, (training, test) in enumerate(KFold(4, shuffle=True, random_state=0).split(dense.X)):
        for method, model in MODELS.items():
            table = found[method, fold]
            assert table["row"] == test.tolist()
            assert table["label"] == ["0", "1", "2", "3"]
            assert matrix(table["true"]).tolist() == dense.Y[test].tolist()
            predicted = model.fit(dense.X[training], dense.Y[training]).predict(dense.X[test])
            assert matrix(table["predicted"]).tolist() == predicted.tolist()
            assert "unknown" not in table


def test_rows_of_a_given_split_are_numbered_in_the_test_part(toy):
    """From 0, as in the file of the test part."""
    parts = replace(toy, X=toy.X[:20], Y=toy.Y[:20]), replace(toy, X=toy.X[20:], Y=toy.Y[20:])
    table = tables(run(PLAN, {"toy": parts}))["mlknn", 0]
    assert table["row"] == list(range(16))
    assert matrix(table["true"]).tolist() == toy.Y[20:].tolist()


def test_unknown_labels_are_listed(toy):
    """They are not among the labels of the row."""
    Y = toy.Y.astype(float)
    Y[::5, 1] = np.nan
    table = tables(run(PLAN, [replace(toy, Y=Y)]))["brknn", 0]
    for row, true, unknown in zip(table["row"], table["true"], table["unknown"], strict=True):
        assert unknown == ([1] if row % 5 == 0 else [])
        assert true == np.flatnonzero(Y[row] == 1).tolist()


def test_records_resume_and_others_do_not_see_the_tables(toy, tmp_path):
    """A table comes back from disk, and is no metric for means, tests and reports."""
    records = run(PLAN, [toy], out=tmp_path)
    lines = (tmp_path / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(lines[:-3]))
    assert run(PLAN, [toy], out=tmp_path) == records == list(read_records(tmp_path))
    plain = [record for record in records if record["metric"] != "per_row"]
    assert run(replace(PLAN, per_row=None), [toy]) == plain
    assert repr(summarise(records)) == repr(summarise(plain))  # nan is nan
    assert compare(records).tests == compare(plain).tests == compare(tmp_path).tests
    assert [one["title"] for one in run_facts([tmp_path])["metrics"]] == ["micro F1"]


def test_beside_the_tables_of_labels(toy):
    """Both at once: each record has its own."""
    records = run(replace(PLAN, per_label=True), [toy])
    kinds = [(r["metric"], "predicted" in r["table"]) for r in records if "table" in r]
    assert kinds == [("per_label", False), ("per_row", True)] * 8
