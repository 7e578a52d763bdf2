"""The leaderboard of ``nearlabel tune``: a line for each method, scaling and search that was tried."""

from __future__ import annotations

import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel.cli import _console
from nearlabel.datasets import Dataset
from nearlabel.experiments import Line, Trial, Tuned
from nearlabel.metrics.evaluation import title_of
from nearlabel.persistence import save_model

_SHOWN = 20
_EXACT = "exact"


def size_in_file(model: Any) -> int | None:
    """Return how many bytes the file of a model has; None for one that cannot be saved."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has types to trust: the user learns this on saving
        try:
            return save_model(model, Path(folder) / "model.skops").stat().st_size
        except (ImportError, ValueError, TypeError):
            return None


def as_records(tuned: Tuned) -> list[dict[str, Any]]:
    """Return every trial, best first, flat."""
    return [_record(trial, tuned) for trial in tuned.trials]


def print_leaderboard(tuned: Tuned, data: Dataset) -> None:
    """Print each method, scaling and search with its best number of neighbours, and what was left out."""
    best: dict[Line, Trial] = {}
    for trial in tuned.trials:
        best.setdefault(Line.of(trial.candidate), trial)
    thresholds = _common_thresholds(best)
    rows = [_row(line, trial, tuned, thresholds) for line, trial in list(best.items())[:_SHOWN]]
    columns = ("method", "features", "k", title_of(tuned.metric), "±", "fit s", "pred. s", "MB")
    _console.print_table(_title(tuned, data, thresholds), columns, rows, left=2)
    if len(best) > _SHOWN:
        _console.print_text(f"... and {len(best) - _SHOWN} more lines: --format csv has all.")
    _print_left_out(tuned)


def _title(tuned: Tuned, data: Dataset, thresholds: str) -> str:
    n_rows = data.X.shape[0]
    sample = f" on {tuned.n_samples} of {n_rows} rows" if tuned.n_samples not in (None, n_rows) else ""
    cut = f", thresholds {thresholds}" if thresholds else ""
    return f"{data.name}: {len(tuned.trials)} models{sample}{cut}; each line with its best k"


def _print_left_out(tuned: Tuned) -> None:
    """Print which lines were left out for each reason."""
    by_reason: dict[str, list[str]] = {}
    for line, reason in tuned.left_out:
        by_reason.setdefault(reason, []).append(f"{line.method} ({_features(line)})")
    for reason, lines in by_reason.items():
        _console.print_text(f"Left out: {', '.join(lines)}: {reason}.")


def _common_thresholds(lines: dict[Line, Trial]) -> str:
    """Return the thresholds that most lines have, which are printed once."""
    ((thresholds, n_lines),) = Counter(line.method.partition("@")[2] for line in lines).most_common(1)
    return thresholds if 2 * n_lines > len(lines) else ""


def _row(line: Line, trial: Trial, tuned: Tuned, thresholds: str) -> tuple[str, ...]:
    k = "" if trial.candidate.n_neighbors is None else str(trial.candidate.n_neighbors)
    cost = tuned.costs.get(line)
    seconds = ("", "") if cost is None else (_short(cost.fit_seconds), _short(cost.predict_seconds))
    size = "" if cost is None or cost.n_bytes is None else _short(cost.n_bytes / 1e6)
    spread = f"{_spread(trial):.3f}".removeprefix("0")
    return _short_method(line.method, thresholds), _features(line), k, f"{trial.value:.4f}", spread, *seconds, size


def _short_method(method: str, thresholds: str) -> str:
    """Return a method without the names of its options, and without the thresholds that most methods have."""
    method, at, own = method.partition("@")
    method = ":".join(option.rpartition("=")[2] for option in method.split(":"))
    if not thresholds:
        return f"{method}{at}{own}"
    return method if own == thresholds else f"{method}@{own or 'own'}"


def _features(line: Line) -> str:
    """Return the scaling of the features and the metric of the search, if they are not the defaults."""
    search = "" if line.search in (None, _EXACT) else str(line.search).removeprefix(f"{_EXACT}:metric=")
    if not search:
        return line.scale
    return search if line.scale == "none" else f"{line.scale} {search}"


def _short(value: float) -> str:
    """Return two or three digits: 0.12, 1.2, 45, 789."""
    return f"{value:.{2 if value < 1 else 1 if value < 10 else 0}f}"


def _spread(trial: Trial) -> float:
    """Return the standard deviation over the parts on which the metric is defined."""
    values = np.array(trial.values)
    values = values[np.isfinite(values)]
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _record(trial: Trial, tuned: Tuned) -> dict[str, Any]:
    of, cost = trial.candidate, tuned.costs.get(Line.of(trial.candidate))
    return {
        "method": of.method,
        "n_neighbors": of.n_neighbors,
        "scale": of.scale,
        "search": of.search,
        tuned.metric: trial.value,
        "spread": _spread(trial),
        "held_out": trial.held_out,
        "fit_seconds": None if cost is None else cost.fit_seconds,
        "predict_seconds": None if cost is None else cost.predict_seconds,
        "n_bytes": None if cost is None else cost.n_bytes,
    }
