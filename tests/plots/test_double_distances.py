import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgba
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _reference import double_distances
from nearlabel.lazy import NLDD, MLkNN
from nearlabel.plots import DoubleDistancesDisplay
from nearlabel.plots._figure import BLUE


def make_problem(n=60, seed=0):
    """Rows whose label sets follow from them, more or less."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=(3, 4)) + rng.normal(size=(n, 4)) > 0.3).astype(int)


X, Y = make_problem()
MODEL = NLDD(LogisticRegression(), scale="none", random_state=0).fit(X[:40], Y[:40])


def points_of(display):
    """Return places and colours of the points, the first that is drawn."""
    points = display.ax_.collections[0]
    return points.get_offsets().tolist(), points.get_array()


def test_pairs_of_the_regression():
    """A point for each pair, coloured by its wrong labels; the lines are where the expected loss is as written."""
    display = DoubleDistancesDisplay.from_estimator(MODEL)
    places, colours = points_of(display)
    np.testing.assert_array_equal(places, MODEL.pairs_[:, :2])
    assert colours.tolist() == MODEL.pairs_[:, 2].tolist()
    lines = display.ax_.collections[1]
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        on_line = path.vertices[np.isfinite(path.vertices).all(axis=1)]
        np.testing.assert_allclose(MODEL.expected_loss(*on_line.T), level, atol=0.02)
    assert display.ax_.get_legend_handles_labels()[1] == []


def test_all_right_is_blue():
    """No other number of wrong labels has the colour of none."""
    display = DoubleDistancesDisplay([1, 2, 3], [1, 2, 3], [0, 1, 3]).plot()
    colours = display.ax_.collections[0].to_rgba([0, 1, 2, 3])
    assert tuple(colours[0]) == to_rgba(BLUE)
    assert (colours[1:, 0] > colours[1:, 2]).all()
    assert (np.diff(colours[1:, 3]) > 0).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame, list])
def test_a_query(container):
    """Figure 2 of the paper: each training row by its distances; the nearest in each, and the predicted, by hand."""
    query = 53  # another row is nearest in the features than in the labels
    given = X if container is list else container(X)
    display = DoubleDistancesDisplay.from_query(MODEL, given, Y, row=query)
    p = MODEL.predict_proba(X[[query]])[0]
    expected = np.array(double_distances(X[:40], Y[:40], X[query], p))
    np.testing.assert_allclose(np.column_stack([display.dx, display.dy]), expected, rtol=0, atol=1e-12)
    assert display.loss.tolist() == (Y[:40] != Y[query]).sum(axis=1).tolist()
    dx, dy = expected.T
    assert display.marks["nearest in the features"] == dx.argmin()
    tied = np.flatnonzero(dy <= dy.min() + 1e-12)
    assert len(tied) > 1, "two training rows have the nearest label set"
    assert display.marks["nearest in the labels"] == tied[dx[tied].argmin()]
    assert Y[display.marks["predicted"]].tolist() == MODEL.predict(X[[query]])[0].tolist()
    assert display.ax_.get_legend_handles_labels()[1] == list(display.marks)
    rings = [(line.get_xdata()[0], line.get_ydata()[0]) for line in display.ax_.lines]
    assert rings == [(display.dx[place], display.dy[place]) for place in display.marks.values()]


def test_a_query_of_unknown_labels():
    """Points of one colour, and no bar."""
    display = DoubleDistancesDisplay.from_query(MODEL, X, row=45)
    assert display.loss is None
    assert points_of(display)[1] is None
    assert len(display.figure_.axes) == 1


def test_through_a_pipeline():
    """Rows are seen as the last step sees them."""
    model = make_pipeline(StandardScaler(), NLDD(LogisticRegression(), random_state=0)).fit(X[:40], Y[:40])
    display = DoubleDistancesDisplay.from_query(model, X, Y, row=50)
    expected = model[-1].distances_to_rows(model[:-1].transform(X[[50]]))[0][0]
    assert display.dx.tolist() == expected.tolist()
    assert DoubleDistancesDisplay.from_estimator(model).dx.tolist() == model[-1].pairs_[:, 0].tolist()


def test_style_and_axes():
    """Properties go to the points; axes of one's own are drawn into."""
    first = DoubleDistancesDisplay([1, 2], [3, 4]).plot()
    other = DoubleDistancesDisplay([1, 2], [3, 4], [0, 2]).plot(first.ax_, s=90, title="Pairs")
    assert other.ax_ is first.ax_
    assert other.ax_.collections[1].get_sizes().tolist() == [90]
    assert other.ax_.get_title() == "Pairs"


def test_no_lines_where_the_distances_do_not_count():
    """A model without weights expects the same everywhere."""
    display = DoubleDistancesDisplay([1, 2], [3, 4], expected_loss=lambda dx, dy: 0 * dx + 1).plot()
    assert len(display.ax_.collections) == 1


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda: DoubleDistancesDisplay([], []), ValueError, r"with at least one pair, got \(0,\), \(0,\)"),
        (lambda: DoubleDistancesDisplay([1], [1], [1, 2]), ValueError, r"of one shape .*, got \(1,\), \(1,\), \(2,\)"),
        (lambda: DoubleDistancesDisplay([1], [1], marks={"a": 1}), ValueError, "numbers of pairs below 1, got 'a': 1"),
        (
            lambda: DoubleDistancesDisplay.from_estimator(MLkNN().fit(X, Y)),
            TypeError,
            "estimator must be an NLDD, or a pipeline, .* got MLkNN",
        ),
        (lambda: DoubleDistancesDisplay.from_estimator(NLDD()), NotFittedError, "not fitted"),
        (
            lambda: DoubleDistancesDisplay.from_query(MODEL, X, row=60),
            ValueError,
            "the number of samples 60, got 60",
        ),
        (lambda: DoubleDistancesDisplay.from_query(MODEL, X, Y[:, :2]), ValueError, "Y must have 4 labels, .* got 2"),
        (lambda: DoubleDistancesDisplay.from_query(MODEL, X, Y[:9]), ValueError, "inconsistent numbers of samples"),
    ],
)
def test_refused(draw, error, message):
    """Each mistake is named."""
    with pytest.raises(error, match=message):
        draw()
