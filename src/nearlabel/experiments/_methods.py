"""Methods by name: ``mlknn``, ``lpknn:ties=first``, ``mlknn@micro-f:beta=2``, ``igs:labels=sum+cmlknn``.

Behind an ``@`` stands what settles the thresholds, before a ``+`` what selects the features.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from nearlabel.adaptation import BPMLL, AdaBoostMH, ADTBoostMH, ConditionalBernoulliMixture, RankSVM
from nearlabel.ensemble import (
    HOMER,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    RAkELd,
    RAkELo,
    RandomForestPCT,
)
from nearlabel.feature_selection import InformationGainSelector
from nearlabel.lazy import IBLR, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, LPkNN, MLkNN
from nearlabel.thresholds import (
    FBR,
    CyclicAscent,
    ExpectedF,
    FixedThresholdsClassifier,
    GlobalCut,
    MCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    SCut,
    ThresholdStrategy,
    TunedThresholdsClassifierCV,
)
from nearlabel.transformation import SMBR, BinaryRelevance, LabelPowerset
from nearlabel.utils.types import NeighborSearch


def _homer(*, estimator: Any = None, n_clusters: int = 3, max_iter: int = 20, random_state: Any = None) -> HOMER:
    """Return HOMER of binary relevance, so that `estimator` is here too a classifier of a single label."""
    nodes = BinaryRelevance(estimator, random_state=random_state)
    return HOMER(nodes, n_clusters=n_clusters, max_iter=max_iter, random_state=random_state)


METHODS: Mapping[str, Any] = MappingProxyType(
    {
        "brknn": BRkNN,
        "brknn-a": BRkNNa,
        "brknn-b": BRkNNb,
        "lpknn": LPkNN,
        "mlknn": MLkNN,
        "cmlknn": CMLkNN,
        "iblr": IBLR,
        "nldd": NLDD,
        "br": BinaryRelevance,
        "smbr": SMBR,
        "lp": LabelPowerset,
        "ebr": EnsembleOfBinaryRelevance,
        "ecc": EnsembleOfClassifierChains,
        "rakelo": RAkELo,
        "rakeld": RAkELd,
        "homer": _homer,
        "rfpct": RandomForestPCT,
        "cbm": ConditionalBernoulliMixture,
        "ranksvm": RankSVM,
        "adaboostmh": AdaBoostMH,
        "adtboostmh": ADTBoostMH,
        "bpmll": BPMLL,
    }
)

# Those that one search serves, for every number of neighbours.
NEIGHBOR_METHODS = tuple(
    name for name, method in METHODS.items() if "n_neighbors" in inspect.signature(method).parameters
)

N_FOLDS = 5  # of the cross-validation that stands in for leave-one-out scores

SELECTIONS: Mapping[str, Any] = MappingProxyType(
    {"igs": InformationGainSelector, "ig": partial(InformationGainSelector, symmetric=False)}
)

# What the option `estimator` may be: classifiers of a single label.
ESTIMATORS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "svm": partial(LinearSVC, dual=False),
        "svm-hinge": partial(SVC, kernel="linear"),
        "logistic": partial(LogisticRegression, solver="liblinear"),
        "tree": DecisionTreeClassifier,
    }
)


def _fbr(variant: int, *, fbr: float | str = "auto", beta: float = 1.0, cv: int = 5, random_state: Any = None) -> FBR:
    strategy = SCut("macro_fbeta", beta=beta)
    return FBR(strategy, variant, fbr, beta=beta, cv=cv, random_state=random_state)


# Names in F start from the measure that takes beta; at its default, 1, it is F1.
THRESHOLDS: Mapping[str, Callable[..., ThresholdStrategy]] = MappingProxyType(
    {
        "micro-f": MicroFOptimum,
        "pillai": PillaiAscent,
        "macro-f": partial(SCut, metric="macro_fbeta"),
        "fbr0": partial(_fbr, 0),
        "fbr1": partial(_fbr, 1),
        "global-f": partial(GlobalCut, metric="micro_fbeta"),
        "examples-f": partial(CyclicAscent, metric="fbeta_examples"),
        "expected-f": ExpectedF,
        "rcut": partial(RCut, metric="fbeta_examples"),
        "pcut": PCut,
        "cardinality": partial(PCut, per_label=False),
        "mcut": MCut,
    }
)

# The plan gives the first two; the name says the third and fourth; the fifth is for sparse scores, which no method has;
# the last two are no words.
_NO_OPTIONS = {"n_neighbors", "search", "per_label", "symmetric", "absent", "similarity", "metric_params"}


def make_method(spec: str, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
    """Return the unfitted classifier that a specification stands for.

    Parameters
    ----------
    spec : str
        A name of `METHODS`, then any number of ``:parameter=value``. Before it, and a ``+``, may stand a name of
        `SELECTIONS` with options of its own: the method then sees the features that are selected. Behind it, and an
        ``@``, may follow what settles the thresholds: a name of `THRESHOLDS`, again with any number of
        ``:parameter=value``, for a strategy that is tuned on leave-one-out scores, or on those of a five-fold
        cross-validation where the method has no leave-one-out scores; or a number from 0 to 1, for all labels. The
        option `estimator` is a name of `ESTIMATORS`. What draws at random has the seed 0 unless the option
        `random_state` says otherwise.
    n_neighbors : int, default=None
        Number of neighbours; not used by a method without.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours; not used by a method without `n_neighbors`.

    Raises
    ------
    ValueError
        If there is no such method, selection, strategy or parameter.

    Examples
    --------
    >>> make_method("mlknn:smoothing=0.5", 8)
    MLkNN(n_neighbors=8, smoothing=0.5)
    >>> make_method("mlknn@micro-f:beta=2", 8).strategy
    MicroFOptimum(beta=2)
    >>> make_method("igs:factor=2+mlknn", 8)[0]
    InformationGainSelector(factor=2, random_state=0)
    """
    return MethodSpec.parse(spec).make(n_neighbors, search)


@dataclass(frozen=True)
class MethodSpec:
    """A specification that was read: the selection, if any, the method, and the thresholds, if not the method's own."""

    selection: Part | None
    method: Part
    thresholds: ThresholdStrategy | float | None

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Read what `make_method` takes."""
        selection, rest = split_selection(spec)
        method, at, thresholds = rest.partition("@")
        return cls(
            Part.parse("selection", SELECTIONS, selection) if selection else None,
            Part.parse("method", METHODS, method),
            _parse_thresholds(thresholds) if at else None,
        )

    @property
    def has_left_out_scores(self) -> bool:
        """Whether leave-one-out scores follow without a refit; a selection has seen the rows, so it takes refits."""
        return self.selection is None and hasattr(self.method.factory, "loo_predict_proba")

    @property
    def has_neighbors(self) -> bool:
        """Whether the method has a number of neighbours, and a search that can be shared."""
        return "n_neighbors" in inspect.signature(self.method.factory).parameters

    @property
    def is_tuned(self) -> bool:
        """Whether thresholds are tuned, on the scores of rows that were left out."""
        return isinstance(self.thresholds, ThresholdStrategy)

    def check(self) -> None:
        """Raise unless the parameters make sense, of the selection, the method and the strategy."""
        for part in (self.selector(), self.classifier(1), self.thresholds):
            if part is not None and not isinstance(part, float):
                part._check_parameters()
        if isinstance(self.thresholds, float) and not hasattr(self.classifier(1), "predict_proba"):
            name = type(self.classifier(1)).__name__
            raise ValueError(
                f"thresholds of {name} must be tuned, got {self.thresholds}: its scores are no probabilities."
            )

    def make(self, n_neighbors: int | None, search: NeighborSearch | None) -> Any:
        """Return the unfitted classifier."""
        classifier = self.make_untuned(n_neighbors, search)
        if self.thresholds is None:
            return classifier
        if isinstance(self.thresholds, ThresholdStrategy):
            left_out: Any = "loo" if self.has_left_out_scores else N_FOLDS
            return TunedThresholdsClassifierCV(classifier, self.thresholds, cv=left_out)
        return FixedThresholdsClassifier(classifier, self.thresholds)

    def make_untuned(self, n_neighbors: int | None, search: NeighborSearch | None = None) -> Any:
        """Return the unfitted method, behind its selection if it has one, without thresholds."""
        classifier, selector = self.classifier(n_neighbors, search), self.selector()
        return classifier if selector is None else make_pipeline(selector, classifier)

    def classifier(self, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
        """Return the unfitted method, without selection and thresholds."""
        return self.method.make(n_neighbors=n_neighbors, search=search) if self.has_neighbors else self.method.make()

    def selector(self) -> Any:
        """Return the unfitted selection of features, or None."""
        return None if self.selection is None else self.selection.make()


@dataclass(frozen=True)
class Part:
    """A class, or what makes one, and some of its parameters."""

    factory: Any
    parameters: Mapping[str, Any]

    @classmethod
    def parse(cls, what: str, known: Mapping[str, Any], text: str) -> Self:
        """Read a name and its options."""
        name, *options = text.split(":")
        if name not in known:
            raise ValueError(f"{what} must be one of {sorted(known)}, got {name!r}.{_hint(name, known)}")
        return cls(known[name], _parse_options(f"{what} {name!r}", known[name], options))

    def make(self, **given: Any) -> Any:
        """Return the unfitted estimator; where it draws at random, by the seed 0 unless another is set."""
        names = inspect.signature(self.factory).parameters
        seed = {"random_state": 0} if "random_state" in names else {}
        return self.factory(**seed | given | dict(self.parameters))


def split_selection(spec: str) -> tuple[str, str]:
    """Return what stands before the ``+`` that a method's name follows, or nothing, and what stands behind it."""
    for place in (place for place, character in enumerate(spec) if character == "+"):
        if re.split("[:@]", spec[place + 1 :], maxsplit=1)[0] in METHODS:
            return spec[:place], spec[place + 1 :]
    first, plus, rest = spec.partition("+")
    return (first, rest) if plus and first.partition(":")[0] in SELECTIONS else ("", spec)


def _parse_thresholds(text: str) -> ThresholdStrategy | float:
    name, *options = text.split(":")
    if name in THRESHOLDS:
        return THRESHOLDS[name](**_parse_options(f"thresholds {name!r}", THRESHOLDS[name], options))
    try:
        number = float(name)
    except ValueError:
        number = float("nan")
    if not 0 <= number <= 1:
        known = f"a number from 0 to 1 or one of {sorted(THRESHOLDS)}"
        raise ValueError(f"thresholds must be {known}, got {name!r}.{_hint(name, THRESHOLDS)}")
    if options:
        raise ValueError(f"thresholds {name!r} must be without options, got {options[0]!r}.")
    return number


def _parse_options(whose: str, factory: Callable[..., Any], options: Iterable[str]) -> dict[str, Any]:
    known = sorted(set(inspect.signature(factory).parameters) - _NO_OPTIONS)
    return dict(_parse_option(whose, known, option) for option in options)


def _parse_option(whose: str, known: list[str], option: str) -> tuple[str, Any]:
    parameter, equals, text = option.partition("=")
    if not known:
        raise ValueError(f"{whose} must be without options, got {option!r}.")
    if parameter not in known or not equals:
        raise ValueError(f"option of {whose} must be parameter=value, of {known}, got {option!r}.")
    if parameter == "estimator":
        if text not in ESTIMATORS:
            known = sorted(ESTIMATORS)
            raise ValueError(f"estimator of {whose} must be one of {known}, got {text!r}.{_hint(text, known)}")
        return parameter, ESTIMATORS[text]()
    try:
        return parameter, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return parameter, text


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
