"""BP-MLL: a neural network that ranks labels (Zhang and Zhou, IEEE TKDE 2006)."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state

from nearlabel.models import WithDecisions
from nearlabel.rivals._label_ranking import above_threshold, fit_threshold, ranked_labels
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_integer, check_positive, row_blocks

_LARGEST_INPUT, _LARGEST_RATE = 0.8, 0.05


@registered("method", "bpmll")
class BPMLL(WithDecisions):
    """Score labels with a neural network with one hidden layer, trained to rank a sample's labels above the others.

    All units are tanh. The loss of a sample with outputs c is a sum over the pairs of a label k that it carries and a
    label l that it lacks::

        1/(|Y||Ȳ|) Σ_{k in Y, l in Ȳ} exp(-(c_k - c_l)) = 1/(|Y||Ȳ|) (Σ_{k in Y} exp(-c_k)) (Σ_{l in Ȳ} exp(c_l))

    It is minimised by gradient descent, one sample at a time. The labels whose output reaches a threshold are
    predicted; the threshold is linear in the outputs of the sample, fitted to the best thresholds of the training
    samples.

    Parameters
    ----------
    n_hidden : float or int, default=0.2
        Number of hidden units: a float is a share of the number of features (rounded, at least one unit), an int the
        number itself.
    n_epochs : int, default=100
        Number of passes over the training samples.
    learning_rate : "auto" or float, default="auto"
        Step size of the gradient descent. "auto": the paper's 0.05, or 1/2 divided by the mean squared norm of the
        scaled training samples if that is smaller; see the notes.
    weight_decay : float, default=1e-5
        L2 penalty: half the sum of squared weights and biases, times this factor, is added to the loss of each sample.
    scale : {"range", "none"}, default="range"
        "range": features are scaled to [-0.8, 0.8] by the ranges of the training samples; a constant feature becomes 0.
        "none": features are used unchanged, and should then be small; better for sparse data, see the notes.
    random_state : int, RandomState or None, default=None
        Draws the initial weights and the order of the samples in each epoch.

    Attributes
    ----------
    coefs_ : list of two ndarrays of shapes (n_features, n_hidden) and (n_hidden, n_labels)
        Weights of the two layers; they apply to the scaled inputs. Labels that all or no training samples carry are
        left out here and below. The virtual label, if there is one (see the notes), is the last.
    intercepts_ : list of two ndarrays of shapes (n_hidden,) and (n_labels,)
        Biases of the two layers.
    learning_rate_ : float
        The step size that was used.
    size_coef_ : ndarray of shape (n_labels + 1,)
        Coefficients of the threshold for the outputs, followed by its constant.
    loss_curve_ : list of float
        Mean loss of the samples in each epoch; each loss is computed before the sample's step.
    n_iter_ : int
        Number of epochs.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    Queries outside the training ranges are scaled in the same way, without clipping.

    A step changes the inputs of the hidden units in proportion to the rate times the squared norm of the sample, so
    samples with a large norm need a lower rate. On image (294 features, mean squared norm 118) the loss stays near 1,
    the value of equal outputs, at the rate 0.05, and falls at 0.004, the rate of "auto". On yeast (8.6) "auto" is 0.05.
    Scaling maps the zeros of sparse features to -0.8, which gives all samples a large norm and makes them similar: on
    yahoo-arts (462 words) unscaled features are better (average precision 0.61 against 0.44 after 20 epochs). See
    `loss_curve_`.

    Initial weights are uniform within ± 1/sqrt(number of inputs of the unit); the paper does not define them. Scaling
    and decay are MULAN's; the authors' program leaves inputs unscaled, uses the samples in the given order, and has a
    decay of 0.2 divided by the number of samples. With noisy labels 100 epochs may be too many: on yeast, test samples
    are ranked better after 10.

    Samples without labels, or with all labels, have no pairs and do not train the network, but they train the
    threshold; the authors leave them out. If no sample has a pair, as with a single label, the paper's method learns
    nothing. We then add a virtual label, carried by the samples without labels only, and predict the labels that are
    ranked above it.

    `fit` does not accept sample weights: samples are presented one at a time, all equally often.

    See Also
    --------
    nearlabel.rivals.RankSVM : A kernel machine for the same ranking, with a hinge loss.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou. Multilabel neural networks with applications to functional genomics and text
    categorization. IEEE Transactions on Knowledge and Data Engineering 18(10), 2006.

    Examples
    --------
    >>> from nearlabel.rivals import BPMLL
    >>> X, Y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1]]
    >>> BPMLL(n_hidden=2, random_state=0).fit(X, Y).predict([[0.5], [4.5]])
    array([[1, 0, 0],
           [0, 1, 1]])
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        n_hidden: float = 0.2,
        *,
        n_epochs: int = 100,
        learning_rate: float | str = "auto",
        weight_decay: float = 1e-5,
        scale: str = "range",
        random_state: int | RandomState | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_epochs = n_epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.scale = scale
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_positive("n_hidden", self.n_hidden)
        check_integer("n_epochs", self.n_epochs, low=1)
        if isinstance(self.learning_rate, str):
            check_choice("learning_rate", self.learning_rate, ["auto"])
        else:
            check_positive("learning_rate", self.learning_rate)
        if self.weight_decay != 0:
            check_positive("weight_decay", self.weight_decay)
        check_choice("scale", self.scale, ["range", "none"])
        check_random_state(self.random_state)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        labels, random = as_dense(labels), check_random_state(self.random_state)
        self._scale = InputScale.of(X) if self.scale == "range" else InputScale(0.0, 1.0)
        self.learning_rate_ = self._rate(X) if isinstance(self.learning_rate, str) else float(self.learning_rate)
        ranked = ranked_labels(labels)
        self._network = RankingNetwork.at_random((X.shape[1], self._width(X.shape[1]), ranked.shape[1]), random)
        self._train(X, ranked, random)
        self.coefs_, self.intercepts_ = self._network.coefs, self._network.intercepts
        self.size_coef_ = fit_threshold(self._outputs(X), labels)

    def _width(self, n_features: int) -> int:
        """Return the number of hidden units."""
        if isinstance(self.n_hidden, numbers.Integral):
            return int(self.n_hidden)
        return max(1, round(self.n_hidden * n_features))

    def _rate(self, X: Matrix) -> float:
        """Return the paper's rate, or the rate that moves the hidden units' inputs by half a gradient, if smaller."""
        total = sum(float(np.square(self._scale(X[rows])).sum()) for rows in row_blocks(X.shape[0], 8 * X.shape[1]))
        return min(_LARGEST_RATE, X.shape[0] / (2 * total)) if total > 0 else _LARGEST_RATE

    def _train(self, X: Matrix, labels: IntArray, random: RandomState) -> None:
        """Train on the samples that have pairs, in a new order each epoch."""
        sizes = labels.sum(axis=1)
        paired = np.flatnonzero((sizes > 0) & (sizes < labels.shape[1]))
        self.n_iter_ = self.n_epochs
        self.loss_curve_ = [self._present(X, labels, random.permutation(paired)) for _ in range(self.n_epochs)]

    def _present(self, X: Matrix, labels: IntArray, order: IntArray) -> float:
        """Take a step for each sample in turn, and return the mean loss."""
        total = 0.0
        for block in row_blocks(len(order), 8 * X.shape[1]):
            rows = order[block]
            for x, row_labels in zip(self._scale(X[rows]), labels[rows].astype(np.float64), strict=True):
                total += self._network.descend(x, row_labels, self.learning_rate_, self.weight_decay)
        return total / len(order)

    def _score(self, X: Matrix) -> FloatArray:
        return above_threshold(self._outputs(X), self.size_coef_)[:, : len(self._varying)]  # without the virtual label

    def _outputs(self, X: Matrix) -> FloatArray:
        blocks = row_blocks(X.shape[0], 8 * X.shape[1])
        return np.concatenate([self._network.activations(self._scale(X[block]))[1] for block in blocks])


@dataclass(frozen=True)
class InputScale:
    """Maps features, dense or sparse, to dense inputs: minus `middle`, times `factor`."""

    middle: FloatArray | float
    factor: FloatArray | float

    @classmethod
    def of(cls, X: Matrix) -> Self:
        """Map the range of each feature to [-0.8, 0.8]; a constant feature becomes 0."""
        low, high = (as_dense(extreme).ravel().astype(np.float64) for extreme in (X.min(axis=0), X.max(axis=0)))
        with np.errstate(over="ignore"):
            width = high - low
        factor = np.zeros_like(width)
        with np.errstate(over="ignore"):  # raises an error below
            np.divide(2 * _LARGEST_INPUT, width, out=factor, where=width > 0)
        odd = width[~np.isfinite(factor) | ~np.isfinite(width)]
        if len(odd):
            raise ValueError(
                "X must have features whose ranges and inverse ranges are finite in float64, got a range of"
                f" {odd[0]:.3g}. Hint: scale the features."
            )
        return cls(low + width / 2, factor)

    def __call__(self, X: Matrix) -> FloatArray:
        """Scale samples."""
        scaled: FloatArray = (as_dense(X).astype(np.float64) - self.middle) * self.factor
        return scaled


# The network of BP-MLL: one hidden layer, tanh units, and a pairwise loss.


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
