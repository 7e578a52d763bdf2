"""Plot of the explanation of one sample: its neighbours, and the score of each label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from nearlabel.lazy import Explanation
from nearlabel.models import explain, explains
from nearlabel.plots import _figure
from nearlabel.utils.containers import checked_container
from nearlabel.utils.messages import shortened
from nearlabel.utils.tables import carriers, row_name, with_carriers
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import check_integer

_MOST_NEIGHBORS, _MOST_LABELS, _MOST_IN_TITLE = 12, 20, 3
_LONGEST, _LONGEST_EVIDENCE = 28, 48  # maximum of letters of a name, and of evidence
_MOST_LETTERS = 50  # font size of the labels next to a neighbour
# Inches: height of a line, longest stem, width of a letter, width of the axes of scores, width outside axes.
_LINE, _STEM, _LETTER, _SCORES, _MARGINS = 0.27, 1.5, 0.07, 3.6, 2.4


class ExplanationDisplay(_figure.DisplayInSeveralAxes):
    """The neighbours of a sample with their labels, and the scores of the labels with their thresholds.

    The left side shows a line for each neighbour, with its distance and its labels; labels that are predicted for the
    sample are blue. A neighbour has the name that `Explanation.with_kept` gives it, shortened, or else its row number.
    The right side shows a bar for each label, from the prior (0 if the method has no prior) to the score, blue if the
    label is predicted; a mark shows its threshold, if it has one. At most 12 neighbours and 20 labels are drawn:
    predicted labels first, then by score.

    For a mixture, and a linear model, the left side shows the amounts of which the scores of the first labels are the
    sums, at most 20: training samples, words or other features; the bars of a mixture are made of its parts.

    Parameters
    ----------
    explanation : Explanation or mapping
        An explanation that `explain` returns, or the result of its `to_dict`.

    Attributes
    ----------
    ax_ : array of two matplotlib Axes
        Axes of the last drawing: neighbours and labels.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If the mapping is not an explanation.

    Examples
    --------
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.plots import ExplanationDisplay
    >>> X, Y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> (explanation,) = MLkNN(n_neighbors=2).fit(X, Y).explain([[1]])
    >>> file = ExplanationDisplay(explanation).write("explanation.png")  # doctest: +SKIP
    """

    def __init__(self, explanation: Explanation | Mapping[str, Any]) -> None:
        plain = explanation.to_dict() if isinstance(explanation, Explanation) else explanation
        missing = sorted({"method", "labels", "neighbors", "predicted", "novelty"} - set(plain))
        if missing:
            raise ValueError(f"explanation must be a result of Explanation.to_dict, got a mapping without {missing}.")
        self.explanation = plain

    @classmethod
    def from_estimator(cls, estimator: Any, X: MatrixLike, *, row: int = 0, ax: Any = None) -> Self:
        """Draw the explanation of a fitted classifier's prediction for a sample.

        Parameters
        ----------
        estimator : fitted estimator
            A lazy classifier, or a pipeline, parameter search or threshold classifier around one, as
            `nearlabel.models.explain` takes them.
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Samples.
        row : int, default=0
            The row of the sample in X.
        ax : array of two matplotlib Axes, default=None
            As in `plot`.

        Returns
        -------
        ExplanationDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the classifier has no explanations.
        ValueError
            If there is no such row, or X does not match the classifier.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        X = checked_container("X", X)
        number, n_rows = check_integer("row", row, low=0), X.shape[0] if hasattr(X, "shape") else len(X)
        if number >= n_rows:
            raise ValueError(f"row must be below the number of samples {n_rows}, got {row}.")
        rows: Any = X.iloc if hasattr(X, "iloc") else X
        if not explains(estimator):
            raise TypeError(f"estimator must have `explain`, as lazy classifiers do, got {type(estimator).__name__}.")
        return cls(explain(estimator, rows[number : number + 1])[0]).plot(ax)

    def _neighbors(self) -> list[Mapping[str, Any]]:
        """Return the nearest ones, and the nearest with each predicted label."""
        neighbors = self.explanation["neighbors"]
        predicted = [one["label"] for one in self._labels() if one["chosen"]]
        carry = carriers([one["labels"] for one in neighbors], predicted)
        return [neighbors[row] for row in with_carriers(carry, _MOST_NEIGHBORS)]

    def _names(self) -> list[str]:
        """Return the displayed names of the neighbours."""
        kept = self.explanation.get("kept", ())
        return [row_name(one["row"], {name: one[name] for name in kept}, _LONGEST) for one in self._neighbors()]

    def _widths(self) -> tuple[float, float]:
        """Return the widths of the axes in inches: the left axes fit the longest line of labels."""
        if self._amounts():
            return 2 * _STEM, _SCORES
        return _STEM + _LETTER * max((_n_letters(one["names"]) for one in self._neighbors()), default=0), _SCORES

    def _size(self) -> tuple[float, float]:
        names = max((len(shortened(one["name"], _LONGEST)) for one in self._labels()), default=0)
        names += max((len(name) - len("row 1234") for name in self._names()), default=0)
        names += max((len(_evidence_of(one)) - len("row 1234") for one in self._amounts()), default=0)
        n_lines = max(len(self._amounts() or self._neighbors()), len(self._labels()), 4)
        return sum(self._widths()) + _MARGINS + _LETTER * names, 1.5 + _LINE * n_lines

    def _axes_of(self, figure: Any) -> Any:
        return figure.subplots(1, 2, width_ratios=self._widths())

    def _title(self) -> str:
        return _title_of(self.explanation)

    def _labels(self) -> list[Any]:
        finite = [one for one in self.explanation["labels"] if not isinstance(one["score"], str)]
        return sorted(finite, key=lambda one: (not one["chosen"], -one["score"]))[:_MOST_LABELS]

    def _amounts(self) -> list[Mapping[str, Any]]:
        """Return the amounts of the first labels, as many labels as fit whole, but one in any case."""
        terms = [one for one in self.explanation.get("terms", ()) if "amount" in one]
        ends = [place for place in range(1, len(terms) + 1) if terms[place:] == [] or _starts(terms, place)]
        return terms[: max((end for end in ends if end <= _MOST_LABELS), default=_MOST_LABELS)]

    def _draw(self, ax: Any, **style: Any) -> None:
        left, right = ax
        neighbors, labels, amounts = self._neighbors(), self._labels(), self._amounts()
        if amounts:
            _draw_amounts(left, amounts, set(self.explanation["predicted"]))
        else:
            _draw_neighbors(left, neighbors, self._names(), set(self.explanation["predicted"]))
            left.set_xlim(-0.02, self._widths()[0] / _STEM)
        _draw_labels(right, labels, self.explanation["shown"] if amounts else ())
        headings = ("terms", amounts) if amounts else ("neighbors", neighbors)
        for axes, (what, shown) in ((left, headings), (right, ("labels", labels))):
            axes.set_title(_heading(what, len(shown), len(self.explanation[what])), fontsize=10, loc="left")


def _title_of(explanation: Mapping[str, Any]) -> str:
    chosen = explanation["predicted"]
    shown = [shortened(name, _LONGEST) for name in chosen[:_MOST_IN_TITLE]]
    more = f" and {len(chosen) - len(shown)} more" if len(chosen) > len(shown) else ""
    novelty = "" if explanation["novelty"] is None else f"   (novelty {explanation['novelty']:.2f})"
    return f"{explanation['method']}: {', '.join(shown) or 'no label'}{more}{novelty}"


def _heading(what: str, n_shown: int, n_in_all: int) -> str:
    what = {"neighbors": "neighbours", "terms": "amounts of the scores"}.get(what, what)
    return what if n_shown == n_in_all else f"{n_shown} of {n_in_all} {what}"


def _draw_neighbors(ax: Any, neighbors: Sequence[Mapping[str, Any]], names: Sequence[str], predicted: set[Any]) -> None:
    """Draw the distances as dots on stems, with the label sets as boxes to their right."""
    distances = [one["distance"] if isinstance(one["distance"], float) else 0.0 for one in neighbors]
    farthest = max(distances, default=0.0) or 1.0
    for line, (one, distance) in enumerate(zip(neighbors, distances, strict=True)):
        ax.plot([0, distance / farthest], [line, line], color=_figure.GREY, linewidth=1.2, zorder=1)
        ax.plot([distance / farthest], [line], color=_figure.INK, marker="o", markersize=4, zorder=2)
        _draw_chips(ax, line, one["names"], predicted)
    ticks = [f"{name}   {_number(one['distance'])}" for name, one in zip(names, neighbors, strict=True)]
    ax.set_yticks(range(len(ticks)), ticks, fontsize=8, parse_math=False)  # "$" in a name must not start mathematics
    ax.set_ylim(len(neighbors) - 0.4, -0.6)
    ax.set_xticks([])
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _starts(terms: Sequence[Mapping[str, Any]], place: int) -> bool:
    """Return whether an amount is the first of its label."""
    return bool(terms[place]["name"] != terms[place - 1]["name"])


def _evidence_of(one: Mapping[str, Any]) -> str:
    return shortened(one["evidence"], _LONGEST_EVIDENCE)


def _draw_amounts(ax: Any, amounts: Sequence[Mapping[str, Any]], predicted: set[Any]) -> None:
    """Draw a bar for each amount, and the name of the label above the first of its amounts."""
    for line, one in enumerate(amounts):
        colour = _figure.BLUE if one["name"] in predicted else _figure.GREY
        ax.barh(line, one["amount"], height=0.55, color=colour, alpha=1 if one["row"] is not None else 0.45)
        ax.annotate(f"{one['amount']:+.2f}", (1.02, line), xycoords=("axes fraction", "data"), fontsize=7, va="center")
        if line == 0 or _starts(amounts, line):
            name = shortened(one["name"], _LONGEST)
            ax.annotate(name, (0.98, line), xycoords=("axes fraction", "data"), fontsize=8, va="center", ha="right",
                        color=colour, weight="bold", parse_math=False)  # fmt: skip
            ax.axhline(line - 0.5, color=_figure.GREY, linewidth=0.5)
    ax.set_yticks(range(len(amounts)), [_evidence_of(one) for one in amounts], fontsize=8, parse_math=False)
    low, high = min(0.0, *(one["amount"] for one in amounts)), max(one["amount"] for one in amounts)
    ax.set(xlim=(1.05 * low, 1.8 * max(high, 1e-9)), ylim=(len(amounts) - 0.4, -0.6))  # room for names of labels
    ax.set_xlabel("dark: a training sample; pale: others, words, features", fontsize=8)
    ax.tick_params(axis="y", length=0)
    _figure.set_open_frame(ax)


def _chips(names: Sequence[Any]) -> list[str]:
    """Return the names that fit into the line."""
    chips: list[str] = []
    for name in names:
        text = shortened(name, _LONGEST)
        if sum(map(len, chips)) + 2 * len(chips) + len(text) + 2 > _MOST_LETTERS:
            break
        chips.append(text)
    return chips


def _n_letters(names: Sequence[Any]) -> int:
    """Return the width in letters of a neighbour's labels, with their boxes and the count of the others."""
    chips = _chips(names) if names else ["no label"]
    return sum(len(text) + 3 for text in chips) + (4 if len(chips) < len(names) else 0)


def _draw_chips(ax: Any, line: int, names: Sequence[Any], predicted: set[Any]) -> None:
    """Write labels next to each other, each in a box, and the count of the others."""
    offset, place = 6, {"xy": (1.05, line), "xycoords": "data"}
    chips = _chips(names)
    for name, text in zip(names, chips, strict=False):
        # Each box follows the previous one, whose width only the renderer knows.
        chip = _write(ax, place, offset, text, _figure.BLUE if name in predicted else _figure.INK, boxed=True)
        offset, place = 9, {"xy": (1, 0.5), "xycoords": chip}
    if len(chips) < len(names):
        _write(ax, place, offset, f"+{len(names) - len(chips)}", _figure.INK, boxed=False)
    if not names:
        _write(ax, place, offset, "no label", _figure.GREY, boxed=False)


def _write(ax: Any, place: Mapping[str, Any], offset: int, text: str, colour: str, *, boxed: bool) -> Any:
    """Write text to the right of a position."""
    box = {"boxstyle": "round,pad=0.25", "facecolor": _figure.PAPER, "edgecolor": colour, "linewidth": 0.8}
    look = {"va": "center", "ha": "left", "fontsize": 7, "annotation_clip": False, "parse_math": False, **place}
    where = {"xytext": (offset, 0), "textcoords": "offset points"}
    return ax.annotate(text, color=colour, bbox=box if boxed else None, **look, **where)


def _draw_labels(ax: Any, labels: Sequence[Mapping[str, Any]], parts: Sequence[str]) -> None:
    """Draw a bar from prior to score for each label, made of parts if there are any, and its threshold as a mark."""
    for line, one in enumerate(labels):
        start, colour = one.get("prior", 0.0), _figure.BLUE if one["chosen"] else _figure.GREY
        if parts:
            _draw_parts(ax, line, [one[part] for part in parts], colour)
        else:
            ax.barh(line, one["score"] - start, left=start, height=0.5, color=colour)
        if "prior" in one:
            ax.plot([start], [line], color=_figure.INK, marker="|", markersize=7, linestyle="none")
        ax.plot([one["score"]], [line], color=colour, marker="o", markersize=5, linestyle="none")
        if isinstance(one["threshold"], float):
            ax.plot([one["threshold"]] * 2, [line - 0.42, line + 0.42], color=_figure.ORANGE, linewidth=1.6)
        ax.annotate(
            _label_text(one),
            (1.03, line),
            xycoords=("axes fraction", "data"),
            fontsize=7.5,
            va="center",
            annotation_clip=False,
            color=_figure.INK,
        )
    names = [shortened(one["name"], _LONGEST) for one in labels]
    ax.set_yticks(range(len(labels)), names, fontsize=8, parse_math=False)
    scores = [one["score"] for one in labels]
    ax.set(xlim=(min(-0.02, *scores), max(1.02, *scores)), ylim=(len(labels) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)
    _figure.set_open_frame(ax)
    made_of = f"parts: {', '.join(shortened(part, _LONGEST) for part in parts)}\n" if parts else ""
    ax.set_xlabel(made_of + _legend(labels), fontsize=8)


def _draw_parts(ax: Any, line: int, amounts: Sequence[float], colour: str) -> None:
    """Draw the amounts of the parts next to each other, the first one darkest."""
    start = 0.0
    for place, amount in enumerate(amounts):
        shade = 1 - 0.7 * place / len(amounts)
        ax.barh(line, amount, left=start, height=0.5, color=colour, alpha=shade, edgecolor=_figure.PAPER, linewidth=0.5)
        start += amount


def _legend(labels: Sequence[Mapping[str, Any]]) -> str:
    prior = "tick: prior, " if any("prior" in one for one in labels) else ""
    threshold = ", orange: threshold" if any(isinstance(one["threshold"], float) for one in labels) else ""
    return f"{prior}dot: score{threshold}; blue: predicted"


def _label_text(one: Mapping[str, Any]) -> str:
    votes = f", {one['votes']} vote{'' if one['votes'] == 1 else 's'}" if "votes" in one else ""
    return f"{_number(one['score'])}{votes}"


def _number(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
