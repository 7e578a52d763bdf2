"""The page on prototypes, followed by a reader."""

import pytest

import _pages


@pytest.mark.long
def test_the_page_prints_what_it_says(folder, capsys):
    """Micro F1 and the number of prototypes, to the last digit; its command runs."""
    names = _pages.follow("howto/smaller_models", folder, capsys)
    assert len(names["model"].estimator_.sampler_.prototype_of_) == len(names["X"])
