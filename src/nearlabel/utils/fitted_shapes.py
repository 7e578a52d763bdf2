"""Check that the fitted arrays of a classifier from a file have consistent shapes.

Otherwise a forged number of rows or labels could make a method allocate a huge array.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any, TypeAlias

Shapes: TypeAlias = Mapping[str, tuple[int | None, ...]]  # by name, such as `_lists.indices`; None is any length


def check_fitted_shapes(fitted: Any, shapes: Shapes) -> None:
    """Raise ValueError unless the attributes that exist and are not None have these shapes.

    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> check_fitted_shapes(SimpleNamespace(prior_=np.ones(3)), {"prior_": (3,), "absent_": (4,)})
    >>> check_fitted_shapes(SimpleNamespace(prior_=np.ones(3)), {"prior_": (10**9,)})
    Traceback (most recent call last):
        ...
    ValueError: prior_ must be of shape (1000000000,), got (3,)
    """
    for name, expected in shapes.items():
        array = reduce(lambda part, attribute: getattr(part, attribute, None), name.split("."), fitted)
        if array is None:
            continue
        found = tuple(getattr(array, "shape", ()))
        if len(found) != len(expected) or any(
            length not in (None, one) for length, one in zip(expected, found, strict=True)
        ):
            raise ValueError(f"{name} must be of shape {expected}, got {found}")
