"""MChen and MRSP1 to 3: sets of samples divided by their farthest pair (Valero-Mas and others 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from nearlabel.labels import distinct_labelsets
from nearlabel.neighbors.exact.all_pairs import SquaredDistances
from nearlabel.preprocessing._sampler import Reduction, group_of_each, have_a_label_in_common, numbered_by_first
from nearlabel.utils.naming import registered
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_integer, check_positive


@registered("sampler", "mrsp3")
class MRSP3(Reduction):
    """Replace samples by prototypes: of sets divided until all their samples have a label in common.

    A set of samples, at first that of all, is divided by its farthest pair: each sample joins the nearer of the two.
    Each part is divided again, until it is a single sample or *homogeneous*: its samples have at least one label in
    common. It then becomes one prototype: the median of each feature, with the labels on more than half of its samples.
    The data determine the number of prototypes.

    Parameters
    ----------
    exact_up_to : int, default=2000
        Largest size of a set whose farthest pair is searched for among all pairs. In a larger set a walk from the first
        sample to the farthest, and from there to the farthest again, finds a pair of at least half of the largest
        distance: its time grows with the number of samples, not with its square.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype of each sample; prototypes are in the order of their first samples.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several samples.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MRHC : Divides by k-means from the labels' medians.
    MChen : Takes the number of prototypes as a parameter.

    Notes
    -----
    Samples without labels have none in common: each becomes a prototype. But samples with equal features end in one set
    that cannot be divided, and become one.

    Nothing is drawn. Among equally far pairs that of the lowest samples is used, and a sample equally near to both
    joins the lower one. So another order of the samples may give other prototypes where distances tie, or where a set
    is larger than `exact_up_to`. Distances are Euclidean: scale features of different units first.

    The authors' program divides the whole set once even if it is homogeneous; here it becomes one prototype.

    References
    ----------
    J. J. Valero-Mas, A. J. Gallego, P. Alonso-Jiménez, X. Serra: Multilabel Prototype Generation for Data Reduction in
    k-Nearest Neighbour Classification. Pattern Recognition 135, 2023. arXiv:2207.10947.

    J. S. Sánchez: High Training Set Size Reduction by Space Partitioning and Prototype Abstraction. Pattern
    Recognition, 2004. (RSP3, for one label)

    Examples
    --------
    >>> from nearlabel.preprocessing import MRSP3
    >>> X, y = MRSP3().fit_resample([[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [8.5]], [[1, 0], [0, 1]])
    """

    def __init__(self, exact_up_to: int = 2000) -> None:
        self.exact_up_to = exact_up_to

    def _check_parameters(self) -> None:
        check_integer("exact_up_to", self.exact_up_to, low=1)

    def _groups(self, X: Matrix, labels: CSR) -> IntArray:
        pairs = FarthestPairs(X, self.exact_up_to)
        return group_of_each(divide_until(pairs, labels.shape[0], partial(have_a_label_in_common, labels)))


class _OfSize(Reduction):
    """Reductions to a share of the rows: the most urgent part is divided, until there are enough parts."""

    def __init__(self, share: float = 0.25, *, exact_up_to: int = 2000) -> None:
        self.share = share
        self.exact_up_to = exact_up_to

    def _check_parameters(self) -> None:
        if check_positive("share", self.share) > 1:
            raise ValueError(f"share must be above 0, at most 1, got {self.share}.")
        check_integer("exact_up_to", self.exact_up_to, low=1)

    def _groups(self, X: Matrix, labels: CSR) -> IntArray:
        label_set = distinct_labelsets(labels)[1]
        n_parts = math.floor(round(self.share * len(label_set), 9))  # 0.29 * 100 is a little less than 29
        pairs = FarthestPairs(X, self.exact_up_to)
        parts = divide_into(pairs, len(label_set), n_parts, partial(self._urgency, label_set))
        return self._groups_of_parts(group_of_each(parts), label_set)

    def _urgency(self, label_set: IntArray, part: Part, pair: Pair) -> tuple[float, float]:
        """Return the priority for dividing a part: whether its rows have several label sets, and its diameter."""
        sets = label_set[part.rows]
        return float((sets != sets[0]).any()), pair.distance

    def _groups_of_parts(self, part_of: IntArray, label_set: IntArray) -> IntArray:
        """Return the groups that become prototypes: the parts."""
        return part_of


@registered("sampler", "mchen")
class MChen(_OfSize):
    """Replace samples by a given number of prototypes: of sets divided where they are largest.

    Among all sets, at first that of all samples, the one of the largest diameter is divided by its farthest pair: each
    sample joins the nearer of the two. This is repeated until there are enough sets; sets whose samples all have one
    label set wait until no other is left. Each set becomes one prototype: the median of each feature, with the labels
    on more than half of its samples.

    Parameters
    ----------
    share : float, default=0.25
        Number of prototypes, as a share of the samples; rounded down, but at least one, and fewer where samples are
        equal. The authors tried 0.1 to 0.9.
    exact_up_to : int, default=2000
        Largest size of a set whose farthest pair is searched for among all pairs; see `MRSP3`.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype of each sample; prototypes are in the order of their first samples.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several samples.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MRSP1 : The same sets, with a prototype for each of their label sets.
    MRSP3 : Lets the data determine the number of prototypes.

    Notes
    -----
    The majority rule drops labels: a set may become a prototype without any. Tune thresholds on the predictions from
    the prototypes. Among sets of equal diameter the one of the lowest sample is divided. Nothing is drawn; the notes of
    `MRSP3` on ties and on the order of the samples apply here too.

    References
    ----------
    J. J. Valero-Mas, A. J. Gallego, P. Alonso-Jiménez, X. Serra: Multilabel Prototype Generation for Data Reduction in
    k-Nearest Neighbour Classification. Pattern Recognition 135, 2023. arXiv:2207.10947.

    C. H. Chen, A. Jóźwik: A Sample Set Condensation Algorithm for the Class Sensitive Artificial Neural Network.
    Pattern Recognition Letters, 1996. (for one label)

    Examples
    --------
    >>> from nearlabel.preprocessing import MChen
    >>> X, y = MChen(0.4).fit_resample([[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [8.5]], [[1, 0], [0, 1]])
    """


@registered("sampler", "mrsp1")
class MRSP1(_OfSize):
    """Replace samples by prototypes: one for each label set in each of a given number of sets of samples.

    Samples are divided as by `MChen`. But a set becomes a prototype for each label set in it: the median of each
    feature of the samples that have it. So no label is lost, and there are more prototypes than sets.

    Parameters
    ----------
    share : float, default=0.25
        Number of sets, as a share of the samples; rounded down, but at least one, and fewer where samples are equal.
        The authors tried 0.1 to 0.9.
    exact_up_to : int, default=2000
        Largest size of a set whose farthest pair is searched for among all pairs; see `MRSP3`.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype of each sample; prototypes are in the order of their first samples.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several samples.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MChen : One prototype for each set of samples.
    MRSP2 : Divides the sets where label sets overlap.

    Notes
    -----
    Nothing is drawn; the notes of `MRSP3` on ties and on the order of the samples apply here too.

    References
    ----------
    J. J. Valero-Mas, A. J. Gallego, P. Alonso-Jiménez, X. Serra: Multilabel Prototype Generation for Data Reduction in
    k-Nearest Neighbour Classification. Pattern Recognition 135, 2023. arXiv:2207.10947.

    J. S. Sánchez: High Training Set Size Reduction by Space Partitioning and Prototype Abstraction. Pattern
    Recognition, 2004. (RSP1, for one label)

    Examples
    --------
    >>> from nearlabel.preprocessing import MRSP1
    >>> X, y = MRSP1(0.4).fit_resample([[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [1.0], [8.5]], [[1, 0], [1, 1], [0, 1]])
    """

    def _groups_of_parts(self, part_of: IntArray, label_set: IntArray) -> IntArray:
        """Return a group for each label set in each part."""
        return numbered_by_first(part_of * (label_set.max() + 1) + label_set)


@registered("sampler", "mrsp2")
class MRSP2(MRSP1):
    """Replace samples by prototypes: as `MRSP1`, but sets are divided where their label sets overlap most.

    The overlap of a set is the mean distance between its samples of different label sets, divided by that between its
    samples of equal label sets. The set of the largest overlap is divided by its farthest pair, until there are enough;
    each becomes a prototype for each label set in it.

    Parameters
    ----------
    share : float, default=0.25
        Number of sets, as a share of the samples; rounded down, but at least one, and fewer where samples are equal.
        The authors tried 0.1 to 0.9.
    exact_up_to : int, default=2000
        Largest size of a set whose farthest pair is searched for among all pairs; see `MRSP3`. Larger sets of several
        label sets are divided first, whatever their overlap, which would need all pairs.

    Attributes
    ----------
    prototype_of_ : ndarray of shape (n_samples,)
        The prototype of each sample; prototypes are in the order of their first samples.
    sample_indices_, seed_indices_ : ndarray of shape (n_prototypes,)
        -1: prototypes are made of several samples.
    label_names_ : ndarray of shape (n_labels,)
        Tags, column names of the data frame y, or 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    MRSP1 : Divides the set of the largest diameter.

    Notes
    -----
    A set whose samples all have one label set, or all different ones, has the overlap 0: dividing the latter changes no
    prototype. Among sets of equal overlap that of the largest diameter is divided, then that of the lowest sample,
    where the authors' program draws one. Their program also takes the label sets of other samples, by their places in
    the set instead of their numbers; here they are those of the samples.

    Nothing is drawn; the notes of `MRSP3` on ties and on the order of the samples apply here too.

    References
    ----------
    J. J. Valero-Mas, A. J. Gallego, P. Alonso-Jiménez, X. Serra: Multilabel Prototype Generation for Data Reduction in
    k-Nearest Neighbour Classification. Pattern Recognition 135, 2023. arXiv:2207.10947.

    J. S. Sánchez: High Training Set Size Reduction by Space Partitioning and Prototype Abstraction. Pattern
    Recognition, 2004. (RSP2, for one label)

    Examples
    --------
    >>> from nearlabel.preprocessing import MRSP2
    >>> X, y = MRSP2(0.4).fit_resample([[0.0], [1.0], [2.0], [8.0], [9.0]], [[1, 0], [1, 1], [1, 0], [0, 1], [0, 1]])
    >>> X.tolist(), y.tolist()
    ([[1.0], [1.0], [8.5]], [[1, 0], [1, 1], [0, 1]])
    """

    def _urgency(self, label_set: IntArray, part: Part, pair: Pair) -> tuple[float, float]:
        """Return the priority for dividing a part: its overlap, and its diameter."""
        if part.distances is not None:
            return overlap(part.distances, label_set[part.rows]), pair.distance
        has_several, diameter = super()._urgency(label_set, part, pair)
        return math.inf if has_several else 0.0, diameter


def overlap(squared_distances: FloatArray, label_set: IntArray) -> float:
    """Return the mean distance of pairs of rows of different label sets, divided by that of equal ones.

    It is 0 where there are no pairs of the one or the other kind, and infinite where rows of equal label sets are at
    distance 0, and others not.
    """
    is_equal = np.equal.outer(label_set, label_set)
    n_equal = np.count_nonzero(is_equal) - len(label_set)  # without the rows themselves; each pair twice
    n_different = is_equal.size - np.count_nonzero(is_equal)
    if n_equal == 0 or n_different == 0:
        return 0.0
    distances = np.sqrt(squared_distances)
    of_equal, of_different = (distances[which].sum() for which in (is_equal, ~is_equal))
    if of_equal == 0:
        return math.inf if of_different > 0 else 0.0
    return float((of_different / n_different) / (of_equal / n_equal))


# Sets of rows divided by their farthest pair: each row joins the nearer of the two.

_MOST_KEPT = 2**25  # distances of waiting parts, together: a quarter of a gigabyte


@dataclass
class Part:
    """A set of rows, ascending; with the squared distances of all their pairs, if they are available."""

    rows: IntArray
    distances: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def taking(self, chosen: BoolArray) -> Part:
        """Return some of the rows."""
        kept = None if self.distances is None else self.distances[chosen][:, chosen]
        return Part(self.rows[chosen], kept)


class Pair(NamedTuple):
    """Two rows by their places in a part, the lower first, and their squared distance."""

    distance: float
    first: int
    second: int


class FarthestPairs:
    """Find the farthest pair of a part, and divide the part by it.

    Among equally far pairs the one with the lowest first row is used, then that with the lowest second. In a part of
    more than `exact_up_to` rows the pair is that at which a walk ends: from the first row to the row farthest from it,
    from there to the farthest, while the distance grows. Its distance is at least half of the largest, as every
    distance is at most the sum of those of its two rows to a third.
    """

    def __init__(self, X: Matrix, exact_up_to: int) -> None:
        self.distances = SquaredDistances(X)
        self.exact_up_to = exact_up_to

    def pair(self, part: Part) -> Pair:
        """Return the farthest pair; the distances are stored in a part that is small enough."""
        if len(part) > self.exact_up_to:
            return self._walk(part.rows)
        if part.distances is None:
            part.distances = self.distances.among(part.rows)
        first, second = divmod(int(part.distances.argmax()), len(part))
        return Pair(float(part.distances[first, second]), first, second)

    def halves(self, part: Part, pair: Pair) -> tuple[Part, Part]:
        """Return the rows at least as near to the pair's first row as to its second, and the others."""
        rows, known = part.rows, part.distances
        to_first, to_second = (
            self.distances.from_row(rows[place], rows) if known is None else known[place]
            for place in (pair.first, pair.second)
        )
        is_first = to_first <= to_second
        return part.taking(is_first), part.taking(~is_first)

    def _walk(self, rows: IntArray) -> Pair:
        here, there, distance = 0, 0, -1.0
        while True:
            distances = self.distances.from_row(rows[there], rows)
            farthest = int(distances.argmax())
            if distances[farthest] <= distance:
                return Pair(distance, min(here, there), max(here, there))
            here, there, distance = there, farthest, float(distances[farthest])


def divide_until(pairs: FarthestPairs, n_rows: int, is_done: Callable[[IntArray], bool]) -> list[IntArray]:
    """Return parts of all rows, each divided until it is done or all its rows are equal."""
    waiting, done = [Part(np.arange(n_rows))], []
    while waiting:
        part = waiting.pop()
        pair = None if is_done(part.rows) else pairs.pair(part)
        if pair is None or pair.distance == 0:
            done.append(part.rows)
        else:
            waiting += pairs.halves(part, pair)
    return done


def divide_into(
    pairs: FarthestPairs, n_rows: int, n_parts: int, urgency: Callable[[Part, Pair], tuple[float, ...]]
) -> list[IntArray]:
    """Return `n_parts` parts of all rows, made by dividing the most urgent part, one after the other.

    Among equally urgent parts the one with the lowest row is next. Where rows are equal there may be fewer parts.
    """
    waiting: list[tuple[tuple[float, ...], int, Part, Pair]] = []
    undivided: list[IntArray] = []
    n_kept = 0

    def wait(part: Part) -> int:
        """Add a part to the queue that it belongs to; return how many distances it stores."""
        pair = pairs.pair(part)
        if pair.distance == 0:
            undivided.append(part.rows)
            return 0
        key = tuple(-value for value in urgency(part, pair))
        if n_kept + len(part) ** 2 > _MOST_KEPT:
            part.distances = None
        heappush(waiting, (key, int(part.rows[0]), part, pair))
        return _n_kept(part)

    n_kept += wait(Part(np.arange(n_rows)))
    while waiting and len(waiting) + len(undivided) < n_parts:
        _, _, part, pair = heappop(waiting)
        n_kept -= _n_kept(part)
        for half in pairs.halves(part, pair):
            n_kept += wait(half)
    return undivided + [part.rows for _, _, part, _ in waiting]


def _n_kept(part: Part) -> int:
    return 0 if part.distances is None else part.distances.size
