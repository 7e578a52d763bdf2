"""The selection by `NeighborsClassifierCV` as a `Candidate`, which can be fitted and saved like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from types import MappingProxyType
from typing import Any, NamedTuple

from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.models.out_of_sample import largest_group
from nearlabel.models.refits import NO, way_to_update
from nearlabel.preprocessing import CLIP, SCALES, OutOfRange, check_out_of_range
from nearlabel.rivals import SoftVote
from nearlabel.selection import MixtureClassifierCV, NeighborsClassifierCV
from nearlabel.selection._others import LINEAR, NEIGHBORS, OTHERS
from nearlabel.selection._spaces import spaces_of  # scalings that NeighborsClassifierCV tries
from nearlabel.selection._trials import NUMBERS  # of neighbours that it tries
from nearlabel.selection.candidates import EXACT, Candidate
from nearlabel.selection.data import Columns, as_dataset, check_impute, check_matrices, make_preparation
from nearlabel.selection.guests import by_name, read_metric
from nearlabel.selection.methods import MethodSpec, check_takes_unknown
from nearlabel.selection.mixed import MixedCandidate
from nearlabel.selection.specs import THRESHOLDS
from nearlabel.selection.stages import left_out_scores
from nearlabel.selection.tuning import Tuning
from nearlabel.thresholds import ThresholdStrategy, strategy_for
from nearlabel.utils.containers import are_words
from nearlabel.utils.targets import has_unknown
from nearlabel.utils.validation import check_choice, check_integer, each_once

_METHODS = {"mlmlm": "mlmlm:scale=none"}  # the candidate scales the features
_METHODS_OF_KNOWN = ("brknn", "mlknn", "brknn:weights=distance")  # the methods of NeighborsClassifierCV without mlmlm


class ChosenNeighbors(NamedTuple):
    """The best candidate, with the scores of the selection.

    Parameters
    ----------
    candidate : Candidate
        The best candidate.
    score : float
        Its value on the leave-one-out scores used for the selection: optimistic.
    crossfit_score : float
        The value if each fifth of the samples is predicted by the candidate that is best on the others (nested
        cross-validation).
    n_candidates : int
        Number of candidates that were tried.
    left_out : tuple of str
        Methods, with scaling and distance, that the time limit left out.
    model : estimator or None
        The best candidate, fitted to all samples; None if it was selected among methods for unknown labels.
    scores : dict of str to float
        All metrics on its leave-one-out scores, with thresholds tuned without each of five parts; empty if they are of
        some samples only.
    measured : str
        Description of how the scores were measured.
    """

    candidate: Candidate
    score: float
    crossfit_score: float
    n_candidates: int
    left_out: tuple[str, ...] = ()
    model: Any = None
    scores: Mapping[str, float] = MappingProxyType({})
    measured: str = ""


@dataclass(frozen=True)
class NeighborsChoice:
    """Select method, distance, number of neighbours and thresholds jointly for a data set.

    `nearlabel.selection.NeighborsClassifierCV` makes the selection; the result is a `Candidate`. ``nearlabel
    fit`` uses this if no method is named. If labels of some samples are unknown, a `Tuning` selects among the methods
    that support unknown labels.

    Parameters
    ----------
    metric : str, callable or Metric, default="micro_f1"
        Metric to optimise: any value that `nearlabel.metrics.get_metric` accepts.
    n_neighbors : tuple of int, default=None
        Numbers of neighbours to try. None: those of `NeighborsClassifierCV`.
    scales : tuple of {"none", "minmax", "standard", "tfidf"}, default=None
        Scalings to try. None: the scaling that `NeighborsClassifierCV` uses for such
        features.
    distances : tuple of str, default=None
        Metrics of `ExactNeighbors` to try. None: those of `NeighborsClassifierCV`.
    thresholds : str or ThresholdStrategy, or mapping of one str to it, default=None
        Threshold strategy: a key of `THRESHOLDS` with options, or an object; in a mapping you choose its name. None:
        the result of `nearlabel.thresholds.strategy_for` for the metric.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        Replacement of missing features, as in `Plan`.
    time_limit : float, default=None
        Time limit in seconds, as in `NeighborsClassifierCV`. None: no limit.
    updatable : bool, default=False
        Whether to try only methods whose models can be updated (`nearlabel.models.way_to_update`).
    with_linear : bool, default=False
        Whether a linear support vector machine is tried as well where features are words or texts; then the best of
        votes, ML-MLM and it are mixed (`MixtureClassifierCV`). Not with `updatable`, or if labels are unknown.
    without_copies : bool, default=False
        Whether the scores of a mixture contain the metrics without exact copies, too, as in `Tuning`: those of the
        samples that have none.
    out_of_range : {"clip", "keep"} or float, default="clip"
        What happens to numbers and dates outside the range of the training samples, as in `Candidate`. The choice does
        not depend on it: it is made on training samples.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, or the thresholds are a number.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import NeighborsChoice
    >>> chosen = NeighborsChoice(scales=("none",), distances=("euclidean",)).run(load_multidigits())
    >>> chosen.candidate.scale, chosen.candidate.search, chosen.n_candidates
    ('none', 'exact', 48)
    """

    metric: Any = "micro_f1"  # a Metric after __post_init__
    n_neighbors: tuple[int, ...] | None = None
    scales: tuple[str, ...] | None = None
    distances: tuple[str, ...] | None = None
    thresholds: Any = None
    impute: str | None = None
    time_limit: float | None = None
    updatable: bool = False
    with_linear: bool = False
    without_copies: bool = False
    out_of_range: OutOfRange = CLIP

    def __post_init__(self) -> None:
        object.__setattr__(self, "metric", read_metric(None, self.metric))
        for number in each_once("n_neighbors", self.n_neighbors or (1,)):
            check_integer("n_neighbors", number, low=1)
        for scale in each_once("scales", self.scales or ("none",)):
            check_choice("scale", scale, SCALES)
        each_once("distances", self.distances or ("euclidean",))
        if not isinstance(self._strategy, ThresholdStrategy):
            raise ValueError(f"thresholds must be tuned, by one of {', '.join(THRESHOLDS)}, got {self.thresholds}.")
        check_impute(self.impute)
        check_out_of_range(self.out_of_range)

    def run(self, data: Any, *, order: ArrayLike | None = None) -> ChosenNeighbors:
        """Select the best candidate.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            As in `Tuning.run`. Samples of a group (`Dataset.groups`) are left out together.
        order : array-like of shape (n_samples,), default=None
            Dates or numbers: select on the later samples, as in `NeighborsClassifierCV.fit`. All labels must be known.

        Returns
        -------
        ChosenNeighbors
            The best candidate, unfitted.

        Raises
        ------
        ValueError
            If there are fewer than two samples or groups, or too few for the numbers of neighbours, X has missing
            values that are not imputed, or the metric is undefined.
        """
        data = self._checked(data, order)
        if has_unknown(data.Y):
            return self._of_known_labels(data)
        mixes = self._mixes(data)
        given = {
            "methods": self._methods,
            "n_neighbors": self.n_neighbors or "auto",
            "scales": self._preparations(data),
            "metrics": self.distances or "auto",
            "strategy": self._strategy,
            "time_limit": self.time_limit,
        }
        chooser: Any = NeighborsClassifierCV(self.metric, **given)
        if mixes:
            chooser = MixtureClassifierCV(self.metric, families=(NEIGHBORS, LINEAR), **given)
        trials = chooser._fit(data.X, data.Y, data.groups, order)
        chosen = ChosenNeighbors(
            self._mixture(chooser.parts_) if mixes else self._candidate(**chooser.best_params_),
            chooser.best_score_,
            chooser.crossfit_score_,
            chooser.n_candidates_,
            tuple(chooser.left_out_),
            _flat(chooser.best_estimator_),
        )
        if order is not None or trials.n_samples < data.Y.shape[0]:
            return chosen
        scores, measured = left_out_scores(
            data, trials.final_scores, self._strategy, self.metric, without_copies=mixes and self.without_copies
        )
        if mixes:
            measured = measured.replace(";", " or 5 folds;", 1)
        return chosen._replace(scores=scores, measured=measured)

    def tries(self, data: Any, *, order: ArrayLike | None = None) -> dict[str, tuple[Any, ...]]:
        """Return what `run` tries for a data set.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
        order : array-like of shape (n_samples,), default=None
            As in `run`.

        Returns
        -------
        dict
            Tuples: "methods" (without weights), "n_neighbors" (weights by similarity have others), "scales",
            "distances" and "thresholds".

        Raises
        ------
        ValueError
            As in `run`, as far as that is known before a fit.

        Examples
        --------
        >>> from nearlabel.datasets import load_multidigits
        >>> from nearlabel.experiments import NeighborsChoice
        >>> tried = NeighborsChoice(n_neighbors=(3, 9)).tries(load_multidigits())
        >>> tried["scales"], tried["thresholds"]
        (('minmax', 'standard'), ('micro-f',))
        """
        data = self._checked(data, order)
        names = filter(self._tries, _METHODS_OF_KNOWN if has_unknown(data.Y) else (*_METHODS_OF_KNOWN, *_METHODS))
        methods = dict.fromkeys(name.partition(":")[0] for name in names)  # with more weights than have a name here
        preparations = self.scales or usual_scales(data) if has_unknown(data.Y) else self._preparations(data)
        spaces = spaces_of(data.X, preparations, self.distances or "auto")
        return {
            "methods": (*methods, *(["svm"] if self._mixes(data) else [])),
            "n_neighbors": self.n_neighbors or self._numbers(data),
            "scales": tuple(dict.fromkeys(space.scale for space in spaces)),
            "distances": tuple(dict.fromkeys(space.metric for space in spaces)),
            "thresholds": (self._threshold_name,),
        }

    def _checked(self, data: Any, order: ArrayLike | None) -> Dataset:
        checked: Dataset = as_dataset("data", data)
        check_matrices(checked.name, checked.X, checked.Y, impute=self.impute)
        if has_unknown(checked.Y) and order is not None:
            raise ValueError("order must go with labels that are all known, got some that are not.")
        return checked

    def _mixes(self, data: Dataset) -> bool:
        return self.with_linear and not self.updatable and not has_unknown(data.Y) and has_words(data)

    def _of_known_labels(self, data: Dataset) -> ChosenNeighbors:
        """Select among the methods that support unknown labels, by a `Tuning` with the same options."""
        methods = {method: MethodSpec.of(method) for method in _METHODS_OF_KNOWN if self._tries(method)}
        check_takes_unknown(data.name, data.Y, methods)
        spaces = spaces_of(data.X, self.scales or usual_scales(data), self.distances or "auto")
        tuning = Tuning(
            methods={
                f"{method}@{self._threshold_name}": MethodSpec(method, thresholds=self._strategy) for method in methods
            },
            n_neighbors=self.n_neighbors or self._numbers(data),
            scales=tuple(dict.fromkeys(space.scale for space in spaces)),
            searches=tuple(dict.fromkeys(_search_by(space.metric) for space in spaces)),
            metric=self.metric,
            impute=self.impute,
            time_limit=self.time_limit,
            out_of_range=self.out_of_range,
        )
        tuned = tuning.run(data)
        crossfit_score = tuned.scores.get(tuned.metric, nan)
        left_out = tuple(f"{line.method} ({line.scale}, {line.search})" for line, _ in tuned.left_out)
        return ChosenNeighbors(tuned.best, tuned.trials[0].value, crossfit_score, len(tuned.trials), left_out)

    def _numbers(self, data: Dataset) -> tuple[int, ...]:
        """Return the numbers of neighbours that `NeighborsClassifierCV` would try."""
        most = (data.Y.shape[0] - largest_group(data.groups)) // 2
        return tuple(k for k in NUMBERS if k <= max(1, most))

    @property
    def _methods(self) -> Any:
        """The methods that NeighborsClassifierCV tries, without those whose models cannot be updated if they must."""
        names = (*_METHODS_OF_KNOWN, *_METHODS)
        if all(map(self._tries, names)):
            return "auto"
        return {name: MethodSpec.of(_METHODS.get(name, name)).make() for name in names if self._tries(name)}

    def _tries(self, method: str) -> bool:
        return not self.updatable or way_to_update(MethodSpec(method, thresholds=self._strategy).make()) != NO

    @property
    def _strategy(self) -> Any:
        if self.thresholds is None:
            return strategy_for(self.metric)
        return MethodSpec("brknn", thresholds=self._named_thresholds[1]).thresholds

    @property
    def _named_thresholds(self) -> tuple[str, Any]:
        given = by_name("thresholds", self.thresholds if isinstance(self.thresholds, Mapping) else [self.thresholds])
        if len(given) > 1:
            raise ValueError(f"thresholds must be one strategy, got {', '.join(given)}.")
        return next(iter(given.items()))

    def _preparations(self, data: Dataset) -> Any:
        """Return the preparations of the features, by name of scaling, as in `Candidate`."""
        columns = Columns.of(data)
        is_plain = not columns.hold_cells and "category" not in columns.kinds
        if is_plain and self.impute is None and self.out_of_range == CLIP:
            return self.scales or "auto"
        return {
            scale: make_preparation(data, impute=self.impute, scale=scale, out_of_range=self.out_of_range)
            for scale in self.scales or usual_scales(data)
        }

    @property
    def _threshold_name(self) -> str:
        if self.thresholds is not None:
            return self._named_thresholds[0]
        strategy = self._strategy
        name = next(name for name, maker in THRESHOLDS.items() if getattr(maker, "func", maker) is type(strategy))
        return f"{name}:metric={self.metric.name}" if hasattr(strategy, "metric") else name

    def _mixture(self, parts: Sequence[Mapping[str, Any]]) -> Candidate:
        """Return the candidate of the parts of a mixture, which may be one."""
        each = [(of["weight"], self._candidate(**{name: of[name] for name in of if name != "weight"})) for of in parts]
        return each[0][1] if len(each) == 1 else MixedCandidate.mixing(each, self._strategy)

    def _candidate(self, method: str, scale: str, metric: str, n_neighbors: int | None) -> Candidate:
        spec = _METHODS.get(method, method)
        return Candidate(
            f"{spec}@{self._threshold_name}",
            n_neighbors,
            scale,
            None if n_neighbors is None else _search_by(metric),
            method_object=MethodSpec(OTHERS.get(method, spec), thresholds=self._strategy),
            impute=self.impute,
            out_of_range=self.out_of_range,
        )


def usual_scales(data: Dataset) -> tuple[str, ...]:
    """Return the scalings to try; of a table with texts, that of all columns and "tfidf", the texts alone."""
    kinds = set(data.feature_kinds)
    if "text" in kinds:
        return ("tfidf",) if kinds == {"text"} else ("minmax", "tfidf")
    scales = dict.fromkeys(space.scale for space in spaces_of(data.X))
    return tuple(scale for scale in scales if scale != "tfidf" or "category" not in kinds)


def has_words(data: Dataset) -> bool:
    """Return whether the features of a data set are words, or some are texts."""
    return "text" in data.feature_kinds or bool(data.X.dtype.kind != "O" and are_words(data.X))


def _flat(model: Any) -> Any:
    """Return a pipeline without pipelines inside it, as `Candidate.fit` makes it."""
    if isinstance(model, SoftVote):
        model.estimators_ = [_flat(part) for part in model.estimators_]
    if not isinstance(model, Pipeline):
        return model
    parts = [_flat(step) for _, step in model.steps]
    return make_pipeline(*(step for part in parts for step in (part if isinstance(part, Pipeline) else [part])))


def _search_by(metric: str) -> str:
    return EXACT if metric == "euclidean" else f"{EXACT}:metric={metric}"
