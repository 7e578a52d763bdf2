import json
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.datasets import Dataset, examine
from nearlabel.experiments import Candidate, Plan, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.report import _facts, run_facts
from nearlabel.report._facts import examination_of_model
from nearlabel.report._sections import examination_section
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import FixedThresholdsClassifier


def faulty(seed=0, store=np.asarray, copies=False, n=80):
    """An identifier, a constant and a range far apart, or copies of rows; sparse words have empty rows instead."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.permutation(n) + 1000, np.ones(n), rng.random((n, 3)), 1000 * rng.random(n)])
    Y = (rng.random((n, 2)) < 0.4).astype(int)
    if store is not np.asarray:
        X = X[:, 2:5] * (rng.random((n, 3)) < 0.4)
        X[:6] = 0
    if copies:
        X[-12:-6], Y[-12:-6] = X[-6:], Y[-6:]
    names = ("id", "one", "a", "b", "c", "wide")[: X.shape[1]]
    return Dataset(store(X), Y, names, ("calm", "sad"), "songs")


def kinds(facts):
    """Return the severity of each finding by its kind."""
    return {one["kind"]: one["severity"] for one in facts["findings"]}


def test_findings_are_those_of_the_doctor():
    """Where nothing is done to the rows: the same records, plain data, the most severe first."""
    data = faulty()
    facts = examination_of_model(MLkNN(3).fit(data.X, data.Y), data, None, seen=True)
    flat = [{key: one[key] for key in ("kind", "severity", "sentence", "remedy")} | one["evidence"]
            for one in facts["findings"]]  # fmt: skip
    assert flat == examine(data).to_records()
    assert {"id_like", "ranges_far_apart", "constant_columns"} <= set(kinds(facts))
    assert (facts["name"], facts["n_rows"], facts["training"], facts["notes"]) == ("songs", 80, True, [])
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


@pytest.mark.parametrize("around", [False, True])
@pytest.mark.parametrize("thresholds", [False, True])
def test_what_a_step_of_the_model_mends_is_left_out(around, thresholds):
    """Scaled ranges are not far apart, yet an identifier stays one; behind thresholds and before them."""
    data = faulty()
    method = FixedThresholdsClassifier(MLkNN(3), 0.3) if thresholds and not around else MLkNN(3)
    model = make_pipeline(StandardScaler(), method)
    model = FixedThresholdsClassifier(model, 0.3) if around and thresholds else model
    found = kinds(examination_of_model(model.fit(data.X, data.Y), data, None, seen=True))
    assert "ranges_far_apart" not in found
    assert (found["id_like"], found["constant_columns"]) == ("severe", "note")


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (BRkNN(3), True),
        (BRkNN(3, search=ExactNeighbors(metric="cosine")), False),
        (FixedThresholdsClassifier(BRkNN(3, search=ExactNeighbors(metric="cosine")), 0.3), False),
        (BinaryRelevance(), False),
    ],
)
def test_empty_rows_of_words(model, shown):
    """A search by the cosine mends them, and who searches for no neighbours needs no remedy."""
    data = faulty(store=sparse.csr_array, copies=True)
    found = kinds(examination_of_model(model.fit(data.X, data.Y), data, None, seen=True))
    assert ("empty_rows" in found) == shown
    assert "duplicates" in found


def test_a_method_without_neighbours_has_no_hubs(monkeypatch):
    """Nothing is searched for it."""
    monkeypatch.setattr(ExactNeighbors, "kneighbors", None)
    data = faulty(copies=True)
    found = kinds(examination_of_model(BinaryRelevance().fit(data.X, data.Y), data, None, seen=True))
    assert "duplicates" in found
    assert "ranges_far_apart" not in found


def test_training_data_are_examined_if_they_are_known():
    """With the samples of the page as test data, of which ten are training samples; else these are examined."""
    training, other = faulty(), faulty(seed=1)
    model = make_pipeline(StandardScaler(), MLkNN(3)).fit(training.X, training.Y)
    test = Dataset(np.vstack([training.X[:10], other.X]), np.vstack([training.Y[:10], other.Y]), training.feature_names,
                   training.label_names, "new")  # fmt: skip
    known, unknown = (examination_of_model(model, test, part, seen=False) for part in (training, None))
    (common,) = [one for one in known["findings"] if one["kind"] == "test_rows_in_training"]
    assert (common["evidence"]["rows"], known["name"], known["training"]) == (10, "songs", True)
    assert (unknown["name"], unknown["n_rows"], unknown["training"]) == ("new", 90, False)


def test_groups_are_held_out_together():
    """So copies do no harm."""
    data = faulty(copies=True)
    grouped = Dataset(data.X, data.Y, data.feature_names, data.label_names, "songs", groups=np.arange(80) // 2)
    model = MLkNN(3).fit(data.X, data.Y)
    assert "duplicates" in kinds(examination_of_model(model, data, None, seen=True))
    assert "duplicates" not in kinds(examination_of_model(model, grouped, None, seen=True))


def test_many_rows_are_searched_in_part(monkeypatch):
    """The page says so; all else is found in all rows."""
    monkeypatch.setattr(_facts, "_MOST_SEARCHED", 40)
    data = faulty(copies=True)
    facts = examination_of_model(MLkNN(3).fit(data.X, data.Y), data, None, seen=True)
    words = "Neighbours are those among 40 of the 80 rows, drawn at random."
    assert facts["notes"] == [words]
    assert words in examination_section(facts)
    assert "duplicates" in kinds(facts)


def test_cells_of_several_kinds():
    """They are examined as encoded: no column of text is found fault with, nor a missing number that is imputed."""
    rng = np.random.default_rng(0)
    cells = np.empty((60, 3), dtype=object)
    cells[:, 0], cells[:, 1] = rng.choice(["red", "blue"], 60), [f"a text of {i} words" for i in range(60)]
    cells[:, 2] = rng.random(60)
    cells[3, 2] = np.nan
    Y = (rng.random((60, 2)) < 0.5).astype(int)
    data = Dataset(cells, Y, ("colour", "words", "size"), ("a", "b"), "mixed", ("category", "text", "number"))
    model = Candidate("brknn", 3, "minmax", "exact", impute="median").fit(data)
    found = examination_of_model(model, data, None, seen=True)
    assert not {"text_columns", "id_like", "missing_values"} & set(kinds(found))
    assert found["notes"] == []


def test_columns_are_named_as_in_the_data():
    """A date, and a category that gives a label away, are examined before they are encoded."""
    rng = np.random.default_rng(0)
    cells = np.empty((200, 3), dtype=object)
    late = np.arange(200) >= 160
    Y = np.column_stack([rng.random(200) < 0.5, late]).astype(int)
    cells[:, 0] = rng.random(200)
    cells[:, 1] = np.where(Y[:, 0], "paid", "open")
    cells[:, 2] = np.datetime64("2026-01-01") + np.arange(200)
    data = Dataset(cells, Y, ("size", "state", "day"), ("a", "b"), "mixed", ("number", "category", "date"))
    model = Candidate("brknn", 3, "minmax", "exact").fit(data)
    found = {one["kind"]: one["evidence"] for one in examination_of_model(model, data, None, seen=True)["findings"]}
    assert found["leaking_features"]["pairs"] == "state (a), day (b)"
    assert (found["later_rows_differ"]["columns"], found["later_rows_differ"]["count"]) == ("day", 1)


@pytest.mark.parametrize("scale", ["none", "minmax"])
def test_of_a_run(tmp_path, scale):
    """As its plan scales the data; a run on a given split has its test rows compared with the training rows."""
    data = faulty()
    test = Dataset(data.X[:20] + np.eye(6)[-1], data.Y[:20], data.feature_names, data.label_names, "songs")
    for name, problem in (("whole", data), ("split", (data, test))):
        run(Plan(("brknn",), (3,), cv=2, scale=scale, metrics=("micro_f1",)), {"songs": problem}, out=tmp_path / name)
        facts = run_facts([tmp_path / name], open_problem=lambda *_, found=problem: found)
        (dataset,) = facts["datasets"]
        found = kinds(dataset["examination"])
        assert ("ranges_far_apart" in found) == (scale == "none")
        assert found["id_like"] == "severe"
        assert dataset["examination"]["training"] == (name == "split")
        assert "test_rows_in_training" not in found
    (dataset,) = run_facts([tmp_path / "whole"])["datasets"]
    assert "examination" not in dataset


def test_what_was_found_is_counted():
    """Before the table; what severe means is said where something is."""
    data = faulty(copies=True)
    facts = examination_of_model(BRkNN(3).fit(data.X, data.Y), data, None, seen=True)
    counts = Counter(one["severity"] for one in facts["findings"])
    assert (counts["severe"], counts["warning"]) == (3, 0)
    assert "In the 80 training samples of songs: 3 severe, " in examination_section(facts)
    assert "Severe ones certainly affect predictions" in examination_section(facts)
    milder = facts | {"findings": facts["findings"][3:4], "training": False}
    assert '<p class="note">In the 80 samples of songs: 1 note.</p>' in examination_section(milder)


def test_nothing_found_is_a_sentence():
    """Without a table; notes of what was not examined stay."""
    facts = {"name": "a < b", "n_rows": 2000, "training": True, "findings": [], "notes": ["Not searched."]}
    assert examination_section(facts) == (
        '<p class="note">In the 2,000 training samples of a &lt; b: nothing was found that keeps neighbours from being'
        ' good ones.</p><p class="note">Not searched.</p>'
    )
