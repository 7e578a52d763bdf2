"""The pages on adding parts: a reader who follows them gets what they say."""

import pytest

from _pages import blocks, follow


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    ["add_a_lazy_method", "add_a_metric", "add_a_data_set", "add_a_search", "add_a_threshold_strategy"],
)
def test_the_page_works(page, folder, capsys):
    """Files are written, programs run and commands print what the page shows."""
    names = follow(f"howto/{page}", folder, capsys)
    assert names
    assert {block.kind for block in blocks(f"howto/{page}")} >= {"python", "text", ""}
