"""
Pictures of a model
===================

The displays of `nearlabel.plots` work as scikit-learn's do: made from an estimator, from predictions or from records of
a run, drawn at once, and ``ax_`` takes the next one.
"""

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import BRkNN, MLkNN

digits = load_multidigits()
X, Y, X_test, Y_test = digits.X[:1500], digits.Y[:1500], digits.X[1500:], digits.Y[1500:]

# %%
# What leaving one out says of each number of neighbours, from one search. The rings mark the best.

from nearlabel.plots import NeighborsCurveDisplay

curve = NeighborsCurveDisplay.from_estimator(MLkNN(), X, Y)
NeighborsCurveDisplay.from_estimator(BRkNN(), X, Y, ax=curve.ax_)

# %%
# BRkNN predicts no label at all for many rows, the more the more neighbours vote; an even number is worse than an odd
# one: half of the votes are not enough.

NeighborsCurveDisplay.from_estimator(BRkNN(), X, Y, metric="empty_predictions")

# %%
# Can the probabilities be believed? ML-kNN's can, on these data; votes of five neighbours are coarse.

from nearlabel.plots import ReliabilityDisplay

reliability = ReliabilityDisplay.from_estimator(MLkNN(10).fit(X, Y), X_test, Y_test)
ReliabilityDisplay.from_estimator(BRkNN(5).fit(X, Y), X_test, Y_test, ax=reliability.ax_)

# %%
# Which labels go together: of the rows with the line's digit, the share that has the column's.

from nearlabel.plots import CoOccurrenceDisplay

CoOccurrenceDisplay.from_labels(Y, label_names=digits.label_names)

# %%
# Others: :ref:`the frontier of precision and recall <sphx_glr_gallery_thresholds.py>`,
# :ref:`critical differences <sphx_glr_gallery_comparison.py>`, :ref:`explanations <sphx_glr_gallery_explanation.py>`.
