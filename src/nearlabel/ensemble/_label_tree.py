"""A tree with labels as leaves, and the meta-labels of its nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.ensemble._balanced_clusters import balanced_clusters
from nearlabel.utils.types import CSR, FloatArray, IntArray


@dataclass
class Node:
    """A set of labels; an inner node splits it among its children, a leaf has one label and no children."""

    labels: IntArray
    children: list[Node]
    model: Any = None  # fitted classifier of an inner node

    def inner_nodes(self) -> Iterator[Node]:
        """Yield the inner nodes from this one down, each before its children."""
        if self.children:
            yield self
        for child in self.children:
            yield from child.inner_nodes()


def label_tree(
    labels: IntArray, columns: CSR, weights: FloatArray, n_clusters: int, max_iter: int, random: RandomState
) -> Node:
    """Return the node of some labels; `columns` is the CSC label matrix of weighted samples (n_samples, n_labels)."""
    if len(labels) <= n_clusters:
        return Node(labels, [Node(label, []) for label in labels[:, np.newaxis]])
    clusters = balanced_clusters(*_points(columns[:, labels], weights), n_clusters, max_iter, random)
    groups = [labels[cluster] for cluster in clusters]
    return Node(
        labels,
        [
            Node(group, []) if len(group) == 1 else label_tree(group, columns, weights, n_clusters, max_iter, random)
            for group in groups
        ],
    )


def meta_labels(children: list[Node], columns: CSR) -> CSR:
    """Return which samples carry any label below each child (n_samples, n_children)."""
    below = np.concatenate([child.labels for child in children])
    ends = np.cumsum([0, *(len(child.labels) for child in children)])
    shape = (columns.shape[1], len(children))
    return (columns @ sparse.csc_array((np.ones(len(below)), below, ends), shape=shape) > 0).astype(np.int64).tocsr()


def _points(columns: CSR, weights: FloatArray) -> tuple[CSR, FloatArray]:
    """Return the labels as points (n_labels, n_rows) over the rows with any label, and the weights of these rows."""
    rows, place = np.unique(columns.indices, return_inverse=True)
    points = sparse.csr_array((columns.data, place, columns.indptr), shape=(columns.shape[1], len(rows)))
    return points, weights[rows]
