"""The state file of a tuning, so that an interrupted tuning continues without repeating work."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel.experiments._attempt import Attempt, Chosen, Cost, Line, Trial
from nearlabel.experiments._candidate import Candidate
from nearlabel.files.atomic_file import whole_file
from nearlabel.files.check_sums import with_sum, without_sum
from nearlabel.files.npz_arrays import open_npz

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
    """Yield the selected predictions; without the best overall if the metric is undefined."""
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
