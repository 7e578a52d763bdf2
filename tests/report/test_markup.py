import pytest

from nearlabel.report._tables import element, join, shown, shown_threshold


def test_markup_escapes_text_and_attributes():
    """What is markup stays, all else is text."""
    inner = element("b", "<i>", title='"&')
    assert inner == '<b title="&quot;&amp;">&lt;i&gt;</b>'
    assert join("<", inner, None, 3) == f"&lt;{inner}3"
    assert element("input", type="search", hidden=False, value=None) == '<input type="search">'


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0, "0"), (0.0, "0"), (20000, "20,000"), (0.08, "0.0800"), (12.0, "12.0"), (123.0, "123"),
     (999.7, "1,000"), (1e6, "1,000,000"), (-0.5, "-0.500"), (1e-7, "1.00e-07"), ("text", "text")],
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    """Three significant ones, thousands apart."""
    assert shown(value) == text


def test_infinite_thresholds_are_words():
    """A label that is never or always chosen."""
    assert [shown_threshold(v) for v in ("inf", "-inf", 0.5, None)] == ["never", "always", "0.500", "–"]
