import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import long_after
from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.models import explain
from nearlabel.plots import ExplanationDisplay
from nearlabel.rivals import BinaryRelevance, SoftVote
from nearlabel.thresholds import TunedThresholdsClassifierCV

STARTS = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}


def explained(estimator, n_labels=4, n_rows=30, name="label {}", density=0.4):
    """Return the plain explanation of one row."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    Y = pd.DataFrame((rng.random((n_rows, n_labels)) < density).astype(int))
    Y.columns = [name.format(i) for i in range(n_labels)]
    return estimator.fit(X, Y).explain(X[:1] + 0.1)[0].to_dict()


def words_of(file):
    """Return the texts of an SVG file."""
    return [line.strip()[5:-4] for line in file.read_text().splitlines() if line.strip().startswith("<!--")]


@pytest.mark.parametrize("ending", long_after(1, STARTS))
def test_the_ending_decides_the_format(tmp_path, ending):
    """Png, svg and pdf; the same explanation gives the same file."""
    plain = explained(MLkNN(3))
    files = [ExplanationDisplay(plain).write(tmp_path / "new" / f"{i}.{ending}") for i in range(2)]
    assert files[0].read_bytes().startswith(STARTS[ending])
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    "estimator",
    [
        BRkNN(3),
        BRkNNb(3, weights="distance"),
        LPkNN(3),
        MLkNN(3),
        CMLkNN(3),
        DMLkNN(3),
        IBLR(3, ridge=1.0),
        MLMLM(),
        NLDD(DecisionTreeClassifier(max_depth=2, random_state=0), random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_is_drawn(tmp_path, estimator):
    """Every neighbour's row and labels, every label with its score; a threshold only where one decides."""
    plain = explained(estimator)
    words = words_of(ExplanationDisplay(plain).write(tmp_path / "f.svg"))
    for one in plain["neighbors"][:12]:
        assert any(text.startswith(f"row {one['row']} ") for text in words)
    carried = sum(len(one["names"]) for one in plain["neighbors"][:12])
    assert sum(text in {f"label {i}" for i in range(4)} for text in words) == carried + 4
    assert words.count("no label") == sum(not one["names"] for one in plain["neighbors"][:12])
    for one in plain["labels"]:
        assert any(text.startswith(f"{one['score']:.3g}") for text in words)
    assert any("threshold" in text for text in words) == (plain["labels"][0]["threshold"] is not None)
    assert any("prior" in text for text in words) == ("prior" in plain["labels"][0])
    assert sum(text.startswith(plain["method"]) for text in words) == 1


@pytest.mark.long
def test_many_labels_neighbours_and_long_names(tmp_path):
    """What has no room is counted; names lose their middle; nothing in a name is read as mathematics."""
    plain = explained(BRkNNb(20), n_labels=53, name="$x_{{1}}^2$ and a long name that ends in number {}")
    words = words_of(ExplanationDisplay(plain).write(tmp_path / "f.svg"))
    assert "12 of 20 neighbours" in words
    assert "20 of 53 labels" in words
    names = [text for text in words if text.startswith("$x_{1}^2$")]
    assert names
    assert all(len(text) <= 28 and "…" in text for text in names)
    assert any(text.startswith("+") for text in words)
    title = next(text for text in words if text.startswith("BRkNNb"))
    assert len(title) < 130


@pytest.mark.long
def test_kept_columns_name_the_neighbours(tmp_path):
    """By title and id, in short, however they are written; a neighbour without any is a row."""
    explanation = MLkNN(4).fit(np.arange(5)[:, np.newaxis], np.eye(5, dtype=int)[:, :2]).explain([[0.1]])[0]
    titles = ["Abbey Road", "$x^2$ costs $5", "", "a title that ends after more than thirty letters\x1b", "last"]
    kept = {"id": ["4711", "4712", "", "4714", "4715"], "title": titles, "distance": ["far"] * 5}
    names = ["Abbey Road (id 4711)", "$x^2$ costs $5 (id 4712)", "far", "a title that …hirty letters� (id 4714)"]
    for given in (explanation.with_kept(kept), explanation.with_kept(kept).to_dict()):
        file = ExplanationDisplay(given).write(tmp_path / "f.svg")
        ET.parse(file)
        words = words_of(file)
        for name, one in zip(names, explanation.to_dict()["neighbors"], strict=True):
            assert f"{name}   {one['distance']:.3g}" in words
    assert not any("row" in text for text in words)
    blank = {name: [""] * 5 for name in kept}
    words = words_of(ExplanationDisplay(explanation.with_kept(blank)).write(tmp_path / "f.svg"))
    assert "row 0   0.1" in words


def test_votes_in_words():
    """One vote, but two votes."""
    plain = explained(MLkNN(3))
    labels = [one | {"votes": votes} for votes, one in enumerate(plain["labels"])]
    texts = ET.fromstring(ExplanationDisplay(plain | {"labels": labels}).to_svg("t")).iter("text")
    assert {text.text.partition(", ")[2] for text in texts if "vote" in text.text} == {
        "0 votes", "1 vote", "2 votes", "3 votes",
    }  # fmt: skip


@pytest.mark.long
def test_no_room_is_left_empty():
    """The figure is as wide as the neighbours' labels need; where many are cut off it has a greatest width."""
    widths = [
        float(ET.fromstring(ExplanationDisplay(explained(BRkNNb(3), name=name)).to_svg("t")).get("width"))
        for name in (
            "{}",
            "a name of ten {}",
            "a name of some thirty letters {}",
            "a name of far more than thirty letters {}",
        )
    ]
    assert widths[0] < 0.8 * widths[1] < widths[2]
    assert widths[3] == pytest.approx(widths[2], rel=0.1)


def test_a_title_of_ones_own(tmp_path):
    """It takes the place of the method and the chosen labels."""
    words = words_of(ExplanationDisplay(explained(MLkNN(3))).write(tmp_path / "f.svg", title="Row 17"))
    assert "Row 17" in words
    assert not any(text.startswith("MLkNN") for text in words)


def test_bad_input(tmp_path):
    """What is no explanation, and an unknown ending."""
    with pytest.raises(ValueError, match=r"must be a result of Explanation.to_dict, .*'novelty'"):
        ExplanationDisplay({"labels": []})
    with pytest.raises(ValueError, match="file must end in one of"):
        ExplanationDisplay(explained(MLkNN(3))).write(tmp_path / "f.xyz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, pd.DataFrame, list])
def test_of_an_estimator(container):
    """The row that is asked for, of an estimator with thresholds, too."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.random((30, 2)) < 0.4
    model = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(container(X), Y)
    display = ExplanationDisplay.from_estimator(model, container(X), row=7)
    assert display.explanation == model.explain(container(X)[7:8])[0].to_dict()
    assert [axis.get_title(loc="left") for axis in display.ax_] == ["neighbours", "labels"]
    with pytest.raises(ValueError, match="row must be below the number of samples 30, got 30"):
        ExplanationDisplay.from_estimator(model, container(X), row=30)
    piped = make_pipeline(StandardScaler(), MLkNN(3)).fit(np.asarray(X), Y)
    shown = explain(piped, X[7:8])[0].to_dict()
    assert ExplanationDisplay.from_estimator(piped, X, row=7).explanation == shown
    with pytest.raises(TypeError, match="estimator must have `explain`, as lazy classifiers do, got BinaryRelevance"):
        ExplanationDisplay.from_estimator(BinaryRelevance(DecisionTreeClassifier()), X)


def test_amounts_of_a_mixture_and_of_a_linear_model(tmp_path):
    """The left side has the amounts of the first labels; bars of labels are made of the parts of a mixture."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 4))
    Y = (X[:, :3] + random.normal(size=(60, 3)) / 2 > 0.3).astype(int)
    linear = BinaryRelevance(LinearSVC(), probability=False)
    parts = [("votes", BRkNN(5)), ("linear", TunedThresholdsClassifierCV(linear, cv=3, map_scores=True))]
    for model, evidence, n_bars in ((SoftVote(parts, random_state=0), "row ", 2), (linear, "intercept", 1)):
        (explanation,) = explain(model.fit(X, Y), X[:1])
        for label in explanation.terms["name"]:
            of_label = [
                amount for name, amount in zip(*map(explanation.terms.get, ("name", "amount")), strict=True)
                if name == label
            ]  # fmt: skip
            assert sum(of_label) == pytest.approx(explanation.labels["score"][label], abs=1e-12)
        display = ExplanationDisplay(explanation).plot()
        left, right = display.ax_
        shown = [tick.get_text() for tick in left.get_yticklabels()]
        assert any(text.startswith(evidence) for text in shown)
        assert len(shown) <= 20
        assert len(right.patches) == 3 * n_bars
        texts = {annotation.get_text() for annotation in left.texts}
        assert {str(name) for name in explanation.terms["name"][:1]} <= texts
        display.write(tmp_path / "explanation.png")


def test_the_nearest_carrier_of_each_predicted_label_is_drawn(tmp_path):
    """Behind the nearest twelve."""
    X, Y = np.arange(1.0, 41.0)[:, np.newaxis], np.zeros((40, 2), dtype=int)
    Y[:12, 0] = Y[20::4, 1] = 1
    (one,) = BRkNN(40).fit(X, Y).explain([[0.0]], thresholds=[0.2, 0.1])
    words = words_of(ExplanationDisplay(one).write(tmp_path / "why.svg"))
    assert "13 of 40 neighbours" in words
    assert "row 20   21" in words
