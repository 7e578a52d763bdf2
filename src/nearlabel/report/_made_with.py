"""The line on environments, for pages of runs and models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def shown_environments(environments: Iterable[Mapping[str, str]]) -> str | None:
    """Return distinct environments as one line; None if none is known, as for records of an older nearlabel.

    Examples
    --------
    >>> shown_environments([{"numpy": "2.4.6", "kernels": "int16"}, {"numpy": "2.4.6", "kernels": "off"}])
    'numpy 2.4.6, kernels int16; numpy 2.4.6, kernels off'
    """
    each = (", ".join(f"{name} {value}" for name, value in one.items()) for one in environments)
    return "; ".join(dict.fromkeys(each)) or None
