"""Draw the picture of the README and the start page: why ML-kNN predicts two digits for a sample that it has not seen.

python docs/_sphinx/first_picture.py
"""

from pathlib import Path

from sklearn.model_selection import train_test_split

from nearlabel import MLkNN
from nearlabel.datasets import load_multidigits
from nearlabel.plots import ExplanationDisplay

PICTURE = Path(__file__).parents[1] / "_static" / "explanation.svg"
SAMPLE = 20  # of the test samples: the first with two digits, both of which are predicted


def main(path: Path = PICTURE) -> None:
    """Write the picture."""
    digits = load_multidigits()
    X, X_test, Y, _ = train_test_split(digits.X, digits.Y, random_state=0)
    model = MLkNN(n_neighbors=10).fit(X, Y)
    ExplanationDisplay.from_estimator(model, X_test[SAMPLE : SAMPLE + 1]).write(path)


if __name__ == "__main__":
    main()
