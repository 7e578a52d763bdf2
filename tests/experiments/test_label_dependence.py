"""What CML-kNN and NLDD are worth on the real data. Each experiment runs once, under two minutes."""

import pytest

from nearlabel.datasets import fetch_dataset
from nearlabel.experiments import Plan, run, summarise
from nearlabel.labels import density

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("data_folder")]


def means_of(plan, name):
    """Mean of each method and measure over the folds of a data set."""
    records = run(plan, {name: fetch_dataset(name)}, n_workers=2)
    return {(cell.method, cell.metric): cell.mean for cell in summarise(records)}


def test_cmlknn_with_selection_on_medical():
    """CML-kNN on selected features is better than ML-kNN on all in Hamming loss and one-error."""
    metrics = ("hamming_loss", "one_error")
    means = means_of(Plan(("mlknn", "igs+cmlknn"), (10,), metrics=metrics), "medical")
    assert means["igs+cmlknn", "hamming_loss"] < means["mlknn", "hamming_loss"] - 0.0005
    assert means["igs+cmlknn", "one_error"] < means["mlknn", "one_error"] - 0.01


def test_printed_equations_of_cmlknn_predict_nothing():
    """On enron, as printed, no row gets a label: the Hamming loss is the label density."""
    metrics = ("hamming_loss", "empty_predictions")
    means = means_of(Plan(("cmlknn:formulas=printed",), (10,), cv=2, metrics=metrics), "enron")
    assert means["cmlknn:formulas=printed", "empty_predictions"] == 1.0
    assert means["cmlknn:formulas=printed", "hamming_loss"] == pytest.approx(
        density(fetch_dataset("enron").Y), abs=1e-4
    )


@pytest.mark.parametrize("name", ["scene", "yeast"])
def test_nldd_beats_binary_relevance(name):
    """With the same base classifier NLDD is right in whole label sets more often; its sets all occur in training."""
    methods = ("nldd:estimator=logistic", "br:estimator=logistic")
    means = means_of(Plan(methods, (1,), cv=3, metrics=("subset_accuracy",)), name)
    assert means[methods[0], "subset_accuracy"] > means[methods[1], "subset_accuracy"] + 0.05
