"""
Which methods differ?
=====================

Methods are run on the same folds of several data sets, ranked on each, and compared by Friedman's test. The diagram
joins those whose mean ranks differ by less than the critical difference of Nemenyi's test.
"""

import numpy as np
from sklearn.datasets import make_multilabel_classification

from nearlabel.comparison import compare
from nearlabel.datasets import Dataset, load_multidigits
from nearlabel.experiments import Plan, run


def make_dataset(seed: int) -> Dataset:
    """Make a data set of bags of words."""
    random = np.random.default_rng(seed)
    n_features, n_labels = random.integers(20, 60), random.integers(5, 12)
    X, Y = make_multilabel_classification(400, n_features, n_classes=n_labels, n_labels=2, random_state=seed)
    return Dataset(X, Y, tuple(map(str, range(n_features))), tuple(map(str, range(n_labels))), f"made {seed}")


problems = {f"made {seed}": make_dataset(seed) for seed in range(11)} | {"multidigits": load_multidigits()}
plan = Plan(("brknn", "brknn-a", "brknn-b", "lpknn", "mlknn", "mlknn@micro-f"), (10,), cv=4, metrics=("micro_f1",))
comparison = compare(run(plan, problems), test="friedman", over="datasets")
for relation in comparison.order.relations:
    print(f"{relation.better} is better than {relation.worse} (p = {relation.p_value:.2g})")

# %%
# Sets of one kind, made by one program, say nothing about yours; they show what is done. Which test answers which
# question: :doc:`/comparing`.

from nearlabel.plots import CriticalDifferenceDisplay

CriticalDifferenceDisplay.from_test(comparison.friedman[0])
