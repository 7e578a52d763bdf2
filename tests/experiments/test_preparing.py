"""Features of several kinds: each training part fits the encoder anew, and what is a category is not scaled."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments import Candidate, NeighborsChoice, Plan, ThresholdPlan, Tuning, make_preparation, run
from nearlabel.lazy import BRkNN
from nearlabel.metrics import micro_f1
from nearlabel.preprocessing import FeatureScaler, MixedFeaturesEncoder
from nearlabel.selection.data import scale_features
from nearlabel.utils.validation import as_dense


@pytest.fixture
def songs():
    """Forty rows of a number and a category, with holes."""
    rng = np.random.default_rng(0)
    X = np.empty((40, 2), dtype=object)
    X[:, 0] = rng.normal(size=40)
    X[:, 1] = rng.choice(["soul", "punk", "house", None], 40)
    X[3, 0] = np.nan
    Y = np.column_stack([X[:, 1] == "punk", rng.random(40) < 0.5]).astype(np.int64)
    return Dataset(X, Y, ("tempo", "genre"), ("wild", "calm"), "songs", feature_kinds=("number", "category"))


@pytest.mark.parametrize("scale", ["minmax", "none"])
@pytest.mark.parametrize("out_of_range", ["keep", "clip", 0.1])
def test_folds_refit_the_encoder(songs, scale, out_of_range):
    """Plan and Tuning give what a pipeline gives that is fitted to each training part; a plan keeps what is outside."""
    songs.X[3, 0] = None
    songs.X[::5, 0] *= 30  # outside where its fold is held out
    songs.Y[:, 1] = [(x or 0) > row % 5 for row, x in enumerate(songs.X[:, 0])]
    model = make_pipeline(MixedFeaturesEncoder(categorical=[1], scale=scale, out_of_range=out_of_range), BRkNN(3))
    predicted, of_folds = np.empty_like(songs.Y), []
    for training, test in KFold(4, shuffle=True, random_state=0).split(songs.X):
        predicted[test] = model.fit(songs.X[training], songs.Y[training]).predict(songs.X[test])
        of_folds.append(micro_f1(songs.Y[test], predicted[test]))
    settings = {"cv": 4, "impute": "median"}
    if out_of_range == "keep":
        plan = Plan(("brknn",), (3,), scale=scale, metrics=("micro_f1",), **settings)
        assert [record["value"] for record in run(plan, [songs])] == of_folds
    tuned = Tuning(("brknn",), (3,), scales=(scale,), out_of_range=out_of_range, **settings).run(songs)
    assert tuned.trials[0].value == micro_f1(songs.Y, predicted)
    assert tuned.best.out_of_range == out_of_range


def test_plans_keep_what_is_outside_the_range():
    """As papers do; a model for users bounds it: one feature far outside decides all distances, or does not."""
    X = np.array([[1.0, 0.6]] * 6 + [[0.0, 1.0]] * 6 + [[0.0, 0.0], [1.0, 51.0], [1.0, 52.0]])
    Y = X[:, [0]].astype(np.int64)
    for rows, kinds in ((X, ()), (X.astype(object), ("number", "number"))):
        known, new = (
            Dataset(rows[part], Y[part], ("a", "b"), ("on",), "parts", feature_kinds=kinds)
            for part in (slice(13), slice(13, None))
        )
        for scale in ("none", "minmax"):
            (record,) = run(Plan(("brknn",), (4,), scale=scale, metrics=("micro_f1",)), {"parts": (known, new)})
            assert record["value"] == 0
            for way, labels in (("keep", 0), ("clip", 1)):
                model = Candidate("brknn", 4, scale, "exact", out_of_range=way).fit(known)
                assert (model.predict(new.X) == labels).all()


def test_the_choice_does_not_depend_on_the_range(songs):
    """It is made on training samples; only its candidate bounds others."""
    songs.X[3, 0] = 0.0
    chosen = [NeighborsChoice(n_neighbors=(3,), out_of_range=way).run(songs) for way in ("clip", "keep", 0.5)]
    assert [one.candidate.out_of_range for one in chosen] == ["clip", "keep", 0.5]
    assert len({replace(one.candidate, out_of_range="clip") for one in chosen}) == 1
    assert len({one[1:5] for one in chosen}) == 1
    assert [one.model[0].out_of_range for one in chosen] == ["clip", "keep", 0.5]
    for make in (NeighborsChoice, lambda **of: Tuning(("brknn",), **of)):
        with pytest.raises(ValueError, match=r"out_of_range must be 'clip', 'keep' or .*, got 'cut'"):
            make(out_of_range="cut")


def test_leave_one_out_is_that_of_the_pipeline(songs):
    """The encoder has seen the row, as a scaler has."""
    model = Candidate("brknn", 3, "minmax", "exact", impute="median").fit(songs)
    tuned = Tuning(("brknn",), (3,), scales=("minmax",), impute="median").run(songs)
    assert tuned.trials[0].value == micro_f1(songs.Y, model[-1].loo_predict())


def test_refused(songs):
    """A missing number without imputation, and weights of words for what is no count."""
    with pytest.raises(
        ValueError, match=r"X of songs must be finite, got 1 missing or infinite values, .* row 3, column 0"
    ):
        Tuning(("brknn",), (3,)).run(songs)
    with pytest.raises(ValueError, match="scale must be one of none, minmax, standard with features of kind category"):
        Tuning(("brknn",), (3,), scales=("tfidf",), impute="mean").run(songs)


KINDS = ("number", "category", "category", "category", "category")


@pytest.fixture(scope="module")
def colours():
    """Sixty rows of a number of a wide range and a category of two values: as cells, and as a reader of ARFF has it."""
    rng = np.random.default_rng(1)
    number, red = rng.normal(0, 50, 60), rng.random(60) < 0.3
    Y = np.column_stack([red ^ (rng.random(60) < 0.2), number > 0]).astype(np.int64)
    cells = np.empty((60, 2), dtype=object)
    cells[:, 0], cells[:, 1] = number, np.where(red, "red", "blue")
    coordinates = np.column_stack([number, red / 2, red / 2, ~red / 2, ~red / 2])
    names = ("red=1", "red=1 (again)", "red=0", "red=0 (again)")
    return (
        Dataset(cells, Y, ("kg", "colour"), ("x", "y"), "colours", feature_kinds=("number", "category")),
        Dataset(coordinates, Y, ("kg", *names), ("x", "y"), "colours", feature_kinds=KINDS),
    )


def rows_of(data, rows):
    """Some rows of a data set."""
    return replace(data, X=data.X[rows], Y=data.Y[rows])


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_cells_and_coordinates_of_categories_are_one(colours, scale):
    """Numbers are scaled, categories are 1 apart: in every experiment, by its own code for cells and for matrices."""
    plan = Plan(("brknn", "mlknn@micro-f"), (3,), cv=3, scale=scale, metrics=("hamming_loss", "one_error"))
    thresholds = ThresholdPlan(("knn",), n_parts=3, n_parts_used=2, cv=2, scale=scale, n_neighbors=2)
    tuning = Tuning(("brknn", "mlknn"), (3, 4), scales=(scale,))
    answers = []
    for data in colours:
        split = {"colours": (rows_of(data, slice(0, 45)), rows_of(data, slice(45, None)))}
        tuned = tuning.run(data)
        scores = tuned.best.fit(data).predict_proba(data.X)
        answers.append((run(plan, [data]), tuned.trials, tuned.scores, scores.tolist(), run(thresholds, split)))
    assert answers[0] == answers[1]


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_scaled_distances_are_those_of_heom(colours, scale, store):
    """A slow loop: the difference of the numbers by their range or deviation, and 1 for unlike categories."""
    cells, coordinates = colours
    number = cells.X[:, 0].astype(float)
    unit = np.ptp(number) if scale == "minmax" else np.std(number)
    expected = [
        [((u[0] - v[0]) / unit) ** 2 + (u[1] != v[1]) for v in cells.X]
        for u in cells.X
    ]  # fmt: skip
    stored = store(coordinates.X)
    by_scaler = make_preparation(coordinates, scale=scale).fit_transform(stored)
    by_plan = scale_features(scale, stored, stored[:7], KINDS)
    assert all(getattr(rows, "has_sorted_indices", True) for rows in by_plan)
    for rows in (by_scaler, *by_plan):
        assert sparse.issparse(rows) == (store is not np.asarray)
        found = as_dense(rows)
        np.testing.assert_array_equal(found[:, 1:], coordinates.X[: len(found), 1:])
        squares = ((found[:, np.newaxis] - found) ** 2).sum(axis=2)
        np.testing.assert_allclose(squares, np.array(expected)[: len(found), : len(found)], atol=1e-12)


def test_categories_alone_and_numbers_alone(colours):
    """Without a number nothing is scaled; without a category the bits are those of the scaler without kinds."""
    X = colours[1].X
    assert (scale_features("minmax", X[:, 1:], X[:5, 1:], KINDS[1:])[0] == X[:, 1:]).all()
    flags = ("number", "flag", "flag", "flag", "flag")
    for scale in ("minmax", "standard", "tfidf"):
        known = FeatureScaler(scale).fit_transform(np.abs(X))
        assert (as_dense(FeatureScaler(scale, flags).fit_transform(np.abs(X)) != known)).sum() == 0
        assert (as_dense(scale_features(scale, X, X, flags)[0] != scale_features(scale, X, X)[0])).sum() == 0


def test_kinds_that_do_not_fit(colours):
    """Words are not weighted beside categories, before anything is computed; kinds are one for each feature."""
    data = colours[1]
    message = r"scale must be one of none, minmax, standard with features of kind category, got 'tfidf'"
    for experiment in (Tuning(("brknn",), (3,), scales=("none", "tfidf")), Candidate("brknn", 3, "tfidf", "exact")):
        with pytest.raises(ValueError, match=message):
            getattr(experiment, "run", getattr(experiment, "fit", None))(data)
    with pytest.raises(ValueError, match=message):
        run(Plan(("brknn",), (3,), scale="tfidf"), [data])
    with pytest.raises(ValueError, match=message):
        run(ThresholdPlan(("knn",), scale="tfidf"), {"colours": (data, data)})
    with pytest.raises(ValueError, match="feature_kinds must contain 5 kinds, one for each feature, got 2"):
        FeatureScaler("minmax", ("number", "category")).fit(data.X)
