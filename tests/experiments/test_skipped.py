"""Records of a metric that leaves out labels or rows of one class say how many."""

import numpy as np
import pytest

from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, make_metric, read_records, run, summarise
from nearlabel.metrics import count_skipped

RNG = np.random.default_rng(2)
X, Y = RNG.normal(size=(60, 3)), (RNG.random((60, 4)) < [0.02, 0.3, 0.5, 0.5]).astype(int)
Y[0] = [1, 0, 0, 1]
DATA = Dataset(X, Y, tuple("abc"), tuple("pqrs"), "some")
SETTINGS = {"n_neighbors": (3,), "cv": 3}
METRICS = (
    "roc_auc",
    "mean_average_precision:average=samples",
    "roc_auc:undefined=propagate",
    "precision_at_k:k=2",
    "micro_f1",
)


def test_records_say_how_many(tmp_path):
    """As counted on the test part of each fold; where there are none, and of other metrics, nothing is said."""
    plan = Plan(("brknn", "mlknn"), metrics=METRICS, **SETTINGS)
    records = run(plan, {"some": DATA}, out=tmp_path)
    folds = {fold.label()["fold"]: Y[fold.test] for fold in plan.folds({"some": DATA})}
    for record in records:
        average = {"roc_auc": "macro", METRICS[1]: "samples"}.get(record["metric"])
        expected = count_skipped(folds[record["fold"]], average=average) if average else 0
        assert record.get("skipped", 0) == expected
    assert any("skipped" in record for record in records)
    assert any(record["value"] is None for record in records if record["metric"] == "roc_auc:undefined=propagate")
    assert run(plan, {"some": DATA}, out=tmp_path) == records == list(read_records(tmp_path))
    assert {cell.metric for cell in summarise(records)} == set(METRICS)


def test_make_metric_takes_what_a_plan_takes():
    """Names with options, objects, and nothing else."""
    metric = make_metric("roc_auc:average=micro")
    assert make_metric(metric) is metric
    with pytest.raises(ValueError, match="Did you mean 'roc_auc'"):
        make_metric("roc_auk")
    with pytest.raises(ImportError, match="no_such_module"):
        make_metric("no_such_module:metric", allow_imports=True)
