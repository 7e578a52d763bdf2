"""Which inputs do the libraries of ``docs/field.md`` accept, and which methods do they have?

Fits a model of each library to the data set emotions, in several forms, and prints what happens, a line a check. The
numbers of the lines are those that the page names.

Run: ``python benchmarks/field_checks.py``, in the environment that ``docs/field.md`` describes. Needs
``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
from mlrl.boosting import BoomerClassifier
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import check_estimator
from skmultilearn.adapt import MLkNN as TheirMLkNN

from nearlabel import MLkNN, NeighborsClassifierCV
from nearlabel.datasets import fetch_dataset

MODELS: dict[str, Any] = {
    "nearlabel MLkNN": MLkNN(3),
    "nearlabel NeighborsClassifierCV": NeighborsClassifierCV(),
    "scikit-multilearn-ng MLkNN": TheirMLkNN(3),
    "BoomerClassifier": BoomerClassifier(random_state=1),
    "KNeighborsClassifier": KNeighborsClassifier(3),
    "RandomForestClassifier": RandomForestClassifier(10, random_state=0),
    "OneVsRestClassifier": OneVsRestClassifier(LogisticRegression(max_iter=1000)),
}
CONTRACT = ("nearlabel MLkNN", "scikit-multilearn-ng MLkNN", "BoomerClassifier", "KNeighborsClassifier")
MODULES = (
    "skmultilearn.adapt",
    "skmultilearn.problem_transform",
    "skmultilearn.ensemble",
    "skmultilearn.cluster",
    "skmultilearn.embedding",
    "skmultilearn.ext",
    "skmultilearn.missing",
    "mlrl.boosting",
    "libmultilabel.linear",
    "mapie.risk_control",
    "cleanlab.multilabel_classification",
)
METHODS = ("partial_fit", "predict_proba", "explain")


def main() -> None:
    """Print the checks."""
    warnings.simplefilter("ignore")
    data = fetch_dataset("emotions")
    X, Y = data.X.astype(float), np.asarray(data.Y)
    unknown = np.random.default_rng(0).random(Y.shape) < 0.3
    check_inputs(X, Y, unknown)
    check_models(X, Y)
    try:
        TunedThresholdClassifierCV(KNeighborsClassifier()).fit(X, Y)
    except ValueError as error:
        print("7 TunedThresholdClassifierCV:", error)
    for name in CONTRACT:
        found = Counter(one["status"] for one in check_estimator(MODELS[name], on_fail=None, on_skip=None))
        print(f"8 check_estimator, {name}:", *(f"{n} {status}" for status, n in sorted(found.items())))
    check_modules()


def check_inputs(X: Any, Y: Any, unknown: Any) -> None:
    """Fit all models to several forms of X and y."""
    X_missing = X.copy()
    X_missing[0, 0] = np.nan
    inputs = {
        "1 sparse y": (X, sparse.csr_matrix(Y)),
        "2 NaN in y": (X, np.where(unknown, np.nan, Y)),
        "3 NaN in X": (X_missing, Y),
        "4 data frames": (pd.DataFrame(X).add_prefix("feature "), pd.DataFrame(Y).add_prefix("label ")),
    }
    for check, (X_in, Y_in) in inputs.items():
        for name, model in MODELS.items():
            print(f"{check}, {name}: {_outcome(model, X_in, Y_in)}")


def _outcome(model: Any, X: Any, Y: Any) -> str:
    try:
        model.fit(X, Y).predict(X[:5])
    except Exception as error:  # noqa: BLE001 - which one is what is printed
        return type(error).__name__
    return "fits and predicts"


def check_models(X: Any, Y: Any) -> None:
    """Print which models survive a pickle, and their methods."""
    for name, model in MODELS.items():
        again = pickle.loads(pickle.dumps(model.fit(X, Y)))
        same = np.array_equal(_dense(again.predict(X)), _dense(model.predict(X)))
        print(f"5 the same predictions from a pickle, {name}: {same}")
        weights = ["fit(sample_weight)"] if "sample_weight" in inspect.signature(model.fit).parameters else []
        print(f"6 methods, {name}:", *(method for method in METHODS if hasattr(model, method)), *weights)


def check_modules() -> None:
    """Print what modules offer."""
    for name in MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError as error:
            print(f"9 {name}: {error}")
            continue
        offered = [n for n in dir(module) if n[0].isupper() or n.startswith(("train_", "find_", "get_label"))]
        print(f"9 {name}:", *(n for n in offered if not inspect.ismodule(getattr(module, n))))


def _dense(labels: Any) -> Any:
    return labels.toarray() if sparse.issparse(labels) else np.asarray(labels)


if __name__ == "__main__":
    main()
