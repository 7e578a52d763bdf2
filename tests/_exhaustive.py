"""Small problems with every oddity, and searches that try everything, in exact fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def small_problem(seed):
    """Return scores and Y of up to 6 rows and 3 labels: ties, infinities, constant columns, degenerate labels."""
    rng = np.random.default_rng(seed)
    n, n_labels = rng.integers(1, 7), rng.integers(1, 4)
    values = [-np.inf, -1.0, 0.0, 0.25, 0.5, 1.0, 3.0, np.inf] if seed % 5 == 0 else [0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    scores = rng.choice(values[: rng.integers(2, len(values) + 1)], (n, n_labels))
    if seed % 3 == 0:
        scores[:, 0] = scores[0, 0]
    Y = (rng.random((n, n_labels)) < rng.choice([0.0, 0.3, 0.6, 1.0], n_labels, p=[0.1, 0.4, 0.4, 0.1])).astype(int)
    if seed % 50 == 0:
        Y[:] = 0
    return scores.astype(np.float32) if seed % 7 == 0 else scores, Y


def choices(column):
    """Return what each cut of a column chooses, the fewest rows first, as boolean arrays."""
    cuts = [column >= value for value in np.unique(column)[::-1]]
    return cuts if np.isposinf(column).any() else [np.zeros(len(column), dtype=bool), *cuts]


def every_prediction(scores):
    """Yield the prediction of every threshold vector."""
    for columns in itertools.product(*(choices(column) for column in scores.T)):
        yield np.column_stack(columns).astype(int)


def best_prediction(predictions, value):
    """Return the largest value, and of the predictions that reach it the one with the fewest labels."""
    judged = [(value(prediction), -int(prediction.sum()), prediction) for prediction in predictions]
    largest, fewest = max(entry[:2] for entry in judged)
    return largest, [prediction for v, size, prediction in judged if (v, size) == (largest, fewest)]


def f_beta(hits, predicted, true, beta=Fraction(1), zero_division=0):
    """(1 + β²) hits / (β² true + predicted), exactly."""
    below = beta**2 * int(true) + int(predicted)
    return (1 + beta**2) * int(hits) / below if below else Fraction(zero_division)


def micro_f(Y, prediction, beta=Fraction(1)):
    """Micro-averaged F-beta, exactly."""
    return f_beta((Y * prediction).sum(), prediction.sum(), Y.sum(), beta)


def macro_f(Y, prediction, beta=Fraction(1), zero_division=0):
    """Macro-averaged F-beta, exactly."""
    parts = [
        f_beta((y * p).sum(), p.sum(), y.sum(), beta, zero_division) for y, p in zip(Y.T, prediction.T, strict=True)
    ]
    return sum(parts) / len(parts)


def examples_f(Y, prediction, beta=Fraction(1), zero_division=0):
    """Example-based F-beta, exactly."""
    return macro_f(Y.T, prediction.T, beta, zero_division)
