"""Label sets with unknown cells: which methods take them. Others are refused before there is any work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nearlabel.experiments._methods import METHODS, MethodSpec
from nearlabel.utils.errors import ParameterError
from nearlabel.utils.partial_labels import has_unknown, n_unknown
from nearlabel.utils.types import Matrix


def takes_unknown(method: Any) -> bool:
    """Return whether a method of a plan learns from label sets with unknown cells, by the known ones.

    Parameters
    ----------
    method : str, estimator or MethodSpec
        What `make_method` takes.

    Returns
    -------
    bool
        Thresholds do not count: all are found by known cells.

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
    """Raise ValueError if the training label sets of a data set have unknown cells that some method does not take."""
    if not has_unknown(Y):
        return
    refusing = [method for method, spec in methods.items() if not takes_unknown(spec)]
    if refusing:
        some = ", ".join(refusing[:5]) + (f" and {len(refusing) - 5} more" if len(refusing) > 5 else "")
        taking = [method for method in METHODS if takes_unknown(method)]
        hint = f" Hint: {', '.join(taking)} do." if taking else ""
        problem = f"take labels that are unknown, of which {name} has {n_unknown(Y)}, got {some}.{hint}"
        raise ParameterError("{methods} must {problem}", {"methods": None}, {"problem": problem})
