"""Slow transcriptions of the papers, loop by loop, with nothing shared with the library.

Distances are summed in Python floats in the order of the features, equal distances go to the lower index, ML-kNN is
computed in fractions. X and Y are lists of lists or arrays.
"""

from __future__ import annotations

import math
from fractions import Fraction


def squared_euclidean(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += (float(x) - float(y)) * (float(x) - float(y))  # a power would round otherwise, and raise on overflow
    return total


def manhattan(a, b):
    total = 0.0
    for x, y in zip(a, b, strict=True):
        total += abs(float(x) - float(y))
    return total


def nearest(X, query, k, *, leave_out=None, distance=squared_euclidean):
    """Return the indices of the k nearest rows of X; row `leave_out` is not looked at."""
    pairs = [(distance(row, query), i) for i, row in enumerate(X) if i != leave_out]
    return [i for _, i in sorted(pairs)[:k]]


def confidences(Y, neighbors):
    """Return k times the confidence of every label."""
    return [sum(int(Y[i][label]) for i in neighbors) for label in range(len(Y[0]))]


def brknn(Y, neighbors, *, majority="strict"):
    k = len(neighbors)
    return [int(2 * votes > k or (majority == "half" and 2 * votes == k)) for votes in confidences(Y, neighbors)]


def brknn_a(Y, neighbors, *, majority="strict"):
    chosen = brknn(Y, neighbors, majority=majority)
    if not any(chosen):
        votes = confidences(Y, neighbors)
        chosen[votes.index(max(votes))] = 1
    return chosen


def brknn_b(Y, neighbors, *, rounding="half_down"):
    mean_size = Fraction(sum(int(sum(Y[i])) for i in neighbors), len(neighbors))
    size = mean_size.numerator // mean_size.denominator
    rest = mean_size - size
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and rounding == "half_up"):
        size += 1
    votes = confidences(Y, neighbors)
    ranking = sorted(range(len(votes)), key=lambda label: (-votes[label], label))
    return [int(label in ranking[:size]) for label in range(len(votes))]


def lpknn(Y, neighbors, *, ties="nearest"):
    sets = [tuple(int(v) for v in Y[i]) for i in neighbors]
    counts = {s: sets.count(s) for s in sets}
    tied = [s for s in sets if counts[s] == max(counts.values())]
    if ties == "first":
        return list(min(tied))
    if ties == "frequent":
        everyone = [tuple(int(v) for v in row) for row in Y]
        most = max(everyone.count(s) for s in tied)
        return list(next(s for s in tied if everyone.count(s) == most))
    return list(tied[0])


def mlknn_tables(Y, training_neighbors, k, s):
    """For each label: prior, P(j | H1), P(j | H0), as fractions (Zhang and Zhou 2007, Fig. 1, steps 1 to 11)."""
    n, tables = len(Y), []
    for label in range(len(Y[0])):
        prior = (s + sum(int(row[label]) for row in Y)) / (2 * s + n)
        c, c_without = [0] * (k + 1), [0] * (k + 1)
        for i in range(n):
            delta = sum(int(Y[a][label]) for a in training_neighbors[i])
            if Y[i][label]:
                c[delta] += 1
            else:
                c_without[delta] += 1
        with_label = [(s + c[j]) / (s * (k + 1) + sum(c)) for j in range(k + 1)]
        without_label = [(s + c_without[j]) / (s * (k + 1) + sum(c_without)) for j in range(k + 1)]
        tables.append((prior, with_label, without_label))
    return tables


def mlknn(X, Y, queries, k, s=1):
    """Posteriors and label sets of the queries; decided in fractions, positive on exactly one half."""
    s = Fraction(s)
    training_neighbors = [nearest(X, X[i], k, leave_out=i) for i in range(len(X))]
    tables = mlknn_tables(Y, training_neighbors, k, s)
    posteriors, labels = [], []
    for query in queries:
        votes = confidences(Y, nearest(X, query, k))
        row = []
        for (prior, with_label, without_label), j in zip(tables, votes, strict=True):
            yes, no = prior * with_label[j], (1 - prior) * without_label[j]
            row.append(yes / (yes + no))
        posteriors.append([float(p) for p in row])
        labels.append([int(p >= Fraction(1, 2)) for p in row])
    return posteriors, labels


def dmlknn(X, Y, queries, k, delta, s=1, *, cells="counts"):
    """Posteriors and label sets of the queries, as `mlknn`, from the rows in the box of each (Younes et al. 2011)."""
    s, n, labels = Fraction(s), len(Y), range(len(Y[0]))
    z = s * (k + 1 if cells == "counts" else len(labels))
    own = [confidences(Y, nearest(X, X[i], k, leave_out=i)) for i in range(n)]
    posteriors, decided = [], []
    for query in queries:
        votes = confidences(Y, nearest(X, query, k))
        row = []
        for label in labels:
            v = [0, 0]
            for i in range(n):
                near = all(abs(own[i][q] - votes[q]) <= delta for q in labels if q != label)
                if own[i][label] == votes[label] and near:
                    v[int(Y[i][label])] += 1
            carriers = sum(int(Y[i][label]) for i in range(n))
            prior = (s + carriers) / (2 * s + n)
            yes, no = prior * (s + v[1]) / (z + carriers), (1 - prior) * (s + v[0]) / (z + n - carriers)
            row.append(yes / (yes + no))
        posteriors.append([float(p) for p in row])
        decided.append([int(p >= Fraction(1, 2)) for p in row])
    return posteriors, decided


def bins(column, n_bins):
    """Name the value of each row of a feature: None for 0, the value itself if there are few, else its bin."""
    present = [float(v) for v in column if v != 0]
    if len(set(present)) <= n_bins:
        return [float(v) if v != 0 else None for v in column]
    return [None if v == 0 else n_bins * sum(p < v for p in present) // len(present) for v in column]


def coupled_similarity(X, Y, *, values="present", feature_weights="mean", n_bins=10, adjusted=False):
    """Similarity of labels as fractions, row by row of the data (Chaudhari and Sane 2016, equations 1 to 3)."""
    n, n_labels, n_features = len(X), len(Y[0]), len(X[0])
    F = [sum(int(Y[r][i]) for r in range(n)) for i in range(n_labels)]
    names = [bins([X[r][p] for r in range(n)], n_bins) for p in range(n_features)]
    similarity = [[Fraction(int(i == j)) for j in range(n_labels)] for i in range(n_labels)]
    for i in range(n_labels):
        for j in range(n_labels):
            if i == j or F[i] == 0 or F[j] == 0:
                continue
            inter = Fraction(0)
            for p in range(n_features):
                for v in set(names[p]):
                    if v is None and values == "present":
                        continue
                    with_i = sum(int(Y[r][i]) for r in range(n) if names[p][r] == v)
                    with_j = sum(int(Y[r][j]) for r in range(n) if names[p][r] == v)
                    if adjusted:
                        share = Fraction(names[p].count(v), n)
                        with_i, with_j = max(with_i - share * F[i], 0), max(with_j - share * F[j], 0)
                    inter += Fraction(min(with_i, with_j), max(F[i], F[j]))
            if feature_weights == "mean":
                inter /= n_features
            similarity[i][j] = Fraction(F[i] * F[j], F[i] + F[j] + F[i] * F[j]) * inter
    return similarity


def memberships(Y, similarity, *, membership="clip", formulas="resolved"):
    """How far each row has each label, as fractions."""
    result = []
    for row in Y:
        labelset = [label for label, v in enumerate(row) if v]
        degrees = []
        for j in range(len(row)):
            lent = [min(similarity[label][j], Fraction(1)) for label in labelset]
            if formulas == "printed":
                degree = sum(lent, Fraction(0))
            elif membership == "max":
                degree = max(lent, default=Fraction(0))
            elif membership == "mean":
                degree = sum(lent, Fraction(0)) / max(len(lent), 1)
            elif membership == "hard":
                degree = Fraction(int(sum(lent) >= Fraction(1, 2)))
            else:
                degree = min(sum(lent, Fraction(0)), Fraction(1))
            degrees.append(degree)
        result.append(degrees)
    return result


def half_up(z):
    return int((z + Fraction(1, 2)) // 1)


def cmlknn(X, Y, queries, k, s=1, *, membership="clip", formulas="resolved", similarity=None, **options):
    """Posteriors and label sets of the queries, in fractions (Chaudhari and Sane 2016, equations 4 to 12)."""
    s, n, n_labels = Fraction(s), len(X), len(Y[0])
    similarity = similarity or coupled_similarity(X, Y, **options)
    mu = memberships(Y, similarity, membership=membership, formulas=formulas)
    N = n_labels if formulas == "printed" else 1  # what the paper calls N, and what should stand there
    training_neighbors = [nearest(X, X[i], k, leave_out=i) for i in range(n)]
    query_neighbors = [nearest(X, query, k) for query in queries]
    posteriors, labels = ([[] for _ in queries] for _ in range(2))
    for j in range(n_labels):
        prior = (s + sum(mu[i][j] for i in range(n))) / (2 * s + n * N)
        alpha, beta = [Fraction(0)] * (k * N + 1), [Fraction(0)] * (k * N + 1)
        for i in range(n):
            C = half_up(sum(mu[a][j] for a in training_neighbors[i]))
            alpha[C] += mu[i][j]
            beta[C] += N - mu[i][j]
        for q, neighbors in enumerate(query_neighbors):
            C = half_up(sum(mu[a][j] for a in neighbors))
            yes = prior * (s + alpha[C]) / (s * (k * N + 1) + sum(alpha))
            no = (1 - prior) * (s + beta[C]) / (s * (k * N + 1) + sum(beta))
            posteriors[q].append(float(yes / (yes + no)))
            labels[q].append(int(yes / no > 1))
    return posteriors, labels


def double_distances(X, Y, x, p):
    """Both distances of a query from every training row: (Dx, Dy) (Gweon et al. 2019)."""
    return [
        (squared_euclidean(row, x) ** 0.5, squared_euclidean(labels, p) ** 0.5)
        for row, labels in zip(X, Y, strict=True)
    ]


def nldd_pairs(X1, Y1, X2, Y2, P2):
    """The rows (Dx, Dy, loss) of the regression: each row of T2 with the nearest of T1 in x and in y (Algorithm 1)."""
    rows = []
    for x, y, p in zip(X2, Y2, P2, strict=True):
        distances = double_distances(X1, Y1, x, p)
        m1 = min(range(len(X1)), key=lambda j: (distances[j][0], distances[j][1], j))
        m2 = min(range(len(X1)), key=lambda j: (distances[j][1], distances[j][0], j))
        for j in dict.fromkeys([m1, m2]):
            loss = sum(int(a) != int(b) for a, b in zip(y, Y1[j], strict=True))
            rows.append((*distances[j], loss))
    return rows


def nldd(X, Y, queries, P, coef):
    """Number of the training row of least expected loss for each query, and that loss as a share of the labels."""
    chosen, shares = [], []
    for x, p in zip(queries, P, strict=True):
        costs = [(coef[1] * dx + coef[2] * dy, dy, dx, j) for j, (dx, dy) in enumerate(double_distances(X, Y, x, p))]
        chosen.append(min(costs)[-1])
        shares.append(1 / (1 + math.exp(-(coef[0] + min(costs)[0]))))
    return chosen, shares
