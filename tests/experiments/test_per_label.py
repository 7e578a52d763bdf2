"""The figures of each label over folds equal those of all test rows together, or means over folds, by the loop."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import KFold

from nearlabel.comparison import compare
from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, SearchPlan, read_records, run, search_costs, summarise, summarise_labels
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import label_propensities, label_table, propensity_scored_precision_at_k, score_all
from nearlabel.plots import NeighborsPanelsDisplay
from nearlabel.report import run_facts

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(61, 3)), (RNG.random((61, 5)) < [0.05, 0.3, 0.5, 0.0, 1.0]).astype(int)
Y[:, 1] |= X[:, 0] > 0.5
DATA = Dataset(X, Y, tuple("abc"), tuple("pqrst"), "some")
PLAN = Plan(("brknn", "mlknn@0.3"), (3, 5), cv=4, metrics=("micro_f1", "roc_auc"), per_label=True)
FOLDS = list(KFold(4, shuffle=True, random_state=0).split(X))


def answers(model, threshold):
    """Labels and scores of all test rows, in the order of the folds."""
    scores = [model.fit(X[training], Y[training]).predict_proba(X[test]) for training, test in FOLDS]
    return [(part > threshold if threshold == 0.5 else part >= threshold).astype(int) for part in scores], scores


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_figures_equal_those_by_hand(storage):
    """Counts and their ratios of all rows together, areas as means of the folds that have them, losses of all rows."""
    data = Dataset(X, storage(Y), tuple("abc"), tuple("pqrst"), "some")
    rows = summarise_labels(run(PLAN, [data]))
    assert [(row["method"], row["n_neighbors"]) for row in rows[::5]] == [
        ("brknn", 3), ("brknn", 5), ("mlknn@0.3", 3), ("mlknn@0.3", 5)
    ]  # fmt: skip
    truths = [Y[test] for _, test in FOLDS]
    for number, (model, threshold) in enumerate([(BRkNN(3), 0.5), (BRkNN(5), 0.5), (MLkNN(3), 0.3), (MLkNN(5), 0.3)]):
        labels, scores = answers(model, threshold)
        pooled = label_table(np.vstack(truths), np.vstack(labels), np.vstack(scores))
        for label, row in enumerate(rows[5 * number : 5 * number + 5]):
            assert (row["dataset"], row["label"], row["folds"]) == ("some", "pqrst"[label], 4)
            for name in ("support", "true_positives", "false_positives", "false_negatives"):
                assert row[name] == pooled[name][label]
                assert isinstance(row[name], int)
            for name in ("precision", "recall", "f1", "log_loss", "brier_score"):
                assert row[name] == pytest.approx(pooled[name][label], abs=1e-12, nan_ok=True)
            two = [(t[:, label], s[:, label]) for t, s in zip(truths, scores, strict=True) if np.ptp(t[:, label])]
            assert row["skipped_folds"] == 4 - len(two)
            for name, function in (("roc_auc", roc_auc_score), ("average_precision", average_precision_score)):
                expected = np.mean([function(*one) for one in two]) if two else np.nan
                assert row[name] == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert rows[0]["skipped_folds"] > 0
    assert [row["skipped_folds"] for row in rows[3:5]] == [4, 4]
    every = np.hstack([part[:, 1] for part in truths]), np.hstack([part[:, 1] for part in scores])
    assert rows[-4]["log_loss"] == pytest.approx(log_loss(*every, labels=[0, 1]))


def test_records_resume_and_others_do_not_see_the_tables(tmp_path):
    """A table is in the record, comes back from disk, and is no metric for means, tests, figures and reports."""
    records = run(PLAN, [DATA], out=tmp_path)
    lines = (tmp_path / "records.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "records.jsonl").write_text("".join(lines[:-3]))
    assert run(PLAN, [DATA], out=tmp_path) == records == list(read_records(tmp_path))
    assert sum(record["metric"] == "per_label" for record in records) == 4 * 2 * 2
    plain = [record for record in records if record["metric"] != "per_label"]
    without = Plan(PLAN.methods, PLAN.n_neighbors, cv=4, metrics=PLAN.metrics)
    assert run(without, [DATA]) == plain
    assert repr(summarise(records)) == repr(summarise(plain))  # nan is nan
    assert summarise_labels(plain) == []
    assert {test.metric for test in compare(tmp_path).tests} == {"micro_f1", "roc_auc"}
    assert compare(records).tests == compare(plain).tests
    facts = run_facts([tmp_path])
    assert [(one["title"], one["greater_is_better"]) for one in facts["metrics"]] == [
        ("micro F1", True), ("ROC-AUC (macro)", True)
    ]  # fmt: skip
    assert set(facts["tests"][0]["by_metric"]) <= {"micro_f1", "roc_auc"}


def test_panels_have_titles_and_no_table():
    """Of metrics by name, as tables have them."""
    pytest.importorskip("matplotlib")
    panels = NeighborsPanelsDisplay.from_records(run(PLAN, [DATA]))
    assert list(panels.panels) == ["micro F1", "ROC-AUC (macro)"]


def test_searches_may_have_tables_too():
    """Their costs are those of the metrics."""
    plan = SearchPlan(PLAN, ("exact:metric=manhattan",))
    costs = search_costs(plan, run(plan, [DATA]))
    assert {cost.metric for cost in costs} == {"micro_f1", "roc_auc"}


def test_a_given_split_has_one_fold():
    """The figures are those of `label_table`."""
    parts = replace(DATA, X=X[:40], Y=Y[:40]), replace(DATA, X=X[40:], Y=Y[40:])
    rows = summarise_labels(run(Plan(("mlknn",), (3,), metrics=("micro_f1",), per_label=True), {"some": parts}))
    model = MLkNN(3).fit(X[:40], Y[:40])
    table = label_table(Y[40:], model.predict(X[40:]), model.predict_proba(X[40:]))
    for name in set(table) - {"label"}:
        assert [row[name] for row in rows] == pytest.approx(table[name].tolist(), nan_ok=True)


@pytest.mark.parametrize("copies", [None, True])
def test_propensities_are_those_of_the_training_part(copies):
    """By name, with and without copies."""
    name = "propensity_scored_precision_at_k:k=2"
    plan = Plan(("mlknn",), (3,), cv=4, metrics=(name, "micro_f1"), without_copies=copies)
    records = [record for record in run(plan, [DATA]) if record["metric"] == name]
    for record, (training, test) in zip(records, FOLDS, strict=True):
        scores = MLkNN(3).fit(X[training], Y[training]).predict_proba(X[test])
        known = label_propensities(Y[training])
        assert record["value"] == propensity_scored_precision_at_k(Y[test], scores, 2, propensities=known)
        assert record["value"] == score_all(Y[test], y_score=scores, metrics=[name], propensities=known)[name]
        assert record["greater_is_better"] is True


def test_folds_weigh_by_the_rows_that_know_a_label():
    """Losses are means over known rows; a fold in which nobody knows the label counts nowhere but as skipped."""
    table = {
        "rows": 4, "label": ["a", "b"], "true_positives": [1, 0], "false_positives": [0, 0], "false_negatives": [1, 0],
        "average_precision": [0.5, None], "roc_auc": [0.5, None],
    }  # fmt: skip
    first = table | {"known_rows": [3, 0], "support": [2, 0], "log_loss": [0.2, None], "brier_score": [0.1, None]}
    second = table | {"known_rows": [2, 0], "support": [2, 0], "log_loss": [0.7, None], "brier_score": [0.6, None]}
    of_run = {"dataset": "holes", "method": "brknn", "n_neighbors": 3, "metric": "per_label"}
    a, b = summarise_labels([of_run | {"table": first}, of_run | {"table": second}])
    assert (a["support"], a["recall"], a["folds"], a["skipped_folds"]) == (4, 0.5, 2, 1)
    assert a["log_loss"] == pytest.approx((3 * 0.2 + 2 * 0.7) / 5)
    assert a["brier_score"] == pytest.approx((3 * 0.1 + 2 * 0.6) / 5)
    assert np.isnan([b["log_loss"], b["brier_score"], b["roc_auc"]]).all()
    assert b["skipped_folds"] == 2
