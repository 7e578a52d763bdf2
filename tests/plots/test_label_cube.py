import numpy as np
import pytest

from nearlabel.plots import LabelCubeDisplay

SETS = [[1, 1, 0], [1, 0, 1], [0, 0, 1]]


def test_distances_are_written_beside_their_lines():
    """Each label set has a line from the point of the probabilities, its corner, and its distance."""
    display = LabelCubeDisplay([0.8, 0.4, 0.0], SETS).plot()
    assert display.distances == pytest.approx([0.4**0.5, 1.2**0.5, 1.8**0.5])
    words = [text.get_text() for text in display.ax_.texts]
    for number, (labelset, distance) in enumerate(zip(SETS, display.distances, strict=True), 1):
        assert rf"$y_{{{number}}}$ = ({', '.join(map(str, labelset))})" in words
        assert rf"$D_{{y_{number}}}$ = {distance:.2f}" in words
    assert sum(word.startswith("$y^{") for word in words) == 3


def test_the_cube():
    """Twelve edges, three of them hidden; the lines of the label sets begin at one point."""
    lines = LabelCubeDisplay([0.5, 0.5, 0.5], SETS).plot().ax_.lines
    edges = [line for line in lines if len(line.get_xdata()) == 2 and line.get_zorder() == 1]
    assert len(edges) == 12
    assert sum(line.get_linestyle() == "--" for line in edges) == 3
    starts = {tuple(line.get_xydata()[0]) for line in lines if line.get_zorder() == 3}
    assert len(starts) == 1


@pytest.mark.long
def test_files(tmp_path):
    """The same numbers give the same file."""
    files = [LabelCubeDisplay([0.8, 0.4, 0.1], SETS).write(tmp_path / f"{name}.svg") for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    assert LabelCubeDisplay([0.8, 0.4, 0.1], SETS).to_svg("Cube").startswith("<svg")


@pytest.mark.parametrize(
    ("p", "sets", "message"),
    [
        ([0.5, 0.5], SETS, r"probabilities must be three numbers in \[0, 1\], got \[0.5, 0.5\]"),
        ([0.5, 0.5, 2], SETS, r"probabilities must be three numbers in \[0, 1\], got \[0.5, 0.5, 2.0\]"),
        ([0.5, 0.5, np.nan], SETS, "probabilities must be three numbers"),
        ([0.5, 0.5, 0.5], [[1, 0]], r"labelsets must be of shape \(n_labelsets, 3\) and of 0 and 1, got \[\[1, 0\]\]"),
        ([0.5, 0.5, 0.5], [[1, 0, 2]], "labelsets must be of shape"),
    ],
)
def test_refused(p, sets, message):
    """A point outside of the cube, and what is no corner."""
    with pytest.raises(ValueError, match=message):
        LabelCubeDisplay(p, sets)
