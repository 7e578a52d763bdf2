"""What a tuning has found so far, in memory and in a file, so that nothing is tried twice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from nearlabel.experiments._candidate import Candidate
from nearlabel.files.atomic_file import whole_file

_JSON = "tuning"


class Line(NamedTuple):
    """A method, a scaling and a search: the candidates that differ in their numbers of neighbours only.

    Parameters
    ----------
    method : str
        Name of the method.
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.
    search : str or None
        Name of the search; None for a method that shares none.
    """

    method: str
    scale: str
    search: str | None

    @classmethod
    def of(cls, candidate: Candidate) -> Line:
        """Return the line of a candidate."""
        return cls(candidate.method, candidate.scale, candidate.search)


class Trial(NamedTuple):
    """What a candidate reached on samples held out.

    Parameters
    ----------
    candidate : Candidate
        The model.
    value : float
        The metric, of all samples together.
    held_out : str
        How the samples were held out, in words.
    values : tuple of float
        The metric on each of the parts of the samples; NaN where it is undefined.
    """

    candidate: Candidate
    value: float
    held_out: str
    values: tuple[float, ...] = ()


class Cost(NamedTuple):
    """What the best candidate of a line costs, without thresholds, measured once.

    Parameters
    ----------
    fit_seconds, predict_seconds : float
        To prepare the features and fit the samples outside the first part, and to predict those in it.
    n_bytes : int or None
        Size of the fitted model; None if it is unknown.
    """

    fit_seconds: float
    predict_seconds: float
    n_bytes: int | None = None


class LeftOut(NamedTuple):
    """A line that was not tried, or not to the end.

    Parameters
    ----------
    line : Line
        What was left out.
    reason : str
        In words.
    """

    line: Line
    reason: str


class Chosen(NamedTuple):
    """Of each part the loss on the others, and the answers for it, of the best there; and the best of all."""

    losses: tuple[float, ...]
    answers: tuple[Any, ...]
    least: float = np.inf
    best: tuple[Any, Any] = (None, None)

    @classmethod
    def none(cls, n_parts: int) -> Chosen:
        """Return what is chosen of nothing."""
        return cls((np.inf,) * n_parts, (None,) * n_parts)


class Step(NamedTuple):
    """What was found at once: trials of a fit, or the cost of lines; `on_sample`: on a sample of the rows."""

    trials: tuple[Trial, ...] = ()
    chosen: Chosen | None = None
    costs: Mapping[Line, Cost] = {}
    left_out: tuple[LeftOut, ...] = ()
    on_sample: bool = False


@dataclass
class Attempt:
    """All that was found, on all rows, and before on a sample of them."""

    trials: list[Trial] = field(default_factory=list)
    chosen: Chosen | None = None
    costs: dict[Line, Cost] = field(default_factory=dict)
    left_out: dict[Line, str] = field(default_factory=dict)
    sample: Attempt | None = None

    def take(self, step: Step) -> None:
        """Add what was found."""
        if step.on_sample:
            self.sample = self.sample or Attempt()
            self.sample.take(step._replace(on_sample=False))
            return
        self.trials += step.trials
        self.chosen = step.chosen or self.chosen
        self.costs |= step.costs
        self.left_out |= dict(step.left_out)

    def of(self, candidate: Candidate) -> Trial | None:
        """Return the trial of a candidate, if it was tried."""
        return next((trial for trial in self.trials if trial.candidate == candidate), None)


def write_attempt(path: str | os.PathLike[str], attempt: Attempt, about: Mapping[str, Any]) -> None:
    """Write what was found atomically, and of which data and options."""
    stages = [stage for stage in (attempt, attempt.sample) if stage is not None]
    arrays = {f"{number}_{name}": array for number, stage in enumerate(stages) for name, array in _arrays(stage)}
    text = json.dumps({"about": about, "stages": [_plain(stage) for stage in stages]})
    with whole_file(Path(path), name="state") as partial, partial.open("wb") as file:
        np.savez_compressed(file, **{_JSON: np.array(text), **arrays})


def read_attempt(
    path: str | os.PathLike[str], about: Mapping[str, Any], candidate_of: Callable[..., Candidate]
) -> Attempt:
    """Return what was found before; nothing if there is no such file.

    Raises
    ------
    ValueError
        If it is of other data or options, or no such file.
    """
    if not Path(path).exists():
        return Attempt()
    try:
        with Path(path).open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            known = json.loads(str(file[_JSON]))
            is_same = known["about"] == json.loads(json.dumps(about))
            plain = known["stages"] if is_same else []
            stages = [_stage(stage, file, number, candidate_of) for number, stage in enumerate(plain)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        raise ValueError(f"state must be a file that tuning wrote, got {path}: {error}") from error
    if not is_same:
        raise ValueError(f"state must be of the same data and options, got {path} of others. Hint: another file.")
    attempt = stages[0]
    attempt.sample = stages[1] if len(stages) > 1 else None
    return attempt


def _plain(stage: Attempt) -> dict[str, Any]:
    trials = [
        [t.candidate.method, t.candidate.n_neighbors, t.candidate.scale, t.candidate.search, *t[1:]]
        for t in stage.trials
    ]
    chosen = None if stage.chosen is None else [stage.chosen.losses, stage.chosen.least]
    costs, left_out = ([[*line, value] for line, value in pairs.items()] for pairs in (stage.costs, stage.left_out))
    return {"trials": trials, "chosen": chosen, "costs": costs, "left_out": left_out}


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
    return Attempt(trials, chosen, costs, {Line(*of): reason for *of, reason in plain["left_out"]})


def _arrays(stage: Attempt) -> Iterator[tuple[str, Any]]:
    """Yield the answers that are chosen; of the best of all there is none where the metric is undefined."""
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
