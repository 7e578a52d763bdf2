"""`audit` against plain loops over its definitions, on data with ties, copies and unknown cells."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.audit import _cells, audit, confident_issues
from nearlabel.lazy import IBLR, MLMLM, BRkNN, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.preprocessing import MLSMOTE, ResampledClassifier
from nearlabel.rivals import RandomForestPCT, SoftVote
from nearlabel.thresholds import CalibratedLabels, FixedThresholdsClassifier, MCut, TunedThresholdsClassifierCV

METHODS = [BRkNN(3), BRkNN(3, weights="distance"), BRkNNb(3), LPkNN(3), MLkNN(3), DMLkNN(3), CMLkNN(3)]
K = 3


def problem(seed=0, *, holes=False, n_samples=40):
    """Rows with many ties and copies, and label sets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n_samples, 3)).astype(float)
    y = ((X[:, :1] + rng.integers(0, 3, (n_samples, 5))) > 3).astype(float)
    if holes:
        y[rng.random(y.shape) < 0.15] = np.nan
    return X, y if holes else y.astype(int)


def prior_by_loops(y):
    """Of each label, halfway in log-odds between its share of ones and that of all known cells."""

    def logit(share):
        return math.log(share / (1 - share)) if 0 < share < 1 else math.copysign(math.inf, share - 0.5)

    overall = logit(np.nanmean(y))
    return [1 / (1 + math.exp(-(logit(np.nanmean(column)) + overall) / 2)) for column in y.T]


def suspicion_by_loops(p, y, distances, indices, order="odds"):
    """Known cells by odds or self-confidence, then disagreement by inverse distance, then row and label."""
    found, prior = [], prior_by_loops(y)
    for i, label in itertools.product(*map(range, y.shape)):
        if math.isnan(y[i, label]):
            continue
        weights = [1.0] * K
        if 0 in distances[i]:
            weights = [float(d == 0) for d in distances[i]]
        elif K > 1:
            weights = [distances[i].min() / d for d in distances[i]]
        known = [(w, y[j, label]) for w, j in zip(weights, indices[i], strict=True) if not math.isnan(y[j, label])]
        total = sum(w for w, _ in known)
        share = sum(w for w, value in known if value == 1) / total if total else 0.5
        given = y[i, label] == 1
        quality = round(p[i, label] if given else 1 - p[i, label], 12)
        against = round((1 - share) if given else share, 9)
        if quality < 1:
            odds = round(quality / (prior[label] if given else 1 - prior[label]), 10)
            found.append((odds if order == "odds" else quality, -against, i, label))
    return sorted(found)


@pytest.mark.parametrize(
    ("method", "holes"),
    [*((method, False) for method in METHODS), *((method, True) for method in (BRkNN(3), BRkNNb(3), MLkNN(3)))],
    ids=str,
)
@pytest.mark.parametrize("order", ["odds", "self_confidence"])
def test_cells_are_those_of_the_definition(method, holes, order):
    """All cells, in order, with the same numbers."""
    X, y = problem(holes=holes)
    found = audit(method.fit(X, y), n_cells=1000, order=order)
    distances, indices = ExactNeighbors().fit(X).kneighbors(None, K)
    expected = suspicion_by_loops(method.loo_predict_proba(), y.astype(float), distances, indices, order)
    assert [(cell.row, cell.label) for cell in found.cells] == [cell[2:] for cell in expected]
    np.testing.assert_allclose([cell.quality for cell in found.cells], [cell[0] for cell in expected], atol=1e-10)
    np.testing.assert_allclose([cell.disagreement for cell in found.cells], [-c[1] for c in expected], atol=1e-9)
    for cell in found.cells[:20]:
        assert cell.given == y[cell.row, cell.label] == 1 - cell.suggested
        assert cell.probability == pytest.approx(method.loo_predict_proba()[cell.row, cell.label], abs=1e-12)
        assert [one.row for one in cell.neighbors] == indices[cell.row].tolist()
        assert [one.distance for one in cell.neighbors] == distances[cell.row].tolist()
        values = [y[one.row, cell.label] for one in cell.neighbors]
        assert [one.value for one in cell.neighbors] == [None if math.isnan(v) else int(v) for v in values]
        assert cell.n_lists == (indices == cell.row).sum()


@pytest.mark.parametrize("holes", [False, True])
def test_given_and_missing_labels_are_listed_apart(holes):
    """Each list is the part of the whole, in its order; all else is the same."""
    X, y = problem(holes=holes)
    model = BRkNN(3).fit(X, y)
    whole, *parts = (audit(model, given=given, n_cells=1000, n_effects=0) for given in (None, 0, 1))
    for given, part in enumerate(parts):
        assert part.cells == tuple(cell for cell in whole.cells if cell.given == given) != ()
        assert (part.rows, part.n_issues) == (whole.rows, whole.n_issues)
        few = audit(model, given=given, n_cells=3, n_effects=0)
        assert few.cells == part.cells[:3]


def test_labels_that_evidence_does_not_know_are_not_counted():
    """Copies in pairs share no rare label: one vote for it would mark more negatives than it has positives."""
    X = np.repeat(np.arange(30.0), 2)[:, np.newaxis]
    y = np.zeros((60, 2), dtype=int)
    y[:20, 0] = 1
    y[5, 0] = 0  # an error
    y[[30, 40], 1] = 1  # each is a neighbour of five others, which have it not
    model = BRkNN(5).fit(X, y)
    marked = confident_issues(model.loo_predict_proba(), y)
    n_wrong_negatives = int((marked & (y == 0))[:, 1].sum())
    assert n_wrong_negatives > 2
    found = audit(model, n_cells=1000)
    assert found.n_issues == int(marked[:, 0].sum()) > 0
    assert not any(cell.is_issue for cell in found.cells if cell.label == 1)


@pytest.mark.parametrize("make", METHODS, ids=str)
@pytest.mark.parametrize("cut", [False, True])
def test_effects_are_those_of_a_refit_to_the_corrected_labels(make, cut):
    """What correcting a cell changes for the other rows is counted by refitting."""
    X, y = problem()
    cuts = np.array([0.2, 0.4, 0.5, 0.6, 0.3])

    def predictions(target):
        fitted = make.fit(X, target)
        return fitted.loo_predict_proba() >= cuts if cut else fitted.loo_predict() == 1

    model = FixedThresholdsClassifier(make, cuts).fit(X, y) if cut else make.fit(X, y)
    found = audit(model, n_cells=12, n_effects=10)
    before = predictions(y) != y
    for cell in found.cells[:10]:
        corrected = y.copy()
        corrected[cell.row, cell.label] = cell.suggested
        others = np.arange(len(y)) != cell.row
        now, then = before[others, cell.label], (predictions(corrected) != corrected)[others, cell.label]
        assert (cell.n_righted, cell.n_wronged) == ((now & ~then).sum(), (then & ~now).sum())
    assert found.cells[10].n_righted is None


@pytest.mark.parametrize("method", [BRkNN(3), MLkNN(3)], ids=str)
@pytest.mark.parametrize("holes", [False, True])
def test_rows_tell_what_they_have_and_what_is_predicted(method, holes):
    """Label sets of suspicious rows, and the labels of their issues; every row is listed once."""
    X, y = problem(holes=holes)
    found = audit(method.fit(X, y), n_rows=1000, n_cells=1000, label_names=list("abcde"))
    predicted = method.loo_predict()
    assert sorted(row.row for row in found.rows) == np.flatnonzero(~np.isnan(y).all(axis=1)).tolist()
    assert [row.quality for row in found.rows] == sorted(row.quality for row in found.rows)
    issues = {(cell.row, cell.label_name) for cell in found.cells if cell.is_issue}
    assert len(issues) == found.n_issues
    for row in found.rows:
        known = ~np.isnan(y[row.row])
        assert row.given == tuple(n for n, v in zip("abcde", y[row.row], strict=True) if v == 1)
        assert row.predicted == tuple(n for n, v in zip("abcde", predicted[row.row] * known, strict=True) if v == 1)
        assert set(row.issues) == {label for number, label in issues if number == row.row}


def test_pairs_of_labels_are_counted_by_loops():
    """Confused: given, not predicted, while the other is predicted, not given. Missing: both predicted, not given."""
    X, y = problem()
    method = BRkNN(3).fit(X, y)
    predicted, n = method.loo_predict(), len(y)
    missed, added = (y == 1) & (predicted == 0), (y == 0) & (predicted == 1)
    expected = {}
    for a, b in itertools.permutations(range(5), 2):
        counted = {"confused": missed[:, a] & added[:, b]}
        if a < b:
            counted["missing together"] = added[:, a] & added[:, b]
        for kind, rows in counted.items():
            first = missed if kind == "confused" else added
            by_chance = first[:, a].sum() * added[:, b].sum() / n
            if rows.sum() >= 2 and rows.sum() > by_chance:
                expected[kind, (a, b)] = (rows.sum(), by_chance, tuple(np.flatnonzero(rows)[:5].tolist()))
    found = audit(method, n_rows=1000).label_pairs
    assert {(one.kind, one.labels): (one.n_rows, one.expected, one.rows) for one in found} == expected
    excess = [one.n_rows - one.expected for one in found]
    assert expected
    assert excess == sorted(excess, reverse=True)


def groups_by_loops(X, radius, indices, distances):
    """Rows joined by chains of neighbours within the radius."""
    group = list(range(len(X)))
    for _ in range(len(X)):
        for i, (near, apart) in enumerate(zip(indices, distances, strict=True)):
            for j, d in zip(near, apart, strict=True):
                if d <= radius:
                    group[i] = group[j] = min(group[i], group[j])
    return group


@pytest.mark.parametrize("radius", [0.0, 1.0])
@pytest.mark.parametrize("holes", [False, True])
def test_conflicts_are_groups_that_differ(radius, holes):
    """Each group of near copies that differs in a known label is found, with its majority."""
    X, y = problem(seed=3, holes=holes)
    X = np.repeat(X[:20], 2, axis=0) + (0 if radius == 0 else 0.25)
    found = audit(BRkNN(3).fit(X, y), radius=radius, n_rows=1000).conflicts
    distances, indices = ExactNeighbors().fit(X).kneighbors(None, K)
    groups = groups_by_loops(X, radius, indices, distances)
    expected = []
    for number in sorted(set(groups)):
        rows = [i for i, own in enumerate(groups) if own == number]
        labels, majority, n_cells = [], [], 0
        for label in range(5):
            known = [y[i, label] for i in rows if not math.isnan(y[i, label])]
            most = 2 * sum(known) > len(known)
            if most:
                majority.append(label)
            if len(set(known)) == 2:
                labels.append(label)
                n_cells += sum(value != most for value in known)
        if labels:
            expected.append((-n_cells, tuple(rows), tuple(labels), tuple(majority)))
    assert expected
    expected.sort(key=lambda one: (one[0], one[1][0]))
    assert [(-one.n_cells, one.rows, one.labels, one.majority) for one in found] == expected
    assert all(one.distance <= radius for one in found)


def test_hubs_are_the_rows_in_most_lists():
    """Numbers of lists, disagreement and skewness by loops."""
    X, y = problem()
    found = audit(BRkNN(3).fit(X, y))
    _, indices = ExactNeighbors().fit(X).kneighbors(None, K)
    lists = [[i for i in range(40) if j in indices[i]] for j in range(40)]
    order = sorted(range(40), key=lambda j: (-len(lists[j]), j))[:5]
    assert [hub.row for hub in found.hubs] == order
    for hub in found.hubs:
        apart = []
        for i in lists[hub.row]:
            own, theirs = set(np.flatnonzero(y[hub.row])), set(np.flatnonzero(y[i]))
            apart.append(len(own ^ theirs) / len(own | theirs) if own | theirs else 0.0)
        assert hub.n_lists == len(apart)
        assert hub.disagreement == pytest.approx(sum(apart) / len(apart))
        assert hub.labels == tuple(np.flatnonzero(y[hub.row]).tolist())
    numbers = np.array([len(one) for one in lists])
    skewness = np.mean((numbers - numbers.mean()) ** 3) / numbers.std() ** 3
    assert found.skewness == pytest.approx(skewness)
    assert found.n_antihubs == (numbers == 0).sum()


def test_a_planted_error_among_copies_comes_first():
    """Of nine equal rows one has another label: that cell, and the conflict, are the first findings."""
    X = np.vstack([np.zeros((9, 2)), np.arange(2, 24).reshape(11, 2)])
    y = np.zeros((20, 3), dtype=int)
    y[:9, 0], y[9:, 1] = 1, 1
    y[4, 0] = 0
    found = audit(BRkNN(3).fit(X, y))
    assert (found.cells[0].row, found.cells[0].label, found.cells[0].is_issue) == (4, 0, True)
    assert found.cells[0].disagreement == 1
    assert found.rows[0].row == 4
    (conflict,) = found.conflicts
    assert (conflict.rows, conflict.labels, conflict.majority, conflict.n_cells) == (tuple(range(9)), (0,), (0,), 1)


@pytest.mark.parametrize("store", [sparse.csr_array, lambda y: pd.DataFrame(y, columns=list("abcde"))])
def test_the_container_of_y_changes_nothing_but_names(store):
    """Sparse label sets and data frames give the same findings."""
    X, y = problem()
    plain = audit(MLkNN(3).fit(X, y), label_names=list("abcde"))
    other = audit(MLkNN(3).fit(X, store(y)), label_names=list("abcde"))
    assert other == plain


def test_a_second_audit_finds_the_same_and_changes_nothing():
    """Findings are deterministic; the model predicts as before."""
    X, y = problem()
    model = MLkNN(3).fit(X, y)
    before, state = model.predict_proba(X), set(vars(model))
    assert audit(model) == audit(model)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert set(vars(model)) == state


def test_small_blocks_change_nothing(monkeypatch):
    """Blocks of a few rows, and answers that are made twice, give the same findings."""
    X, y = problem()
    expected = audit(MLkNN(3).fit(X, y))
    for function in ("row_blocks", "uneven_blocks"):
        monkeypatch.setattr(f"nearlabel.utils.validation.{function}.__defaults__", (1000,))
    monkeypatch.setattr("nearlabel.audit._cells._MOST_KEPT", 10)
    assert audit(MLkNN(3).fit(X, y)) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        lambda method: make_pipeline(MinMaxScaler(), method),
        lambda method: GridSearchCV(method, {"n_neighbors": [3]}, cv=2),
        lambda method: GridSearchCV(make_pipeline(MinMaxScaler(), method), {"brknn__n_neighbors": [3]}, cv=2),
        lambda method: FixedThresholdsClassifier(method, 0.5),
        lambda method: make_pipeline(MinMaxScaler(), TunedThresholdsClassifierCV(method, cv="loo")),
    ],
)
def test_models_around_a_method_are_looked_into(wrap):
    """Pipelines, searches and thresholds: names of labels are the user's, scores those of the method inside."""
    X, y = problem()
    frame = pd.DataFrame(y, columns=list("abcde"))
    found = audit(wrap(BRkNN(3)).fit(X, frame))
    plain = audit(BRkNN(3).fit(X, frame))  # quarters are exact, so ties stay
    assert [(one.row, one.label_name, one.quality) for one in found.cells] == [
        (one.row, one.label_name, one.quality) for one in plain.cells
    ]
    assert found.cells[0].label_name in set("abcde")


def test_calibrated_scores_are_the_evidence():
    """Calibration around the method maps its leave-one-out scores; thresholds around it cut what comes out."""
    X, y = problem()
    inside = CalibratedLabels(BRkNN(3), method="sigmoid", cv="loo")
    model = FixedThresholdsClassifier(inside, 0.4).fit(X, y)
    found = audit(model, n_cells=1000, n_rows=100, n_effects=5)
    p = model.estimator_.calibrated(BRkNN(3).fit(X, y).loo_predict_proba())
    assert {row.row: row.predicted for row in found.rows} == {
        row: tuple(np.flatnonzero(scores >= 0.4).tolist()) for row, scores in enumerate(p)
    }
    for cell in found.cells:
        assert cell.probability == pytest.approx(p[cell.row, cell.label], abs=1e-12)
    assert found.cells[4].n_righted is not None


@pytest.mark.parametrize("inside", [TunedThresholdsClassifierCV, CalibratedLabels])
def test_the_outermost_calibration_decides(inside):
    """Thresholds inside it are of scores that are not calibrated, and have no part; calibration inside it has."""
    X, y = problem()
    model = CalibratedLabels(inside(MLkNN(3), cv="loo"), cv=2).fit(X, y)
    p = MLkNN(3).fit(X, y).loo_predict_proba()
    p = model.calibrated(model.estimator_.calibrated(p) if inside is CalibratedLabels else p)
    found = audit(model, n_cells=1000, n_rows=100, n_effects=0)
    assert {row.row: row.predicted for row in found.rows} == {
        row: tuple(np.flatnonzero(scores >= 0.5).tolist()) for row, scores in enumerate(p)
    }
    for cell in found.cells:
        assert cell.probability == pytest.approx(p[cell.row, cell.label], abs=1e-12)


def test_a_frozen_model_and_a_rule_of_rows_are_audited():
    """Thresholds that look at all scores of a row decide as they do."""
    X, y = problem()
    tuned = TunedThresholdsClassifierCV(BRkNN(3), MCut(), cv="loo").fit(X, y)
    found = audit(FrozenEstimator(tuned), n_rows=100, n_effects=3)
    decided = MCut().fit(tuned.estimator_.loo_predict_proba(), y).predict(tuned.estimator_.loo_predict_proba())
    assert {row.row: row.predicted for row in found.rows} == {
        row: tuple(np.flatnonzero(labels).tolist()) for row, labels in enumerate(decided)
    }
    assert found.cells[0].n_righted is not None


def test_scores_from_elsewhere_take_the_place_of_leave_one_out():
    """Cells are ordered by the given probabilities; neighbours stay those of the model."""
    X, y = problem()
    p = np.random.default_rng(5).integers(0, 5, y.shape) / 4
    found = audit(BRkNN(3).fit(X, y), scores=p, n_cells=1000, n_rows=100)
    distances, indices = ExactNeighbors().fit(X).kneighbors(None, K)
    expected = suspicion_by_loops(p, y.astype(float), distances, indices)
    assert [(cell.row, cell.label) for cell in found.cells] == [cell[2:] for cell in expected]
    assert {row.row: row.predicted for row in found.rows} == {
        row: tuple(np.flatnonzero(scores >= 0.5).tolist()) for row, scores in enumerate(p)
    }
    assert found.cells[:5] != audit(BRkNN(3).fit(X, y)).cells[:5]


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: make_pipeline(MinMaxScaler(), TunedThresholdsClassifierCV(m))])
def test_probabilities_of_unlike_models_are_averaged(wrap):
    """By default, from 50 samples on: those of the model, of ML-MLM and of a forest; label sets remain the model's."""
    X, y = problem(n_samples=60)
    model = wrap(BRkNN(3)).fit(X, y)
    last = model[-1] if isinstance(model, Pipeline) else model
    rows = MinMaxScaler().fit_transform(X) if isinstance(model, Pipeline) else X
    own = getattr(last, "estimator_", last).loo_predict_proba()
    others = [MLMLM(scale="none").fit(rows, y).loo_predict_proba()]
    others.append(RandomForestPCT(100, random_state=0)._fit_out_of_bag(rows, y))
    found, given = audit(model, n_rows=100), audit(model, scores=np.mean([own, *others], axis=0), n_rows=100)
    assert found.evidence == ("model", "mlmlm", "rfpct")
    assert given.evidence == ("given",)
    assert [(cell.row, cell.label, cell.probability) for cell in found.cells] == [
        (cell.row, cell.label, pytest.approx(cell.probability, abs=1e-12)) for cell in given.cells
    ]
    alone = audit(model, scores="model", n_rows=100)
    assert alone.evidence == ("model",)
    assert {row.row: row.predicted for row in found.rows} == {row.row: row.predicted for row in alone.rows}
    assert found.cells[:5] != alone.cells[:5]


def test_the_model_alone_where_others_cannot_add():
    """Few samples, unknown cells, or a search that does not return its samples."""
    X, y = problem(n_samples=60)
    known = BRkNN(3, search=PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=10))
    for model in (BRkNN(3).fit(X[:49], y[:49]), BRkNN(3).fit(*problem(n_samples=60, holes=True)), known.fit(X, y)):
        assert audit(model).evidence == ("model",)


def test_other_models_are_asked_while_their_scores_are_few(monkeypatch):
    """The scores of both are dense, and the nodes of a forest have shares of all labels."""
    model = BRkNN(3).fit(*problem(n_samples=60))
    n_cells = model.training_labels().size
    monkeypatch.setattr(_cells, "_MOST_CELLS_OF_FOREST", n_cells - 1)
    assert audit(model).evidence == ("model", "mlmlm")
    monkeypatch.setattr(_cells, "_MOST_CELLS", n_cells - 1)
    assert audit(model).evidence == ("model",)


def test_a_mixture_is_audited_by_its_votes():
    """The neighbours are those of its first part by votes; without such a part it cannot be audited."""
    X, y = problem(n_samples=60)
    parts = [("forest", RandomForestPCT(5, random_state=0)), ("votes", make_pipeline(MinMaxScaler(), BRkNN(3)))]
    found = audit(SoftVote(parts, random_state=0).fit(X, y))
    assert found.cells == audit(make_pipeline(MinMaxScaler(), BRkNN(3)).fit(X, y)).cells
    forests = [("one", RandomForestPCT(5, random_state=0)), ("two", RandomForestPCT(5, random_state=1))]
    with pytest.raises(TypeError, match="got SoftVote around RandomForestPCT"):
        audit(SoftVote(forests, random_state=0).fit(X, y))


def test_the_effects_of_cells_by_other_scores_are_those_of_the_model():
    """Scores choose the cells; what correcting changes is counted in the predictions of the neighbours."""
    X, y = problem()
    model = BRkNN(3).fit(X, y)
    found = audit(model, scores=model.loo_predict_proba() / 2, n_effects=50)
    plain = audit(model, n_effects=500, n_cells=500)
    effects = {(cell.row, cell.label): (cell.n_righted, cell.n_wronged) for cell in plain.cells}
    both = [cell for cell in found.cells[:50] if (cell.row, cell.label) in effects]
    assert len(both) > 20
    assert [(cell.n_righted, cell.n_wronged) for cell in both] == [effects[cell.row, cell.label] for cell in both]


def test_one_label_and_one_class():
    """A one-dimensional y is one label; a label of one class has no suspicious cell."""
    X, y = problem()
    found = audit(BRkNN(3).fit(X, y[:, 0]))
    assert {cell.label for cell in found.cells} == {0}
    assert str(found).startswith("40 rows, 1 label: ")
    y[:, 2] = 1
    assert 2 not in {cell.label for cell in audit(BRkNN(3).fit(X, y), n_cells=1000).cells}


def test_records_are_plain():
    """Records go through JSON unchanged, and into data frames."""
    X, y = problem()
    found = audit(BRkNN(3).fit(X, y), label_names=[("mood", n) for n in range(5)]).named(
        [f"song {n}" for n in range(40)]
    )
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()
    for kind in ("cells", "rows", "conflicts", "label_pairs", "hubs"):
        assert len(found.to_frame(kind)) == len(getattr(found, kind)) == len(found.to_dict()[kind])
    first = found.to_records()[0]
    cell = found.cells[0]
    assert first["name"] == f"song {cell.row}" == cell.name
    assert first["neighbors"] == [one.row for one in cell.neighbors]
    assert cell.neighbors[0].name == f"song {cell.neighbors[0].row}"
    assert found.conflicts[0].names[0] == f"song {found.conflicts[0].rows[0]}"
    with pytest.raises(ValueError, match="kind must be one of"):
        found.to_records("columns")


def test_the_text_shows_the_first_findings():
    """Five of each kind, by name."""
    X, y = problem()
    found = audit(BRkNN(3).fit(X, y), label_names=["calm", "loud", "sad", "slow", "fast"])
    text = str(found)
    assert f"confident learning flags {found.n_issues} of 200 known cells" in text
    assert f"row {found.cells[0].row}, {found.cells[0].label_name}: " in text
    assert max(map(len, text.splitlines())) <= 80
    assert f"and {len(found.cells) - 5} more" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_cells": 0}, "n_cells must be at least 1, got 0"),
        ({"order": "rows"}, "order must be one of"),
        ({"given": 2}, r"given must be 0 \(missing labels\), 1 \(given labels\) or None \(both\), got 2"),
        ({"n_rows": -1}, "n_rows must be at least 0, got -1"),
        ({"radius": -1.0}, "radius must be a finite number, at least 0, got -1.0"),
        ({"radius": math.nan}, "radius must be a finite number"),
        ({"label_names": ["a"]}, "label_names must be 5 names, one for each label, got 1"),
        ({"scores": np.zeros((3, 5))}, r"scores must be of shape \(40, 5\)"),
        ({"scores": np.full((40, 5), 2.0)}, "scores must be probabilities, from 0 to 1"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    """Each says what was expected and what it got."""
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        audit(BRkNN(3).fit(X, y), **change)


def test_other_models_are_refused_by_name():
    """The message names what is inside, and what to do."""
    X, y = problem()
    with pytest.raises(TypeError, match=r"got Pipeline around RandomForestPCT\. Hint: to audit with scores"):
        audit(make_pipeline(MinMaxScaler(), RandomForestPCT(2)).fit(X, y))
    with pytest.raises(TypeError, match=r"model must be a method by votes of neighbours.*got IBLR"):
        audit(IBLR(3).fit(X, y))
    with pytest.raises(NotFittedError):
        audit(BRkNN(3))
    with pytest.raises(ValueError, match="n_neighbors must be at most 2 to leave out one"):
        audit(BRkNN(3).fit(X[:3], y[:3]))


class Doubled(BaseEstimator):
    """A sampler in the manner of imbalanced-learn, as a step of its pipeline."""

    def fit_resample(self, X, y):
        """Return every row twice."""
        return np.vstack([X, X]), np.vstack([y, y])


@pytest.mark.parametrize("around", [False, True])
def test_models_of_resampled_rows_are_refused(around):
    """The numbers of their rows are not those of the rows that the user knows."""
    X, y = problem()
    model = ResampledClassifier(MLkNN(3), MLSMOTE(random_state=0)).fit(X, y)
    if around:
        model = Pipeline([("sampler", Doubled()), ("model", MLkNN(3).fit(X, y))])
    with pytest.raises(TypeError, match=r"model must be fitted to the samples that are audited, not to resampled ones"):
        audit(model)


def test_names_are_one_for_each_row():
    """`named` refuses another number."""
    X, y = problem()
    with pytest.raises(ValueError, match="names must be 40 texts, one for each sample, got 1"):
        audit(BRkNN(3).fit(X, y)).named(["a"])


def test_names_go_by_place():
    """Those of a Series too, whatever its index."""
    X, y = problem()
    names = [f"song {row}" for row in range(40)]
    found, shuffled = audit(BRkNN(3).fit(X, y)), pd.Series(names, index=range(39, -1, -1))
    assert found.named(shuffled).to_dict() == found.named(names).to_dict()
