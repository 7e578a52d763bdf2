"""Check the schema of a skops file before skops builds anything from it.

skops trusts a name for every use. Here each trusted name has its allowed uses, and only audited loaders, those of skops
0.16, are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import repr as shortened
from typing import Any

from nearlabel.persistence._allow_list import TREE, USES

# The file selects its protocol. An older protocol selects older loaders, which read names from places not checked here.
# skops keeps the loaders of all later protocols, at least as strict, and reads none newer than its own.
OLDEST_PROTOCOL = 2
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
    known: dict[Any, Any] = {}
    for node in nodes_of(schema):
        _check_use(node)
        _check_identity(node, known)
    _check_pool_sizes(schema)


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object that skops could interpret as a node, at any depth."""
    waiting = [schema]  # a stack instead of recursion: a deeply nested file must not exceed Python's recursion limit
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if not part.keys().isdisjoint({"__loader__", "__class__", "__module__", "__id__"}):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _check_pool_sizes(schema: Any) -> None:
    """Raise ValueError if the seed of a random generator has a large pool, for which numpy needs quadratic time.

    The number may be elsewhere in the file: equal numbers of a model share an id, and the first that is built counts.
    If no generator has a seed, a `pool_size` belongs to another object.
    """
    numbers: dict[Any, list[Any]] = {}
    waiting, pools, has_seed = [schema], [], False
    while waiting:
        part = waiting.pop()
        waiting.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
        if isinstance(part, dict):
            has_seed = has_seed or "seed_seq" in part
            if isinstance(pool := part.get("pool_size"), dict):
                pools.append(pool)
            if "content" in part:
                numbers.setdefault(part.get("__id__"), []).append(part["content"])
    for pool in pools if has_seed else ():
        for content in [pool.get("content"), *numbers.get(pool.get("__id__"), [])]:
            if isinstance(content, str) and (not content.isdecimal() or len(content) > _LONGEST_POOL_SIZE):
                raise ValueError(f"the seed of a random generator has a pool of {shortened(content)} numbers")


def _check_use(node: dict[str, Any]) -> None:
    kind, module, loader = (node.get(field) for field in ("__class__", "__module__", "__loader__"))
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
