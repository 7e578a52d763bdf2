import os
import subprocess
import sys

import pytest

from nearlabel.report import draw_critical_differences, draw_frontier, draw_panels

LINE = {"mlknn": {1: 0.3, 5: 0.2, 10: 0.25}, "brknn": {1: 0.35, 5: 0.28, 10: 0.27}}
STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}


@pytest.mark.parametrize("ending", [*STARTS, "PNG"])
def test_the_ending_decides_the_format(tmp_path, ending):
    """Png, svg and pdf are written, in a folder that is made."""
    file = tmp_path / "new" / "folder" / f"figure.{ending}"
    assert draw_panels({"Hamming loss": LINE}, str(file), title="A title") == file
    assert file.read_bytes().startswith(STARTS[ending.lower()])


@pytest.mark.parametrize("n_panels", [1, 2, 3, 4])
def test_a_panel_for_each_measure(tmp_path, n_panels):
    """Each heading, the title and each method once in the picture; no empty panel is left."""
    file = draw_panels({f"heading {i}": LINE for i in range(n_panels)}, tmp_path / "f.svg", title="A title")
    text = file.read_text()
    drawn = [line.strip() for line in text.splitlines() if line.strip().startswith("<!--")]
    for words in ("A title", "mlknn", "brknn", *(f"heading {i}" for i in range(n_panels))):
        assert drawn.count(f"<!-- {words} -->") == 1
    assert text.count('<g id="axes_') == n_panels


@pytest.mark.parametrize("ending", STARTS)
def test_the_same_series_give_the_same_file(tmp_path, ending):
    """No date and no random identifier in it."""
    files = [draw_panels({"a": LINE, "b": LINE}, tmp_path / f"{i}.{ending}", title="t") for i in range(2)]
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("name", ["figure.xyz", "figure", "figure."])
def test_unknown_ending(tmp_path, name):
    """The known endings are listed, and no folder is made."""
    with pytest.raises(ValueError, match=r"file must end in one of .*pdf, .*png, .*svg.*, got '.*figure"):
        draw_panels({"a": LINE}, tmp_path / "new" / name, title="t")
    assert not (tmp_path / "new").exists()


def test_no_panel(tmp_path):
    """A picture of nothing is a mistake."""
    with pytest.raises(ValueError, match="panels must hold at least one, got none"):
        draw_panels({}, tmp_path / "f.png", title="t")


def test_more_lines_than_colours(tmp_path):
    """Colours and dashes repeat; every line is named."""
    series = {f"method {i}": {1: i, 2: i + 1} for i in range(11)}
    text = draw_panels({"a": series}, tmp_path / "f.svg", title="t").read_text()
    assert all(f"<!-- {name} -->" in text for name in series)


def test_the_users_figures_are_left_alone(tmp_path):
    """Drawing does not load pyplot, which would open a window or choose a backend."""
    code = (
        "import sys; from nearlabel.report import draw_critical_differences, draw_frontier, draw_panels;"
        "draw_panels({'a': {'m': {1: 0.5}}}, sys.argv[1], title='t');"
        "draw_frontier({'m': ([0.5, 1.0], [0.9, 0.3])}, sys.argv[1], title='t');"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "f.png")], env=environment, check=True)


def test_without_matplotlib(tmp_path, monkeypatch):
    """The error names the extra that installs it."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"Drawing needs matplotlib: pip install 'nearlabel\[plot\]'"):
        draw_panels({"a": LINE}, tmp_path / "f.png", title="t")


FRONTIER = {"first": ([0.1, 0.5, 1.0], [1.0, 0.7, 0.3]), "second": ([0.2, 1.0], [0.9, 0.2])}


@pytest.mark.parametrize("ending", STARTS)
def test_frontiers(tmp_path, ending):
    """The ending decides the format, and the same frontiers give the same file."""
    files = [draw_frontier(FRONTIER, tmp_path / f"{i}.{ending}", title="t", points={"p": (0.5, 0.6)}) for i in range(2)]
    assert files[0].read_bytes().startswith(STARTS[ending])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_line_for_each_frontier_and_a_mark_for_each_point(tmp_path):
    """Every name is in the legend, and the lines of equal F are named."""
    file = draw_frontier(FRONTIER, tmp_path / "f.svg", title="A title", points={"at one half": (0.5, 0.6)})
    drawn = [line.strip() for line in file.read_text().splitlines() if line.strip().startswith("<!--")]
    for words in ("A title", "first", "second", "at one half", *(f"F = {tenth / 10}" for tenth in range(1, 10))):
        assert drawn.count(f"<!-- {words} -->") == 1


def test_no_frontier(tmp_path):
    """An empty mapping is refused before anything is written."""
    with pytest.raises(ValueError, match="frontiers must hold at least one"):
        draw_frontier({}, tmp_path / "f.png", title="t")
    assert not list(tmp_path.iterdir())


RANKS = {"mlknn": 1.4, "lpknn": 3.1, "brknn": 2.2, "brknn-a": 3.3}


def test_critical_differences(tmp_path):
    """Every method with its rank, a bar for each group, the scale if there is one; the same file each time."""
    groups = [["brknn", "lpknn"], ["lpknn", "brknn-a"]]
    file = draw_critical_differences(RANKS, groups, tmp_path / "a.svg", title="Ranks", critical_difference=1.1)
    text = file.read_text()
    for words in (
        "Ranks",
        "mlknn (1.40)",
        "brknn (2.20)",
        "(3.10) lpknn",
        "(3.30) brknn-a",
        "critical difference 1.10",
    ):
        assert text.count(f"<!-- {words} -->") == 1
    assert text.count("stroke-width: 3.5") == len(groups)
    again = draw_critical_differences(RANKS, groups, tmp_path / "b.svg", title="Ranks", critical_difference=1.1)
    assert again.read_bytes() == file.read_bytes()
    plain = draw_critical_differences(RANKS, [], tmp_path / "c.svg", title="Ranks").read_text()
    assert "critical difference" not in plain
    assert "stroke-width: 3.5" not in plain


def test_one_method_has_no_rank(tmp_path):
    """There must be two to be compared."""
    with pytest.raises(ValueError, match="mean_ranks must hold at least two methods, got 1"):
        draw_critical_differences({"a": 1.0}, [], tmp_path / "f.png", title="t")
