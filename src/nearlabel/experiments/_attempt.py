"""What a tuning has found so far: trials of candidates, costs of lines, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nearlabel.experiments._candidate import Candidate


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
