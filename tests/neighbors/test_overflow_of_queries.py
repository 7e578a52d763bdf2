"""Queries so far from all samples that no distance fits float64."""

import numpy as np
import pytest

from nearlabel.neighbors import ExactNeighbors


@pytest.mark.parametrize("n", [50, 3000])
@pytest.mark.parametrize(("metric", "size"), [("euclidean", 1e154), ("sqeuclidean", 1e154), ("manhattan", 1e308)])
@pytest.mark.parametrize("algorithm", ["brute", "auto"])
def test_they_are_refused_whatever_the_number_of_samples(n, metric, size, algorithm):
    """And not answered with infinite distances to any sample."""
    rng = np.random.default_rng(0)
    search = ExactNeighbors(metric, algorithm=algorithm).fit(rng.standard_normal((n, 5)) * (size / 1000))
    with pytest.raises(ValueError, match="fits float64"):
        search.kneighbors(np.full((1, 5), size), 2)
    assert np.isfinite(search.kneighbors(np.full((1, 5), size / 1000), 2)[0]).all()
