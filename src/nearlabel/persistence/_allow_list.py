"""The types that are trusted by default in a file, each for one use only.

skops trusts a list of names, and a file may use a listed name in any way: build an object from attributes, call a class
or function with arguments from the file, or return it for a later call. So a name may be listed only if an object of
that type, with attributes chosen by an attacker, can do nothing but compute; `check_schema` rejects every use but the
listed one. Whole modules are never listed, because a module also contains everything that it imports. A test fits every
estimator and compares the types in its file with this list.
"""

from __future__ import annotations

from collections import defaultdict
from reprlib import repr as shortened
from typing import Any

from nearlabel.utils.names import BUILT

# Built from attributes, without a call of the constructor; named tuples from their items. Modules of nearlabel and
# their types; those with a name in specifications are in `BUILT`.
_OBJECTS = {
    "lazy._cmlknn": ("Memberships",),
    "lazy._distance_regression": ("DistanceRegression",),
    "lazy._dmlknn": ("VoteVectors",),
    "lazy._stream_classifier": ("StreamClassifier",),
    "lazy._streams": ("Drift", "KeptRows", "Prequential", "Watch"),
    "lazy._unknown": ("KnownCells", "LabelGroup"),
    "lazy.double_distances": ("CertifiedPairs", "SearchedPairs"),
    "models.leaf_shares": ("LeafShares",),
    "neighbors._kernel_weights": ("GaussianWeights", "SimilarityWeights"),
    "neighbors._novelty": ("NoveltyDetector",),
    "neighbors._precomputed": ("NeighborGraph", "PrecomputedNeighbors", "TransformerNeighbors"),
    "neighbors.exact._distances": ("Cosine", "Euclidean", "Manhattan", "Rows", "SquaredEuclidean"),
    "neighbors.exact._metrics": ("AnyMetric",),
    "neighbors.exact._segments": ("TrainingLists",),
    "neighbors.exact.all_pairs": ("AllDistances",),
    "persistence._searches": ("SavedSearch",),
    "preprocessing._columns": ("ColumnReader", "OverlapEncoder", "TextEncoder"),
    "preprocessing._feature_scaler": ("FeatureScaler",),
    "preprocessing._mixed_features": ("MixedFeaturesEncoder", "RangeScaler"),
    "preprocessing._neighborhood_components": ("NeighborhoodComponentsWeights",),
    "preprocessing._resampled_classifier": ("ResampledClassifier",),
    "preprocessing._stem_analyzer": ("StemAnalyzer",),
    "preprocessing._training_range": ("TrainingRange",),
    "rivals._boosting": ("_Table",),
    "rivals._bp_mll": ("InputScale", "RankingNetwork"),
    "rivals._homer": ("Node",),
    "rivals._rank_svm": ("Kernel",),
    "rivals._soft_vote": ("SoftVote",),
    "selection._mixture_classifier_cv": ("MixtureClassifierCV",),
    "selection._neighbors_classifier_cv": ("NeighborsClassifierCV",),
    "selection._number_of_neighbors": ("NeighborsPerLabel",),
    "solvers.binomial": ("NewtonLogistic",),
    "solvers.feature_scaling": ("FeatureScaling",),
    "solvers.label_probabilities": ("LabelProbabilities", "Platt", "Temperature"),
    "solvers.score_maps": ("Interpolation", "JointMap", "Logistic"),
    "thresholds._calibration": ("CalibratedLabels",),
    "thresholds._cross_val": ("OneClass",),
    "thresholds._fixed": ("FixedThresholdsClassifier",),
    "thresholds._tuned": ("TunedThresholdsClassifierCV",),
    "utils.targets": ("LabelContainer",),
}
# Called by the models that contain them, with label sets and similarities.
_FUNCTIONS = (
    "nearlabel.lazy._cmlknn.averaged",
    "nearlabel.lazy._cmlknn.clipped",
    "nearlabel.lazy._cmlknn.largest",
    "nearlabel.lazy._cmlknn.settled",
)
# Built as matrices, and named as the container type of y.
_CONTAINERS = (
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
)

# Not trusted by name: compiled code follows its indices. `load_model` builds it only if `_validate_trees` checks it.
TREE = "sklearn.tree._tree.Tree"

_TRUSTED: dict[str, frozenset[str]] = (
    dict.fromkeys(
        (*BUILT, *(f"nearlabel.{module}.{name}" for module, names in _OBJECTS.items() for name in names)),
        frozenset({"ObjectNode", "TupleNode"}),
    )
    | dict.fromkeys(_FUNCTIONS, frozenset({"FunctionNode"}))
    | dict.fromkeys(_CONTAINERS, frozenset({"SparseMatrixNode", "TypeNode"}))
    | {"numpy.dtype": frozenset({"DTypeNode"})}
)
# For each type, the names of the skops loaders that may build it.
USES = _TRUSTED | {TREE: frozenset({"TreeNode"})}
TRUSTED_TYPES = tuple(_TRUSTED)


# Check the schema of a skops file before skops builds anything from it.
#
# skops trusts a name for every use. Here each trusted name has its allowed uses, and only audited loaders, those of
# skops 0.16, are accepted.

# The file selects its protocol. An older protocol selects older loaders, which read names from places not checked here.
# skops keeps the loaders of all later protocols, at least as strict, and reads none newer than its own.
OLDEST_PROTOCOL = 2
_NODE_FIELDS = frozenset({"__loader__", "__class__", "__module__", "__id__"})
_LONGEST_POOL_SIZE = 3  # digits; numpy's default pool size is 4
_LOADERS = frozenset((
    "BytearrayNode", "BytesNode", "CachedNode", "ConstructorFromReduceNode", "DTypeNode", "DefaultDictNode",
    "DictNode", "FunctionNode", "JsonNode", "ListNode", "LossNode", "MaskedArrayNode", "MethodNode", "NdArrayNode",
    "ObjectNode", "OperatorFuncNode", "PartialNode", "RandomGeneratorNode", "RandomStateNode", "SetNode",
    "SliceNode", "SparseMatrixNode", "TreeNode", "TupleNode", "TypeNode",
))  # fmt: skip


class NewerProtocolError(ValueError):
    """The schema has a protocol of a newer skops."""


def check_schema(schema: Any, newest_protocol: int | None) -> None:
    """Raise ValueError if a schema is malformed, or uses a trusted name in a way that is not allowed.

    `newest_protocol` is that of the installed skops; None if nothing is to be built.
    """
    if not isinstance(schema, dict) or "__loader__" not in schema:
        raise ValueError("its schema names no loader")
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol < OLDEST_PROTOCOL:
        raise ValueError(f"its skops protocol must be at least {OLDEST_PROTOCOL}, got {shortened(protocol)}")
    if newest_protocol is not None and protocol > newest_protocol:
        raise NewerProtocolError(f"skops protocol {shortened(protocol)}, where the installed one is {newest_protocol}")
    objects = _objects_in(schema)
    known: dict[Any, Any] = {}
    for node in _nodes_among(objects):
        _check_use(node)
        _check_identity(node, known)
    _check_pool_sizes(objects)


def nodes_of(schema: Any) -> list[dict[str, Any]]:
    """Return every JSON object that skops could interpret as a node, at any depth."""
    return _nodes_among(_objects_in(schema))


def _nodes_among(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [part for part in objects if not _NODE_FIELDS.isdisjoint(part)]


def _objects_in(schema: Any) -> list[dict[str, Any]]:
    """Return every JSON object, at any depth."""
    found, waiting = [], [schema]  # a stack instead of recursion: a deeply nested file must not exceed Python's limit
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            found.append(part)
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _check_pool_sizes(objects: list[dict[str, Any]]) -> None:
    """Raise ValueError if the seed of a random generator has a large pool, for which numpy needs quadratic time.

    The number may be elsewhere in the file: equal numbers of a model share an id, and the first that is built counts.
    If no generator has a seed, a `pool_size` belongs to another object.
    """
    numbers = defaultdict[Any, list[Any]](list)
    for part in objects:
        if "content" in part:
            numbers[part.get("__id__")].append(part["content"])
    has_seed = [part for part in objects if "seed_seq" in part]
    pools = [part["pool_size"] for part in objects if isinstance(part.get("pool_size"), dict)] if has_seed else []
    for pool in pools:
        for content in [pool.get("content"), *numbers[pool.get("__id__")]]:
            if isinstance(content, str) and (not content.isdecimal() or len(content) > _LONGEST_POOL_SIZE):
                raise ValueError(f"the seed of a random generator has a pool of {shortened(content)} numbers")


def _check_use(node: dict[str, Any]) -> None:
    kind, module, loader = node.get("__class__"), node.get("__module__"), node.get("__loader__")
    name = f"{module}.{kind}"
    if not isinstance(kind, str) or not isinstance(module, str):
        raise ValueError(f"a name in its schema must be text, got {shortened(name)}")
    if not isinstance(loader, str) or loader not in USES.get(name, _LOADERS):
        raise ValueError(f"{name} must not be built by {str(loader)[:60]}")
    if loader == "TreeNode" and name != TREE:  # which builds a tree, under any name
        raise ValueError(f"{name} must not be built by {loader}")


def _check_identity(node: dict[str, Any], known: dict[Any, Any]) -> None:
    """Raise ValueError if two objects share an id, or read the same member of the archive.

    skops builds the first object with an id and returns it for all others, which would then be unchecked. A member that
    several objects read is in memory several times.
    """
    number = node.get("__id__")
    if number is not None and (type(number) is not int or number <= 0):
        raise ValueError(f"an object in its schema has the id {shortened(number)}")
    what = node["__loader__"], node["__module__"], node["__class__"]
    if number is not None and known.setdefault(number, what) != what:
        raise ValueError(f"two objects in its schema have the id {number}")
    file = node.get("file")
    if file is not None and (number is None or known.setdefault(str(file), number) != number):
        raise ValueError(f"two objects in its schema are read from {shortened(file)}")
