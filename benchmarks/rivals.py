"""How fast is each rival method beside its closest public implementation?

Problems, in the published splits: emotions (391 training rows, 202 queries, 72 features, 6 labels) and yeast (1500
rows, 917 queries, 103 features, 14 labels), features scaled to [0, 1] by the training rows; enron (1123 rows, 579
queries, 1001 words, 53 labels), X sparse and binary. Y is a dense array everywhere. Both sides get the same base
classifier, named in the heading, and the same seed; parameters that are not named are nearlabel's defaults. The peers
are scikit-multilearn-ng, scikit-learn, or what a user writes with it or with numpy where no library has the method.
Methods without a second row have no public Python implementation that installs.

"fit s" and "predict s" are wall seconds, medians; "ratio" is fit and predict over nearlabel's, medians: above 1 is
slower than nearlabel; "of least" that of the least CPU seconds of each. "peak MiB" is above imports and data. "equal
cells" is a dash where the two draw other random numbers or differ in rounds; the notes then compare runs that do not.

Run: ``python benchmarks/rivals.py``; ``--quick`` for a look. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from _by_hand import BoostingByHand, VotesByHand
from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.rivals import (
    BPMLL,
    HOMER,
    AdaBoostMH,
    ADTBoostMH,
    BinaryRelevance,
    ConditionalBernoulliMixture,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    LabelPowerset,
    RAkELd,
    RAkELo,
    RandomForestPCT,
    RankSVM,
)

OURS = "nearlabel"
_PIP = {"skmultilearn": "pip install scikit-multilearn-ng"}
PATIENCE = 10.0  # seconds after which a method is not run again
_MORE_THAN_HALF = "if nearlabel too asks for more than half of the votes"
SIZE = 3  # labels of a subset of RAkEL
ROUNDS, ROUNDS_BY_HAND = 500, 50  # of boosting; the loop's seconds are scaled up


class Data(NamedTuple):
    """Training rows, their label sets, queries."""

    X: Any
    Y: NDArray
    queries: Any


class Peer(NamedTuple):
    """A public implementation: its name, the module it needs, how to make its model for some data."""

    name: str
    module: str
    make: Callable[[Data], Any]
    compared: bool = True  # whether its answer should be nearlabel's
    scale: float = 1.0  # of its seconds
    remarks: Callable[[Data, NDArray], Mapping[str, float]] = lambda _, __: {}  # shares of equal cells, by setting


class Rival(NamedTuple):
    """A method: what it is made of, how nearlabel makes it, and its peer, if there is one."""

    base: str
    make: Callable[[], Any]
    peer: Peer | None = None


def load(problem: str) -> Data:
    """Return the published split; dense features scaled to [0, 1]."""
    training, test = fetch_dataset(problem, "train"), fetch_dataset(problem, "test")
    Y = training.Y.toarray() if sparse.issparse(training.Y) else training.Y
    if sparse.issparse(training.X):
        return Data(training.X, Y, test.X)
    scaler = MinMaxScaler().fit(training.X)
    return Data(scaler.transform(training.X), Y, scaler.transform(test.X))


PROBLEMS = ("emotions", "yeast", "enron")


def _svm() -> LinearSVC:
    return LinearSVC(dual=False)


def _logistic() -> LogisticRegression:
    return LogisticRegression(solver="liblinear")


def _tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0)


def _forest(data: Data) -> RandomForestClassifier:
    return RandomForestClassifier(100, max_features=data.X.shape[1] // 10 + 1, random_state=0)


def _chain(n_labels: int, random: RandomState) -> ClassifierChain:
    return ClassifierChain(_svm(), order=random.permutation(n_labels))


def _each_label(n_labels: int, random: RandomState) -> MultiOutputClassifier:
    return MultiOutputClassifier(_svm())


def _require_dense(data: Data) -> list[bool]:
    """Return what scikit-multilearn-ng should give to the base classifier: X in the container it has; classes dense."""
    return [not sparse.issparse(data.X), True]


def _their_powerset(data: Data) -> Any:
    from skmultilearn.problem_transform import LabelPowerset as Theirs

    return _Theirs(Theirs(_tree(), require_dense=_require_dense(data)))


def _their_rakelo(data: Data) -> Any:
    from skmultilearn.ensemble import RakelO

    n_models = 2 * data.Y.shape[1]
    return _Theirs(RakelO(_tree(), n_models - 1, SIZE, _require_dense(data)))  # it fits one more than it is told


def _their_rakeld(data: Data) -> Any:
    from skmultilearn.ensemble import RakelD

    return _Theirs(RakelD(_tree(), SIZE, _require_dense(data)))


def _their_models_of(subsets: Sequence[NDArray], kind: str, data: Data) -> Any:
    """Return scikit-multilearn-ng's RAkEL with subsets of labels that are given."""
    import skmultilearn.ensemble
    from skmultilearn.cluster import FixedLabelSpaceClusterer
    from skmultilearn.problem_transform import LabelPowerset as Theirs

    powerset = Theirs(_tree(), require_dense=_require_dense(data))
    clusters = FixedLabelSpaceClusterer([subset.tolist() for subset in subsets])
    return _Theirs(getattr(skmultilearn.ensemble, kind)(powerset, clusters, [False, False]))


class _Theirs:
    """A model of scikit-multilearn-ng, which takes sparse rows as matrices only, and draws by Python's generator."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, Y: NDArray) -> Any:
        random.seed(0)
        self.model.fit(_as_matrix(X), Y)
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(_as_matrix(X))


def _as_matrix(X: Any) -> Any:
    return sparse.csr_matrix(X) if sparse.issparse(X) else X


def _rakelo_remarks(data: Data, _: NDArray) -> dict[str, float]:
    ours = RIVALS["RAkELo"].make().fit(data.X, data.Y)
    theirs = _answer(_their_models_of(ours.subsets_, "MajorityVotingClassifier", data), data)
    return {
        "on nearlabel's subsets": _share_equal(theirs, ours.predict(data.queries)),
        f"on nearlabel's subsets, {_MORE_THAN_HALF} (np.round makes 0.5 a 0)": _share_equal(
            theirs, ours.predict_proba(data.queries) > 0.5
        ),
    }


def _rakeld_remarks(data: Data, _: NDArray) -> dict[str, float]:
    ours = RIVALS["RAkELd"].make().fit(data.X, data.Y)
    theirs = _answer(_their_models_of(ours.subsets_, "LabelSpacePartitioningClassifier", data), data)
    return {"on nearlabel's subsets": _share_equal(theirs, ours.predict(data.queries))}


def _powerset_remarks(data: Data, answer: NDArray) -> dict[str, float]:
    _, first, rows = np.unique(data.Y, axis=0, return_index=True, return_inverse=True)
    firsts, classes = np.unique(first[rows.ravel()], return_inverse=True)  # numbered as they occur
    numbered = data.Y[firsts][_tree().fit(data.X, classes).predict(data.queries)]
    return {"if nearlabel too numbers the label sets as they occur, which settles ties": _share_equal(answer, numbered)}


def _forest_remarks(data: Data, answer: NDArray) -> dict[str, float]:
    scores = RIVALS["RandomForestPCT"].make().fit(data.X, data.Y).predict_proba(data.queries)
    strict, varying = scores > 0.5, np.flatnonzero(np.ptp(data.Y, axis=0))
    remarks = {f"{_MORE_THAN_HALF} (of two equal classes the first wins)": _share_equal(answer, strict)}
    if len(varying) < data.Y.shape[1]:
        answer = answer.copy()
        answer[:, varying] = _answer(_forest(data), data._replace(Y=data.Y[:, varying]))
        remarks["if besides it is not given labels of one class, which change ties"] = _share_equal(answer, strict)
    return remarks


def _boosting_remarks(data: Data, answer: NDArray) -> dict[str, float]:
    ours = _answer(AdaBoostMH(ROUNDS_BY_HAND), data)
    return {f"if nearlabel too has {ROUNDS_BY_HAND} rounds": _share_equal(answer, ours)}


_SKMULTILEARN, _SKLEARN = "scikit-multilearn-ng", "scikit-learn"

RIVALS: Mapping[str, Rival] = {
    "BinaryRelevance": Rival(
        "logistic regression, liblinear",
        partial(BinaryRelevance, _logistic(), random_state=0),
        Peer(f"{_SKLEARN} OneVsRestClassifier", "sklearn", lambda _: OneVsRestClassifier(_logistic())),
    ),
    "LabelPowerset": Rival(
        "decision tree",
        partial(LabelPowerset, _tree(), random_state=0),
        Peer(f"{_SKMULTILEARN} LabelPowerset", "skmultilearn", _their_powerset, remarks=_powerset_remarks),
    ),
    "RAkELo": Rival(
        f"decision tree, subsets of {SIZE} labels, twice as many as labels",
        partial(RAkELo, _tree(), labelset_size=SIZE, random_state=0),
        Peer(f"{_SKMULTILEARN} RakelO", "skmultilearn", _their_rakelo, compared=False, remarks=_rakelo_remarks),
    ),
    "RAkELd": Rival(
        f"decision tree, parts of {SIZE} labels",
        partial(RAkELd, _tree(), labelset_size=SIZE, random_state=0),
        Peer(f"{_SKMULTILEARN} RakelD", "skmultilearn", _their_rakeld, compared=False, remarks=_rakeld_remarks),
    ),
    "EnsembleOfClassifierChains": Rival(
        "linear SVM, 10 chains",
        partial(EnsembleOfClassifierChains, _svm(), random_state=0),
        Peer(f"{_SKLEARN} ClassifierChain, by hand", "sklearn", lambda _: VotesByHand(_chain)),
    ),
    "EnsembleOfBinaryRelevance": Rival(
        "linear SVM, 10 models",
        partial(EnsembleOfBinaryRelevance, _svm(), random_state=0),
        Peer(f"{_SKLEARN} MultiOutputClassifier, by hand", "sklearn", lambda _: VotesByHand(_each_label)),
    ),
    "RandomForestPCT": Rival(
        "100 trees",
        partial(RandomForestPCT, random_state=0),
        Peer(f"{_SKLEARN} RandomForestClassifier", "sklearn", _forest, remarks=_forest_remarks),
    ),
    "AdaBoostMH": Rival(
        f"{ROUNDS} rounds",
        partial(AdaBoostMH, ROUNDS),
        Peer(
            f"numpy loop, {ROUNDS_BY_HAND} rounds scaled",
            "numpy",
            lambda _: BoostingByHand(ROUNDS_BY_HAND),
            compared=False,
            scale=ROUNDS / ROUNDS_BY_HAND,
            remarks=_boosting_remarks,
        ),
    ),
    "ADTBoostMH": Rival("50 rounds", ADTBoostMH),
    "HOMER": Rival(
        "binary relevance, logistic regression, liblinear", partial(HOMER, BinaryRelevance(_logistic()), random_state=0)
    ),
    "ConditionalBernoulliMixture": Rival("10 components", partial(ConditionalBernoulliMixture, random_state=0)),
    "RankSVM": Rival("kernel of degree 8", RankSVM),
    "BPMLL": Rival("100 epochs", partial(BPMLL, random_state=0)),
}


def prepare(method: str, of_peer: bool, problem: str) -> Mapping[str, Callable[[], Any]]:
    """Make data and model, warm up on a few rows, and return fit and predict."""
    data = load(problem)
    few = Data(data.X[:100], data.Y[:100], data.queries[:5])
    _answer(_model(method, of_peer, few), few)
    model = _model(method, of_peer, data)
    return {"fit": lambda: model.fit(data.X, data.Y), "predict": lambda: _dense(model.predict(data.queries))}


def _model(method: str, of_peer: bool, data: Data) -> Any:
    rival = RIVALS[method]
    return rival.peer.make(data) if of_peer and rival.peer else rival.make()


def _answer(model: Any, data: Data) -> NDArray:
    return _dense(model.fit(data.X, data.Y).predict(data.queries))


def _dense(labels: Any) -> NDArray:
    dense = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
    return dense.astype(np.int8)


def _share_equal(left: NDArray, right: NDArray) -> float:
    return float(np.mean(left == right))


def run_case(method: str, problem: str, repeats: int) -> dict[str, Any]:
    """Measure one method, and its peer if there is one that is installed, on one problem."""
    rival = RIVALS[method]
    peer = rival.peer if rival.peer and importlib.util.find_spec(rival.peer.module) else None
    jobs = [Job(f"{problem}, {method}: {OURS}", prepare, (method, False, problem))]
    if peer:
        jobs.append(Job(f"{problem}, {method}: {peer.name}", prepare, (method, True, problem)))
    ours, *theirs = measure(jobs, repeats, PATIENCE).values()
    rows = [{"name": OURS, **ours.describe()}, *(_peer_row(peer, one, ours, problem) for one in theirs if peer)]
    case = {"method": method, "base": rival.base, "problem": problem, "rows": rows}
    if rival.peer and not peer:
        case["not_installed"] = f"{rival.peer.name}: not installed, {_PIP[rival.peer.module]}"
    return case


def _peer_row(peer: Peer, theirs: Measurement, ours: Measurement, problem: str) -> dict[str, Any]:
    equal = _share_equal(theirs.answer, ours.answer) if peer.compared else None
    return {
        "name": peer.name,
        **theirs.describe(),
        "scale": peer.scale,
        "ratio": round(peer.scale * theirs.median() / ours.median(), 3),
        "ratio_of_minima": round(peer.scale * theirs.minimum(clock="cpu") / ours.minimum(clock="cpu"), 3),
        "equal": equal,
        "remarks": {} if equal == 1 else dict(peer.remarks(load(problem), theirs.answer)),
    }


def table_of(problem: str, cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the methods on one problem as a table, and below it why answers differ."""
    headers = ("", "fit s", "predict s", "ratio", "of least", "peak MiB", "equal cells", "processes/passes")
    rows: list[tuple[Any, ...]] = []
    notes = []
    for case in cases:
        rows += [(f"{case['method']}: {case['base']}",), *(_cells(row) for row in case["rows"])]
        notes += [case["not_installed"]] if "not_installed" in case else []
        for row in case["rows"]:
            for setting, equal in row.get("remarks", {}).items():
                notes.append(f"{row['name']}: {_percent(equal)} of the cells equal, {setting}.")
    return Table(problem, headers, rows, notes)


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    seconds, scale, equal = row["seconds"], row.get("scale", 1.0), row.get("equal")
    return (
        row["name"],
        scale * seconds["fit"]["wall_median"],
        scale * seconds["predict"]["wall_median"],
        row.get("ratio"),
        row.get("ratio_of_minima"),
        row["peak_mib"],
        None if equal is None else _percent(equal),
        row["processes/passes"],
    )


def _percent(share: float) -> str:
    # Never rounded up to 100: one cell of 30,000 is a difference.
    return "100 %" if share == 1 else f"{min(100 * share, 99.999):.3f} %"


def goals_of(cases: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Return that no method is slower than its peer, but for noise, with the one that comes nearest to it."""
    ratios = {
        f"{case['method']}, {case['problem']}": row["ratio_of_minima"]
        for case in cases
        for row in case["rows"]
        if "ratio_of_minima" in row
    }
    least = min(ratios, key=lambda name: ratios[name], default="none")
    return [Goal(f"Rivals: times faster than the peer, least of all ({least})", "at least", 0.9, ratios.get(least))]


def main() -> None:
    """Run the cases, print a table for each problem and save them."""
    parser = parser_for(__doc__, "rivals", repeats=2)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS)
    parser.add_argument("--methods", nargs="+", choices=RIVALS, default=list(RIVALS))
    options = parser.parse_args()
    print_facts()
    cases, tables = [], []
    for problem in options.problems or (PROBLEMS[:1] if options.quick else PROBLEMS):
        here = [run_case(method, problem, options.repeats) for method in options.methods]
        cases += here
        tables.append(table_of(problem, here))
        show(tables[-1:])
    goals = goals_of(cases)
    show([], goals)
    save(options, __doc__, cases, tables, goals)


if __name__ == "__main__":
    main()
