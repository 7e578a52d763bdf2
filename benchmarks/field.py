"""How well, and how fast, do nearlabel and the other multi-label libraries predict, side by side?

Five shared data sets; medical and enron are sparse. Three shuffled folds with the seed 0, the same for all; figures are
means over the folds. Features are scaled to [0, 1] by the training part, outside the clocks, but for
`NeighborsClassifierCV`, which chooses the scaling itself, inside them. Neighbour methods have k = 10 unless they choose
it. All other parameters are the defaults of each library, but for a seed, `max_iter=1000` of the logistic regressions
(with the default they do not always converge) and an intercept for LIBLINEAR (`-B 1`).

"own / tuned": the method's own decisions, and those of thresholds for micro F1 on the same fitted model's scores. They
are found inside the training part by the same way for all: scores by three-fold cross-validation of the training part
(seed 0), then `MicroFOptimum`. The thresholds are made for micro F1, so they may raise the Hamming loss. The own
decisions of `NeighborsClassifierCV` already come from thresholds, which it tunes on leave-one-out scores.

Seconds are those of the processor, a mean over the folds, one thread: "fit / predict / tune". "fit" and "predict" are
those of the own decisions, "tune" is the three further fits, and the thresholds. scikit-multilearn-ng's BRkNN has no
`predict_proba`; its scores are its attribute `confidences_`.

Run: ``python benchmarks/field.py``, which also writes the figures of ``docs/field.md``; that page describes how to
install the guests. ``--quick`` for a look at two sets. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

import charts
from _harness import Job, Measurement, Table, lines_of, measure, parser_for, print_facts, save, show, write_figures
from nearlabel import BRkNN, FeatureScaler, MLkNN, NeighborsClassifierCV
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import hamming_loss, micro_f1, subset_accuracy
from nearlabel.thresholds import MicroFOptimum, cross_val_scores
from nearlabel.utils.estimators import label_scores, response_method_of

PAGE = Path(__file__).parents[1] / "docs" / "field.md"
SETS = ("emotions", "scene", "yeast", "medical", "enron")
FOLDS, K = 3, 10
METRICS: Mapping[str, Callable[[Any, Any], float]] = {
    "Micro F1": micro_f1,
    "Hamming loss": hamming_loss,
    "Subset accuracy": subset_accuracy,
}
STAGES = ("fit", "predict", "tune")

Results = dict[str, dict[str, dict[str, Any]]]  # set, method, figures


class Multilearn(ClassifierMixin, BaseEstimator):
    """A classifier of scikit-multilearn-ng by its name, which takes sparse rows as matrices only."""

    def __init__(self, name: str = "MLkNN") -> None:
        self.name = name

    def fit(self, X: Any, y: Any) -> Any:
        """Fit it."""
        import skmultilearn.adapt

        self.model_ = getattr(skmultilearn.adapt, self.name)(k=K).fit(_as_matrix(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """Return its decisions."""
        return self.model_.predict(_as_matrix(X)).toarray()

    def predict_proba(self, X: Any) -> Any:
        """Return its probabilities, or the shares of votes that its decisions leave behind."""
        if self.name == "MLkNN":
            return self.model_.predict_proba(_as_matrix(X)).toarray()
        self.predict(X)
        return np.asarray(self.model_.confidences_)


class Linear(ClassifierMixin, BaseEstimator):
    """LibMultiLabel's one-vs-rest support vector machines."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit it."""
        from libmultilabel.linear import train_1vsrest

        labels, rows = sparse.csr_matrix(y, dtype=float), sparse.csr_matrix(X, dtype=float)
        self.model_ = train_1vsrest(labels, rows, options="-B 1", verbose=False)
        return self

    def decision_function(self, X: Any) -> Any:
        """Return its decision values."""
        return np.asarray(self.model_.predict_values(sparse.csr_matrix(X, dtype=float)))

    def predict(self, X: Any) -> Any:
        """Return the labels with a value above 0, as its `get_positive_labels` does."""
        return (self.decision_function(X) > 0).astype(np.int8)


class Boomer(ClassifierMixin, BaseEstimator):
    """MLRL-Boomer with its defaults, which takes sparse rows as matrices only."""

    def fit(self, X: Any, y: Any) -> Any:
        """Fit it."""
        from mlrl.boosting import BoomerClassifier

        self.model_ = BoomerClassifier(random_state=1).fit(_as_matrix(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """Return its decisions."""
        return self.model_.predict(_as_matrix(X))

    def predict_proba(self, X: Any) -> Any:
        """Return its probabilities."""
        return self.model_.predict_proba(_as_matrix(X))


def _as_matrix(X: Any) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


class Method(NamedTuple):
    """A method: the module it needs, how to make it, and whether features are scaled for it."""

    module: str
    make: Callable[[], Any]
    scaled: bool = True


METHODS: Mapping[str, Method] = {
    "nearlabel MLkNN": Method("nearlabel", lambda: MLkNN(K)),
    "nearlabel BRkNN": Method("nearlabel", lambda: BRkNN(K)),
    "nearlabel NeighborsClassifierCV": Method("nearlabel", NeighborsClassifierCV, scaled=False),
    "scikit-multilearn-ng MLkNN": Method("skmultilearn", Multilearn),
    "scikit-multilearn-ng BRkNNa": Method("skmultilearn", lambda: Multilearn("BRkNNaClassifier")),
    "scikit-learn KNeighborsClassifier": Method("sklearn", lambda: KNeighborsClassifier(K)),
    "scikit-learn RandomForestClassifier": Method("sklearn", lambda: RandomForestClassifier(random_state=0)),
    "scikit-learn one-vs-rest logistic regression": Method(
        "sklearn", lambda: OneVsRestClassifier(LogisticRegression(max_iter=1000))
    ),
    "LibMultiLabel train_1vsrest": Method("libmultilabel", Linear),
    "MLRL-Boomer BoomerClassifier": Method("mlrl", Boomer),
}


class Fold(NamedTuple):
    """Training and test part, and the model that is fitted to the one and predicts the other."""

    X: Any
    Y: NDArray[Any]
    X_test: Any
    Y_test: NDArray[Any]
    model: Any


def folds_of(name: str, method: Method) -> Iterator[Fold]:
    """Yield the folds of a data set, with features as the method gets them."""
    data = fetch_dataset(name)
    Y = data.Y.toarray() if sparse.issparse(data.Y) else np.asarray(data.Y)
    for training, test in KFold(FOLDS, shuffle=True, random_state=0).split(Y):
        X, X_test = data.X[training], data.X[test]
        if method.scaled:
            scaler = FeatureScaler("minmax").fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        yield Fold(X, Y[training], X_test, Y[test], method.make())


def prepare(name: str, title: str) -> Mapping[str, Callable[[], Any]]:
    """Hold to one core, make the folds, warm up on a few rows, and return the stages."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    folds = list(folds_of(name, METHODS[title]))
    few = folds[0]
    METHODS[title].make().fit(few.X[:200], few.Y[:200]).predict(few.X_test[:5])
    own: list[Any] = []
    tuned: list[MicroFOptimum] = []
    return {
        "fit": lambda: [fold.model.fit(fold.X, fold.Y) for fold in folds],
        "predict": lambda: own.extend(fold.model.predict(fold.X_test) for fold in folds),
        "tune": lambda: tuned.extend(tuned_to(fold) for fold in folds),
        "figures": lambda: [_values(*parts) for parts in zip(folds, own, tuned, strict=False)],  # of the first pass
    }


def tuned_to(fold: Fold) -> MicroFOptimum:
    """Return thresholds found inside the training part."""
    scores, rows = cross_val_scores(fold.model, fold.X, fold.Y, cv=FOLDS, random_state=0)
    return MicroFOptimum().fit(scores, fold.Y[rows])


def _values(fold: Fold, own: Any, thresholds: MicroFOptimum) -> dict[str, list[float]]:
    """Return each metric of the own decisions and of those by thresholds."""
    method = response_method_of(fold.model)
    tuned = thresholds.predict(label_scores(fold.model, fold.X_test, fold.Y.shape[1], method))
    return {name: [metric(fold.Y_test, labels) for labels in (own, tuned)] for name, metric in METRICS.items()}


def measure_set(name: str, repeats: int) -> dict[str, dict[str, Any]]:
    """Return the figures of all methods that are installed."""
    titles = [title for title, method in METHODS.items() if importlib.util.find_spec(method.module)]
    jobs = [Job(f"{name}: {title}", prepare, (name, title)) for title in titles]
    return {title: _figures(one) for title, one in zip(titles, measure(jobs, repeats).values(), strict=True)}


def _figures(one: Measurement) -> dict[str, Any]:
    values = {name: np.mean([fold[name] for fold in one.answer], axis=0).round(6).tolist() for name in METRICS}
    seconds = {stage: round(one.minimum(stage, "cpu") / FOLDS, 5) for stage in STAGES}
    return {"values": values, "seconds": seconds, "processes/passes": one.n_runs}


def tables_of(results: Results) -> list[Table]:
    """Return a table for each metric, and one of the seconds."""
    metrics = [
        Table(f"{name}: own / tuned", ("", *results, "mean"), [_row(results, title, name) for title in METHODS])
        for name in METRICS
    ]
    seconds = [_seconds(results, title) for title in METHODS]
    return [*metrics, Table("CPU seconds of a fold: fit / predict / tune", ("", *results, "sum"), seconds)]


def _row(results: Results, title: str, metric: str) -> tuple[Any, ...]:
    found = [of[title]["values"][metric] for of in results.values() if title in of]
    return (title, *_cells([*found, np.mean(found, axis=0)] if found else [], len(results), "{:.3f}"))


def _seconds(results: Results, title: str) -> tuple[Any, ...]:
    found = [list(of[title]["seconds"].values()) for of in results.values() if title in of]
    return (title, *_cells([*found, np.sum(found, axis=0)] if found else [], len(results), "{:.3g}"))


def _cells(found: Sequence[Sequence[float]], n_sets: int, form: str) -> list[str | None]:
    texts = [" / ".join(form.format(value) for value in values) for values in found]
    return [*texts] if texts else [None] * (n_sets + 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    options = parser_for(__doc__ or "", "field", repeats=1).parse_args(arguments)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    print_facts()
    results = {name: measure_set(name, options.repeats) for name in SETS[: 2 if options.quick else None]}
    tables = tables_of(results)
    show(tables)
    save(options, __doc__ or "", results, tables)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))
        charts.main()


if __name__ == "__main__":
    main()
