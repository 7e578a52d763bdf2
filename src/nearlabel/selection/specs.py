"""The language of specifications: names that classes declare (`registered`), with options of their constructors.

``name[:parameter=value]...`` names a method, a selection of features, a sampler, thresholds or a search. A new one
needs nothing here: it is declared where it is defined, and the parameters of its constructor are its options.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

# Each room declares what it has when it is loaded.
from nearlabel import lazy, preprocessing, rivals, thresholds  # noqa: F401
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, SimilarityWeights
from nearlabel.rivals import BinaryRelevance, NeighborInterpolation
from nearlabel.utils import names
from nearlabel.utils.naming import import_object, named, read_value, registered, split_import, split_option

N_FOLDS = 5  # folds, for methods without leave-one-out scores


@registered("method", "interpolation")
def _interpolation(
    *,
    estimator: Any = None,
    neighbors: str = "mlmlm",
    weight: float | str = "auto",
    space: str = "probability",
    scoring: str = "micro_f1",
    cv: int = N_FOLDS,
    random_state: Any = None,
) -> NeighborInterpolation:
    """Return the classifier with `estimator` as a classifier of a single label, and the neighbours by name."""
    model = None if estimator is None else BinaryRelevance(estimator, random_state=random_state)
    others = {name: METHODS[name] for name in METHODS if hasattr(METHODS[name], "loo_predict_proba")}
    chosen = from_text("neighbors of 'interpolation'", others, str(neighbors))
    return NeighborInterpolation(model, chosen, weight, space=space, scoring=scoring, cv=cv, random_state=random_state)


METHODS = named("method", names.METHODS)
SELECTIONS = named("selection", names.SELECTIONS)
SAMPLERS = named("sampler", names.SAMPLERS)  # change the training samples of each fit
THRESHOLDS = named("thresholds", names.THRESHOLDS)  # names with F use the metric with beta, by default F1
SEARCHES = named("search", names.SEARCHES)

# Methods that share one search for every number of neighbours.
NEIGHBOR_METHODS = tuple(
    name for name, method in METHODS.items() if "n_neighbors" in inspect.signature(method).parameters
)

# Default methods of `Tuning` and ``nearlabel tune``: neighbour-based methods and strong others, cheap ones first.
LEADERBOARD_METHODS = (
    "brknn@micro-f",
    "brknn:weights=distance@micro-f",
    "mlknn@micro-f",
    "br:estimator=logistic@micro-f",
    "svm:C=0.25@micro-f",
    "mlmlm@micro-f",
    "iblr@micro-f",
    "nldd:estimator=logistic",  # its scores are those of the regressions; only its decision rule is new
    "rfpct@micro-f",
    "ecc:estimator=logistic@micro-f",
    "interpolation:estimator=logistic",  # learns thresholds and weight together
)

# Values of the option `estimator`: classifiers of a single label.
ESTIMATORS: Mapping[str, Callable[[], Any]] = MappingProxyType(
    {
        "svm": partial(LinearSVC, dual=False),
        "svm-hinge": partial(SVC, kernel="linear"),
        "svm-rbf": SVC,
        "knn": KNeighborsClassifier,
        "logistic": partial(LogisticRegression, solver="liblinear"),
        "tree": DecisionTreeClassifier,
    }
)

# What names of other programs are here, by a word in them.
_METHODS_BY_WORD = {
    "logistic": ("br:estimator=logistic",),
    "linear": ("svm", "br:estimator=logistic"),
    "forest": ("rfpct",),
    "tree": ("pct", "br:estimator=tree"),
    "relevance": ("br",),
    "chain": ("cc", "ecc"),
    "powerset": ("lp",),
}
_ESTIMATORS_BY_WORD = {"linear": ("svm", "logistic")}


# Values of the option `weights` with a parameter.
KERNELS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"similarity": SimilarityWeights, "gaussian": GaussianWeights}
)


class _Kind(NamedTuple):
    """What a part of a specification names, and what its objects must have."""

    known: Mapping[str, Callable[..., Any]]
    what: str
    methods: tuple[str, ...]
    own: Collection[str] = ()  # options of its own, which the plan sets for a method


_KINDS = {
    "method": _Kind(METHODS, "an estimator", ("fit", "predict")),
    "selection": _Kind(SELECTIONS, "an estimator", ("fit", "transform")),
    "sampler": _Kind(SAMPLERS, "an estimator", ("fit_resample",), own=("n_neighbors",)),
    "search": _Kind(SEARCHES, "an object", ("fit", "kneighbors")),
}
_FROM_THE_PLAN = {"n_neighbors", "search"}
# The name of a strategy implies the first, the name of a selection the second; the others cannot be text.
_NO_OPTIONS = _FROM_THE_PLAN | {"per_label", "symmetric", "similarity", "metric_params"}


@dataclass(frozen=True)
class Part:
    """An unfitted estimator, cloned for each use.

    Parameters
    ----------
    key : str
        Its text, or an identifier of the object; parts with the same key are equal and share computed results.
    prototype : object
        The estimator; it draws random numbers from the seed 0 unless another is set.
    source : object, default=None
        The user's object, stored so that its id is not reused.
    """

    key: str
    prototype: Any = field(compare=False, repr=False)
    source: Any = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, kind: str, value: Any, *, allow_imports: bool = False) -> Self:
        """Create the part of a kind, such as "method", from a name with options, or from an object."""
        known, what, methods, own = _KINDS[kind]
        if isinstance(value, type):
            raise TypeError(f"{kind} must be an object, got the class {value.__name__}. Hint: {value.__name__}().")
        if isinstance(value, str):
            part = cls(value, from_text(kind, known, value, seed=0, settable=own, allow_imports=allow_imports))
        else:
            part = cls(f"{type(value).__name__} {id(value)}", clone(value, safe=False), value)
            if "random_state" in part.parameters and part.prototype.random_state is None:
                part.prototype.set_params(random_state=0)
        check_has(kind, part.prototype, methods, what=what)
        return part

    @property
    def parameters(self) -> set[str]:
        """Parameter names of the estimator."""
        return parameters_of(self.prototype)

    def make(self, **parameters: Any) -> Any:
        """Return a clone with some of its parameters set."""
        made = clone(self.prototype, safe=False)
        return made.set_params(**parameters) if parameters else made


def parameters_of(thing: Any) -> set[str]:
    """Return the parameter names of an estimator; empty for other objects."""
    return set(thing.get_params(deep=False)) if hasattr(thing, "get_params") else set()


def from_text(
    what: str,
    known: Mapping[str, Callable[..., Any]],
    text: str,
    *,
    seed: int | None = None,
    settable: Collection[str] = (),
    allow_imports: bool = False,
) -> Any:
    """Return the unfitted object of a name or a ``package.module:Name``, with its options.

    Parameters
    ----------
    what : str
        Its description in messages.
    known : mapping of str to callable
        Factories by name.
    text : str
        Name and options.
    seed : int, default=None
        Value of the parameter `random_state`, if there is one and no option sets it; None: its default.
    settable : collection of str, default=()
        Options that are allowed although the plan sets those of a method.
    allow_imports : bool, default=False
        Whether a ``package.module:Name`` is imported, which runs code, or refused.

    Raises
    ------
    ValueError
        If there is no such name, attribute or option, or an import is not allowed.
    ImportError
        If the module cannot be imported.
    """
    name, *options = text.split(":")
    if name in known:
        return _made(f"{what} {name!r}", known[name], options, _NO_OPTIONS - set(settable), seed, allow_imports)
    found = split_import(text)
    if found is None:
        others = _METHODS_BY_WORD if known is METHODS else {}
        raise ValueError(f"{what} must be one of {sorted(known)}, got {name!r}.{hint(name, known, others)}")
    imported, rest = found
    thing = import_object(what, imported, allow_imports=allow_imports)
    no_options = _FROM_THE_PLAN - set(settable)
    return _made(f"{what} {imported!r}", thing, rest.split(":")[1:], no_options, seed, allow_imports)


def _made(
    whose: str, thing: Any, options: Iterable[str], no_options: set[str], seed: int | None, allow_imports: bool
) -> Any:
    """Call a class or a function with options, or set the parameters of an object."""
    parameters = set(inspect.signature(thing).parameters) if callable(thing) else parameters_of(thing)
    known = sorted(parameters - no_options)
    settings = read_options(whose, known, options, allow_imports=allow_imports)
    if seed is not None and "random_state" in parameters:
        settings = {"random_state": seed} | settings
    if callable(thing):
        return thing(**settings)
    copy = clone(thing, safe=False)
    return copy.set_params(**settings) if settings else copy


def read_options(whose: str, known: list[str], options: Iterable[str], *, allow_imports: bool) -> dict[str, Any]:
    """Return the values of ``parameter=value`` by parameter; unknown parameters raise an error."""
    options = list(options)
    of_plan = {"k", "n_neighbors"}.difference(known).intersection(option.partition("=")[0] for option in options)
    if of_plan:
        raise ValueError(
            f"{whose} must be without {min(of_plan)} in its options, got {':'.join(options)!r}. Hint: --k, or in Python"
            " n_neighbors, sets it for all methods."
        )
    if "estimator" in known and any(option.startswith("estimator=") for option in options):
        _check_estimator_has_no_options(whose, known, options)
    given = dict(split_option(whose, known, option) for option in options)
    readers: dict[str, Callable[[str], Any]] = {
        "estimator": partial(_read_estimator, whose, allow_imports=allow_imports),
        "weights": _read_weights,
    }
    return {name: readers.get(name, read_value)(text) for name, text in given.items()}


def _check_estimator_has_no_options(whose: str, known: list[str], options: Iterable[str]) -> None:
    for option in options:
        parameter, equals, _ = option.partition("=")
        if equals and parameter not in known:
            raise ValueError(
                f"estimator of {whose} must be without options, got {option!r}; those of {whose} are {known}. Hint: the"
                " method svm has C; or name a function of your own without arguments, estimator=package.module.name; in"
                " Python BinaryRelevance(LogisticRegression(C=2))."
            )


def _read_weights(text: str) -> Any:
    """Return the kernel of ``similarity-4`` or ``gaussian-2``, with its parameter; another value unchanged."""
    name, _, parameter = text.partition("-")
    if name not in KERNELS:
        return read_value(text)
    return KERNELS[name](*[read_value(parameter)] if parameter else [])


def _read_estimator(whose: str, text: str, *, allow_imports: bool) -> Any:
    """Return the classifier of a key of `ESTIMATORS` or a ``package.module.Name``: a colon would begin an option."""
    if text in ESTIMATORS:
        return ESTIMATORS[text]()
    module, _, name = text.rpartition(".")
    if not module:
        known = sorted(ESTIMATORS)
        near = hint(text, known, _ESTIMATORS_BY_WORD)
        raise ValueError(f"estimator of {whose} must be one of {known}, got {text!r}.{near}")
    return import_object(f"estimator of {whose}", f"{module}:{name}", allow_imports=allow_imports)()


def check_has(name: str, thing: Any, methods: Iterable[str], *, what: str = "an estimator") -> None:
    """Raise TypeError unless an object has some methods."""
    for method in methods:
        if not hasattr(thing, method):
            raise TypeError(f"{name} must be {what} with {method}, got {thing!r} of type {type(thing).__name__}.")


def hint(name: str, known: Iterable[str], by_word: Mapping[str, Sequence[str]] = MappingProxyType({})) -> str:
    """Return a suggestion of the most similar known name, to end a message; else of those for a word in the name."""
    near: Sequence[str] = difflib.get_close_matches(name.lower(), known, n=1)
    near = near or next((found for word, found in by_word.items() if word in name.lower()), ())
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


# Searches: ``exact:metric=cosine``, ``faiss-ivf:n_probe=4``.

_OF_THE_EXACT = ("metric", "n_jobs")  # options that the exact search shares with the search that is compared with it


def make_search(spec: Any, *, allow_imports: bool = False) -> Any:
    """Return the unfitted search of a specification.

    Parameters
    ----------
    spec : str or object with `fit` and `kneighbors`
        A key of `SEARCHES`, followed by any number of ``:parameter=value``; or a search, which is cloned.
    allow_imports : bool, default=False
        Whether a text may also be ``package.module:Name`` or ``./file.py:Name``, with options, which is imported:
        **this executes the code of that module**.

    Returns
    -------
    object with `fit` and `kneighbors`
        A new search.

    Raises
    ------
    ValueError
        If there is no such search or option, a value is invalid, or an import is not allowed.
    TypeError
        If an object is not a search.
    ImportError
        If the search needs a library that is not installed, or a module cannot be imported.

    Examples
    --------
    >>> make_search("exact:metric=cosine")
    ExactNeighbors(metric='cosine')
    """
    search = Part.of("search", spec, allow_imports=allow_imports).make()
    if hasattr(search, "_check_parameters"):
        search._check_parameters()
    return search


def usual_search(scale: str) -> str:
    """Return the name of the default search for a scaling of the features.

    For samples with norm 1, cosine and Euclidean distance give the same order. But a text without any known word has
    norm 0, so by the Euclidean distance it is nearer to every text than two texts with few common words are to each
    other.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.

    Returns
    -------
    str
        "exact:metric=cosine" for "tfidf", else "exact".

    Examples
    --------
    >>> usual_search("tfidf"), usual_search("minmax")
    ('exact:metric=cosine', 'exact')
    """
    return "exact:metric=cosine" if scale == "tfidf" else "exact"


def exact_search_for(spec: Any) -> str:
    """Return the specification of the exact search with the same distance and number of threads."""
    if isinstance(spec, str):
        given = dict(option.partition("=")[::2] for option in spec.split(":"))
    else:
        defaults, own = ExactNeighbors().get_params(), spec.get_params() if hasattr(spec, "get_params") else {}
        given = {name: own[name] for name in _OF_THE_EXACT if name in own and own[name] != defaults[name]}
    return ":".join(["exact", *(f"{name}={given[name]}" for name in _OF_THE_EXACT if name in given)])
