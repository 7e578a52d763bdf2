import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import long_after
from nearlabel.comparison import OverlappingFoldsWarning, friedman_test, paired_values
from nearlabel.datasets import Dataset
from nearlabel.experiments import Plan, run, summarise
from nearlabel.lazy import BRkNN, BRkNNa, MLkNN
from nearlabel.metrics import micro_precision, micro_recall
from nearlabel.plots import (
    CoOccurrenceDisplay,
    CriticalDifferenceDisplay,
    DoubleDistancesDisplay,
    MicroFrontierDisplay,
    NeighborsCurveDisplay,
    NeighborsPanelsDisplay,
    ReliabilityDisplay,
    check_matplotlib,
)
from nearlabel.selection import NeighborsClassifierCV, tune_neighbors
from nearlabel.thresholds import micro_pr_frontier

STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}
RANKS = {"mlknn": 1.4, "lpknn": 3.1, "brknn": 2.2, "brknn-a": 3.3}


def make_problem(n=80, seed=0):
    """Rows whose label sets follow from them, more or less."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, 3)) + rng.normal(size=(n, 3)) > 0.5).astype(int)


X, Y = make_problem()


@pytest.fixture(scope="module")
def records():
    """Two methods with numbers of neighbours and one without, six folds, one data set."""
    data = Dataset(X, Y, tuple("abcd"), tuple("xyz"), "toy")
    return list(
        run(Plan(("brknn", "mlknn", "br"), (1, 4, 7), cv=6, metrics=("micro_f1", "empty_predictions")), {"toy": data})
    )


def curve(**options):
    """A line of three points."""
    return NeighborsCurveDisplay([1, 5, 10], [0.3, 0.2, 0.25], **options)


def displays():
    """One of each."""
    return [
        curve(metric="micro_f1", name="mlknn", chosen=5, deviations=[0.1, np.nan, 0.1]),
        NeighborsPanelsDisplay({f"heading {i}": [curve(name="a"), curve(name="b")] for i in range(3)}),
        MicroFrontierDisplay([0.1, 0.5, 1.0], [1.0, 0.7, 0.3], name="first", points={"p": (0.5, 0.6)}),
        ReliabilityDisplay([0.1, 0.9], [0.2, 0.8], [300, 100], name="mlknn"),
        CoOccurrenceDisplay([[40, 10], [10, 20]], ["sea", "beach"]),
        CriticalDifferenceDisplay(RANKS, [["brknn", "lpknn"]], critical_difference=1.1, title="Ranks"),
        DoubleDistancesDisplay([1, 2], [0.5, 1], [0, 2], expected_loss=np.add, marks={"nearest": 0}),
    ]


def words_of(file):
    """Return the texts of an SVG file."""
    return [line.strip()[5:-4] for line in file.read_text().splitlines() if line.strip().startswith("<!--")]


def named(display):
    """Return the names in the legend of the axes."""
    return display.ax_.get_legend_handles_labels()[1]


@pytest.mark.long
@pytest.mark.parametrize(
    ("display", "ending"),
    [
        *(pytest.param(display, "svg", marks=pytest.mark.long) for display in displays()),
        *((curve(), ending) for ending in ("svg", "png", "PNG", "pdf")),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_files(tmp_path, display, ending):
    """The ending decides the format, folders are made, and the same numbers give the same file."""
    files = [display.write(str(tmp_path / "new" / f"{i}.{ending}"), title="$A title") for i in range(2)]
    assert files[0] == tmp_path / "new" / f"0.{ending}"
    assert files[0].read_bytes().startswith(STARTS[ending.lower()])
    assert files[0].read_bytes() == files[1].read_bytes()
    if ending == "svg":
        assert words_of(files[0]).count("$A title") == 1


@pytest.mark.parametrize("display", long_after(2, displays()), ids=lambda display: type(display).__name__)
def test_svg_element(display):
    """Text as text, a title and a description, colours that a page can set, references that lead somewhere."""
    element = display.to_svg("A <title>", "what & how")
    root = ET.fromstring(element)
    assert (root.tag, root.get("role")) == ("svg", "img")
    assert [root.find(tag).text for tag in ("title", "desc")] == ["A <title>", "what & how"]
    assert element == display.to_svg("A <title>", "what & how")
    colours = re.findall("#[0-9A-Fa-f]{6}", re.sub(r"var\(--\w+, #[0-9A-Fa-f]{6}\)", "", element))
    assert colours == []
    assert any(one.text for one in root.iter("text"))
    assert not {"metadata", "style", "clipPath"} & {one.tag for one in root.iter()}
    identifiers = [one.get("id") for one in root.iter() if one.get("id")]
    assert len(set(identifiers)) == len(identifiers)
    assert {one.get("href", "")[1:] for one in root.iter("use")} == set(identifiers)
    assert max(map(len, re.findall(r"\.(\d+)", "".join(one.get("d", "") for one in root.iter())))) == 1


def test_svg_elements_of_one_page():
    """Figures of other titles share no identifier; the size can be given; the axes keep no trace of the page's look."""
    elements = [curve(name="a").to_svg(title, size=(4.0, 2.0)) for title in "ab"]
    first, second = (set(re.findall(' id="(.*?)"', element)) for element in elements)
    assert first
    assert not first & second
    width, height = (int(re.search(f'{side}="(\\d+)"', elements[0])[1]) for side in ("width", "height"))
    assert 370 < width < 390
    assert 180 < height < 195
    assert mpl.rcParams["xtick.major.size"] == mpl.rcParamsDefault["xtick.major.size"]


@pytest.mark.parametrize("name", ["figure.xyz", "figure", "figure."])
def test_unknown_ending(tmp_path, name):
    """The known endings are listed, and no folder is made."""
    with pytest.raises(ValueError, match=r"file must end in one of .*pdf, .*png, .*svg.*, got '.*figure"):
        curve().write(tmp_path / "new" / name)
    assert not (tmp_path / "new").exists()


def test_signs_that_the_font_lacks(tmp_path):
    """They are boxes in the figure; a warning for each of them would tell no more."""
    assert curve(name="\N{CJK UNIFIED IDEOGRAPH-4E2D}\N{HANGUL SYLLABLE GA}").write(tmp_path / "f.png").is_file()


def test_the_file_is_whole(tmp_path, monkeypatch):
    """Where drawing fails the earlier figure stays, and nothing beside it; a link stays a link."""
    link, file = tmp_path / "link.png", tmp_path / "f.png"
    link.symlink_to(file)
    before = curve().write(link).read_bytes()
    assert link.is_symlink()

    def fail(*_, **__):
        raise OSError("No space left on device")

    monkeypatch.setattr(mpl.backend_bases.FigureCanvasBase, "print_figure", fail)
    with pytest.raises(OSError, match="No space"):
        curve().write(link)
    assert file.read_bytes() == before
    assert set(tmp_path.iterdir()) == {link, file}


@pytest.mark.parametrize("display", displays(), ids=lambda display: type(display).__name__)
def test_plot(display):
    """A new figure of pyplot, or axes that are given; a second drawing into its own axes stands above the first."""
    assert display.plot() is display
    assert display.figure_ is plt.gcf()
    axes = display.ax_
    n = len(display.figure_.axes)
    assert display.plot(axes).ax_ is axes
    assert plt.get_fignums() == [1]
    # Colours that stand for numbers bring a bar each time; nothing else makes axes.
    assert len(display.figure_.axes) == n + isinstance(display, CoOccurrenceDisplay | DoubleDistancesDisplay)


@pytest.mark.parametrize("display", displays()[:1] + displays()[2:4], ids=lambda display: type(display).__name__)
def test_style(display):
    """Lines take what matplotlib's take."""
    display.plot(color="#123456", linewidth=3.5)
    assert any(line.get_color() == "#123456" and line.get_linewidth() == 3.5 for line in display.ax_.lines)


@pytest.mark.long
def test_writing_leaves_the_users_figures_alone(tmp_path):
    """It does not load pyplot, which would choose a backend and keep the figure."""
    code = (
        "import sys; from nearlabel.plots import *;"
        "NeighborsCurveDisplay([1], [0.5]).write(sys.argv[1]);"
        "CriticalDifferenceDisplay({'a': 1, 'b': 2}, []).write(sys.argv[1]);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "f.png")], env=environment, check=True)


def test_without_matplotlib(tmp_path, monkeypatch):
    """The error names the extra that installs it; a display can be made all the same."""
    for module in ("matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, module, None)
    for draw in (
        curve().plot,
        lambda: curve().write(tmp_path / "f.png"),
        lambda: curve().to_svg("t"),
        check_matplotlib,
    ):
        with pytest.raises(ImportError, match=r"Drawing needs matplotlib: pip install 'nearlabel\[plot\]'"):
            draw()


@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss", "empty_predictions"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_curve_of_an_estimator(metric, container):
    """What leaving one out gives; the best number is marked, unless nothing is best."""
    display = NeighborsCurveDisplay.from_estimator(BRkNN(), X, container(Y), metric=metric, n_neighbors=(1, 2, 9))
    predicted = [BRkNN(k).fit(X, Y).loo_predict() for k in (1, 2, 9)]
    tuned = tune_neighbors(
        BRkNN(), X, Y, n_neighbors=(1, 2, 9), scoring=("micro_f1" if metric.startswith("e") else metric)
    )
    expected = [(p.sum(axis=1) == 0).mean() for p in predicted] if metric.startswith("e") else tuned.cv_results_[metric]
    assert display.values.tolist() == list(expected)
    assert display.chosen == (None if metric.startswith("e") else tuned.n_neighbors)
    (line,) = display.ax_.lines
    assert line.get_xdata().tolist() == [1, 2, 9]
    assert line.get_ydata().tolist() == list(expected)
    assert named(display) == ["BRkNN"]
    assert len(display.ax_.collections) == (display.chosen is not None)


def test_curve_of_a_metric_of_a_user():
    """A function is drawn under its name."""

    def agreement(y_true, y_pred):
        return float(1 - np.mean(y_true != y_pred))

    display = NeighborsCurveDisplay.from_estimator(BRkNN(), X, Y, metric=agreement, n_neighbors=(1, 2, 9))
    losses = NeighborsCurveDisplay.from_estimator(BRkNN(), X, Y, metric="hamming_loss", n_neighbors=(1, 2, 9))
    np.testing.assert_allclose(display.values, 1 - losses.values)
    assert display.chosen == losses.chosen
    assert display.ax_.get_ylabel() == "agreement"


def test_curves_of_several_estimators():
    """Each has a look of its own in the axes of the first; a pipeline is named by its classifier."""
    first = NeighborsCurveDisplay.from_estimator(make_pipeline(StandardScaler(), MLkNN()), X, Y, n_neighbors=3)
    NeighborsCurveDisplay.from_estimator(BRkNNa(), X, Y, n_neighbors=3, cv=4, name="BRkNN-a", ax=first.ax_)
    assert named(first) == ["MLkNN", "BRkNN-a"]
    looks = {(line.get_color(), line.get_linestyle()) for line in first.ax_.lines}
    assert len(looks) == 2


def test_more_lines_than_colours():
    """Thirty-two looks before one comes again."""
    first = curve(name="0").plot()
    for number in range(1, 33):
        curve(name=str(number)).plot(first.ax_)
    looks = [(line.get_color(), line.get_linestyle()) for line in first.ax_.lines]
    assert len(set(looks[:32])) == 32
    assert looks[32] == looks[0]


def test_curve_of_cv_results():
    """The first measure of the table unless another is asked for; one that is not there is refused."""
    model = tune_neighbors(MLkNN(), X, Y, n_neighbors=4, scoring=("one_error", "micro_f1"))
    shown = NeighborsCurveDisplay.from_cv_results(model.cv_results_)
    assert (shown.metric, shown.values.tolist()) == ("one_error", model.cv_results_["one_error"].tolist())
    assert shown.ax_.get_ylabel() == "one-error"
    with pytest.raises(
        ValueError, match="metric must be one of the table's metrics one_error, micro_f1, got 'coverage'"
    ):
        NeighborsCurveDisplay.from_cv_results(model.cv_results_, metric="coverage")
    with pytest.raises(ValueError, match=r"one of the table's metrics \(none\), got None"):
        NeighborsCurveDisplay.from_cv_results({})
    chosen = NeighborsClassifierCV(methods=[BRkNN(), MLkNN()], n_neighbors=(1, 3), scales=["minmax"]).fit(X, Y)
    with pytest.raises(ValueError, match=r"cv_results must be of one method, got a table of BRkNN\(.*, MLkNN\("):
        NeighborsCurveDisplay.from_cv_results(chosen.cv_results_)
    table = chosen.cv_results_  # as the hint has it
    rows = np.char.startswith(table["method"], "BRkNN") & (table["metric"] == "euclidean")
    one = NeighborsCurveDisplay(table["n_neighbors"][rows], table["score"][rows], metric="micro_f1")
    assert one.n_neighbors.tolist() == [1, 3]


def test_curve_of_records(records):
    """Means and deviations over the folds."""
    display = NeighborsCurveDisplay.from_records(records, metric="micro_f1", method="mlknn")
    cells = {c.n_neighbors: c for c in summarise(records) if (c.method, c.metric) == ("mlknn", "micro_f1")}
    assert display.n_neighbors.tolist() == [1, 4, 7]
    assert display.values.tolist() == [cells[k].mean for k in (1, 4, 7)]
    assert display.deviations.tolist() == [cells[k].std for k in (1, 4, 7)]
    (band,) = display.ax_.collections
    assert band.get_datalim(display.ax_.transData).y0 == pytest.approx(
        min(cells[k].mean - cells[k].std for k in (1, 4, 7))
    )
    for wrong in ({"method": "br"}, {"metric": "coverage"}, {"dataset": "other"}):
        with pytest.raises(ValueError, match=r"records must contain .* over numbers of neighbours, got none"):
            NeighborsCurveDisplay.from_records(records, **({"metric": "micro_f1", "method": "mlknn"} | wrong))
    two = [*records, *({**record, "dataset": "other"} for record in records)]
    with pytest.raises(ValueError, match="dataset must be one of toy, other, got None"):
        NeighborsCurveDisplay.from_records(two, metric="micro_f1", method="mlknn")


def test_panels_of_records(records):
    """A panel for each measure, a line for each method with numbers of neighbours, one legend."""
    display = NeighborsPanelsDisplay.from_records(records)
    assert [axis.get_title(loc="left") for axis in display.ax_] == ["micro F1", "share of empty predictions"]
    assert [len(axis.lines) for axis in display.ax_] == [2, 2]
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["brknn", "mlknn"]
    one = NeighborsPanelsDisplay.from_records(records, metrics=["micro_f1"])
    assert len(one.figure_.axes) == 1


@pytest.mark.parametrize("n_panels", long_after(2, [1, 2, 3, 4]))
def test_no_empty_panel(tmp_path, n_panels):
    """Each heading and each name once in the picture."""
    panels = NeighborsPanelsDisplay({f"heading {i}": [curve(name="a"), curve(name="b")] for i in range(n_panels)})
    file = panels.write(tmp_path / "f.svg", title="A title")
    words = words_of(file)
    assert [words.count(w) for w in ("A title", "a", "b", *(f"heading {i}" for i in range(n_panels)))] == [1] * (
        3 + n_panels
    )
    assert file.read_text().count('<g id="axes_') == n_panels


def test_frontier_of_an_estimator():
    """The frontier of its scores, its own label sets as a point, and nine lines of equal F, once."""
    model = MLkNN(5).fit(X[:60], Y[:60])
    display = MicroFrontierDisplay.from_estimator(model, X[60:], Y[60:])
    frontier = micro_pr_frontier(model.predict_proba(X[60:]), Y[60:])
    assert display.recall.tolist() == frontier.recall.tolist()
    assert display.precision.tolist() == frontier.precision.tolist()
    predicted = model.predict(X[60:])
    place = micro_recall(Y[60:], predicted), micro_precision(Y[60:], predicted)
    assert display.points == {"MLkNN: its label sets": place}
    other = RidgeClassifier().fit(X[:60], Y[:60])
    MicroFrontierDisplay.from_estimator(other, X[60:], sparse.csr_array(Y[60:]), name="ridge", ax=display.ax_)
    assert named(display) == ["MLkNN", "MLkNN: its label sets", "ridge", "ridge: its label sets"]
    assert len(display.ax_.lines) == 9 + 4
    points = [line for line in display.ax_.lines if line.get_linestyle() == "None"]
    lines = [line for line in display.ax_.lines[9:] if line.get_linestyle() != "None"]
    assert len({line.get_marker() for line in points}) == 2
    assert [point.get_color() for point in points] == [line.get_color() for line in lines]
    assert len({line.get_color() for line in lines}) == 2


@pytest.mark.long
def test_lines_of_equal_f():
    """Each has the F1 that is written beside it."""
    ax = MicroFrontierDisplay([0.5], [0.5]).plot().ax_
    for tenth, line in enumerate(ax.lines[:9], 1):
        recall, precision = line.get_data()
        assert max(precision) == pytest.approx(1.0)
        assert 2 * recall * precision / (recall + precision) == pytest.approx(np.full(len(recall), tenth / 10))


def test_frontier_without_a_point():
    """Where nothing is predicted there is no precision; where nothing is true, no frontier."""
    nothing = {"nothing": np.zeros_like(Y)}
    assert (
        MicroFrontierDisplay.from_predictions(Y, np.random.default_rng(0).random(Y.shape), points=nothing).points == {}
    )
    with pytest.raises(ValueError, match="y_true must have a positive for a frontier to exist, got none"):
        MicroFrontierDisplay.from_predictions([[0, 0]], [[0.1, 0.2]])
    with pytest.raises(ValueError, match=r"must be of one shape \(n_points,\) with at least one point, got \(0,\) and"):
        MicroFrontierDisplay([], [])
    with pytest.raises(ValueError, match="estimator must have predict_proba or decision_function, got StandardScaler"):
        MicroFrontierDisplay.from_estimator(StandardScaler().fit(X), X, Y)


def test_reliability_of_an_estimator():
    """Points and error by hand: bins of a tenth, each pair of a row and a label counted once."""
    model = BRkNN(7).fit(X, Y)
    display = ReliabilityDisplay.from_estimator(model, X, pd.DataFrame(Y))
    p, true = model.predict_proba(X).ravel(), Y.ravel()
    bins = [np.flatnonzero(np.minimum(np.floor(p * 10), 9) == b) for b in range(10)]
    bins = [b for b in bins if len(b)]
    assert display.counts.tolist() == [len(b) for b in bins]
    assert display.mean_probability == pytest.approx([p[b].mean() for b in bins])
    assert display.true_share == pytest.approx([true[b].mean() for b in bins])
    error = sum(len(b) * abs(p[b].mean() - true[b].mean()) for b in bins) / len(p)
    assert display.error == pytest.approx(error)
    assert named(display) == [f"BRkNN, error {error:.3f}"]
    ReliabilityDisplay.from_predictions(Y, sparse.csr_array(p.reshape(Y.shape)), ax=display.ax_)
    assert len(display.ax_.lines) == 3  # one diagonal


def test_reliability_of_what_is_no_probability():
    """Scores that are none are refused."""
    with pytest.raises(ValueError, match=r"y_prob must be probabilities in \[0, 1\], got -1 to 2"):
        ReliabilityDisplay.from_predictions([[1, 0]], [[2.0, -1.0]])
    with pytest.raises(ValueError, match="estimator must have predict_proba, got RidgeClassifier"):
        ReliabilityDisplay.from_estimator(RidgeClassifier().fit(X, Y), X, Y)
    with pytest.raises(ValueError, match="must be of one shape"):
        ReliabilityDisplay([0.1], [0.1, 0.2], [3])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, lambda Y: pd.DataFrame(Y, columns=list("abcd"))])
def test_co_occurrence(container):
    """Shares of each line's rows, most frequent labels first, those that do not occur left out."""
    labels = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 1, 0, 1], [0, 1, 0, 0]])
    display = CoOccurrenceDisplay.from_labels(container(labels))
    names = "abcd" if isinstance(container(labels), pd.DataFrame) else "0123"
    assert display.label_names == (names[1], names[0], names[3])
    expected = [[np.nan, 0.5, 0.25], [1.0, np.nan, 0.0], [1.0, 0.0, np.nan]]
    np.testing.assert_array_equal(display.shares, expected)
    (cells,) = display.ax_.collections
    corners = [tuple(path.vertices[0].astype(int)) for path in cells.get_paths()]
    assert corners == [(1, 0), (2, 0), (0, 1), (0, 2)]  # column and line of each pair that occurs
    assert cells.get_array().tolist() == [0.5, 0.25, 1.0, 1.0]
    two = CoOccurrenceDisplay.from_labels(container(labels), label_names=["p", "q", "r", "s"], n_labels=2)
    by_place = pd.Series(["p", "q", "r", "s"], index=[3, 0, 2, 1])
    again = CoOccurrenceDisplay.from_labels(container(labels), label_names=by_place, n_labels=2)
    assert again.label_names == two.label_names
    assert two.label_names == ("q", "p")


def test_co_occurrence_of_nothing():
    """No label, or names of another number."""
    with pytest.raises(ValueError, match="y must have a label that occurs, got none"):
        CoOccurrenceDisplay.from_labels([[0, 0]])
    with pytest.raises(ValueError, match="label_names must be of length 2, the labels of Y, got 1"):
        CoOccurrenceDisplay.from_labels([[0, 1]], label_names=["a"])
    with pytest.raises(ValueError, match=r"counts must be of shape \(1, 1\)"):
        CoOccurrenceDisplay([[0]], ["a"])


def test_critical_differences(tmp_path):
    """Every method with its rank, a bar for each group, the scale if there is one."""
    groups = [["brknn", "lpknn"], ["lpknn", "brknn-a"]]
    file = CriticalDifferenceDisplay(RANKS, groups, critical_difference=1.1, title="Ranks").write(tmp_path / "a.svg")
    words = ("Ranks", "mlknn (1.40)", "brknn (2.20)", "(3.10) lpknn", "(3.30) brknn-a", "critical difference 1.10")
    assert [words_of(file).count(w) for w in words] == [1] * len(words)
    assert file.read_text().count("stroke-width: 3.5") == len(groups)
    plain = CriticalDifferenceDisplay(RANKS, []).write(tmp_path / "c.svg").read_text()
    assert "critical difference" not in plain
    assert "stroke-width: 3.5" not in plain
    with pytest.raises(ValueError, match="mean_ranks must contain at least two methods, got 1"):
        CriticalDifferenceDisplay({"a": 1.0}, [])


@pytest.mark.parametrize(("post_hoc", "scale"), [("nemenyi", True), ("holm", False)])
def test_critical_differences_of_a_test(records, post_hoc, scale):
    """Ranks, groups and scale of the test; Holm's has no one difference for all."""
    (values,) = paired_values(records, over="folds", metrics=["micro_f1"], methods=["brknn", "mlknn", "br"])
    with pytest.warns(OverlappingFoldsWarning):
        test = friedman_test(values, post_hoc)
    display = CriticalDifferenceDisplay.from_test(test)
    assert display.mean_ranks == test.mean_ranks
    assert display.alike == test.not_different()
    assert display.critical_difference == (test.critical_difference if scale else None)
    assert display.ax_.get_title() == f"micro F1: mean ranks over {test.n_pairs} folds of toy"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": []}, r"n_neighbors must be of shape \(n_numbers,\) with at least one, got shape \(0,\)"),
        ({"values": [1.0]}, r"values must be of shape \(3,\), as n_neighbors, got \(1,\)"),
        ({"deviations": [1.0]}, r"deviations must be of shape \(3,\), as n_neighbors, got \(1,\)"),
        ({"chosen": 4}, "chosen must be one of n_neighbors, got 4"),
    ],
)
def test_bad_curves(options, message):
    """Each part is checked."""
    with pytest.raises(ValueError, match=message):
        NeighborsCurveDisplay(**({"n_neighbors": [1, 5, 10], "values": [0.1, 0.2, 0.3]} | options))


def test_no_panel():
    """A picture of nothing is a mistake."""
    with pytest.raises(ValueError, match="panels must contain at least one, got none"):
        NeighborsPanelsDisplay({})
