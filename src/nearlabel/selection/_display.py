"""What a notebook shows of a fitted choice: what was chosen, and the leaderboard."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearlabel.metrics import get_metric
from nearlabel.metrics.evaluation import title_of
from nearlabel.utils.tables import Grid, grid_of_rows, html_of


class ShownChoice:
    """For an estimator with `cv_results_`: scikit-learn's diagram, and below it the choice, and its leaderboard."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """Return what a notebook shows."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle and hasattr(self, "cv_results_"):
            bundle["text/html"] += _page_of(self)
        return bundle


def _page_of(chooser: Any) -> str:
    metric = title_of(get_metric(chooser.scoring).name)
    chosen = " + ".join(map(_in_words, getattr(chooser, "parts_", [chooser.best_params_])))
    values = f"{metric} {chooser.best_score_:.4f}, cross-fitted {chooser.crossfit_score_:.4f}"
    sentence = f"The best of {chooser.n_candidates_} candidates by {metric}: {chosen}. {values}."
    return html_of(sentence, _leaderboard(chooser.cv_results_, metric))


def _in_words(part: dict[str, Any]) -> str:
    """Return a part of a mixture, or the only one, with its scaling, distance and number of neighbours."""
    weight = f"{part['weight']:.2f} of " if part.get("weight", 1) != 1 else ""
    k = "" if part["n_neighbors"] is None else f", k = {part['n_neighbors']}"
    return f"{weight}{part['method']} ({part['scale']}, {part['metric']}{k})"


def _leaderboard(found: dict[str, Any], metric: str) -> Grid:
    """Return each method, scaling and distance with its best number of neighbours, best first."""
    names = ("method", "scale", "metric", "n_neighbors", "score")
    columns = (found[name][np.argsort(found["rank"])].tolist() for name in names)
    best: dict[tuple[str, ...], tuple[Any, ...]] = {}
    for *line, k, value in zip(*columns, strict=True):
        best.setdefault(tuple(line), (*line, k or None, value))
    return grid_of_rows(("method", "scaling", "distance", "k", metric), list(best.values()), "lines")
