"""The results of a tuning so far: trials of candidates, costs of lines, and lines that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from nearlabel.experiments._candidate import Candidate


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


class Step(NamedTuple):
    """The results of one step: trials of a fit, or the cost of lines; `on_sample`: on a random sample of the rows."""

    trials: tuple[Trial, ...] = ()
    chosen: Chosen | None = None
    costs: Mapping[Line, Cost] = {}
    left_out: tuple[LeftOut, ...] = ()
    on_sample: bool = False


@dataclass
class Attempt:
    """All results, on all rows, and before on a random sample of them."""

    trials: list[Trial] = field(default_factory=list)
    chosen: Chosen | None = None
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
        self.costs |= step.costs
        self.left_out |= dict(step.left_out)
