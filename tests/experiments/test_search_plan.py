import re
from dataclasses import replace

import numpy as np
import pytest

from nearlabel.experiments import Plan, SearchPlan, make_search, read_records, run, search_costs, summarise
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import ExactNeighbors, FaissHNSWNeighbors, FaissIVFNeighbors, UsearchNeighbors

PLAN = Plan(("mlknn", "igs+brknn@micro-f"), (2, 5), cv=3, metrics=("micro_f1", "hamming_loss"))


def without_seconds(records):
    """The records whose values are the same each time."""
    return [record for record in records if record["metric"] != "search_seconds"]


@pytest.mark.parametrize("search", ["exact", "exact:metric=cosine"])
def test_an_exact_search_misses_nothing(toy, search):
    """The records of the plan itself, by its own search; all neighbours are found."""
    plan = SearchPlan(PLAN, (search,))
    records = run(plan, {"toy": toy})
    measured = [r for r in records if r["metric"] in PLAN.metrics]
    if search == "exact":
        assert [{k: v for k, v in r.items() if k != "search"} for r in measured] == run(PLAN, {"toy": toy})
    assert {r["search"] for r in records} == {search}
    assert {r["value"] for r in records if r["metric"] == "neighbor_recall"} == {1.0}
    assert all(r["value"] > 0 for r in records if r["metric"] == "search_seconds")


def test_another_metric_is_another_truth(toy):
    """Values are those of classifiers with that search; the truth is the exact search by its own metric."""
    plan = SearchPlan(replace(PLAN, methods=("mlknn",)), ("exact:metric=manhattan", "exact"))
    records = run(plan, {"toy": toy})
    assert list(dict.fromkeys(r["search"] for r in records)) == ["exact:metric=manhattan", "exact"]
    fold = next(plan.folds({"toy": toy}))
    model = MLkNN(2, search=ExactNeighbors("manhattan")).fit(fold.X[fold.training], fold.Y[fold.training])
    wrong = (model.predict(fold.X[fold.test]) != fold.Y[fold.test]).mean()
    assert next(r["value"] for r in records if r["metric"] == "hamming_loss") == pytest.approx(wrong)
    assert {r["value"] for r in records if r["metric"] == "neighbor_recall"} == {1.0}


@pytest.mark.long
def test_sparse_workers_and_resuming(toy, sparse_toy, tmp_path):
    """Storage, processes and interruptions change nothing but the seconds."""
    plan = SearchPlan(PLAN, ("exact",))
    expected = without_seconds(run(plan, {"toy": toy}, out=tmp_path))
    assert without_seconds(run(plan, {"toy": sparse_toy})) == expected
    assert without_seconds(run(plan, {"toy": toy}, n_workers=2)) == expected
    file = tmp_path / "records.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 2]))
    assert without_seconds(run(plan, {"toy": toy}, out=tmp_path)) == expected
    assert list(read_records(tmp_path))[: len(lines) // 3] == run(plan, {"toy": toy}, out=tmp_path)[: len(lines) // 3]
    with pytest.raises(ValueError, match="must contain records of the same plan, got searches="):
        run(SearchPlan(PLAN, ("exact:n_jobs=2",)), {"toy": toy}, out=tmp_path)


@pytest.mark.long
def test_an_approximate_search(make_dataset):
    """What is missed is counted on the test rows, for every k; lines join the two searches."""
    pytest.importorskip("faiss")
    spec = "faiss-ivf:n_probe=1:n_lists=30"
    plan = SearchPlan(PLAN, (spec,))
    records = run(plan, {"toy": make_dataset(n=300)})
    lines = search_costs(plan, records)
    assert [(c.method, c.metric, c.n_neighbors) for c in lines] == [
        (method, metric, k)
        for method in PLAN.methods
        for k in (2, 5, "mean")
        for metric in ("micro_f1", "hamming_loss")
    ]  # fmt: skip
    exact = {(c.method, c.n_neighbors, c.metric): c.mean for c in summarise(run(PLAN, {"toy": make_dataset(n=300)}))}
    for line in lines:
        assert line.exact == pytest.approx(exact[line.method, line.n_neighbors, line.metric])
        assert line.difference == line.value - line.exact
        assert line.search == spec
        assert 0.2 < line.recall <= 1
        assert min(line.seconds, line.exact_seconds) > 0
    assert any(line.difference and line.recall < 1 for line in lines)


@pytest.mark.parametrize("spec", ["faiss-ivf:n_probe=10:n_lists=10", "faiss-hnsw", "usearch:metric=cosine"])
def test_searches_that_find_all(toy, spec):
    """Where nothing is missed, and nothing tied, nothing is lost."""
    pytest.importorskip("faiss" if spec.startswith("faiss") else "usearch")
    untied = replace(toy, X=toy.X + np.random.default_rng(0).random(toy.X.shape))
    methods = ("mlknn", "brknn@micro-f")  # no selection: by the cosine of a single feature, all rows are tied
    plan = SearchPlan(replace(PLAN, methods=methods), (spec,))
    for line in search_costs(plan, run(plan, {"untied": untied})):
        assert (line.recall, line.difference) == (1, 0)


def test_specifications():
    """A name and its options make a search."""
    assert repr(make_search("exact:metric=cosine:n_jobs=2")) == repr(ExactNeighbors("cosine", n_jobs=2))
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    assert make_search("faiss-ivf:n_probe=4").get_params() == FaissIVFNeighbors(4).get_params()
    assert make_search("faiss-hnsw:ef_search=9").get_params() == FaissHNSWNeighbors(9).get_params()
    assert make_search("usearch:reproducible=False").get_params() == UsearchNeighbors(reproducible=False).get_params()


@pytest.mark.parametrize(
    ("methods", "searches", "message"),
    [
        (("mlknn",), ("fais-ivf",), "search must be one of ['exact', 'faiss-hnsw', 'faiss-ivf', 'usearch'], got"),
        (("mlknn",), ("faiss_ivf",), "got 'faiss_ivf'. Did you mean 'faiss-ivf'?"),
        (("mlknn",), ("faiss-ivf:probes=3",), "option of search 'faiss-ivf' must be parameter=value, of ['metric', "),
        (("mlknn",), ("faiss-ivf:n_probe=0",), "n_probe must be at least 1, got 0."),
        (("mlknn",), ("exact", "exact"), "searches must name at least one, each once, got ('exact', 'exact')."),
        (
            ("mlknn", "br"),
            ("exact",),
            "methods must have n_neighbors and no search of their own to be compared",
        ),
    ],
)
def test_wrong_values(methods, searches, message):
    """What makes no sense is told before anything runs."""
    with pytest.raises(ValueError, match=re.escape(message)):
        SearchPlan(Plan(methods, (3,)), searches)
