"""Critical difference diagram: mean ranks of methods, and bars over groups without significant differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from nearlabel.comparison import FriedmanTest
from nearlabel.metrics.evaluation import title_of
from nearlabel.plots import _figure
from nearlabel.utils.messages import shortened

_LONGEST = 32  # letters of a name


class CriticalDifferenceDisplay(_figure.Display):
    """Critical difference diagram of Demšar (2006): mean ranks, and bars that join methods that do not differ.

    Made by `from_test`.

    Parameters
    ----------
    mean_ranks : mapping of str to float
        Mean rank of each method, 1 for the best.
    alike : sequence of sequence of str
        Groups of methods of which no two differ significantly; a bar joins each group.
    critical_difference : float, default=None
        Drawn as a scale bar, if all pairs share one critical difference.
    title : str, default=""
        Title above the diagram.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are fewer than two methods.

    See Also
    --------
    nearlabel.experiments.friedman_test : Ranks methods and tests whether they differ.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal of Machine Learning Research 7,
    2006.

    Examples
    --------
    >>> from nearlabel.plots import CriticalDifferenceDisplay
    >>> ranks = {"mlknn": 1.4, "brknn": 2.1, "lpknn": 2.5}
    >>> diagram = CriticalDifferenceDisplay(ranks, [["brknn", "lpknn"]], critical_difference=0.6)
    >>> file = diagram.write("ranks.png", title="Hamming loss")  # doctest: +SKIP
    """

    def __init__(
        self,
        mean_ranks: Mapping[str, float],
        alike: Sequence[Sequence[str]],
        *,
        critical_difference: float | None = None,
        title: str = "",
    ) -> None:
        if len(mean_ranks) < 2:
            raise ValueError(f"mean_ranks must contain at least two methods, got {len(mean_ranks)}.")
        self.mean_ranks = dict(mean_ranks)
        self.alike = [list(group) for group in alike]
        self.critical_difference = critical_difference
        self.title = title

    @classmethod
    def of(cls, test: FriedmanTest, *, alpha: float = 0.05) -> Self:
        """Return the diagram of a test without drawing it, for instance to save it to a file.

        Parameters
        ----------
        test : FriedmanTest
            As returned by `nearlabel.comparison.friedman_test`, or one of ``friedman`` of a `Comparison`.
        alpha : float, default=0.05
            Significance level of the bars; the critical difference of the test is for 0.05.

        Returns
        -------
        CriticalDifferenceDisplay
            Not drawn yet.
        """
        ranked = "data sets" if test.dataset == "all" else f"folds of {test.dataset}"
        critical = test.critical_difference if test.post_hoc == "nemenyi" else None
        title = f"{title_of(test.metric)}: mean ranks over {test.n_pairs} {ranked}"
        return cls(test.mean_ranks, test.not_different(alpha), critical_difference=critical, title=title)

    @classmethod
    def from_test(cls, test: FriedmanTest, *, alpha: float = 0.05, ax: Any = None) -> Self:
        """Draw the results of Friedman's test and its post-hoc tests.

        Parameters
        ----------
        test : FriedmanTest
            As in `of`.
        alpha : float, default=0.05
            As in `of`.
        ax : matplotlib Axes, default=None
            As in `plot`.

        Returns
        -------
        CriticalDifferenceDisplay
            Drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        return cls.of(test, alpha=alpha).plot(ax)

    def _title(self) -> str:
        return self.title

    def _size(self) -> tuple[float, float]:
        n_below = 0.5 * (len(self.alike) + 1) + -(-len(self.mean_ranks) // 2)
        longest = min(max(map(len, self.mean_ranks)), _LONGEST)
        # Names are on both sides; each rank needs space for its number.
        return 3.0 + 0.12 * len(self.mean_ranks) + 0.16 * longest, 0.3 * n_below + 1.2

    def _draw(self, ax: Any, **style: Any) -> None:
        methods = sorted(self.mean_ranks, key=lambda method: self.mean_ranks[method])
        half = -(-len(methods) // 2)
        highest, below = len(methods), -0.5 * (len(self.alike) + 1)
        _draw_bars(ax, self.mean_ranks, self.alike, 0.006 * highest)
        for end, side in ((1 - 0.05 * highest, methods[:half]), (1.05 * highest, methods[half:][::-1])):
            for depth, method in enumerate(side):
                _draw_method(ax, method, self.mean_ranks[method], below - depth, end, left=end < 1)
        if self.critical_difference is not None:
            _draw_scale(ax, self.critical_difference)
        top = 0.8 if self.critical_difference is None else 2.4
        ax.set(xlim=(1 - 0.05 * highest, 1.05 * highest), ylim=(below - half + 0.5, top))
        _draw_ranks(ax, highest)


def _draw_ranks(ax: Any, highest: int) -> None:
    ax.plot([1, highest], [0, 0], color=_figure.INK, linewidth=1)
    for rank in range(1, highest + 1):
        ax.plot([rank, rank], [0, 0.18], color=_figure.INK, linewidth=1)
        ax.annotate(str(rank), (rank, 0.28), ha="center", va="bottom", fontsize=8)
    ax.axis("off")


def _draw_method(ax: Any, method: str, rank: float, depth: float, end: float, *, left: bool) -> None:
    """Draw a line from the rank down to the method's name."""
    name = shortened(method, _LONGEST)
    ax.plot([rank, rank, end], [0, depth, depth], color=_figure.INK, linewidth=0.6, clip_on=False)
    words, side, shift = (f"{name} ({rank:.2f})", "right", -3) if left else (f"({rank:.2f}) {name}", "left", 3)
    look = {"fontsize": 9, "annotation_clip": False, "parse_math": False}
    ax.annotate(words, (end, depth), (shift, 0), textcoords="offset points", ha=side, va="center", **look)


def _draw_bars(ax: Any, mean_ranks: Mapping[str, float], alike: Sequence[Sequence[str]], overhang: float) -> None:
    for number, group in enumerate(alike, 1):
        ranks = [mean_ranks[method] for method in group]
        ends = [min(ranks) - overhang, max(ranks) + overhang]
        ax.plot(ends, [-0.5 * number] * 2, linewidth=3.5, color=_figure.BLUE, solid_capstyle="butt")


def _draw_scale(ax: Any, critical_difference: float) -> None:
    ax.plot([1, 1 + critical_difference], [1.4, 1.4], color=_figure.INK, linewidth=1.5, marker="|", clip_on=False)
    ax.annotate(f"critical difference {critical_difference:.2f}", (1, 1.55), ha="left", va="bottom", fontsize=8)
