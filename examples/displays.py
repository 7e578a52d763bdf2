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
# What NLDD has learnt: pairs of training rows by their distance in the features and that from label probabilities to a
# label set. Blue pairs have the same label set. The lines have equal expected loss: both distances count.

from sklearn.linear_model import LogisticRegression

from nearlabel.lazy import NLDD
from nearlabel.plots import DoubleDistancesDisplay

nldd = NLDD(LogisticRegression(max_iter=1000), random_state=0).fit(X, Y)
DoubleDistancesDisplay.from_estimator(nldd)

# %%
# One test row with all training rows: rows of one label set lie side by side. The row that is predicted is the first
# that the lines meet on their way up.

DoubleDistancesDisplay.from_query(nldd, X_test, Y_test, row=1)

# %%
# Others: :ref:`the frontier of precision and recall <sphx_glr_gallery_thresholds.py>`,
# :ref:`critical differences <sphx_glr_gallery_comparison.py>`, :ref:`explanations <sphx_glr_gallery_explanation.py>`.
