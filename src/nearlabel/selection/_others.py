"""Candidates of a choice that are no neighbours: linear models of words, and trees; their scores out of sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from nearlabel.models.out_of_sample import Fold, LeaveOneOut, Needs, of_groups, splitter_of
from nearlabel.rivals import RandomForestPCT
from nearlabel.selection._spaces import Space
from nearlabel.selection._trials import MOST_DENSE_CELLS, N_PARTS, NOISE, MethodInSpace, Trials
from nearlabel.selection.specs import METHODS
from nearlabel.utils.containers import are_words
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import as_score_matrix

NEIGHBORS, LINEAR, TREES = FAMILIES = ("neighbors", "linear", "trees")
_LINEAR = {f"svm:C={C:g}": METHODS["svm"](C=C, random_state=0) for C in (0.25, 0.0625, 1)}
_, _SMALLEST, _LARGEST = _LINEAR
_METHODS = {
    LINEAR: _LINEAR,
    TREES: {
        "forest": RandomForestPCT(200, random_state=0),
        "extra trees": RandomForestPCT(200, random_splits=True, random_state=0),
    },
}
OTHERS = {name: method for methods in _METHODS.values() for name, method in methods.items()}
_AFTER = 1_000  # places of methods by neighbours, which win among equal values


def others_in(spaces: Sequence[Space], families: Sequence[str], n_cells: int) -> list[MethodInSpace]:
    """Return the methods of some families in a space of their own: that of tf-idf if there is one, else the first.

    None where cells, samples times labels, are many.
    """
    if n_cells > MOST_DENSE_CELLS:
        return []
    place = next((place for place, space in enumerate(spaces) if space.scale == "tfidf"), 0)
    named = {name: method for family in families if family in _METHODS for name, method in _METHODS[family].items()}
    return [
        MethodInSpace(name, method, spaces[place], (_AFTER + order, place), NOISE)
        for order, (name, method) in enumerate(named.items())
    ]


def suits(tried: MethodInSpace, X: Any, trials: Trials) -> bool:
    """Return whether a method suits prepared samples, by their values: linear models words, trees others.

    The largest C is not tried where the smallest was better than the one between.
    """
    if tried.name not in OTHERS:
        return True
    so_far = trials.best_of_families.get(tried.family)
    is_beaten = tried.name == _LARGEST and so_far is not None and so_far[0].tried.name == _SMALLEST
    return bool((tried.name in _METHODS[LINEAR]) == are_words(X)) and not is_beaten


def unseen_scores(model: Any, held_out: LeaveOneOut | Fold, seconds: float) -> tuple[FloatArray, Any]:
    """Return the scores of samples that a method without leave-one-out scores has not seen, and its fit to all or None.

    They are out of bag, or of five folds; with later samples held out, those of a fit to the earlier ones.

    Raises
    ------
    TimeoutError
        If the first fold shows that all would take longer than some seconds.
    """
    if isinstance(held_out, Fold):
        return as_score_matrix(held_out.answer(model, Needs(labels=False)).scores), model
    if isinstance(model, RandomForestPCT) and held_out.groups is None:
        return model._fit_out_of_bag(held_out.X, held_out.y), model
    X, y, groups = held_out.X, held_out.y, held_out.groups
    scores, start = np.zeros(y.shape), time.monotonic()
    splitter = splitter_of(min(N_PARTS, y.shape[0]), y.shape[0], 0, groups)
    for others, part in splitter.split(np.zeros((y.shape[0], 1)), **of_groups(groups)):
        fold = Fold.of(X, y, others, part)
        scores[part] = as_score_matrix(fold.answer(clone(model), Needs(labels=False)).scores)
        if N_PARTS * (time.monotonic() - start) > seconds:  # as many fits are left, one of them to all samples
            raise TimeoutError
        seconds = np.inf
    return scores, None
