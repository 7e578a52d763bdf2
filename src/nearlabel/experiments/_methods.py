"""Methods by name: ``mlknn``, ``lpknn:ties=first``; with other thresholds than their own: ``mlknn@micro-f:beta=2``."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Self

from nearlabel._typing import NeighborSearch
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN
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

METHODS: Mapping[str, Any] = MappingProxyType(
    {"brknn": BRkNN, "brknn-a": BRkNNa, "brknn-b": BRkNNb, "lpknn": LPkNN, "mlknn": MLkNN}
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

# The plan gives the first two; the name says the third; the fourth is for sparse scores, which no lazy method has.
_NO_OPTIONS = {"n_neighbors", "search", "per_label", "absent"}


def make_method(spec: str, n_neighbors: int, search: NeighborSearch | None = None) -> Any:
    """Return the unfitted classifier that a specification stands for.

    Parameters
    ----------
    spec : str
        A name of `METHODS`, then any number of ``:parameter=value``. Behind an ``@`` may follow what settles the
        thresholds: a name of `THRESHOLDS`, again with any number of ``:parameter=value``, for a strategy that is tuned
        on leave-one-out scores; or a number from 0 to 1, for all labels.
    n_neighbors : int
        Number of neighbours.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours.

    Raises
    ------
    ValueError
        If there is no such method, strategy or parameter.

    Examples
    --------
    >>> make_method("mlknn:smoothing=0.5", 8)
    MLkNN(n_neighbors=8, smoothing=0.5)
    >>> make_method("mlknn@micro-f:beta=2", 8).strategy
    MicroFOptimum(beta=2)
    """
    return MethodSpec.parse(spec).make(n_neighbors, search)


@dataclass(frozen=True)
class MethodSpec:
    """A specification that was read: a class with its parameters, and what settles the thresholds, if not the class."""

    method: Any
    parameters: Mapping[str, Any]
    thresholds: ThresholdStrategy | float | None

    @classmethod
    def parse(cls, spec: str) -> Self:
        """Read what `make_method` takes."""
        method, at, thresholds = spec.partition("@")
        name, *options = method.split(":")
        if name not in METHODS:
            raise ValueError(f"method must be one of {sorted(METHODS)}, got {name!r}.{_hint(name, METHODS)}")
        parameters = _parse_options(f"method {name!r}", METHODS[name], options)
        return cls(METHODS[name], parameters, _parse_thresholds(thresholds) if at else None)

    @property
    def is_tuned(self) -> bool:
        """Whether thresholds are tuned on leave-one-out scores, which leaves one neighbour less at hand."""
        return isinstance(self.thresholds, ThresholdStrategy)

    def check(self) -> None:
        """Raise unless the parameters make sense, of the method and of the strategy."""
        self._classifier(1, None)._check_parameters()
        if isinstance(self.thresholds, ThresholdStrategy):
            self.thresholds._check_parameters()

    def make(self, n_neighbors: int, search: NeighborSearch | None) -> Any:
        """Return the unfitted classifier."""
        classifier = self._classifier(n_neighbors, search)
        if self.thresholds is None:
            return classifier
        if isinstance(self.thresholds, ThresholdStrategy):
            return TunedThresholdsClassifierCV(classifier, self.thresholds, cv="loo")
        return FixedThresholdsClassifier(classifier, self.thresholds)

    def _classifier(self, n_neighbors: int, search: NeighborSearch | None) -> Any:
        return self.method(n_neighbors, search=search, **self.parameters)


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
    try:
        return parameter, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return parameter, text


def _hint(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name.lower(), known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
