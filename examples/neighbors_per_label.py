"""
A number of neighbours for each label
=====================================

A frequent label may want many neighbours where a rare one wants few. `NeighborsPerLabel` finds a number for each label,
from one search.
"""

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import MLkNN
from nearlabel.metrics import macro_f1
from nearlabel.selection import NeighborsPerLabel

digits = load_multidigits()
X, Y, X_test, Y_test = digits.X[:1500], digits.Y[:1500], digits.X[1500:], digits.Y[1500:]
models = {"k = 10": MLkNN(10), "one k for all": MLkNN("auto"), "a k for each label": NeighborsPerLabel(MLkNN())}
for name, model in models.items():
    print(f"{name}: macro F1 {macro_f1(Y_test, model.fit(X, Y).predict(X_test)):.3f}")

# %%
# The F1 of each label over the number of neighbours, in leave-one-out predictions of the training rows, and the number
# that was taken.

import matplotlib.pyplot as plt

model = models["a k for each label"]
figure, axes = plt.subplots(2, 5, figsize=(11, 4.6), sharex=True, sharey=True, layout="constrained")
for label, axis in enumerate(axes.ravel()):
    chosen = model.n_neighbors_[label]
    axis.plot(model.cv_results_["n_neighbors"], model.cv_results_["f1"][:, label], color="#0072B2")
    axis.axvline(chosen, color="#D55E00", linestyle="--")
    axis.set_title(f"digit {digits.label_names[label]}, {Y[:, label].sum()} rows: {chosen}", fontsize=10)
figure.supxlabel("number of neighbours")
figure.supylabel("F1, leave-one-out")
plt.show()

# %%
# The numbers that leave-one-out predictions favour are not always those that new rows favour: a rare label's number is
# chosen by few rows. What is gained on real data: :doc:`/choosing_k`.
