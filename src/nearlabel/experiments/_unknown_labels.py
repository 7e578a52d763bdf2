"""Check which methods support label sets with unknown cells, before any work is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearlabel.experiments._method_names import METHODS
from nearlabel.experiments._methods import MethodSpec
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.targets import has_unknown, n_unknown
from nearlabel.utils.types import Matrix


def takes_unknown(method: Any) -> bool:
    """Return whether a method of a plan can learn from the known cells of label sets with unknown cells.

    Parameters
    ----------
    method : str, estimator or MethodSpec
        A method as `make_method` accepts it.

    Returns
    -------
    bool
        True or False, independent of thresholds, which are all tuned on known cells.

    Raises
    ------
    ValueError, TypeError, ImportError
        As `make_method`.

    Examples
    --------
    >>> from nearlabel.experiments import takes_unknown
    >>> takes_unknown("lpknn")
    False
    """
    spec = MethodSpec.of(method)
    parts = [part for part in (spec.selection, spec.sampler, spec.method) if part is not None]
    return all(getattr(part.prototype, "_takes_unknown", False) for part in parts)


def check_takes_unknown(name: str, Y: Matrix, methods: Mapping[str, Any]) -> None:
    """Raise ValueError if training label sets have unknown cells and some method does not support them."""
    if not has_unknown(Y):
        return
    refusing = [method for method, spec in methods.items() if not takes_unknown(spec)]
    if refusing:
        some = ", ".join(refusing[:5]) + (f" and {len(refusing) - 5} more" if len(refusing) > 5 else "")
        taking = [method for method in METHODS if takes_unknown(method)]
        hint = f" Hint: {', '.join(taking)} do." if taking else ""
        problem = f"support unknown labels, of which {name} has {n_unknown(Y)}, got {some}.{hint}"
        raise ParameterError("{methods} must {problem}", {"methods": None}, {"problem": problem})
