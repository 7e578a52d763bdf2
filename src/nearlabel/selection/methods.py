"""Methods of plans, from specifications or objects.

A specification is ``[selection+][sampler+]method[@calibration][@thresholds]``. Each part is
``name[:parameter=value]...``, except the calibration, which is only a name: ``mlknn``, ``lpknn:ties=first``,
``mlknn@micro-f:beta=2``, ``brknn@isotonic@micro-f``, ``igs:labels=sum+cmlknn``, ``mlsmote+mlknn``, and where imports
are allowed ``package.module:MyClassifier@0.3``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from nearlabel.preprocessing import ResampledClassifier
from nearlabel.rivals import NeighborInterpolation
from nearlabel.selection import specs
from nearlabel.selection.guests import check_classifier, describe_object
from nearlabel.thresholds import (
    CALIBRATIONS,
    CalibratedLabels,
    FixedThresholdsClassifier,
    ThresholdStrategy,
    TunedThresholdsClassifierCV,
)
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.naming import import_object, split_import
from nearlabel.utils.targets import has_unknown, n_unknown
from nearlabel.utils.types import Matrix, NeighborSearch
from nearlabel.utils.validation import check_choice


def make_method(
    spec: Any, n_neighbors: int | None = None, search: NeighborSearch | None = None, *, allow_imports: bool = False
) -> Any:
    """Return the unfitted classifier of a specification.

    Parameters
    ----------
    spec : str, estimator or MethodSpec
        A text is ``[selection+][sampler+]method[@calibration][@thresholds]``; each part is a name with any number of
        ``:parameter=value``. The method is a key of `METHODS`; its option `estimator` is a key of `ESTIMATORS`. The
        selection is a key of `SELECTIONS`: the method gets the selected features. The sampler is a key of `SAMPLERS`:
        the method is fitted to the resampled data. The calibration is one of `nearlabel.thresholds.CALIBRATIONS`,
        without options. Thresholds are a number from 0 to 1 for all labels, or a key of `THRESHOLDS`: a strategy that
        is tuned on leave-one-out scores, or on scores from five-fold cross-validation for methods without leave-one-out
        scores. The random seed is 0 unless the option `random_state` sets another one.
    n_neighbors : int, default=None
        Number of neighbours, for a method that has one. None: its default.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours, for a method whose parameter `search` is None.
    allow_imports : bool, default=False
        Whether a text may contain ``package.module:Name`` or ``./file.py:Name`` instead of a name, and
        ``package.module.Name`` as the option `estimator`. Each is imported: **this executes the code of that module**.

    Returns
    -------
    estimator
        The classifier. With a sampler it is wrapped in `ResampledClassifier`, with a calibration in `CalibratedLabels`;
        with a selection it is in a pipeline after the selection; with thresholds all of this is wrapped in a threshold
        classifier.

    Raises
    ------
    ValueError
        If there is no such method, selection, sampler, strategy or option, or an import is not allowed.
    TypeError
        If it is neither a str nor an estimator.
    ImportError
        If a module cannot be imported.

    Examples
    --------
    >>> make_method("mlknn:smoothing=0.5", 8)
    MLkNN(n_neighbors=8, smoothing=0.5)
    >>> make_method("mlknn@micro-f:beta=2", 8).strategy
    MicroFOptimum(beta=2)
    >>> make_method("igs:factor=2+mlknn", 8)[0]
    InformationGainSelector(factor=2, random_state=0)
    >>> make_method("mlsmote:n_neighbors=3+mlknn", 8)
    ResampledClassifier(estimator=MLkNN(n_neighbors=8),
                        sampler=MLSMOTE(n_neighbors=3, random_state=0))
    """
    return MethodSpec.of(spec, allow_imports=allow_imports).make(n_neighbors, search)


def make_sampler(spec: str, *, allow_imports: bool = False) -> Any:
    """Return the unfitted sampler of a specification.

    Parameters
    ----------
    spec : str
        A key of `SAMPLERS` with any number of ``:parameter=value``. The random seed is 0 unless the option
        `random_state` sets another one.
    allow_imports : bool, default=False
        Whether it may also be ``package.module:Name`` or ``./file.py:Name``, with options, which is imported: **this
        executes the code of that module**.

    Returns
    -------
    sampler
        A sampler with `fit_resample`.

    Raises
    ------
    ValueError
        If there is no such sampler or option, or an import is not allowed.
    TypeError
        If it has no `fit_resample`.
    ImportError
        If a module cannot be imported.

    Examples
    --------
    >>> make_sampler("mlsmote:n_neighbors=3")
    MLSMOTE(n_neighbors=3, random_state=0)
    """
    return specs.Part.of("sampler", spec, allow_imports=allow_imports).make()


class MethodSpec:
    """A method of a plan: a classifier with selection of features, sampler, calibration and thresholds.

    Methods of one plan that differ only in their thresholds share a fit.

    Parameters
    ----------
    method : str or estimator
        A key of `METHODS` with options, as `make_method` reads them, or an unfitted multi-label classifier.
    selection : str or transformer, default=None
        A key of `SELECTIONS` with options, or an unfitted transformer that selects features. None: all features.
    sampler : str or sampler, default=None
        A key of `SAMPLERS` with options, or an unfitted sampler with `fit_resample`. None: no sampler.
    thresholds : str, float or ThresholdStrategy, default=None
        A key of `THRESHOLDS` with options, a number from 0 to 1 for all labels, or an unfitted strategy. None: the
        method's own rule.
    calibration : {None, "sigmoid", "isotonic", "beta"}, default=None
        Calibration of probabilities on held-out scores. None: no calibration.
    allow_imports : bool, default=False
        Whether a text may name code to import, as in `make_method`: **this executes it**.

    Raises
    ------
    ValueError
        If there is no such name or option, the number is out of range, or an import is not allowed.
    TypeError
        If an object has the wrong type.

    Examples
    --------
    >>> from nearlabel.experiments import MethodSpec
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.thresholds import MicroFOptimum
    >>> MethodSpec(MLkNN(smoothing=0.5), thresholds=MicroFOptimum(beta=2)).make(8).estimator
    MLkNN(n_neighbors=8, smoothing=0.5)
    """

    def __init__(
        self,
        method: Any,
        *,
        selection: Any = None,
        sampler: Any = None,
        thresholds: Any = None,
        calibration: str | None = None,
        allow_imports: bool = False,
    ) -> None:
        part_of = partial(specs.Part.of, allow_imports=allow_imports)
        self.method = part_of("method", method)
        self.selection = None if selection is None else part_of("selection", selection)
        self.sampler = None if sampler is None else part_of("sampler", sampler)
        self.thresholds = None if thresholds is None else _read_thresholds(thresholds, allow_imports=allow_imports)
        self.calibration = calibration
        if calibration is not None:
            check_choice("calibration", calibration, CALIBRATIONS)
        if calibration == "beta":
            specs.check_has("method", self.method.prototype, ("predict_proba",))

    @classmethod
    def of(cls, spec: Any, *, allow_imports: bool = False) -> MethodSpec:
        """Return the specification of a text, an estimator, or a specification, as `make_method` accepts them."""
        if isinstance(spec, MethodSpec):
            return spec
        if not isinstance(spec, str):
            return cls(spec)
        rest, *after = spec.split("@")
        *before, method = _PLUS.split(rest, maxsplit=2)
        sampler = before.pop() if before and _is_sampler(before[-1], allow_imports=allow_imports) else None
        if len(before) > 1:
            raise ValueError(f"sampler must be one of {sorted(specs.SAMPLERS)}, got {before[1]!r}.")
        calibration = after.pop(0) if after and after[0] in CALIBRATIONS else None
        if any(part.split(":")[0] in CALIBRATIONS for part in after):
            raise ValueError(f"calibration must come before thresholds, without options, got {spec!r}.")
        return cls(
            method,
            selection=before[0] if before else None,
            sampler=sampler,
            thresholds="@".join(after) if after else None,
            calibration=calibration,
            allow_imports=allow_imports,
        )

    @property
    def description(self) -> str:
        """One line with the classes and parameters of the parts."""
        fitted = " + ".join(describe_object(part.prototype) for part in self.parts)
        calibration = [] if self.calibration is None else [self.calibration]
        thresholds = [] if self.thresholds is None else [describe_object(self.thresholds)]
        return " @ ".join([fitted, *calibration, *thresholds])

    @property
    def parts(self) -> list[specs.Part]:
        """What is fitted to label sets: the selection and the sampler, if there are any, and the method."""
        return [part for part in (self.selection, self.sampler, self.method) if part is not None]

    @property
    def fit_key(self) -> tuple[specs.Part | None, specs.Part | None, specs.Part, str | None]:
        """A key that is equal for methods that differ only in their thresholds."""
        return self.selection, self.sampler, self.method, self.calibration

    @property
    def has_left_out_scores(self) -> bool:
        """Whether leave-one-out predictions, also for groups, need no refit.

        A selection or calibration is fitted with the sample, so it needs refits. So does a sampler that may remove some
        samples of a group, or merges several samples into one.
        """
        return self.selection is None and self.calibration is None and self._leaves_one_out

    @property
    def _leaves_one_out(self) -> bool:
        if self.sampler is not None and not getattr(self.sampler.prototype, "_stands_for_refits", False):
            return False
        classifier = self._uncalibrated()
        return all(hasattr(classifier, name) for name in ("loo_predict", "loo_predict_proba"))

    @property
    def has_neighbors(self) -> bool:
        """Whether the method has a number of neighbours, which the plan sets."""
        return "n_neighbors" in self.method.parameters

    @property
    def is_lazy(self) -> bool:
        """Whether it predicts from neighbours: a method of `nearlabel.lazy`, or one with a number of neighbours."""
        return self.has_neighbors or type(self.method.prototype).__module__.startswith("nearlabel.lazy")

    @property
    def family(self) -> str:
        """What it shares with similar methods: all that share a search are one family, others are as their class."""
        return "votes" if self.shares_search else type(self.method.prototype).__name__

    @property
    def mixes_neighbors(self) -> bool:
        """Whether it mixes a neighbour-based method with another one."""
        return isinstance(self.method.prototype, NeighborInterpolation)

    @property
    def shares_search(self) -> bool:
        """Whether the method can use neighbours from a search shared by all methods.

        It needs a parameter search that is None, a number of neighbours and the original training samples: a search
        without a number, as in NLDD, may find neighbours of other samples, and a sampler changes the samples.
        """
        takes_a_search = "search" in self.method.parameters and self.method.prototype.search is None
        return self.sampler is None and self.has_neighbors and takes_a_search

    @property
    def is_tuned(self) -> bool:
        """Whether thresholds are tuned on held-out scores."""
        return isinstance(self.thresholds, ThresholdStrategy)

    def check(self, name: str) -> None:
        """Raise an error unless the parameters are valid and guests pass the checks of `nearlabel.testing`."""
        sampler = None if self.sampler is None else self.sampler.prototype
        parts: list[Any] = [self.selector(), sampler, self._uncalibrated(1), self.thresholds]
        for part in parts:
            if hasattr(part, "_check_parameters"):
                part._check_parameters()
        has_probabilities = self.calibration is not None or hasattr(self.method.prototype, "predict_proba")
        if isinstance(self.thresholds, float) and not has_probabilities:
            whose = type(self.method.prototype).__name__
            raise ValueError(
                f"thresholds of {whose} must be tuned, got {self.thresholds}: its scores are not probabilities."
            )
        check_classifier(name, self.method.prototype, 3 if self.has_neighbors else None)

    def make(self, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
        """Return the unfitted classifier.

        Parameters
        ----------
        n_neighbors : int, default=None
            Number of neighbours, for a method that has one. None: its default.
        search : object with `fit` and `kneighbors`, default=None
            Finds the neighbours, for a method that shares its search.

        Returns
        -------
        estimator
            As `make_method` returns it.
        """
        classifier = self.make_untuned(n_neighbors, search)
        if self.thresholds is None:
            return classifier
        if isinstance(self.thresholds, ThresholdStrategy):
            if self.has_left_out_scores:
                return TunedThresholdsClassifierCV(classifier, self.thresholds, cv="loo")
            # Samples in files are often sorted, so the folds are shuffled.
            return TunedThresholdsClassifierCV(classifier, self.thresholds, cv=specs.N_FOLDS, random_state=0)
        return FixedThresholdsClassifier(classifier, self.thresholds)

    def make_untuned(self, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
        """Return the unfitted method, with its selection and sampler if it has them, without thresholds."""
        classifier, selector = self.classifier(n_neighbors, search), self.selector()
        return classifier if selector is None else make_pipeline(selector, classifier)

    def classifier(self, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
        """Return the unfitted method, with its sampler and calibration, without selection and thresholds."""
        method = self._uncalibrated(n_neighbors, search)
        if self.calibration is None:
            return method
        return CalibratedLabels(
            method, self.calibration, cv="loo" if self._leaves_one_out else specs.N_FOLDS, random_state=0
        )

    def _uncalibrated(self, n_neighbors: int | None = None, search: NeighborSearch | None = None) -> Any:
        given: dict[str, Any] = {}
        if self.has_neighbors and n_neighbors is not None:
            given["n_neighbors"] = n_neighbors
        if self.shares_search and search is not None:
            given["search"] = search
        classifier = self.method.make(**given)
        return classifier if self.sampler is None else ResampledClassifier(classifier, self.sampler.make())

    def selector(self) -> Any:
        """Return the unfitted selection of features, or None."""
        return None if self.selection is None else self.selection.make()


def sharing_a_fit(specs: Mapping[str, MethodSpec]) -> list[dict[str, MethodSpec]]:
    """Return groups of methods that differ only in their thresholds."""
    groups: dict[Any, dict[str, MethodSpec]] = {}
    for name, spec in specs.items():
        groups.setdefault(spec.fit_key, {})[name] = spec
    return list(groups.values())


def _is_sampler(text: str, *, allow_imports: bool) -> bool:
    """Return whether the part before a method is a sampler: one of ours, possibly misspelt, or a sampler object."""
    name, found = text.split(":")[0], split_import(text)
    if found is not None:
        return hasattr(import_object("sampler or selection", found[0], allow_imports=allow_imports), "fit_resample")
    return name not in specs.SELECTIONS and specs.hint(name, specs.SAMPLERS) != ""


# A plus sign separates parts if a name follows it, but not a digit as in 1e+2.
_PLUS = re.compile(r"\+(?=[A-Za-z_./~])")


def _read_thresholds(value: Any, *, allow_imports: bool) -> ThresholdStrategy | float:
    if not isinstance(value, str):
        return _strategy(clone(value)) if hasattr(value, "fit") else _threshold(value, value)
    name, *options = value.split(":")
    if name in specs.THRESHOLDS or split_import(value):
        return _strategy(specs.from_text("thresholds", specs.THRESHOLDS, value, seed=0, allow_imports=allow_imports))
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    threshold = _threshold(number, name)
    if options:
        raise ValueError(f"thresholds {name!r} must be without options, got {options[0]!r}.")
    return threshold


def _strategy(value: Any) -> ThresholdStrategy:
    if not isinstance(value, ThresholdStrategy):
        raise TypeError(f"thresholds must be a ThresholdStrategy, got {value!r} of type {type(value).__name__}.")
    return value


def _threshold(number: Any, given: object) -> float:
    """Return a number from 0 to 1; the error message shows `given`."""
    is_number = isinstance(number, int | float | np.number) and not isinstance(number, bool)
    if not is_number or not 0 <= number <= 1:
        known = f"a number from 0 to 1 or one of {sorted(specs.THRESHOLDS)}"
        similar = specs.hint(str(given), [*specs.THRESHOLDS, *CALIBRATIONS])
        raise ValueError(f"thresholds must be {known}, got {given!r}.{similar}")
    return float(number)


# Which methods support label sets with unknown cells: checked before any work is done.


def takes_unknown(method: Any) -> bool:
    """Return whether a method of a plan can learn from the known cells of label sets with unknown cells.

    Parameters
    ----------
    method : str, estimator or MethodSpec
        A method as `make_method` accepts it.

    Returns
    -------
    bool
        True or False, independent of thresholds, which are all tuned on known cells.

    Raises
    ------
    ValueError, TypeError
        As `make_method`.

    Examples
    --------
    >>> from nearlabel.experiments import takes_unknown
    >>> takes_unknown("lpknn")
    False
    """
    return all(getattr(part.prototype, "_takes_unknown", False) for part in MethodSpec.of(method).parts)


def check_takes_unknown(name: str, Y: Matrix, methods: Mapping[str, Any]) -> None:
    """Raise ValueError if training label sets have unknown cells and some method does not support them."""
    if not has_unknown(Y):
        return
    refusing = [method for method, spec in methods.items() if not takes_unknown(spec)]
    if refusing:
        some = ", ".join(refusing[:5]) + (f" and {len(refusing) - 5} more" if len(refusing) > 5 else "")
        taking = [method for method in specs.METHODS if takes_unknown(method)]
        hint = f" Hint: {', '.join(taking)} do." if taking else ""
        problem = f"support unknown labels, of which {name} has {n_unknown(Y)}, got {some}.{hint}"
        raise ParameterError("{methods} must {problem}", {"methods": None}, {"problem": problem})
