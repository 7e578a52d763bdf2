"""Small data sets on which the methods differ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset


@pytest.fixture(scope="session")
def make_dataset() -> Callable[..., Dataset]:
    """Make a random data set of 4 labels; features on a grid, so that many distances are equal."""

    def _make(name: str = "toy", *, n: int = 36, seed: int = 0, store: Callable = np.asarray) -> Dataset:
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 4, (n, 5)) * np.array([1.0, 1.0, 2.0, 0.5, 10.0])
        Y = (X[:, :4] + rng.normal(size=(n, 4)) > [1, 2, 3, 1.4]).astype(np.int64)
        names = tuple(map(str, range(5)))
        return Dataset(store(X), store(Y), names, names[:4], name)

    return _make


@pytest.fixture(scope="session")
def toy(make_dataset: Callable[..., Dataset]) -> Dataset:
    """36 rows, 5 features, 4 labels, dense."""
    return make_dataset()


@pytest.fixture(scope="session")
def sparse_toy(make_dataset: Callable[..., Dataset]) -> Dataset:
    """The same rows as CSR arrays."""
    return make_dataset(store=sparse.csr_array)
