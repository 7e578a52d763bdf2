"""Check the schema of a skops file before skops builds anything from it.

skops trusts names for every use. Here each trusted name has its allowed uses, and only the loaders and the protocol
that were audited, those of skops 0.16, are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import repr as shortened
from typing import Any

from nearlabel.persistence._allow_list import TREE, USES

# The file chooses its protocol. An older one selects older loaders, which read names from places not checked here; a
# newer one was not audited.
PROTOCOL = 2
_LOADERS = frozenset((
    "BytearrayNode", "BytesNode", "CachedNode", "ConstructorFromReduceNode", "DTypeNode", "DefaultDictNode",
    "DictNode", "FunctionNode", "JsonNode", "ListNode", "LossNode", "MaskedArrayNode", "MethodNode", "NdArrayNode",
    "ObjectNode", "OperatorFuncNode", "PartialNode", "RandomGeneratorNode", "RandomStateNode", "SetNode",
    "SliceNode", "SparseMatrixNode", "TreeNode", "TupleNode", "TypeNode",
))  # fmt: skip


class ProtocolError(ValueError):
    """A schema of another protocol."""


def check_schema(schema: Any) -> None:
    """Raise ValueError if a schema is malformed, or uses a trusted name in another way than it is trusted for."""
    if not isinstance(schema, dict) or "__loader__" not in schema:
        raise ValueError("its schema names no loader")
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol != PROTOCOL:
        raise ProtocolError(f"its skops protocol must be {PROTOCOL}, got {shortened(protocol)}")
    known: dict[Any, Any] = {}
    for node in nodes_of(schema):
        _check_use(node)
        _check_identity(node, known)


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield every JSON object that skops could take for a node, wherever it is nested."""
    waiting = [schema]  # a stack instead of recursion: a deeply nested file must not exhaust Python's
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if not part.keys().isdisjoint({"__loader__", "__class__", "__module__", "__id__"}):
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _check_use(node: dict[str, Any]) -> None:
    kind, module, loader = (node.get(field) for field in ("__class__", "__module__", "__loader__"))
    name = f"{module}.{kind}"
    if not isinstance(kind, str) or not isinstance(module, str):
        raise ValueError(f"a name in its schema must be text, got {shortened(name)}")
    if not isinstance(loader, str) or loader not in USES.get(name, _LOADERS):
        raise ValueError(f"{name} must not be built by {str(loader)[:60]}")
    if loader == "TreeNode" and name != TREE:  # which builds a tree, whatever it is called
        raise ValueError(f"{name} must not be built by {loader}")


def _check_identity(node: dict[str, Any], known: dict[Any, Any]) -> None:
    """Raise ValueError if two objects share an id, or read the same member of the archive.

    skops builds the first object of an id and returns it for all others, which would then be unchecked. A member that
    many objects read is in memory as many times.
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
