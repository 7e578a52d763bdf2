"""The network of BP-MLL: one hidden layer, tanh units, and a pairwise loss."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.random import RandomState

from nearlabel.utils.types import FloatArray


def pairwise_loss(outputs: FloatArray, labels: FloatArray) -> tuple[float, FloatArray]:
    """Return the loss of one row, the mean of exp(-(c_k - c_l)) over its pairs, and the gradient by the outputs.

    The sum over all pairs is the product of a sum over the row's labels and a sum over the other labels.
    """
    signs = 2 * labels - 1
    terms = np.exp(-signs * outputs)
    relevant = terms @ labels
    irrelevant = terms.sum() - relevant
    size = labels.sum()
    weight = 1 / (size * (len(labels) - size))
    partners = np.where(labels > 0, irrelevant, relevant)
    return float(weight * relevant * irrelevant), -weight * signs * terms * partners


@dataclass(frozen=True)
class RankingNetwork:
    """Weights and biases of two layers, changed in place by `descend`."""

    coefs: list[FloatArray]  # (n_features, n_hidden), (n_hidden, n_labels)
    intercepts: list[FloatArray]  # (n_hidden,), (n_labels,)

    @classmethod
    def at_random(cls, widths: tuple[int, int, int], random: RandomState) -> Self:
        """Draw all weights uniformly from ± 1/sqrt(number of inputs of the unit)."""

        def draw(n_inputs: int, *shape: int) -> FloatArray:
            return np.asarray(random.uniform(-1, 1, shape) / np.sqrt(n_inputs))

        layers = list(pairwise(widths))
        return cls([draw(n, n, m) for n, m in layers], [draw(n, m) for n, m in layers])

    def activations(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the hidden units and the outputs, of one row or of many."""
        hidden = np.tanh(X @ self.coefs[0] + self.intercepts[0])
        return hidden, np.tanh(hidden @ self.coefs[1] + self.intercepts[1])

    def gradient(self, x: FloatArray, labels: FloatArray) -> tuple[float, list[FloatArray]]:
        """Return the loss of one row and the gradient by the weights, then by the biases (back-propagation)."""
        hidden, outputs = self.activations(x)
        loss, slope = pairwise_loss(outputs, labels)
        at_outputs = slope * (1 - outputs**2)
        at_hidden = (self.coefs[1] @ at_outputs) * (1 - hidden**2)
        return loss, [np.outer(x, at_hidden), np.outer(hidden, at_outputs), at_hidden, at_outputs]

    def descend(self, x: FloatArray, labels: FloatArray, rate: float, decay: float) -> float:
        """Take one gradient step for one row, with weight decay, and return the loss before the step."""
        loss, gradient = self.gradient(x, labels)
        for parameter, slope in zip([*self.coefs, *self.intercepts], gradient, strict=True):
            parameter *= 1 - rate * decay
            slope *= rate
            parameter -= slope
        return loss
