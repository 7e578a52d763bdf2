import numpy as np
import pytest
from scipy import sparse

from nearlabel.metrics import calibration_bins


def test_calibration_by_loops():
    """Bins of a tenth, the last one closed; the error is the mean distance over all cells; sparse y as dense."""
    rng = np.random.default_rng(0)
    scores = np.round(rng.random((50, 6)), 2)
    scores[0] = [0.0, 1.0, 0.1, 0.999, 0.5, 1.0]
    y = (rng.random((50, 6)) < scores).astype(int)
    bins = calibration_bins(y, scores)
    cells = list(zip(scores.ravel(), y.ravel(), strict=True))
    error = 0.0
    for number in range(10):
        inside = [(s, t) for s, t in cells if min(int(s * 10), 9) == number]
        assert bins.counts[number] == len(inside)
        assert bins.mean_probability[number] == pytest.approx(sum(s for s, _ in inside) / len(inside))
        assert bins.true_share[number] == pytest.approx(sum(t for _, t in inside) / len(inside))
        error += abs(sum(s - t for s, t in inside))
    assert bins.error == pytest.approx(error / len(cells))
    stored = calibration_bins(sparse.csr_array(y), sparse.csr_array(scores))
    for name, value in vars(bins).items():
        np.testing.assert_array_equal(getattr(stored, name), value)


def test_empty_bins_are_undefined():
    """An empty bin has neither mean nor share; other numbers of bins have other edges."""
    bins = calibration_bins([[1]], [[0.55]], n_bins=4)
    assert bins.edges.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert bins.counts.tolist() == [0, 0, 1, 0]
    np.testing.assert_array_equal(bins.mean_probability, [np.nan, np.nan, 0.55, np.nan])
    np.testing.assert_array_equal(bins.true_share, [np.nan, np.nan, 1.0, np.nan])


def test_rounding_is_forgiven():
    """A sum of floats a little above 1 is in the last bin."""
    assert calibration_bins([[1]], [[1 + 1e-15]]).counts.tolist() == [0] * 9 + [1]


@pytest.mark.parametrize(
    ("y_prob", "options", "message"),
    [
        ([[0.5], [-0.1]], {}, r"y_prob must be probabilities in \[0, 1\], got -0\.1 to 0\.5\."),
        ([[0.5], [7.0]], {}, r"y_prob must be probabilities in \[0, 1\], got 0\.5 to 7\."),
        ([[0.5]], {}, "y_prob must be of the same shape as y_true"),
        ([[0.5], [0.5]], {"n_bins": 0}, "n_bins must be at least 1, got 0"),
    ],
)
def test_bad_arguments(y_prob, options, message):
    """Scores that are no probabilities, another shape, no bin."""
    with pytest.raises(ValueError, match=message):
        calibration_bins([[1], [0]], y_prob, **options)
