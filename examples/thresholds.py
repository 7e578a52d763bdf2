"""
Thresholds for micro F
======================

Labels cut at one half are rarely the best by the measure you are judged by. `MicroFOptimum` finds the thresholds of
largest micro-averaged F; `micro_pr_frontier` finds those of every trade-off between precision and recall.
"""

from nearlabel.datasets import load_multidigits
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.thresholds import MicroFOptimum, SCut, TunedThresholdsClassifierCV

digits = load_multidigits()
X, Y, X_test, Y_test = digits.X[:1500], digits.Y[:1500], digits.X[1500:], digits.Y[1500:]
models = {
    "0.5": MLkNN(10),
    "each label's own F1": TunedThresholdsClassifierCV(MLkNN(10), SCut("macro_f1"), cv="loo"),
    "micro F1": TunedThresholdsClassifierCV(MLkNN(10), MicroFOptimum(), cv="loo"),
    "micro F of beta 2": TunedThresholdsClassifierCV(MLkNN(10), MicroFOptimum(2), cv="loo"),
}
predicted = {}
for name, model in models.items():
    predicted[name] = model.fit(X, Y).predict(X_test)
    print(f"{name}: micro F1 {micro_f1(Y_test, predicted[name]):.3f}")

# %%
# The thresholds were tuned on leave-one-out scores of the training rows. The line is the best that any thresholds could
# do with these scores, tuned on the test rows themselves; the points show how near to it one comes.

from nearlabel.plots import MicroFrontierDisplay

MicroFrontierDisplay.from_predictions(
    Y_test, models["0.5"].predict_proba(X_test), name="best of all thresholds", points=predicted
)
