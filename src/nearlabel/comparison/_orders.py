"""Rank methods by significant wins minus losses, as in Zhang and Zhou (2007, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nearlabel.comparison._significance import PairedTest


@dataclass(frozen=True)
class Relation:
    """A significant difference: one method is better than another on a metric.

    Parameters
    ----------
    dataset, metric : str
        As in `PairedTest`.
    better, worse : str
        The methods.
    difference : float
        Mean of the better method minus the mean of the worse; after a Friedman test, the difference of mean ranks.
    p_value : float
        The p-value of the test.
    n_pairs : int
        Number of folds or data sets.
    """

    dataset: str
    metric: str
    better: str
    worse: str
    difference: float
    p_value: float
    n_pairs: int


@dataclass(frozen=True)
class Order:
    """Partial orders by each metric, and the total order from their sum.

    Parameters
    ----------
    relations : tuple of Relation
        The partial orders.
    scores : dict of str to int
        For each method, best first, its wins minus its losses over all relations.
    """

    relations: tuple[Relation, ...]
    scores: dict[str, int]

    def by_metric(self) -> dict[str, dict[str, int]]:
        """Return each method's wins minus losses for each metric."""
        scores: dict[str, dict[str, int]] = {}
        for relation in self.relations:
            of_metric = scores.setdefault(relation.metric, dict.fromkeys(self.scores, 0))
            of_metric[relation.better] += 1
            of_metric[relation.worse] -= 1
        return scores

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def relation_of(test: PairedTest, alpha: float) -> Relation | None:
    """Return the relation if the test is significant at a level, else None."""
    if not test.p_value < alpha:  # also if the p-value is undefined
        return None
    (worse,) = set(test.methods) - {test.better}
    difference = test.difference if test.better == test.methods[0] else -test.difference
    return Relation(test.dataset, test.metric, test.better, worse, difference, test.p_value, test.n_pairs)


def order_methods(tests: Iterable[PairedTest], methods: Sequence[str], alpha: float = 0.05) -> Order:
    """Return the significant relations of some tests, and the order of the methods by wins minus losses.

    Parameters
    ----------
    tests : iterable of PairedTest
        Tests on any metrics.
    methods : sequence of str
        All methods; if scores are equal, the earlier method comes first.
    alpha : float, default=0.05
        Significance level.

    Examples
    --------
    >>> from nearlabel.comparison import PairedTest, order_methods
    >>> test = PairedTest("yeast", "hamming_loss", ("a", "b"), difference=-0.1, statistic=3.2, p_value=0.01, n_pairs=10)
    >>> order_methods([test], ["b", "a"]).scores
    {'a': 1, 'b': -1}
    """
    relations = tuple(relation for test in tests if (relation := relation_of(test, alpha)) is not None)
    scores = dict.fromkeys(methods, 0)
    for relation in relations:
        scores[relation.better] += 1
        scores[relation.worse] -= 1
    return Order(relations, dict(sorted(scores.items(), key=lambda item: -item[1])))
