"""
Which number of neighbours?
===========================

With ``n_neighbors="auto"`` ML-kNN tries 1 to 30 neighbours and takes the number of largest leave-one-out micro F1: each
training row is predicted from all others. One search gives all of that, and nothing is fitted again.
"""

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1

digits = load_multidigits()
X, Y, X_test, Y_test = digits.X[:1500], digits.Y[:1500], digits.X[1500:], digits.Y[1500:]
model = MLkNN("auto").fit(X, Y)
print("chosen:", model.n_neighbors_)

# %%
# ``cv_results_`` keeps what each number reached. Beside it, what the same numbers reach on rows that nobody has seen.

from nearlabel.plots import NeighborsCurveDisplay

tried = model.cv_results_["n_neighbors"]
left_out = NeighborsCurveDisplay.from_cv_results(model.cv_results_, name="leave-one-out", chosen=model.n_neighbors_)
unseen = [micro_f1(Y_test, MLkNN(int(k)).fit(X, Y).predict(X_test)) for k in tried]
NeighborsCurveDisplay(tried, unseen, metric="micro_f1", name="test rows").plot(left_out.ax_)

# %%
# Other measures, other numbers, and what pipelines need: `nearlabel.selection.tune_neighbors`.

from nearlabel.selection import tune_neighbors

tuned = tune_neighbors(MLkNN(), X, Y, n_neighbors=50, scoring=("ranking_loss", "micro_f1"))
print("least ranking loss with", tuned.n_neighbors, "neighbours:", tuned.cv_results_["ranking_loss"].min().round(4))
