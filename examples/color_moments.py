"""
Landscapes by their colours
===========================

Zhang and Zhou (2007) describe a photograph by mean and variance of its colours in each block of a 7 x 7 grid: 294
numbers. Their photographs are not public, so this program paints its own landscapes.
"""

import matplotlib.pyplot as plt
import numpy as np

LABELS = np.array(["desert", "mountains", "sea", "sunset", "trees"])
SAND = [0.85, 0.7, 0.4]


def paint(rng):
    """Return a landscape of 56 x 77 pixels, and its label set."""
    has = dict(zip(LABELS, rng.random(5) < [0.25, 0.4, 0.4, 0.35, 0.4], strict=True))
    y, x = np.mgrid[:56, :77]
    top, low = ([0.75, 0.25, 0.2], [1, 0.7, 0.3]) if has["sunset"] else ([0.3, 0.5, 0.9], [0.8, 0.9, 1])
    image = np.linspace(top, low, 56)[:, np.newaxis].repeat(77, axis=1)
    horizon = rng.uniform(28, 36)
    if has["mountains"]:
        peaks = rng.uniform(0, 77, (3, 1))
        image[y > horizon - 16 + 0.8 * np.min(abs(x[0] - peaks), axis=0)] = [0.4, 0.4, 0.45]
    image[y > horizon] = [0.1, 0.3, 0.5] if has["sea"] else SAND if has["desert"] else [0.45, 0.6, 0.3]
    if has["sea"] and has["desert"]:
        image[y > (horizon + 112) / 3] = SAND
    for _ in range(12 * has["trees"]):
        crown = (x - rng.uniform(0, 77)) ** 2 + (y - rng.uniform(horizon, 56)) ** 2 < rng.uniform(3, 6) ** 2
        image[crown] = [0.1, rng.uniform(0.25, 0.4), 0.1]
    light, noise = rng.uniform(0.6, 1.1), rng.normal(0, 0.04, image.shape)
    return np.clip(image * light + noise, 0, 1), [int(has[label]) for label in LABELS]


rng = np.random.default_rng(0)
images, label_sets = zip(*(paint(rng) for _ in range(500)), strict=True)
X, Y = np.array(images), np.array(label_sets)

# %%
# The transformer takes the images themselves, of any sizes. Variances are much larger numbers than means, so a scaler
# follows. Pixels as features do worse: a mountain somewhat to the left has other pixels.

from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1, subset_accuracy
from nearlabel.preprocessing import ColorMoments

moments = make_pipeline(ColorMoments(), MinMaxScaler(), MLkNN(10)).fit(X[:400], Y[:400])
pixels = MLkNN(10).fit(X[:400].reshape(400, -1), Y[:400])
for name, predicted in (
    ("294 moments", moments.predict(X[400:])),
    ("12,936 pixels", pixels.predict(X[400:].reshape(100, -1))),
):
    print(f"{name}: micro F1 {micro_f1(Y[400:], predicted):.3f}, exact match {subset_accuracy(Y[400:], predicted):.2f}")

# %%
# What the transformer sees of one landscape: the means are a small copy of it, the variances find edges.

image = X[405]
seen = ColorMoments().transform([image])[0].reshape(3, 7, 7, 2)
figure, axes = plt.subplots(1, 5, figsize=(11, 2.1), layout="constrained")
axes[0].imshow(image)
axes[0].set_title("the landscape", fontsize=10)
panels = {"mean of L": seen[0, ..., 0], "mean of u": seen[1, ..., 0], "mean of v": seen[2, ..., 0]}
panels["variance of L"] = seen[0, ..., 1]
for axis, (title, values) in zip(axes[1:], panels.items(), strict=True):
    axis.imshow(values, cmap="gray", aspect=56 / 77)
    axis.set_title(title, fontsize=10)
for axis in axes:
    axis.set_axis_off()
plt.show()

# %%
# A landscape and its nearest neighbours, with their labels.

features = moments[:2].transform(X)
nearest = moments[-1].search_.kneighbors(features[405:406], n_neighbors=4)[1][0]
figure, axes = plt.subplots(1, 5, figsize=(11, 2.2), layout="constrained")
for axis, row in zip(axes, [405, *nearest], strict=True):
    axis.imshow(X[row])
    axis.set_title(", ".join(LABELS[Y[row] == 1]), fontsize=9)
    axis.set_axis_off()
axes[0].set_title("query: " + axes[0].get_title(), fontsize=9)
plt.show()

# %%
# All about images as data: :doc:`/howto/images`.
