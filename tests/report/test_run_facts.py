import json

import numpy as np
import pytest

from nearlabel.comparison import compare
from nearlabel.experiments import Plan, SearchPlan, read_records, run, summarise
from nearlabel.neighbors import kernel_level
from nearlabel.neighbors.exact.kernels import kernel_in_use
from nearlabel.report import report_page, run_facts

METRICS = ("hamming_loss", "micro_f1", "empty_predictions")


@pytest.fixture
def folder(toy, tmp_path):
    """A run of three methods, two of them by neighbours."""
    run(Plan(("brknn", "mlknn", "br"), (1, 3), cv=3, metrics=METRICS), {"toy": toy}, out=tmp_path / "toy")
    return tmp_path / "toy"


def test_facts_are_the_records(folder, toy):
    """Every cell of the summary, plain data, and the order of `compare`."""
    facts = run_facts([folder], open_problem=lambda name, given: toy if (name, given) == ("toy", False) else None)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    records = list(read_records(folder))
    cells = {(c["method"], c["n_neighbors"], c["metric"]): c["mean"] for c in facts["datasets"][0]["cells"]}
    assert cells == {(c.method, c.n_neighbors, c.metric): c.mean for c in summarise(records)}
    assert facts["tests"][0]["scores"] == compare(records).order.scores
    assert [one["name"] for one in facts["metrics"]] == list(METRICS)
    assert [one["greater_is_better"] for one in facts["metrics"]] == [False, True, None]
    dataset = facts["datasets"][0]
    assert (dataset["folds"], dataset["numbers"], dataset["given_split"]) == (3, [1, 3], False)
    assert (dataset["data"]["instances"], dataset["data"]["features"]) == (36, 5)
    assert [one["support"] for one in dataset["labels"]] == toy.Y.sum(axis=0).tolist()


@pytest.mark.long
def test_what_made_the_records_is_told(folder, toy, make_dataset, tmp_path):
    """Each environment once, the level of the kernels included; nothing of a folder that does not say."""
    with kernel_level("off"):
        run(Plan(("brknn",), (3,), cv=2, metrics=METRICS), {"two": make_dataset("two")}, out=tmp_path / "two")
    facts = run_facts([tmp_path])
    assert [one["kernels"] for one in facts["made_with"]] == [kernel_in_use(), "off"]
    assert f"numpy {np.__version__}, " in report_page(facts)
    assert "kernels off</dd>" in report_page(facts)
    for name in ("toy", "two"):
        (tmp_path / name / "made_with.jsonl").unlink()
    facts = run_facts([tmp_path])
    assert facts["made_with"] == []
    assert "Made with" not in report_page(facts)


def test_unfinished_run(folder):
    """Records of two of three folds, then of one method more: the notes say so, and whether methods can be compared."""
    assert (run_facts([folder])["notes"], run_facts([folder])["datasets"][0]["comparable"]) == ([], True)
    lines = (folder / "records.jsonl").read_text().splitlines(keepends=True)
    a_fold = len(lines) // 3
    (folder / "records.jsonl").write_text("".join(lines[: 2 * a_fold]))
    facts = run_facts([folder])
    assert facts["notes"] == ["2 of 3 folds are in the records of toy: the run is not finished."]
    (dataset,) = facts["datasets"]
    assert (dataset["folds"], dataset["planned_folds"], dataset["comparable"]) == (2, 3, True)
    (folder / "records.jsonl").write_text("".join(lines[: 2 * a_fold + 6]))  # brknn by 2 numbers and 3 metrics
    facts = run_facts([folder])
    words = "Of 3 folds the records of toy contain 3 of brknn and 2 of mlknn, br: the run is not finished."
    assert facts["notes"][0] == words
    assert not facts["datasets"][0]["comparable"]


def test_data_set_that_was_not_begun(folder, make_dataset, tmp_path):
    """Its plan is there, its records are not."""
    run(Plan(("brknn",), (3,), cv=3, metrics=METRICS), {"late": make_dataset("late")}, out=tmp_path / "late")
    (tmp_path / "late" / "records.jsonl").unlink()
    facts = run_facts([tmp_path])
    assert [one["name"] for one in facts["datasets"]] == ["toy"]
    assert "No fold of late is in the records: the run is not finished." in facts["notes"]


def test_methods_that_all_data_sets_rank_alike(make_dataset, tmp_path):
    """Friedman's F is infinite, hence None; chi-squared and its p-value are not: exp(-3) for 3 methods on 3 sets."""
    plan = Plan(("brknn", "mlknn", "lpknn"), (3,), cv=2, metrics=("micro_f1",))
    for i in range(3):
        run(plan, {f"set{i}": make_dataset(f"set{i}")}, out=tmp_path / str(i))
    facts = run_facts([tmp_path])
    (friedman,) = facts["tests"][0]["friedman"]
    assert len(set(friedman["mean_ranks"].values())) == 3
    assert (friedman["f"], friedman["p_value"]) == (None, 0.0)
    assert friedman["chi2_p_value"] == pytest.approx(np.exp(-3))
    assert facts["tests"][0]["notes"][-1].endswith("rough for 3 data sets.")


def test_other_data_are_not_described(folder, toy, make_dataset):
    """What is found under the name must be what was run, by its digest."""
    facts = run_facts([folder], open_problem=lambda *_: make_dataset(seed=1))
    assert facts["datasets"][0]["data"] is None
    assert "not those of the run" in facts["datasets"][0]["why_no_data"]
    assert "not found" in run_facts([folder])["datasets"][0]["why_no_data"]


def test_given_split(toy, make_dataset, tmp_path):
    """One fold: both parts are described together, and no test is made."""
    parts = make_dataset(seed=1), make_dataset(n=20, seed=2)
    run(Plan(("brknn", "mlknn"), (3,), metrics=("micro_f1",)), {"pair": parts}, out=tmp_path)
    facts = run_facts([tmp_path], open_problem=lambda _, given: parts if given else None)
    (dataset,) = facts["datasets"]
    assert (dataset["given_split"], dataset["data"]["instances"]) == (True, 56)
    assert facts["tests"] == []
    assert facts["notes"] == [
        "No test of pairs: results must contain at least 2 folds to compare methods over them, got 1."
    ]
    assert all(cell["std"] is None for cell in dataset["cells"])


def test_several_data_sets(make_dataset, tmp_path):
    """In one folder or in folders side by side: mean ranks over them, and pairs."""
    plan = Plan(("brknn", "mlknn", "lpknn"), (3,), cv=2, metrics=("micro_f1",))
    names = [f"set{i}" for i in range(4)]
    for i, name in enumerate(names):
        run(plan, {name: make_dataset(name, seed=i)}, out=tmp_path / name)
    facts = run_facts([tmp_path])
    assert [one["name"] for one in facts["datasets"]] == names
    assert [test["test"] for test in facts["tests"]] == ["friedman", "wilcoxon"]
    (friedman,) = facts["tests"][0]["friedman"]
    assert sum(friedman["mean_ranks"].values()) == pytest.approx(1 + 2 + 3)
    assert [plan["datasets"] for plan in facts["plans"]] == [[name] for name in names]


def test_one_method(toy, tmp_path):
    """Nothing to compare: the note says so, the figures are there."""
    run(Plan(("brknn",), (1, 2), cv=2, metrics=("micro_f1",)), {"toy": toy}, out=tmp_path)
    facts = run_facts([tmp_path])
    assert facts["tests"] == []
    assert "at least 2 methods" in facts["notes"][0]
    assert np.isfinite([cell["mean"] for cell in facts["datasets"][0]["cells"]]).all()


def test_what_is_no_run(folder, toy, tmp_path):
    """No plan, no record, searches, undefined values only: one line that says so."""
    with pytest.raises(ValueError, match=r"must be a folder of records, with a plan\.json"):
        run_facts([tmp_path / "none"])
    (folder / "records.jsonl").write_text("")
    with pytest.raises(ValueError, match="must contain at least one record"):
        run_facts([folder])
    plan = Plan(("brknn",), (1,), cv=2, metrics=("micro_f1",))
    run(SearchPlan(plan, ("exact:metric=cosine",)), {"toy": toy}, out=tmp_path / "searches")
    with pytest.raises(ValueError, match="must contain a comparison of methods, got one of searches"):
        run_facts([tmp_path / "searches"])
    record = {"dataset": "toy", "seed": 0, "fold": 0, "method": "brknn", "n_neighbors": 1, "metric": "micro_f1"}
    (folder / "records.jsonl").write_text(json.dumps(record | {"value": None}) + "\n")
    with pytest.raises(ValueError, match="must contain at least one value"):
        run_facts([folder])
