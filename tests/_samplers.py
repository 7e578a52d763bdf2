"""The samplers as their papers state them: plain loops, exact fractions, sorted distances; draws in the same order."""

from fractions import Fraction

import numpy as np


def ratios(y):
    """The imbalance ratio of each label that occurs."""
    counts = [int(column.sum()) for column in y.T]
    return {label: Fraction(max(counts), count) for label, count in enumerate(counts) if count}


def minority(y):
    """Labels whose ratio is above the mean."""
    known = ratios(y)
    mean = sum(known.values(), Fraction(0)) / max(len(known), 1)
    return [label for label, ratio in known.items() if ratio > mean]


def nearest(X, row, others, k):
    """The k nearest of some rows, ordered by (distance, row)."""
    return sorted(others, key=lambda other: (sum((X[row] - X[other]) ** 2), other))[:k]


def scumble_of_row(y, row):
    """1 less geometric mean by arithmetic mean of the ratios of the row's own labels."""
    own = [float(ratios(y)[label]) for label in np.flatnonzero(y[row])]
    return 1 - np.prod(own) ** (1 / len(own)) / np.mean(own) if len(own) > 1 else 0.0


def ml_ros(y, share, random):
    """Rows: all, then copies."""
    known, wanted = ratios(y), round(share * len(y))
    mean = sum(known.values(), Fraction(0)) / len(known)
    bags = [(label, np.flatnonzero(y[:, label])) for label in minority(y)]
    rows = list(range(len(y)))
    while bags and len(rows) < len(y) + wanted:
        for label, bag in list(bags):
            if len(rows) == len(y) + wanted:
                break
            rows.append(int(bag[random.randint(len(bag))]))
            if ratios(y[rows])[label] <= mean:
                bags = [other for other in bags if other[0] != label]
    return rows


def ml_rus(y, share, random):
    """Rows that are left."""
    rare = minority(y)
    dispensable = [row for row in range(len(y)) if rare and not y[row, rare].any()]
    deleted = random.choice(dispensable, min(round(share * len(y)), len(dispensable)), replace=False)
    return [row for row in range(len(y)) if row not in deleted]


def mlsmote(X, y, k, random, categories=()):
    """New rows: features, labels, seed and reference of each."""
    made = []
    for label in minority(y):
        bag = np.flatnonzero(y[:, label])
        if len(bag) < 2:
            continue
        n_near = min(k, len(bag) - 1)
        near = {row: nearest(X, row, [other for other in bag if other != row], n_near) for row in bag}
        reference = {
            row: near[row][place] for row, place in zip(bag, random.randint(n_near, size=len(bag)), strict=True)
        }
        for row in bag:
            features = X[row].astype(float)
            for feature in range(X.shape[1]):
                gap = X[reference[row], feature] - X[row, feature]
                features[feature] += gap * random.random_sample() if gap else 0
            for feature in categories:
                values = [X[other, feature] for other in near[row]]
                features[feature] = max(sorted(set(values)), key=values.count)
            voters = [row, *near[row]]
            labels = [int(2 * sum(y[voters, other]) > len(voters)) for other in range(y.shape[1])]
            made.append((features, labels, row, reference[row]))
    return made


def differ(one, other, threshold):
    """Whether two label sets differ."""
    sizes = int(one.sum() + other.sum())
    return sizes > 0 and Fraction(int((one != other).sum()), sizes) > Fraction(threshold)


def ml_enn(X, y, k, threshold):
    """Rows that are left."""
    left = []
    for row in range(len(y)):
        near = nearest(X, row, [other for other in range(len(y)) if other != row], k)
        n_other = sum(differ(y[row], y[other], threshold) for other in near)
        if y[row, minority(y)].any() or 2 * n_other < k:
            left.append(row)
    return left


def ml_tl(X, y, threshold):
    """Rows that are left."""
    near = [nearest(X, row, [other for other in range(len(y)) if other != row], 1)[0] for row in range(len(y))]
    return [
        row
        for row in range(len(y))
        if y[row, minority(y)].any() or not differ(y[row], y[near[row]], threshold) or near[near[row]] != row
    ]


def remedial(y):
    """Label sets, and the row of each."""
    values = [scumble_of_row(y, row) for row in range(len(y))]
    rare, halves, sets = minority(y), [], y.copy()
    for row in range(len(y)):
        frequent = [label for label in range(y.shape[1]) if label not in rare]
        if values[row] > np.mean(values) + 1e-12 and y[row, rare].any() and y[row, frequent].any():
            sets[row, rare] = 0
            half = y[row].copy()
            half[frequent] = 0
            halves.append((row, half))
    return np.array([*sets, *(half for _, half in halves)]), [*range(len(y)), *(row for row, _ in halves)]
