import re

import pytest
from sklearn.tree import DecisionTreeClassifier

from _recipes import MLROS, MLRUS, MLTL, REMEDIAL, MLeNN
from nearlabel.experiments import (
    ESTIMATORS,
    METHODS,
    SAMPLERS,
    THRESHOLDS,
    MethodSpec,
    Plan,
    make_method,
    takes_unknown,
)
from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import MLSMOTE, MRSP3, InformationGainSelector, MChen, ResampledClassifier
from nearlabel.rivals import HOMER, SMBR, BinaryRelevance, ClassifierChain
from nearlabel.thresholds import (
    FBR,
    CalibratedLabels,
    CyclicAscent,
    ExpectedF,
    FixedThresholdsClassifier,
    GlobalCut,
    MCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    RiskControl,
    SCut,
    TunedThresholdsClassifierCV,
)

STRATEGIES = {
    "micro-f": MicroFOptimum(),
    "micro-f:beta=2": MicroFOptimum(2),
    "pillai:max_scans=1:tol=0.01": PillaiAscent(max_scans=1, tol=0.01),
    "macro-f": SCut("macro_fbeta"),
    "macro-f:beta=0.5": SCut("macro_fbeta", beta=0.5),
    "macro-f:metric=hamming_loss": SCut("hamming_loss"),
    "fbr0": FBR(SCut("macro_fbeta"), 0, random_state=0),
    "fbr1": FBR(SCut("macro_fbeta"), 1, random_state=0),
    "fbr1:fbr=0.3:beta=2": FBR(SCut("macro_fbeta", beta=2), 1, 0.3, beta=2, random_state=0),
    "fbr0:cv=3:random_state=1": FBR(SCut("macro_fbeta"), 0, cv=3, random_state=1),
    "global-f": GlobalCut("micro_fbeta"),
    "global-f:metric=jaccard_examples": GlobalCut("jaccard_examples"),
    "examples-f": CyclicAscent("fbeta_examples"),
    "examples-f:beta=2:max_scans=3": CyclicAscent("fbeta_examples", beta=2, max_scans=3),
    "expected-f:zero_division=1": ExpectedF(zero_division=1),
    "rcut": RCut(metric="fbeta_examples"),
    "rcut:n_labels=2": RCut(2, metric="fbeta_examples"),
    "pcut:factor=1.5": PCut(factor=1.5),
    "cardinality": PCut(per_label=False),
    "mcut": MCut(),
    "risk": RiskControl(),
    "risk:measure=precision:level=0.7:confidence=0.9": RiskControl("precision", 0.7, confidence=0.9),
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("mlknn", MLkNN(7)),
        ("brknn-a", BRkNNa(7)),
        ("brknn-b:rounding=half_up", BRkNNb(7, rounding="half_up")),
        ("mlknn:smoothing=0.5", MLkNN(7, smoothing=0.5)),
        ("brknn:majority=half:weights=distance", BRkNN(7, majority="half", weights="distance")),
        ("lpknn:ties=random:random_state=3", LPkNN(7, ties="random", random_state=3)),
        ("lpknn:ties=random", LPkNN(7, ties="random", random_state=0)),
        ("cmlknn:membership=max:values=all", CMLkNN(7, membership="max", values="all")),
        ("iblr:plus=True:ridge=0.5", IBLR(7, plus=True, ridge=0.5, random_state=0)),
        ("mlmlm:n_landmarks=50:metric=cosine", MLMLM(n_landmarks=50, metric="cosine", random_state=0)),
        ("nldd:scale=none:trials=authors", NLDD(scale="none", trials="authors", random_state=0)),
        ("br", BinaryRelevance(random_state=0)),
        ("smbr:random_state=4", SMBR(random_state=4)),
        ("cc:order=random", ClassifierChain(order="random", random_state=0)),
    ],
)
def test_specification(spec, expected):
    """A name, then options: numbers are read as numbers, all else as text."""
    model = make_method(spec, 7)
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_by_name(name):
    """The option `estimator` names a classifier of one label; each call makes its own."""
    model, other = (make_method(f"nldd:estimator={name}") for _ in range(2))
    assert parameters(model.estimator) == parameters(ESTIMATORS[name]())
    assert model.estimator is not other.estimator
    with pytest.raises(
        ValueError, match=r"estimator of method 'br' must be one of .*'svm'.* got 'logistik'. Did you mean"
    ):
        make_method("br:estimator=logistik")
    with pytest.raises(ValueError, match=r"got 'linear'. Did you mean 'svm' or 'logistic'\?"):
        make_method("br:estimator=linear")


def test_estimators_have_no_options():
    """What would be one of the classifier's is refused with the ways to write it."""
    with pytest.raises(ValueError, match=r"'br' must be without options, got 'C=2'; .* Hint: the method svm has C; or"):
        make_method("br:estimator=logistic:C=2")
    assert make_method("svm:C=2").estimator.C == 2
    with pytest.raises(ValueError, match=r"option of method 'br' must be parameter=value, of .*, got 'C=2'"):
        make_method("br:C=2")


def test_interpolation():
    """A model for each label, and neighbours by the name of their method, which must leave one out."""
    model = make_method("interpolation:estimator=tree:neighbors=mlknn:weight=0.3:space=logit")
    assert parameters(model.estimator) == parameters(BinaryRelevance(DecisionTreeClassifier(), random_state=0))
    assert parameters(model.neighbors) == parameters(MLkNN())
    assert (model.weight, model.space, model.random_state) == (0.3, "logit", 0)
    assert isinstance(make_method("interpolation").neighbors, MLMLM)
    with pytest.raises(ValueError, match=r"neighbors of 'interpolation' must be one of .* got 'br'"):
        make_method("interpolation:neighbors=br")
    with pytest.raises(ValueError, match="weight must be 'auto', 'per_label' or a number from 0 to 1, got 2"):
        Plan(("interpolation:weight=2",), (1,))


def test_selections():
    """Before a + stands a selection of features with options of its own; a + in a number is a number's."""
    model = make_method("ig:labels=sum:factor=0.5+mlknn:smoothing=2", 7)
    selector, method = (step for _, step in model.steps)
    assert (
        selector.get_params()
        == InformationGainSelector(labels="sum", factor=0.5, symmetric=False, random_state=0).get_params()
    )
    assert method.get_params() == MLkNN(7, smoothing=2).get_params()
    assert make_method("mlknn:smoothing=1e+2", 7).smoothing == 100
    assert make_method("igs:factor=1e+0+mlknn:smoothing=1e+2", 7)[0].factor == 1
    tuned = make_method("igs+mlknn@micro-f", 7)
    assert (tuned.cv, [type(step) for _, step in tuned.estimator.steps]) == (5, [InformationGainSelector, MLkNN])
    for spec, message in (
        ("igs:symmetric=False+mlknn", r"option of selection 'igs' must be parameter=value, of \['factor', 'labels'"),
        ("igz+mlknn", "selection must be one of .* got 'igz'"),
        ("igs+knn", "method must be one of .* got 'knn'"),
    ):
        with pytest.raises(ValueError, match=message):
            make_method(spec, 7)


def test_samplers():
    """Before a method and its +, behind a selection if there is one; thresholds are tuned around both."""
    model = make_method("mlsmote:n_neighbors=3+mlknn", 7)
    expected = ResampledClassifier(MLkNN(7), MLSMOTE(3, random_state=0))
    assert repr(model) == repr(expected)
    tuned = make_method("mlsmote+mlknn@micro-f", 7)
    assert (tuned.cv, type(tuned.estimator)) == (5, ResampledClassifier)
    selector, resampled = (step for _, step in make_method("igs+mchen+br").steps)
    assert (type(selector), type(resampled.sampler)) == (InformationGainSelector, MChen)
    assert type(make_method("nearlabel.preprocessing:MRSP3:exact_up_to=5+mlknn", allow_imports=True).sampler) is MRSP3
    spec = MethodSpec("mlknn", sampler=MLSMOTE(5))
    assert not spec.shares_search
    assert spec.fit_key != MethodSpec("mlknn").fit_key
    assert re.match(
        r"nearlabel.preprocessing\S+MLSMOTE\(.*n_neighbors=5, .* \+ nearlabel.lazy\S+MLkNN\(", spec.description
    )
    assert takes_unknown("brknn")
    assert not takes_unknown("mlsmote+brknn")
    for text, message in (
        ("mlsmot+mlknn", "sampler must be one of .* got 'mlsmot'. Did you mean 'mlsmote'"),
        ("igs+igs+mlknn", "sampler must be one of .* got 'igs'"),
        (
            "mlsmote:seed=3+mlknn",
            "option of sampler 'mlsmote' must be parameter=value, of .*'n_neighbors', 'random_state'",
        ),
        ("mchen:share=2+mlknn", "share must be above 0, at most 1, got 2"),
    ):
        with pytest.raises(ValueError, match=message):
            Plan((text,), (1,))
    with pytest.raises(TypeError, match="sampler must be an estimator with fit_resample, got MLkNN"):
        MethodSpec("mlknn", sampler=MLkNN())


def test_thresholds_of_methods_without_leave_one_out():
    """They are tuned on a five-fold cross-validation; so are those of prototypes, which are made of several rows."""
    assert make_method("mrsp3+mlknn@micro-f", 3).cv == 5
    assert make_method("nldd@micro-f").cv == make_method("iblr@micro-f", 3).cv == 5
    assert make_method("cmlknn@micro-f", 3).cv == "loo"


def test_samplers_whose_leave_one_out_answers_are_not_those_of_refits():
    """Five folds: rows of a group may go in part, and a new row lies beside its reference, which stays with it."""
    for samplers, cv in (((*SAMPLERS, MLRUS(), MLeNN(), MLTL()), 5), ((MLROS(), REMEDIAL()), "loo")):
        for sampler in samplers:
            assert MethodSpec("mlknn", sampler=sampler, thresholds="micro-f").make(3).cv == cv
            assert MethodSpec("mlknn", sampler=sampler, calibration="isotonic").make(3).cv == cv


def test_search_is_handed_on():
    """The search given is the one the classifier has."""
    search = ExactNeighbors("manhattan")
    assert make_method("mlknn", 3, search).search is search


@pytest.mark.parametrize("name", METHODS)
def test_every_name_makes_a_method(name):
    """Each name of `METHODS` stands for a classifier of its own, or one with other parameters."""
    made = {repr(make_method(other, 4)) for other in METHODS if other != name}
    assert repr(make_method(name, 4)) not in made
    assert isinstance(make_method(name, 4), type(METHODS[name]()))


def test_the_estimator_of_homer_is_of_a_single_label():
    """As in all other methods; its nodes are binary relevance."""
    made = make_method("homer:estimator=tree:n_clusters=2:random_state=5")
    assert repr(made) == repr(
        HOMER(BinaryRelevance(DecisionTreeClassifier(), random_state=5), n_clusters=2, random_state=5)
    )


def test_scores_that_are_no_probabilities_have_no_fixed_threshold():
    """A number from 0 to 1 means nothing to decision values; a tuned threshold does."""
    with pytest.raises(
        ValueError, match=r"thresholds of RankSVM must be tuned, got 0.3: its scores are not probabilities"
    ):
        Plan(("ranksvm@0.3",), (1,))
    assert Plan(("ranksvm@micro-f", "br@0.3"), (1,)).methods.keys() == {"ranksvm@micro-f", "br@0.3"}


@pytest.mark.parametrize(("name", "near"), [("mlkn", "mlknn"), ("BRkNN-a", "brknn-a"), ("LPkNN", "lpknn")])
def test_unknown_method_hints_at_a_near_one(name, near):
    """A misspelt method is answered with the nearest name."""
    with pytest.raises(ValueError, match=rf"method must be one of .*'mlknn'.*, got '{name}'\. Did you mean '{near}'\?"):
        make_method(name, 3)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("logistic", "'br:estimator=logistic'"),
        ("LinearSVC", "'svm' or 'br:estimator=logistic'"),
        ("random_forest", "'rfpct'"),
        ("binary-relevance", "'br'"),
        ("ClassifierChain", "'cc' or 'ecc'"),
    ],
)
def test_names_elsewhere_hint_at_ours(name, near):
    """What other programs call a method is answered with specifications that can be made."""
    with pytest.raises(ValueError, match=rf"method must be one of .*, got '{name}'\. Did you mean {near}\?"):
        make_method(name)
    for spec in near.split(" or "):
        make_method(spec.strip("'"))


@pytest.mark.parametrize("name", ["", "boost", "mlknn smoothing=1"])
def test_unknown_method_lists_all(name):
    """Where no name is near, all are listed."""
    with pytest.raises(ValueError, match=r"method must be one of \['adaboostmh', .*, 'svm'\]"):
        make_method(name, 3)


@pytest.mark.parametrize("option", ["smooth=1", "smoothing", "search=None", "", " smoothing=1"])
def test_bad_option(option):
    """An option is parameter=value, of the method's own parameters."""
    with pytest.raises(
        ValueError, match=r"option of method 'mlknn' must be parameter=value, of \['smoothing', 'weights'\], got"
    ):
        make_method(f"mlknn:{option}", 3)


@pytest.mark.parametrize(("option", "name"), [("n_neighbors=3", "n_neighbors"), ("weights=distance:k=auto", "k")])
def test_the_number_of_neighbors_is_no_option(option, name):
    """It is that of all methods, by an option of the command or an argument of the plan."""
    with pytest.raises(ValueError, match=rf"method 'mlknn' must be without {name} in its options, .* Hint: --k, or in"):
        make_method(f"mlknn:{option}", 3)


def parameters(estimator):
    """All parameters, of inner estimators too, with the type where a parameter is an estimator."""
    return {name: type(v) if hasattr(v, "get_params") else v for name, v in estimator.get_params().items()}


@pytest.mark.parametrize("spec", STRATEGIES)
def test_tuned_thresholds(spec):
    """Behind an @ stands a strategy with its options; it is tuned on leave-one-out scores of the method in front."""
    expected = TunedThresholdsClassifierCV(LPkNN(7, ties="first", random_state=0), STRATEGIES[spec], cv="loo")
    model = make_method(f"lpknn:ties=first@{spec}", 7)
    assert type(model) is type(expected)
    assert parameters(model) == parameters(expected)


def test_every_name_of_a_strategy_is_tried():
    """The table above leaves none out."""
    assert {spec.split(":")[0] for spec in STRATEGIES} == set(THRESHOLDS)


@pytest.mark.parametrize(("text", "number"), [("0.3", 0.3), ("0", 0), ("1", 1), ("1e-3", 0.001)])
def test_fixed_thresholds(text, number):
    """A number behind an @ is the threshold of all labels."""
    expected = FixedThresholdsClassifier(MLkNN(4, smoothing=0.5), number)
    model = make_method(f"mlknn:smoothing=0.5@{text}", 4)
    assert type(model) is type(expected)
    assert parameters(model) == parameters(expected)


@pytest.mark.parametrize("spec", ["mlknn@rcut", "mlknn@0.3"])
def test_search_is_handed_on_to_the_inner_method(spec):
    """The search given is the one the inner classifier has."""
    search = ExactNeighbors("manhattan")
    assert make_method(spec, 3, search).estimator.search is search


@pytest.mark.parametrize(
    ("name", "near"), [("micro-f1", "micro-f"), ("Pillai", "pillai"), ("fbr2", "fbr"), ("rcut@0.5", "rcut")]
)
def test_unknown_thresholds_hint_at_a_near_name(name, near):
    """A misspelt strategy is answered with the nearest name; there is one @ only."""
    message = rf"thresholds must be a number from 0 to 1 or one of \['cardinality', .*\], got '{name}'\."
    with pytest.raises(ValueError, match=rf"{message} Did you mean '{near}"):
        make_method(f"brknn@{name}", 3)


@pytest.mark.parametrize("name", ["", "5", "-0.1", "nan", "inf", "threshold?"])
def test_unknown_thresholds_list_all(name):
    """Where no name is near, and for a number that is no score, all names are listed."""
    names = re.escape(str(sorted(THRESHOLDS)))
    with pytest.raises(
        ValueError, match=rf"must be a number from 0 to 1 or one of {names}, got '{re.escape(name)}'\.$"
    ):
        make_method(f"mlknn@{name}", 3)


@pytest.mark.parametrize("option", ["gamma=1", "beta", "absent=0.0", "", " beta=1"])
def test_bad_option_of_thresholds(option):
    """An option is parameter=value, of those of the strategy that make a difference here."""
    message = r"option of thresholds 'macro-f' must be parameter=value, of \['beta', 'metric'\], got "
    with pytest.raises(ValueError, match=message):
        make_method(f"mlknn@macro-f:{option}", 3)


@pytest.mark.parametrize(
    ("spec", "got"), [("0.3:beta=2", "'beta=2'"), ("mcut:absent=0.0", "'absent=0.0'"), ("1:", "''")]
)
def test_thresholds_without_options(spec, got):
    """A number and a rule without parameters take none."""
    with pytest.raises(ValueError, match=rf"thresholds '{spec.split(':')[0]}' must be without options, got {got}\."):
        make_method(f"mlknn@{spec}", 3)


@pytest.mark.parametrize(("name", "per_label"), [("pcut", "False"), ("cardinality", "True")])
def test_an_option_cannot_contradict_the_name(name, per_label):
    """What a name stands for is not an option of it."""
    with pytest.raises(ValueError, match=r"must be parameter=value, of \['factor'\], got 'per_label="):
        make_method(f"mlknn@{name}:per_label={per_label}", 3)


@pytest.mark.parametrize(
    ("text", "cv", "around"),
    [
        ("mlknn@isotonic", "loo", None),
        ("br:estimator=logistic@sigmoid", 5, None),
        ("brknn@beta@micro-f:beta=2", "loo", MicroFOptimum(beta=2)),
        ("brknn@sigmoid@0.3", "loo", 0.3),
    ],
)
def test_calibrated_methods(text, cv, around):
    """The calibration is inside the thresholds, on left-out scores where there are some; thresholds then take folds."""
    model = make_method(text)
    if around is not None:
        thresholds = model.thresholds if isinstance(around, float) else model.strategy
        assert str(thresholds) == str(around)
        assert getattr(model, "cv", 5) == 5
        model = model.estimator
    assert isinstance(model, CalibratedLabels)
    assert (model.method, model.cv) == (text.split("@")[1], cv)


def test_calibrated_methods_share_no_fit_with_plain_ones():
    """Nor with those calibrated otherwise; with thresholds of the same calibration they do."""
    specs = [MethodSpec.of(text) for text in ("mlknn", "mlknn@sigmoid", "mlknn@beta", "mlknn@sigmoid@micro-f")]
    assert len({spec.fit_key for spec in specs}) == 3
    assert specs[1].fit_key == specs[3].fit_key
    assert not specs[1].has_left_out_scores
    assert specs[1].has_neighbors
    assert specs[1].shares_search


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("ranksvm@beta", TypeError, "method must be an estimator with predict_proba"),
        ("mlknn@beta@beta", ValueError, "calibration must come before thresholds, without options"),
        ("mlknn@0.3@isotonic", ValueError, "calibration must come before thresholds, without options"),
        ("mlknn@isotonic:cv=3", ValueError, "calibration must come before thresholds, without options"),
        ("mlknn@isotonik", ValueError, "thresholds must be .*'isotonic'"),
        ("mlknn@micro-f@beta", ValueError, "calibration must come before thresholds"),
    ],
)
def test_bad_calibrations(text, error, message):
    """Probabilities are needed for beta; thresholds come last."""
    with pytest.raises(error, match=message):
        MethodSpec.of(text)
