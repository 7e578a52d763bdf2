"""The classifiers that `neutral.py` compares, and the process in which one of them answers.

That process runs in the environment of the classifier, which need not have nearlabel. It gets the folder of a split
(`write_split`), fits the classifier to the training rows, asks it for decisions and scores of the test rows, and then
for scores of the training rows by fits to the other inner folds. Each fit with its predictions may use so many seconds
of a core: the process is killed when it has used more. What is known is written after each step.

Run: ``python benchmarks/_rivals_of_neutral.py METHOD SPLIT ANSWER SECONDS``, by `neutral.py` only.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

K = 10
WARM = 100  # rows of a first fit, which is not timed
MOST_DENSE = 2**30  # bytes of a dense copy of sparse features
SELECTION = 0.6  # of the seconds: nearlabel's limit for the selection; the final fit comes after it


class Method(NamedTuple):
    """A classifier: its environment, how to make it, the form of its features, and whether it is tuned here."""

    environment: str
    make: Callable[[], Any]
    form: str = "scaled"  # "scaled": to [0, 1]; "linear": standardised, counts by tf-idf; "raw"
    tuned: bool = True  # False: its own decisions come from thresholds that it has selected


class EachLabel:
    """A binary classifier for each label."""

    def __init__(self, make: Callable[[], Any], dense: bool = False) -> None:
        self.make, self.dense = make, dense

    def fit(self, X: Any, Y: Any) -> None:
        """Fit one model a label."""
        X = self._form(X)
        self.models = [self.make().fit(X, column) for column in Y.T]

    def predict(self, X: Any) -> Any:
        """Return the decisions."""
        X = self._form(X)
        return np.column_stack([model.predict(X) for model in self.models])

    def scores(self, X: Any) -> Any:
        """Return probabilities, or decision values."""
        X = self._form(X)
        if self.is_probable:
            return np.column_stack([model.predict_proba(X)[:, 1] for model in self.models])
        return np.column_stack([model.decision_function(X) for model in self.models])

    @property
    def is_probable(self) -> bool:
        """Whether the scores are probabilities."""
        return hasattr(self.models[0], "predict_proba")

    def _form(self, X: Any) -> Any:
        return _dense(X) if self.dense else X


class AtOnce:
    """A classifier of label matrices with the methods of scikit-learn; `form` is applied to features."""

    is_probable = True

    def __init__(self, make: Callable[[], Any], form: Callable[[Any], Any] = lambda X: X) -> None:
        self.make, self.form = make, form

    def fit(self, X: Any, Y: Any) -> None:
        """Fit the model."""
        self.model = self.make().fit(self.form(X), Y)

    def predict(self, X: Any) -> Any:
        """Return the decisions."""
        return _dense(self.model.predict(self.form(X)))

    def scores(self, X: Any) -> Any:
        """Return the probabilities; a list has an array of both classes for each label."""
        found = self.model.predict_proba(self.form(X))
        return np.column_stack([one[:, 1] for one in found]) if isinstance(found, list) else _dense(found)


class SelectedSVM:
    """LinearSVC for each label, with the C of best micro F1 by decisions on three folds."""

    is_probable = False

    def fit(self, X: Any, Y: Any) -> None:
        """Select C, then fit."""
        folds = np.random.default_rng(0).permutation(len(Y)) % 3
        found = {C: np.mean([self._micro_f1(C, X, Y, folds == fold) for fold in range(3)]) for C in (0.1, 1, 10)}
        self.model = OnVaried(_linear_svc(max(found, key=lambda C: found[C])))
        self.model.fit(X, Y)
        self.predict, self.scores = self.model.predict, self.model.scores

    def _micro_f1(self, C: float, X: Any, Y: Any, held: Any) -> float:
        model = OnVaried(_linear_svc(C))
        model.fit(X[~held], Y[~held])
        predicted = model.predict(X[held])
        return float(2 * (predicted * Y[held]).sum() / max(predicted.sum() + Y[held].sum(), 1))


class OnVaried:
    """A classifier on the labels that have both classes; of the others it decides, surely, for the only class."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: Any) -> None:
        """Fit the model to some of the labels."""
        self.varied, self.first = Y.any(axis=0) & ~Y.all(axis=0), Y[0]
        self.model.fit(X, Y[:, self.varied])

    def predict(self, X: Any) -> Any:
        """Return the decisions."""
        return self._filled(self.model.predict(X), self.first)

    def scores(self, X: Any) -> Any:
        """Return probabilities or decision values."""
        sure = self.first if self.is_probable else np.where(self.first, 1.0, -1.0) * 1e3
        return self._filled(self.model.scores(X), sure)

    @property
    def is_probable(self) -> bool:
        """Whether the scores are probabilities."""
        return bool(self.model.is_probable)

    def _filled(self, values: Any, others: Any) -> Any:
        whole = np.tile(np.asarray(others, dtype=np.asarray(values).dtype), (len(values), 1))
        whole[:, self.varied] = values
        return whole


class LibMultiLabel:
    """A linear trainer of LibMultiLabel by its name, with an intercept and one thread."""

    is_probable = False

    def __init__(self, trainer: str) -> None:
        self.trainer = trainer

    def fit(self, X: Any, Y: Any) -> None:
        """Fit it."""
        from libmultilabel import linear

        trainer = getattr(linear, self.trainer)
        self.model = trainer(_doubles(Y), _doubles(X), options="-B 1 -m 1", verbose=False)

    def predict(self, X: Any) -> Any:
        """Return the labels with a value above 0, as its `get_positive_labels` does."""
        return self.scores(X) > 0

    def scores(self, X: Any) -> Any:
        """Return its decision values."""
        return np.asarray(self.model.predict_values(_doubles(X)))


class SharesOfVotes(AtOnce):
    """BRkNN-a of scikit-multilearn-ng, whose scores are what its decisions leave behind."""

    def scores(self, X: Any) -> Any:
        """Return the shares of votes."""
        self.model.predict(self.form(X))
        return np.asarray(self.model.confidences_)


class FastText:
    """fastText's classifier with one-vs-all loss, and the parameters of its page on several labels.

    A feature is a word, repeated as often as it counts; where values are no counts, it stands once.
    """

    is_probable = True

    def fit(self, X: Any, Y: Any) -> None:
        """Write the rows as texts, and fit."""
        import fasttext

        self.n_labels = Y.shape[1]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            for text, labels in zip(_texts(X), Y, strict=True):
                file.write(" ".join([*(f"__label__{label}" for label in np.flatnonzero(labels)), text]) + "\n")
            file.flush()
            self.model = fasttext.train_supervised(file.name, lr=0.5, epoch=25, loss="ova", thread=1, verbose=0)

    def predict(self, X: Any) -> Any:
        """Return the labels with a probability of one half or more."""
        return self.scores(X) >= 0.5

    def scores(self, X: Any) -> Any:
        """Return the probabilities."""
        found = np.zeros((X.shape[0], self.n_labels), dtype=np.float32)
        for row, text in zip(found, _texts(X), strict=True):
            for probability, label in self.model.f.predict(text + "\n", self.n_labels, 0.0, "strict"):
                row[int(label.removeprefix("__label__"))] = probability
        return found


class Command:
    """A command of nearlabel that writes a model, as a user runs it; features and labels as they are."""

    is_probable = True

    def __init__(self, *words: str) -> None:
        self.words = words

    def fit(self, X: Any, Y: Any) -> None:
        """Write the rows to a file, run the command, load the model."""
        from nearlabel import cli
        from nearlabel.datasets import Dataset, write_npz
        from nearlabel.persistence import load_model

        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            names = [[f"{kind}{column}" for column in range(part.shape[1])] for kind, part in (("x", X), ("y", Y))]
            data = write_npz(Path(folder) / "data.npz", Dataset(X, Y, *names, "data"))
            model = Path(folder) / "model.skops"
            code = cli.main([self.words[0], str(data), "--out", str(model), *self.words[1:]])
            if code:
                raise RuntimeError(f"the command ended with {code}")
            self.model = load_model(model)
        self.predict = lambda rows: _dense(self.model.predict(rows))
        self.scores = lambda rows: _dense(self.model.predict_proba(rows))


class Votes(AtOnce):
    """A method of nearlabel by votes, by its name."""

    def __init__(self, name: str) -> None:
        import nearlabel

        super().__init__(lambda: getattr(nearlabel, name)(K))


def _limited() -> tuple[str, ...]:
    return ("--time-limit", f"{SELECTION * _seconds():g}")


def _seconds() -> float:
    return float(sys.argv[4])


def _theirs(name: str) -> Callable[[], Any]:
    def make() -> Any:
        import skmultilearn.adapt

        return getattr(skmultilearn.adapt, name)(k=K)

    return make


def _linear_svc(C: float = 1.0) -> EachLabel:
    from sklearn.svm import LinearSVC

    return EachLabel(lambda: LinearSVC(C=C, random_state=0))


def _logistic() -> EachLabel:
    from sklearn.linear_model import LogisticRegression

    return EachLabel(lambda: LogisticRegression(max_iter=1000))


def _histograms() -> EachLabel:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return EachLabel(lambda: HistGradientBoostingClassifier(random_state=0), dense=True)


def _of_ensemble(name: str) -> Callable[[], AtOnce]:
    def make() -> AtOnce:
        import sklearn.ensemble

        return AtOnce(lambda: getattr(sklearn.ensemble, name)(random_state=0))

    return make


def _neighbors() -> AtOnce:
    from sklearn.neighbors import KNeighborsClassifier

    return AtOnce(lambda: KNeighborsClassifier(K))


def _lightgbm() -> EachLabel:
    from lightgbm import LGBMClassifier

    return EachLabel(lambda: LGBMClassifier(n_jobs=1, verbose=-1, random_state=0))


def _catboost() -> AtOnce:
    from catboost import CatBoostClassifier

    class Budget:
        """Ends the rounds after half of the seconds."""

        def __init__(self) -> None:
            self.end = time.process_time() + _seconds() / 2

        def after_iteration(self, info: Any) -> bool:
            return time.process_time() < self.end

    class Limited(CatBoostClassifier):
        def fit(self, X: Any, Y: Any) -> Any:
            return super().fit(X, Y, callbacks=[Budget()])

    options = {"thread_count": 1, "verbose": False, "random_seed": 0, "allow_writing_files": False}
    return AtOnce(lambda: Limited(loss_function="MultiLogloss", **options), _matrix)


def _boomer() -> AtOnce:
    from mlrl.boosting import BoomerClassifier

    return AtOnce(lambda: BoomerClassifier(random_state=1), _matrix)


METHODS: Mapping[str, Method] = {
    "nearlabel fit": Method("nearlabel", lambda: Command("fit", "--validate", "none", *_limited()), "raw", False),
    "nearlabel fit, neighbours only": Method(
        "nearlabel", lambda: Command("fit", "--only", "neighbours", "--validate", "none", *_limited()), "raw", False
    ),
    "nearlabel tune": Method("nearlabel", lambda: Command("tune", *_limited()), "raw", False),
    "nearlabel MLkNN": Method("nearlabel", lambda: Votes("MLkNN")),
    "nearlabel BRkNN": Method("nearlabel", lambda: Votes("BRkNN")),
    "scikit-multilearn-ng MLkNN": Method(
        "scikit-multilearn-ng", lambda: AtOnce(_theirs("MLkNN"), lambda X: _matrix(X))
    ),
    "scikit-multilearn-ng BRkNNa": Method(
        "scikit-multilearn-ng", lambda: SharesOfVotes(_theirs("BRkNNaClassifier"), lambda X: _matrix(X))
    ),
    "scikit-learn k neighbours": Method("scikit-learn", _neighbors),
    "scikit-learn logistic regression": Method("scikit-learn", _logistic, "linear"),
    "scikit-learn LinearSVC": Method("scikit-learn", _linear_svc, "linear"),
    "scikit-learn LinearSVC, C selected": Method("scikit-learn", SelectedSVM, "linear"),
    "scikit-learn random forest": Method("scikit-learn", _of_ensemble("RandomForestClassifier")),
    "scikit-learn extra trees": Method("scikit-learn", _of_ensemble("ExtraTreesClassifier")),
    "scikit-learn histogram boosting": Method("scikit-learn", _histograms),
    "LibMultiLabel one-vs-rest": Method("libmultilabel", lambda: LibMultiLabel("train_1vsrest"), "linear"),
    "LibMultiLabel for micro F1": Method(
        "libmultilabel", lambda: LibMultiLabel("train_cost_sensitive_micro"), "linear", False
    ),
    "fastText": Method("fasttext", FastText),
    "LightGBM": Method("lightgbm", _lightgbm),
    "CatBoost MultiLogloss": Method("catboost", _catboost),
    "MLRL-Boomer": Method("mlrl-boomer", _boomer),
}


def _dense(values: Any) -> Any:
    if sparse.issparse(values):
        if 8 * np.prod(values.shape, dtype=float) > MOST_DENSE:
            raise MemoryError("takes dense features only: more than 1 GiB")
        return values.toarray()
    return np.asarray(values)


def _matrix(X: Any) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def _doubles(values: Any) -> Any:
    return sparse.csr_matrix(values, dtype=np.float64)


def _texts(X: Any) -> Any:
    rows = sparse.csr_array(X)
    if rows.shape[1] * rows.shape[0] < 2 * rows.nnz:
        raise ValueError("takes words only")
    are_counts = bool((rows.data == np.round(rows.data)).all())
    for start, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        times = rows.data[start:end].astype(int) if are_counts else np.ones(end - start, dtype=int)
        yield " ".join(f"w{word}" for word in np.repeat(rows.indices[start:end], times))


def write_split(folder: Path, **arrays: Any) -> None:
    """Write arrays and sparse arrays, a file each."""
    for name, values in arrays.items():
        if sparse.issparse(values):
            sparse.save_npz(folder / f"{name}.npz", sparse.csr_array(values))
        else:
            np.save(folder / f"{name}.npy", values)


def read_array(folder: Path, name: str) -> Any:
    """Read one of them."""
    file = folder / f"{name}.npy"
    return np.load(file) if file.exists() else sparse.csr_array(sparse.load_npz(folder / f"{name}.npz"))


def warm_up(model: Any, X: Any, Y: Any) -> None:
    """Import what the model needs, by a fit to few rows; what goes wrong goes wrong again."""
    with contextlib.suppress(Exception):
        model.fit(X[:WARM], Y[:WARM])
        model.scores(X[:5])


def allow(seconds: float) -> None:
    """Let the process use so many more seconds of a core before it is killed."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def seconds_used() -> float:
    """Return the seconds of a core of this process, and of those it has started and that have ended."""
    both = (resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def peak_mib() -> float:
    """Return the peak of resident memory in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def answer(title: str, split: Path, folder: Path, seconds: float) -> None:
    """Write the decisions, the scores, the scores of held-out training rows, and what they cost."""
    method = METHODS[title]
    X, X_test = read_array(split, f"{method.form}_train"), read_array(split, f"{method.form}_test")
    Y, folds = read_array(split, "Y_train"), read_array(split, "inner_folds")
    new = (lambda: OnVaried(method.make())) if method.form != "raw" else method.make
    names = dict.fromkeys((method.environment, "scikit-learn", "numpy"))
    facts: dict[str, Any] = {"versions": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)}
    warm_up(new(), X, Y)
    model = new()
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mib()
    allow(seconds)
    start = seconds_used()
    model.fit(X, Y)
    fitted = seconds_used()
    predicted = np.asarray(model.predict(X_test)).astype(np.int8)
    facts |= {"fit": fitted - start, "predict": seconds_used() - fitted, "mib": peak_mib() - before}
    facts["is_probable"] = model.is_probable
    write_split(folder, predicted=predicted, scores=np.asarray(model.scores(X_test), dtype=np.float64))
    (folder / "facts.json").write_text(json.dumps(facts))
    if method.tuned:
        start = seconds_used()
        held = np.zeros(Y.shape)
        for fold in np.unique(folds):
            rows = folds == fold
            allow(seconds)
            other = new()
            other.fit(X[~rows], Y[~rows])
            held[rows] = other.scores(X[rows])
        write_split(folder, held=held)
        (folder / "facts.json").write_text(json.dumps(facts | {"tune": seconds_used() - start}))


def main() -> None:
    """Answer, or write why not."""
    warnings.simplefilter("ignore")
    np.random.seed(0)  # noqa: NPY002  # LibMultiLabel draws from it
    title, split, folder, seconds = sys.argv[1:]
    try:
        answer(title, Path(split), Path(folder), float(seconds))
    except Exception as error:  # noqa: BLE001  # a method that cannot do a data set is a result
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        (Path(folder) / "failed.json").write_text(json.dumps(text))


if __name__ == "__main__":
    main()
