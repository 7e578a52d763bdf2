import numpy as np
import pytest
from scipy import sparse

from nearlabel.solvers.feature_scaling import FeatureScaling


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("exponent", [-1000, -540, 540, 1000])
def test_deviations_follow_a_power_of_two(container, exponent):
    """Squares neither vanish nor overflow: the deviation of multiples is that multiple, to the bit."""
    X = np.random.default_rng(0).integers(-3, 4, (30, 4)).astype(float)
    X[:, 3] = 2.0
    expected = FeatureScaling.by_deviation(container(X)).divisors
    assert expected[3] == 1.0
    divisors = FeatureScaling.by_deviation(container(np.ldexp(X, exponent))).divisors
    np.testing.assert_array_equal(divisors, [*np.ldexp(expected[:3], exponent), 1.0])


def test_a_range_that_overflows_is_refused():
    """From -1.7e308 to 1.7e308 there is no float64."""
    with pytest.raises(ValueError, match=r"ranges are finite in float64, got 1\.7e\+308\. Hint: scale"):
        FeatureScaling.by_range(np.array([[-1.7e308], [1.7e308]]))
