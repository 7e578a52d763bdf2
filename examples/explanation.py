"""
Why these labels?
=================

Every lazy method can say why it chose the labels it chose: the neighbours, their votes, how votes became scores, and
what would turn a decision.
"""

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import MLkNN

digits = load_multidigits()
model = MLkNN(n_neighbors=10).fit(digits.X[:1500], digits.Y[:1500])
(explanation,) = model.explain(digits.X[1503:1504])
print(explanation)

# %%
# The same as a picture. The mark on each bar is what the score must reach.

from nearlabel.plots import ExplanationDisplay

ExplanationDisplay(explanation).plot(title="Which digits are on picture 1503?")

# %%
# And the pictures themselves: the query, then its neighbours, with the digits that are on them.

import matplotlib.pyplot as plt
import numpy as np

rows = [1503, *explanation.neighbors["row"][:7]]
figure, axes = plt.subplots(1, len(rows), figsize=(11, 1.9), layout="constrained")
for axis, row in zip(axes, rows, strict=True):
    axis.imshow(digits.X[row].reshape(9, 9), cmap="gray_r")
    axis.set_title(" ".join(str(digit) for digit in np.flatnonzero(digits.Y[row])), fontsize=10)
    axis.set_axis_off()
plt.show()

# %%
# How to read all of it: :doc:`/explaining`.
