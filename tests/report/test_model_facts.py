import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.datasets import Dataset, load_multidigits
from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.metrics import micro_f1, micro_precision, micro_recall, score_all
from nearlabel.persistence import ModelCard
from nearlabel.report import model_facts
from nearlabel.report._error_facts import Pictures, explorer_facts
from nearlabel.report._facts import labelset_facts
from nearlabel.rivals import BinaryRelevance, RandomForestPCT, RankSVM, SoftVote
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV, micro_pr_frontier

NAMES = ("a", "b", "c", "never", "always")


def problem(n=40, seed=0, store=np.asarray):
    """Rows on a grid with labels that depend on them, one that nobody has and one that all have."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 5, (n, 4)).astype(float)
    Y = np.column_stack([X[:, :3] + rng.normal(size=(n, 3)) > [2, 3, 4], np.zeros(n), np.ones(n)]).astype(int)
    return Dataset(store(X), store(Y), tuple("wxyz"), NAMES, "toy")


def facts_of(model, training, test, /, **options):
    """Fit, and gather facts; they are plain JSON."""
    model.fit(training.X, training.Y)
    card = json.loads(ModelCard.of(model, data=training).to_json())
    facts = model_facts(model, test, card=card, **options)
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    return facts


def test_data_frames():
    """A data set with frames gives the facts of its arrays."""
    training, test = problem(), problem(30, seed=1)
    model = MLkNN(5)
    framed, plain = (facts_of(model, training, data) for data in (test.with_frames(), test))
    assert framed | {"card": None} == plain | {"card": None}  # cards have the time of their making


def test_labels_by_loops():
    """Counts and ratios of each label, cell by cell; what is 0/0 is None."""
    training, test = problem(), problem(30, seed=1)
    model = MLkNN(5)
    facts = facts_of(model, training, test)
    predicted = model.predict(test.X)
    for label, one in enumerate(facts["labels"]):
        pairs = [(test.Y[i, label], predicted[i, label]) for i in range(30)]
        hits, chosen, true = pairs.count((1, 1)), sum(p for _, p in pairs), sum(t for t, _ in pairs)
        assert (one["name"], one["support"], one["predicted"], one["hits"]) == (NAMES[label], true, chosen, hits)
        assert one["precision"] == (hits / chosen if chosen else None)
        assert one["recall"] == (hits / true if true else None)
        assert one["f1"] == (2 * hits / (true + chosen) if true + chosen else None)
    never = facts["labels"][3]
    assert (never["precision"], never["recall"], never["f1"]) == (None, None, None)


def test_metrics_are_those_of_the_catalogue():
    """Each with its direction, and beside it what the card says."""
    training, test = problem(), problem(30, seed=1)
    model = MLkNN(5).fit(training.X, training.Y)
    card = json.loads(ModelCard.of(model, scores={"micro_f1": 0.25, "own": 1.0}).to_json())
    facts = model_facts(model, test, card=card)
    values = score_all(test.Y, model.predict(test.X), model.predict_proba(test.X))
    assert {one["name"]: one["value"] for one in facts["metrics"]} == values
    told = {one["name"]: (one["greater_is_better"], one["at_training"]) for one in facts["metrics"]}
    assert told["micro_f1"] == (True, 0.25)
    assert told["hamming_loss"] == (False, None)


def test_frontier_and_where_the_model_stands():
    """The best point is the largest micro F1 that thresholds reach; the model's point is that of its predictions."""
    training, test = problem(), problem(30, seed=1)
    model = TunedThresholdsClassifierCV(MLkNN(5), cv=3)
    facts = facts_of(model, training, test)
    frontier = micro_pr_frontier(model.predict_proba(test.X), test.Y)
    best = frontier.thresholds(frontier.best_point())
    reached = micro_f1(test.Y, (model.predict_proba(test.X) >= best).astype(int))
    assert facts["frontier"]["best"]["f1"] == pytest.approx(reached)
    predicted = model.predict(test.X)
    expected = [measure(test.Y, predicted) for measure in (micro_precision, micro_recall, micro_f1)]
    assert list(facts["frontier"]["model"].values()) == pytest.approx(expected)
    assert [float(one["best_threshold"]) for one in facts["labels"]] == best.tolist()
    assert [float(one["threshold"]) for one in facts["labels"]] == model.thresholds_.tolist()
    assert facts["frontier"]["n_points"] == len(frontier.recall)


@pytest.mark.parametrize(
    "model",
    [
        *(BRkNN(3), BRkNNa(3), LPkNN(3), MLkNN(3), DMLkNN(3), CMLkNN(3), IBLR(3), NLDD(), MLMLM()),
        *(BinaryRelevance(), RankSVM()),
    ],
)
def test_every_kind_of_model(model):
    """Neighbours where the model explains itself, calibration where it has probabilities; names point to labels."""
    training, test = problem(), problem(12, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of solvers, on so few rows
        facts = facts_of(model, training, test, n_rows=5)
    explorer = facts["explorer"]
    assert explorer["explained"] == hasattr(model, "explain")
    assert (facts["calibration"] is not None) == hasattr(model, "predict_proba")
    assert [row["row"] for row in explorer["rows"]] == [0, 3, 6, 8, 11]
    predicted = model.predict(test.X)
    for row in explorer["rows"]:
        for name, Y in (("true", test.Y), ("predicted", predicted)):
            expected = {NAMES[label] for label in np.flatnonzero(Y[row["row"]])}
            assert {explorer["names"][position] for position in row[name]} == expected
        for near in row["neighbors"]:
            expected = {NAMES[label] for label in np.flatnonzero(training.Y[near["row"]])}
            assert {explorer["names"][position] for position in near["labels"]} == expected


def test_scores_of_the_explorer():
    """Labels stand by falling score, each with its votes, true and predicted ones among them."""
    training, test = problem(), problem(12, seed=1)
    model = MLkNN(3)
    explorer = facts_of(model, training, test)["explorer"]
    scores = model.predict_proba(test.X)
    for row in explorer["rows"]:
        shown = {explorer["names"][one["label"]]: one["score"] for one in row["labels"]}
        assert shown == dict(zip(NAMES, scores[row["row"]].tolist(), strict=True))
        assert list(shown.values()) == sorted(shown.values(), reverse=True)
        votes = [sum(one["label"] in near["labels"] for near in row["neighbors"]) for one in row["labels"]]
        assert [one["votes"] for one in row["labels"]] == votes


@pytest.mark.parametrize(
    ("model", "of_labels", "of_neighbors"),
    [
        (MLkNN(3), ["votes", "score", "threshold", "flip", "prior", "likelihood", "likelihood_without"], ["distance"]),
        (NLDD(), ["score", "threshold", "flip_row", "margin", "margin_dx"],
         ["distance", "dy", "logit", "share", "loss", "margin_dx"]),
    ],
)  # fmt: skip
def test_columns_of_an_explanation(model, of_labels, of_neighbors):
    """What the text of the method's explanation shows, the same values, and in words what would turn a decision."""
    training, test = problem(), problem(12, seed=1)
    explorer = facts_of(model, training, test)["explorer"]
    explanations = [one.to_dict() for one in model.explain(test.X)]
    assert len(explorer["rows"]) == len(explanations)
    assert (explorer["label_columns"], explorer["neighbor_columns"]) == (of_labels, of_neighbors)
    assert explorer["change"] == explanations[0]["change"]
    for row, explanation in zip(explorer["rows"], explanations, strict=True):
        told = {NAMES[one["label"]]: one for one in explanation["labels"]}
        for one in row["labels"]:
            name = explorer["names"][one["label"]]
            assert [one[key] for key in of_labels] == [told[name][key] for key in of_labels]
        for one, near in zip(row["neighbors"], explanation["neighbors"], strict=False):
            assert [one[key] for key in of_neighbors] == [near[key] for key in of_neighbors]
        assert row["n_neighbors"] == len(explanation["neighbors"])


def test_each_row_has_its_rule():
    """BRkNNa says of a row whether a label has a majority there."""
    training, test = problem(), problem(12, seed=1)
    training, test = (Dataset(d.X, d.Y[:, :3], d.feature_names, NAMES[:3], "toy") for d in (training, test))
    model = BRkNNa(4)
    rows = facts_of(model, training, test)["explorer"]["rows"]
    assert [row["rule"] for row in rows] == [one.rule for one in model.explain(test.X)]
    assert len({row["rule"] for row in rows}) == 2


def test_neighbours_that_are_not_shown_are_counted():
    """Twenty of 25."""
    row = facts_of(MLkNN(25), problem(), problem(12, seed=1), n_rows=1)["explorer"]["rows"][0]
    assert (len(row["neighbors"]), row["n_neighbors"]) == (20, 25)


def test_a_pipeline_explains_itself():
    """The last step explains the rows that it sees: the same neighbours as on scaled rows."""
    training, test = problem(), problem(12, seed=1)
    scaler = MinMaxScaler().fit(training.X)
    scaled = [Dataset(scaler.transform(d.X), d.Y, d.feature_names, NAMES, "toy") for d in (training, test)]
    piped = facts_of(make_pipeline(MinMaxScaler(), MLkNN(3)), training, test)
    assert piped["explorer"] == facts_of(MLkNN(3), *scaled)["explorer"]


def test_thresholds_around_a_pipeline():
    """The classifier within explains itself, decided by the thresholds around it, as where they are the last step."""
    training, test = problem(), problem(12, seed=1)
    inside = FixedThresholdsClassifier(make_pipeline(MinMaxScaler(), MLkNN(3)), 0.3)
    outside = make_pipeline(MinMaxScaler(), FixedThresholdsClassifier(MLkNN(3), 0.3))
    one, other = (facts_of(model, training, test)["explorer"] for model in (inside, outside))
    assert one == other
    assert one["explained"]
    assert one["rows"][0]["labels"][0]["threshold"] == 0.3


def test_storage_changes_nothing():
    """Dense and sparse rows and label sets give the same facts, but for labels that a sparse explanation leaves out."""
    dense, stored = (
        facts_of(MLkNN(5), problem(store=store), problem(30, seed=1, store=store))
        for store in (np.asarray, sparse.csr_array)
    )
    for facts in (dense, stored):
        for row in facts["explorer"].pop("rows"):
            assert row["neighbors"]
        facts.pop("card")
    assert dense == stored


def test_rows_of_the_explorer():
    """Spread evenly, first and last among them; all where there are fewer."""
    training, test = problem(), problem(30, seed=1)
    assert [r["row"] for r in facts_of(MLkNN(3), training, test, n_rows=4)["explorer"]["rows"]] == [0, 10, 19, 29]
    assert len(facts_of(MLkNN(3), training, test, n_rows=100)["explorer"]["rows"]) == 30
    one = Dataset(test.X[:1], test.Y[:1], test.feature_names, NAMES, "one")
    assert [r["row"] for r in facts_of(MLkNN(3), training, one)["explorer"]["rows"]] == [0]


def test_label_that_is_never_chosen_and_data_without_labels():
    """An infinite threshold is text; rows without any label have no frontier."""
    training = problem()
    blank = Dataset(training.X, np.zeros_like(training.Y), training.feature_names, NAMES, "blank")
    facts = facts_of(FixedThresholdsClassifier(MLkNN(3), [np.inf, 0.5, 0.5, 0.5, -np.inf]), training, blank)
    assert [one["threshold"] for one in facts["labels"]] == ["inf", 0.5, 0.5, 0.5, "-inf"]
    assert facts["frontier"] is None
    assert facts["co_occurrence"] == {"names": [], "counts": []}


def test_pictures():
    """Digits are pictures of 9 x 9, drawn as one digit a pixel; the neighbours' as well, if their rows are given."""
    digits = load_multidigits()
    data = Dataset(digits.X[:60], digits.Y[:60], digits.feature_names, digits.label_names, "digits")
    explorer = facts_of(BRkNN(3), data, data, n_rows=2, training=data)["explorer"]
    assert explorer["shape"] == [9, 9]
    expected = "".join(f"{round(value / data.X.max() * 15):x}" for value in data.X[59])
    assert explorer["pictures"]["59"] == expected == explorer["neighbor_pictures"]["59"]
    assert facts_of(BRkNN(3), data, data, n_rows=2)["explorer"]["neighbor_pictures"] == {}


@pytest.mark.parametrize(
    ("names", "shape"),
    [
        (("p_0_0", "p_0_1", "p_1_0", "p_1_1"), (2, 2)),
        (("p_1_1", "p_1_0", "p_0_1", "p_0_0"), (2, 2)),
        (("0_0", "0_1", "1_0", "1_1"), (2, 2)),
        (("p_0_0", "p_0_1", "p_1_0", "p_1_2"), None),
        (("p_0_0", "p_0_1", "q_1_0", "q_1_1"), None),
        (("p_0_0", "p_0_1", "p_0_2", "p_0_3"), None),
        (("p_0_0", "p_0_1", "p_1_0", "age"), None),
        (("p_0_0", "p_0_0", "p_1_1", "p_1_1"), None),
    ],
)
def test_which_rows_are_pictures(names, shape):
    """Names that fill a grid, in any order: nothing else."""
    X = np.array([[0.0, 5.0, 10.0, 15.0]])
    found = Pictures.of(X, names)
    assert (found and (found.height, found.width)) == shape
    if found:
        assert found.draw(sparse.csr_array(X)) == found.draw(X) == ["fa50" if names[0] == "p_1_1" else "05af"]


def test_constant_pictures_are_blank():
    """No contrast is no error."""
    names = ("p_0_0", "p_0_1", "p_1_0", "p_1_1")
    assert Pictures.of(np.full((2, 4), 7.0), names).draw(np.full((1, 4), 7.0)) == ["0000"]


def test_most_frequent_labels_are_paired():
    """Of 60 labels the 40 most frequent, by hand; sparse as dense."""
    Y = (np.arange(60)[:, np.newaxis] >= np.arange(60)).astype(int)  # label l in 60 - l rows
    facts = labelset_facts(Y, [f"l{i}" for i in range(60)])
    pairs = facts["co_occurrence"]
    assert pairs["names"] == [f"l{i}" for i in range(40)]
    assert pairs["counts"] == [[60 - max(i, j) for j in range(40)] for i in range(40)]
    assert labelset_facts(sparse.csr_array(Y), [f"l{i}" for i in range(60)]) == facts


def test_bad_arguments():
    """No classifier, other labels, no row, a number of rows that is none."""
    training = problem()
    model = MLkNN(3).fit(training.X, training.Y)
    card = json.loads(ModelCard.of(model).to_json())
    with pytest.raises(TypeError, match="model must be a classifier, got MinMaxScaler"):
        model_facts(MinMaxScaler().fit(training.X), training, card=card)
    fewer = Dataset(training.X, training.Y[:, :2], training.feature_names, NAMES[:2], "fewer")
    with pytest.raises(ValueError, match=r"got an? (array|shape)|must (answer|predict)"):
        model_facts(model, fewer, card=card)
    with pytest.raises(ValueError, match="n_rows must be at least 1, got 0"):
        model_facts(model, training, card=card, n_rows=0)
    none = Dataset(training.X[:0], training.Y[:0], training.feature_names, NAMES, "none")
    with pytest.raises(ValueError, match="y must have at least one row"):
        model_facts(model, none, card=card)


@pytest.mark.parametrize("seen", [True, False])
def test_kept_columns_name_neighbours_and_training_samples(seen):
    """Neighbours always; samples if they are the training samples; long texts are shortened."""
    data = problem()
    kept = {"id": [str(4711 + row) for row in range(40)], "distance": ["x" * 1000] * 40}
    explorer = facts_of(MLkNN(3), data, data, kept=kept, seen=seen, n_rows=4)["explorer"]
    assert explorer["kept_columns"] == ["id", "kept_distance"]
    assert explorer["neighbor_columns"] == ["distance"]
    for row in explorer["rows"]:
        assert [one["id"] for one in row["neighbors"]] == [str(4711 + one["row"]) for one in row["neighbors"]]
        assert {len(one["kept_distance"]) for one in row["neighbors"]} == {200}
        assert row["kept"].get("id") == (str(4711 + row["row"]) if seen else None)
        assert row["name"].endswith(f" (id {4711 + row['row']})") == seen


def test_columns_of_the_data_name_samples():
    """Samples by their own columns, neighbours by those of the training samples; blank ones have no name."""
    training, test = problem(), problem(12, seed=1)
    kept = {"title": [f"old {row}" for row in range(40)]}
    own = {"title": ["", *(f"new {row}" for row in range(1, 12))]}
    explorer = facts_of(MLkNN(3), training, test, kept=kept, kept_of_data=own)["explorer"]
    assert [row["name"] for row in explorer["rows"]] == own["title"]
    assert {one["title"][:4] for row in explorer["rows"] for one in row["neighbors"]} == {"old "}
    with pytest.raises(ValueError, match="kept_of_data must have a value for each of 12 samples, got 40 of 'title'"):
        facts_of(MLkNN(3), training, test, kept=kept, kept_of_data=kept)


def test_kept_columns_of_other_data_and_of_models_without_neighbours():
    """The former are refused; the latter name the samples only."""
    data = problem()
    with pytest.raises(ValueError, match="kept must have a value for each of 40 samples, got 39 of 'id'"):
        facts_of(MLkNN(3), data, data, kept={"id": ["a"] * 39}, seen=True)
    explorer = facts_of(BinaryRelevance(), data, data, kept={"id": ["a"] * 40}, seen=True)["explorer"]
    assert explorer["kept_columns"] == []
    assert explorer["rows"][0]["kept"] == {"id": "a"}
    assert facts_of(MLkNN(3), data, data, seen=True)["explorer"]["rows"][0]["kept"] == {}


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_predicted_labels_that_are_unknown_are_neither_right_nor_wrong(store):
    """The explorer tells them apart from true labels, and from those that are known not to apply."""
    data = problem(store=store)
    model = BRkNN(3).fit(data.X, data.Y)
    predicted, scores = model.predict(data.X), model.predict_proba(data.X)
    Y = np.asarray(data.Y.toarray() if sparse.issparse(data.Y) else data.Y, dtype=float)
    Y[:, 4] = np.nan  # which is predicted for all rows
    holes = Dataset(data.X, store(Y), data.feature_names, NAMES, "holes")
    facts = explorer_facts(model, holes, predicted, scores, None, 5, kept={}, own={})
    always = facts["names"].index("always")
    for row in facts["rows"]:
        assert row["unknown"] == [always]
        assert always in row["predicted"]
        assert always not in row["true"]
    known = explorer_facts(model, data, predicted, scores, None, 5, kept={}, own={})
    assert all("unknown" not in row for row in known["rows"])


def test_the_explorer_has_the_amounts_of_a_mixture():
    """They sum to the scores; a sample that no neighbour speaks for has none by samples."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 3))
    Y = (X[:, :2] > 0.4).astype(int)
    parts = [("votes", BRkNN(3)), ("forest", RandomForestPCT(5, random_state=0))]
    model, data = SoftVote(parts, random_state=0).fit(X, Y), Dataset(X, Y, ("x", "y", "z"), ("a", "b"), "mixed")
    scores = model.predict_proba(X)
    facts = explorer_facts(model, data, model.predict(X), scores, None, 40, kept={}, own={})
    assert facts["explained"]
    for row in facts["rows"]:
        for label in {one["label"] for one in row["amounts"]}:
            sums = sum(one["amount"] for one in row["amounts"] if one["label"] == label)
            (score,) = (one["score"] for one in row["labels"] if one["label"] == label)
            assert sums == pytest.approx(score)


def test_figures_of_label_sets_with_unknown_cells():
    """They are those of the known cells, and say how many are not."""
    facts = labelset_facts([[1, np.nan, 1], [1, 0, np.nan], [np.nan] * 3], ["red", "green", "blue"])
    assert facts["counts"] == [2, 0, 1]
    assert facts["co_occurrence"] == {"names": ["red", "blue"], "counts": [[2, 1], [1, 1]]}
    assert facts["figures"]["unknown_cells"] == 5
    assert facts["figures"]["rows_without_known_labels"] == 1
    assert facts["figures"]["labelset_proportion"] is None


def test_predictions_to_check_are_those_of_largest_expected_loss():
    """Of rows that the model has not seen; with the uncertain labels, and whether they are wrong. Own rows: none."""
    training, test = problem(), problem(30, seed=1)
    holes = np.where(np.random.default_rng(2).random(test.Y.shape) < 0.3, np.nan, test.Y)
    test = replace(test, Y=holes)
    model = MLkNN(3).fit(training.X, training.Y)
    found = facts_of(model, training, test, kept_of_data={"id": [f"r{row}" for row in range(30)]})["doubtful"]
    p = model.predict_proba(test.X)
    wrong = np.minimum(p, 1 - p)
    order = np.argsort(-wrong.sum(axis=1), kind="stable")[:10]
    assert [one["row"] for one in found] == order.tolist()
    assert [one["name"] for one in found] == [f"id r{row}" for row in order]
    for one in found:
        assert one["expected"] == pytest.approx(wrong[one["row"]].sum())
        for doubt in one["doubts"]:
            label = list(test.label_names).index(doubt["label"])
            given = holes[one["row"], label]
            assert doubt["predicted"] == (p[one["row"], label] >= 0.5)
            assert doubt["is_wrong"] == (None if np.isnan(given) else bool(given != doubt["predicted"]))
    assert facts_of(model, training, training, seen=True)["doubtful"] is None
