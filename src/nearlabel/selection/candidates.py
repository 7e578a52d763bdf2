"""Candidates of a selection, their trials, and the file of the results so far."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.files.atomic_file import whole_file
from nearlabel.files.check_sums import with_sum, without_sum
from nearlabel.files.untrusted import open_npz
from nearlabel.preprocessing import CLIP, OutOfRange
from nearlabel.selection.data import Columns, as_dataset, check_matrices, preparation
from nearlabel.selection.methods import MethodSpec, check_takes_unknown
from nearlabel.selection.specs import N_FOLDS, make_search
from nearlabel.thresholds import (
    CalibratedLabels,
    FixedThresholdsClassifier,
    ThresholdStrategy,
    TunedThresholdsClassifierCV,
)
from nearlabel.thresholds.best_value import for_a_refit
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, Matrix


class Line(NamedTuple):
    """A method, a scaling and a search: a set of candidates that differ only in the number of neighbours.

    Parameters
    ----------
    method : str
        Name of the method.
    scale : {"none", "minmax", "standard", "tfidf"}
        Scaling of the features.
    search : str or None
        Name of the search; None for a method that does not share a search.
    """

    method: str
    scale: str
    search: str | None

    @classmethod
    def of(cls, candidate: Candidate) -> Line:
        """Return the line of a candidate."""
        return cls(candidate.method, candidate.scale, candidate.search)


class Trial(NamedTuple):
    """The results of a candidate on held-out samples.

    Parameters
    ----------
    candidate : Candidate
        The model.
    value : float
        The metric on all samples together.
    held_out : str
        Description of how the samples were held out.
    values : tuple of float
        The metric on each part of the samples; NaN where it is undefined.
    """

    candidate: Candidate
    value: float
    held_out: str
    values: tuple[float, ...] = ()


class Cost(NamedTuple):
    """The cost of the best candidate of a line, without thresholds, measured once.

    Parameters
    ----------
    fit_seconds, predict_seconds : float
        Time to prepare the features and fit to the samples outside the first part, and time to predict the first part.
    n_bytes : int or None
        Size of the fitted model; None if unknown.
    """

    fit_seconds: float
    predict_seconds: float
    n_bytes: int | None = None


IN_TIME = "tried in the time"  # how the reason ends if there was not enough


class LeftOut(NamedTuple):
    """A line that was not tried, or not completely.

    Parameters
    ----------
    line : Line
        The line.
    reason : str
        Description of the reason.
    """

    line: Line
    reason: str

    @property
    def is_late(self) -> bool:
        """Whether there was no time for it, or not enough."""
        return self.reason.endswith(IN_TIME)


class Chosen(NamedTuple):
    """For each part, the best candidate on the other parts (its loss and its predictions), and the best overall."""

    losses: tuple[float, ...]
    answers: tuple[Any, ...]
    least: float = np.inf
    best: tuple[Any, Any] = (None, None)

    @classmethod
    def none(cls, n_parts: int) -> Chosen:
        """Return the empty selection."""
        return cls((np.inf,) * n_parts, (None,) * n_parts)


class BestOfFamily(NamedTuple):
    """The best candidate of similar ones, its loss, and its scores of all samples, none of which it has seen."""

    candidate: Candidate
    loss: float
    scores: Any


class Step(NamedTuple):
    """The results of one step: trials of a fit, or the cost of lines; `on_sample`: on a random sample of the rows."""

    trials: tuple[Trial, ...] = ()
    chosen: Chosen | None = None
    families: Mapping[str, BestOfFamily] = {}
    costs: Mapping[Line, Cost] = {}
    left_out: tuple[LeftOut, ...] = ()
    on_sample: bool = False


@dataclass
class Attempt:
    """All results, on all rows, and before on a random sample of them."""

    trials: list[Trial] = field(default_factory=list)
    chosen: Chosen | None = None
    families: dict[str, BestOfFamily] = field(default_factory=dict)
    costs: dict[Line, Cost] = field(default_factory=dict)
    left_out: dict[Line, str] = field(default_factory=dict)
    sample: Attempt | None = None

    def take(self, step: Step) -> None:
        """Add the results of a step."""
        if step.on_sample:
            self.sample = self.sample or Attempt()
            self.sample.take(step._replace(on_sample=False))
            return
        self.trials += step.trials
        self.chosen = step.chosen or self.chosen
        self.families |= step.families
        self.costs |= step.costs
        self.left_out |= dict(step.left_out)


# The state file of a tuning, so that an interrupted tuning continues without repeating work.

_JSON = "tuning"


def write_attempt(path: str | os.PathLike[str], attempt: Attempt, about: Mapping[str, Any]) -> None:
    """Write the results, with a description of the data and options, atomically."""
    stages = [stage for stage in (attempt, attempt.sample) if stage is not None]
    arrays = {f"{number}_{name}": array for number, stage in enumerate(stages) for name, array in _arrays(stage)}
    sums = {name: _sum_of(array) for name, array in arrays.items()}
    text = json.dumps(with_sum({"about": about, "stages": [_plain(stage) for stage in stages], "sums": sums}))
    with whole_file(Path(path), name="state") as partial, partial.open("wb") as file:
        np.savez_compressed(file, **{_JSON: np.array(text), **arrays})


def read_attempt(
    path: str | os.PathLike[str], about: Mapping[str, Any], candidate_of: Callable[..., Candidate]
) -> Attempt:
    """Return the earlier results; empty if the file does not exist.

    Raises
    ------
    ValueError
        If the file is for other data or options, or is not a state file.
    """
    if not Path(path).exists():
        return Attempt()
    try:
        with open_npz(Path(path)) as file:
            known, is_ours = _checked(file)
            is_same = is_ours and known["about"] == json.loads(json.dumps(about))
            plain = known["stages"] if is_same else []
            stages = [_stage(stage, file, number, candidate_of) for number, stage in enumerate(plain)]
            if is_same and not 1 <= len(stages) <= 2:
                raise ValueError(f"it has {len(stages)} stages")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"state must be a file that tuning wrote, got {path}: {error}") from error
    if not is_same:
        raise ValueError(f"state must be of the same data and options, got {path} of others. Hint: use another file.")
    attempt = stages[0]
    attempt.sample = stages[1] if len(stages) > 1 else None
    return attempt


def _checked(file: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the text of a file, and whether it may be from this version: earlier versions wrote no checksum.

    Raises ValueError if text or arrays have changed since they were written.
    """
    known, has_sum = without_sum(json.loads(str(file[_JSON])))
    if has_sum and any(_sum_of(file[name]) != known_sum for name, known_sum in known["sums"].items()):
        raise ValueError("its content is not what was written")
    return known, has_sum


def _sum_of(array: Any) -> list[Any]:
    """Return type, shape and checksum of an array."""
    return [str(array.dtype), list(array.shape), zlib.crc32(np.ascontiguousarray(array).tobytes())]


def _plain(stage: Attempt) -> dict[str, Any]:
    trials = [
        [t.candidate.method, t.candidate.n_neighbors, t.candidate.scale, t.candidate.search, *t[1:]]
        for t in stage.trials
    ]
    chosen = None if stage.chosen is None else [stage.chosen.losses, stage.chosen.least]
    costs, left_out = ([[*line, value] for line, value in pairs.items()] for pairs in (stage.costs, stage.left_out))
    families = [
        [name, [of.method, of.n_neighbors, of.scale, of.search], loss] for name, (of, loss, _) in stage.families.items()
    ]
    return {"trials": trials, "chosen": chosen, "families": families, "costs": costs, "left_out": left_out}


def _stage(plain: Any, file: Any, number: int, candidate_of: Callable[..., Candidate]) -> Attempt:
    trials = [
        Trial(candidate_of(*of), float(value), held_out, tuple(values))
        for *of, value, held_out, values in plain["trials"]
    ]
    costs = {Line(*of): Cost(*cost) for *of, cost in plain["costs"]}
    chosen = None
    if plain["chosen"] is not None:
        losses, least = plain["chosen"]
        pairs = [_pair(file, number, str(part)) for part in (*range(len(losses)), "best")]
        chosen = Chosen(tuple(losses), tuple(pairs[:-1]), least, pairs[-1])
    families = {
        name: BestOfFamily(candidate_of(*of), float(loss), file[f"{number}_family_{place}"])
        for place, (name, of, loss) in enumerate(plain["families"])
    }
    return Attempt(trials, chosen, families, costs, {Line(*of): reason for *of, reason in plain["left_out"]})


def _arrays(stage: Attempt) -> Iterator[tuple[str, Any]]:
    """Yield the selected predictions; without the best overall if the metric is undefined."""
    yield from ((f"family_{place}", of.scores) for place, of in enumerate(stage.families.values()))
    if stage.chosen is None:
        return
    for name, pair in (*enumerate(stage.chosen.answers), ("best", stage.chosen.best)):
        for of, array in zip(("labels", "scores"), pair, strict=True):
            if array is not None:
                yield f"{of}_{name}", array


def _pair(file: Any, number: int, part: str) -> tuple[Any, Any]:
    names = [f"{number}_{of}_{part}" for of in ("labels", "scores")]
    first, second = (file.get(name) for name in names)
    return first, second


# A candidate model of a selection.

EXACT = "exact"


@dataclass(frozen=True)
class Candidate:
    """A candidate model of a selection.

    Parameters
    ----------
    method : str
        Name of the method; a specification for `make_method`, unless `method_object` is given.
    n_neighbors : int or None
        Number of neighbours; None for a method without one.
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.
    search : str or None
        Name of the search; a specification for `make_search`, unless `search_object` is given. None for a method that
        does not share a search.
    method_object : estimator or MethodSpec, default=None
        The method itself, if its name is not a specification.
    search_object : search, default=None
        The search itself, if its name is not a specification.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    out_of_range : {"clip", "keep"} or float, default="clip"
        What happens to numbers and dates outside the range of the training samples: "clip": they are moved to its
        nearest end; "keep": nothing, as in `Plan`; a number c: they are moved to the end of a range that is wider by c
        times its width on each side. Words are never moved.
    """

    method: str
    n_neighbors: int | None
    scale: str
    search: str | None
    method_object: Any = field(default=None, compare=False, repr=False)
    search_object: Any = field(default=None, compare=False, repr=False)
    impute: str | None = None
    out_of_range: OutOfRange = CLIP

    def make(self, data: Dataset | None = None) -> Any:
        """Return the unfitted model: the method, after an imputer and a `FeatureScaler` if requested.

        Parameters
        ----------
        data : Dataset, default=None
            Training data. If X contains cells of several kinds, a `MixedFeaturesEncoder` comes before the method and
            imputes and scales numbers; categories are never scaled. If X is dense and has no words, a `FeatureScaler`
            bounds features that are not scaled, too. None: all features are numbers, and not bounded without scaling.

        Returns
        -------
        estimator
            The method or a pipeline.
        """
        spec, search, steps = _parts(self, data)
        model = spec.make(self.n_neighbors, search)
        if isinstance(model, TunedThresholdsClassifierCV) and spec.calibration is None:
            model.set_params(map_scores=True)  # people read its scores
        return make_pipeline(*steps, model) if steps else model

    def fit(self, data: Any) -> Any:
        """Return the model, fitted to a data set.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            As in `Tuning.run`.

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        ValueError
            If X has infinite values, or missing values that are not imputed, or the labels are not an indicator matrix
            or are unknown and the method does not support that.
        """
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        check_takes_unknown(data.name, data.Y, {self.method: self.method_object or self.method})
        return _fit_with_groups(self.make(data), data)


def spec_of(candidate: Candidate) -> MethodSpec:
    """Return the specification of a candidate's method."""
    return MethodSpec.of(candidate.method if candidate.method_object is None else candidate.method_object)


def with_thresholds(
    candidate: Candidate,
    method: Any,
    X: Matrix,
    y: Matrix,
    scores: FloatArray,
    truth: PartialLabels,
    fitted: Any = None,
) -> Any:
    """Return a candidate's method, fitted to all samples, with its thresholds, which are tuned on given scores.

    `fitted`: the fitted method if it is known, without thresholds.
    """
    spec = spec_of(candidate)
    if spec.thresholds is None:
        return method.fit(X, y)
    if not isinstance(spec.thresholds, ThresholdStrategy):
        return FixedThresholdsClassifier(method, spec.thresholds).fit(X, y)
    strategy = for_a_refit(clone(spec.thresholds).fit(scores, truth.with_nan()), scores)
    cv, seed = ("loo", None) if hasattr(method, "loo_predict_proba") else (N_FOLDS, 0)
    tuned = TunedThresholdsClassifierCV(
        method, clone(spec.thresholds), cv=cv, map_scores=spec.calibration is None, random_state=seed
    )
    tuned._handed(strategy, X, y, fitted, on_rows_alone=False)
    if tuned.map_scores:
        tuned._learn_map(scores, truth)
    return tuned


def make_untuned(candidate: Candidate, data: Dataset) -> Pipeline:
    """Return the unfitted model for a data set, without thresholds."""
    spec, search, steps = _parts(candidate, data)
    return make_pipeline(*steps, spec.make_untuned(candidate.n_neighbors, search))


def _parts(candidate: Candidate, data: Dataset | None) -> tuple[MethodSpec, Any, list[Any]]:
    """Return the method, the search (None for the default), and the steps before the method."""
    search = None
    if candidate.search not in (None, EXACT) or candidate.search_object is not None:
        search = make_search(candidate.search if candidate.search_object is None else candidate.search_object)
    spec = spec_of(candidate)
    columns = Columns((), ()) if data is None else Columns.of(data)
    return spec, search, preparation(columns, candidate.impute, candidate.scale, candidate.out_of_range)


def _fit_with_groups(model: Any, data: Dataset) -> Any:
    """Fit a model; if it holds out samples, alone or in a pipeline, it holds out groups if there are any."""
    prefix, last = (f"{model.steps[-1][0]}__", model[-1]) if isinstance(model, Pipeline) else ("", model)
    takes_groups = data.groups is not None and isinstance(last, TunedThresholdsClassifierCV | CalibratedLabels)
    return model.fit(data.X, data.Y, **({f"{prefix}groups": data.groups} if takes_groups else {}))
