"""Tables of Zhang and Zhou (2007) on the real data: what a reader may rely on. Each experiment runs once."""

import pytest

from _printed import too_far
from nearlabel.papers import Paper

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("data_folder")]

WEB_TOLERANCES = {
    "10": ("hamming_loss", 0.0003),
    "11": ("one_error", 0.003),
    "12": ("coverage", 0.02),
    "13": ("ranking_loss", 0.001),
    "14": ("average_precision", 0.002),
}


@pytest.fixture(scope="module")
def zhang(data_folder):
    """ML-kNN of Zhang and Zhou (2007), as its rivals take minutes; a table runs its experiment when it is asked for."""
    paper = Paper("zhang2007", n_workers=2)
    paper._facts["experiments"]["web"]["methods"] = ["mlknn"]
    for table in paper._facts["tables"].values():
        if "experiments" in table:
            table["printed"] = [row for row in table["printed"] if row[1] == "mlknn"]
    return paper


def test_label_sets_of_images(zhang):
    """Table 4: every count, and all images are counted."""
    cells = zhang.reproduce_table("4").cells
    assert too_far(cells, lambda _: 0) == []
    assert sum(cell.ours for cell in cells if cell.label_set is not None) == 2000


def test_facts_of_web_pages(zhang):
    """Table 9: every figure to the last printed digit."""
    cells = zhang.reproduce_table("9").cells
    assert len(cells) == 11 * 8
    assert too_far(cells, lambda cell: 0.0051 if cell.metric.endswith("percent") else 0.00051) == []


def test_mlknn_on_yeast(zhang):
    """Table 1: every one of the 25 cells is within the standard deviation printed beside it."""
    cells = zhang.reproduce_table("1").cells
    assert len(cells) == 25
    assert too_far(cells, lambda cell: cell.printed_std) == []


@pytest.mark.parametrize("number", WEB_TOLERANCES)
def test_mlknn_on_web_pages(zhang, number):
    """Tables 10 to 14: the eleven given splits have no folds, hence no noise."""
    metric, tolerance = WEB_TOLERANCES[number]
    cells = [cell for cell in zhang.reproduce_table(number).cells if cell.dataset != "average"]
    assert [cell.metric for cell in cells] == [metric] * 11
    assert too_far(cells, lambda _: tolerance) == []


@pytest.fixture(scope="module")
def boosting(data_folder):
    """AdaBoost.MH and ML-kNN on two folds of yeast: (method, measure) -> cell of table 2."""
    paper = Paper("zhang2007", n_workers=2)
    methods = ("mlknn", "adaboostmh")
    paper._facts["experiments"]["yeast-rivals"] |= {"methods": list(methods), "first_folds": 2}
    table = paper._facts["tables"]["2"]
    table["printed"] = [row for row in table["printed"] if row[1] in methods]
    return {(cell.method, cell.metric): cell for cell in paper.reproduce_table("2").cells}


def test_boosting_on_yeast(boosting):
    """Table 2: on two of ten folds every figure of the two methods is within two printed deviations."""
    assert len(boosting) == 5 + 5
    assert too_far(boosting.values(), lambda cell: 2 * cell.printed_std) == []


@pytest.mark.parametrize("metric", ["hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision"])
def test_mlknn_beats_boostexter_on_yeast(boosting, metric):
    """Table 3: in every measure."""
    better = 1 if metric == "average_precision" else -1
    assert better * (boosting["mlknn", metric].ours - boosting["adaboostmh", metric].ours) > 0
