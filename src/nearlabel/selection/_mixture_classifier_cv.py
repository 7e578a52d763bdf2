"""One estimator that chooses the best mixture of neighbours, linear models and trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.random import RandomState
from sklearn.base import clone

from nearlabel.metrics import CATALOGUE, MetricLike, get_metric
from nearlabel.models.decision import SparseScores
from nearlabel.models.out_of_sample import Fold, LeaveOneOut
from nearlabel.models.selector import Budget
from nearlabel.rivals import SoftVote
from nearlabel.selection._mixing import MixtureChoice
from nearlabel.selection._neighbors_classifier_cv import AUTO, NeighborsClassifierCV
from nearlabel.selection._others import FAMILIES, NEIGHBORS, others_in, suits, unseen_scores
from nearlabel.selection._spaces import Space
from nearlabel.selection._trials import MethodInSpace, Schedule, TrainingSamples, Trials, fitted_model, in_space
from nearlabel.thresholds import ThresholdStrategy, strategy_for
from nearlabel.thresholds.best_value import for_a_refit
from nearlabel.utils.types import FloatArray
from nearlabel.utils.validation import check_choice, each_once


class MixtureClassifierCV(NeighborsClassifierCV):
    """Choose the best mixture of votes of neighbours, ML-MLM, linear models and trees, with its thresholds.

    Neighbours are chosen as by `NeighborsClassifierCV`. On the same samples other families are tried: for words (no
    value below 0, three in four 0) a linear support vector machine, by five folds; for other features a random forest
    and extremely randomized trees, out of bag. Then the best of each family are mixed, which needs no further fit:
    weights and thresholds are chosen on the scores that they have of samples they have not seen.

    Parameters
    ----------
    scoring : str, callable or Metric, default="micro_f1"
        The metric to optimise, as in `nearlabel.metrics.get_metric`.
    families : sequence of {"neighbors", "linear", "trees"}, default=("neighbors", "linear", "trees")
        What is tried, with "neighbors" in any case. With ``("neighbors",)`` votes and ML-MLM are mixed. Linear models
        and trees are left out where samples times labels are more than 33 million.
    methods, n_neighbors, scales, metrics, strategy, max_samples, time_limit, nested, random_state, verbose
        As in `NeighborsClassifierCV`. Beyond `max_samples`, weights and thresholds of the mixture are those of the
        samples drawn. The time limit also ends a linear model whose first fold shows that it would take too long.

    Attributes
    ----------
    best_estimator_ : estimator
        A fitted `nearlabel.rivals.SoftVote` of the parts, or the best model if a mixture is not better. Each part is a
        model of its own, with thresholds, whose scores are mapped to probabilities.
    parts_ : list of dict
        "weight", "method", "scale", "metric" and "n_neighbors" (None for a method without) of each part, the largest
        weight first.
    best_params_ : dict
        The first of them, without the weight.
    best_score_ : float
        The value on the scores by which weights and thresholds were chosen: optimistic.
    crossfit_score_ : float
        The value if, for each of five parts of the samples, weights and thresholds are chosen on the other parts. The
        models of the families were chosen on all samples: slightly optimistic.
    cv_results_, n_candidates_, left_out_, timed_out_, nested_score_, classes_, label_names_, n_features_in_
        As in `NeighborsClassifierCV`.

    See Also
    --------
    NeighborsClassifierCV : The best single model of neighbours, which can be updated.
    nearlabel.rivals.SoftVote : A mixture of models of your choice.

    Notes
    -----
    Weights are equal ones for the best one to four models, or those of greedy selection with replacement; the way is
    chosen by cross-fitting, where ties go to fewer models, then to equal weights. The scores of each model first go
    through its map, an increasing one for all labels, so that they are comparable.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes. Ensemble selection from libraries of models. ICML 2004.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.metrics import micro_f1
    >>> from nearlabel.selection import MixtureClassifierCV
    >>> digits = load_multidigits()
    >>> model = MixtureClassifierCV().fit(digits.X[:500], digits.Y[:500])
    >>> model.parts_[0]["method"], round(micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])), 1)
    ('mlmlm', 0.7)
    """

    def __init__(
        self,
        scoring: MetricLike = "micro_f1",
        *,
        families: Sequence[str] = FAMILIES,
        methods: Any = AUTO,
        n_neighbors: Any = AUTO,
        scales: Any = AUTO,
        metrics: Any = AUTO,
        strategy: ThresholdStrategy | None = None,
        max_samples: int = 20_000,
        time_limit: float | None = None,
        nested: int | None = None,
        random_state: int | RandomState | None = 0,
        verbose: int = 1,
    ) -> None:
        super().__init__(
            scoring,
            methods=methods,
            n_neighbors=n_neighbors,
            scales=scales,
            metrics=metrics,
            strategy=strategy,
            max_samples=max_samples,
            time_limit=time_limit,
            nested=nested,
            random_state=random_state,
            verbose=verbose,
        )
        self.families = families

    _mixes = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for family in each_once("families", self.families):
            check_choice("families", family, FAMILIES)
        if NEIGHBORS not in self.families:
            raise ValueError(f"families must contain 'neighbors', got {self.families!r}.")

    def _with_others(self, plan: Schedule, spaces: Sequence[Space], n_cells: int) -> Schedule:
        """Return the plan with methods of other families after the first one in their space, which shares the space."""
        others: Schedule = [(tried, ()) for tried in others_in(spaces, self.families, n_cells)]
        if not others:
            return plan
        place = others[0][0].place[1]
        first = next((number for number, (tried, _) in enumerate(plan) if tried.place[1] == place), len(plan) - 1)
        return [*plan[: first + 1], *others, *plan[first + 1 :]]

    def _try_other(self, tried: MethodInSpace, held_out: LeaveOneOut | Fold, trials: Trials, budget: Budget) -> bool:
        model = in_space(tried)
        if hasattr(model, "loo_predict_proba"):
            return False
        if suits(tried, held_out.X, trials):
            try:
                scores, fitted = unseen_scores(model, held_out, budget.left)
            except TimeoutError:
                self.left_out_.append(tried.name)
            else:
                trials.offer(tried, None, fitted, scores)
        return True

    def _fit_best(self, trials: Trials, samples: TrainingSamples, *, is_tuned_again: bool) -> None:
        """Mix the best of the families, and fit the parts of the mixture to all samples."""
        best = sorted(trials.best_of_families.values(), key=lambda of: of[0].rank)
        if len(best) < 2:
            super()._fit_best(trials, samples, is_tuned_again=is_tuned_again)
            self.parts_ = [{"weight": 1.0, **self.best_params_}]
            return
        parts = [fitted_model(of, trials.labels, samples, is_tuned_again=False) for of in best]
        scores = [_mapped(part, of[2]) for part, of in zip(parts, best, strict=True)]
        strategy = strategy_for(self.scoring) if self.strategy is None else self.strategy
        found = MixtureChoice(scores, trials.labels, get_metric(self.scoring), strategy, trials.groups).best()
        order = sorted(range(len(parts)), key=lambda place: (-found.weights[place], place))
        used = [place for place in order if found.weights[place] > 0]
        self.parts_ = [{"weight": float(found.weights[place]), **best[place][0].params} for place in used]
        self.best_params_ = {name: value for name, value in self.parts_[0].items() if name != "weight"}
        if len(used) == 1:
            (only,) = used
            self.best_estimator_, self.best_score_ = parts[only], best[only][0].value
            trials.mixed = best[only][2]
            if is_tuned_again:
                self.best_estimator_ = fitted_model(best[only], trials.labels, samples, is_tuned_again=True)
        else:
            named = [(best[place][0].tried.name, clone(parts[place])) for place in used]
            weights = [part["weight"] for part in self.parts_]
            mixture = SoftVote(named, weights, scoring=_short(self.scoring), strategy=self.strategy)
            decides = found.strategy if samples.ranks is None else for_a_refit(found.strategy, found.scores)
            fitted, trials.mixed = [parts[place] for place in used], found.scores
            self.best_estimator_ = mixture._handed(fitted, samples.X, samples.labels, decides, found.value)
            self.best_score_, self.crossfit_score_ = found.value, found.crossfit_value
        self._take_features()


def _short(scoring: Any) -> Any:
    """Return the name of a metric of the catalogue, which every reader of a model file has; another one unchanged."""
    name = str(getattr(scoring, "name", ""))
    return name if CATALOGUE.get(name) == scoring else scoring


def _mapped(part: Any, scores: Any) -> FloatArray:
    """Return the scores of a part for samples that it has not seen as the probabilities that it would give."""
    last = part[-1] if hasattr(part, "steps") else part
    mapped: FloatArray = last.score_map_.predict(scores.toarray() if isinstance(scores, SparseScores) else scores)
    return mapped
