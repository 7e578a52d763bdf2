"""The environment of a result: versions of Python and libraries, and the compiled kernels of the exact search."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from functools import cache

from nearlabel import __version__
from nearlabel.neighbors.exact.kernels import kernel_in_use, kernel_levels, kernels_state  # as searches find them

__all__ = ["environment", "made_with", "show_versions"]

_CORE = ("numpy", "scipy", "scikit-learn")
_OTHERS = (
    *("joblib", "threadpoolctl"),  # of scikit-learn
    *("dask", "distributed", "faiss-cpu", "torch", "usearch"),
    *("lancedb", "qdrant-client", "psycopg", "pgvector"),
    *("pandas", "polars", "pyarrow", "openpyxl"),
    *("matplotlib", "pooch", "rich", "shtab", "skops", "snowballstemmer"),
)
_HINT = "Hint: install a C++ compiler, then nearlabel again."


def show_versions() -> None:
    """Print the environment of nearlabel: system, versions of libraries, and the kernels of the exact search.

    See Also
    --------
    environment : The same as a dict.
    sklearn.show_versions : Also prints the libraries of linear algebra and their threads.

    Examples
    --------
    >>> import nearlabel
    >>> nearlabel.show_versions()  # doctest: +ELLIPSIS
    <BLANKLINE>
    System
    ...
    Kernels
        state: ...
        levels: ...
        in use: ...
    """
    for heading, facts in environment().items():
        print(f"\n{heading}")  # noqa: T201 (as scikit-learn does)
        for name, value in facts.items():
            print(f"    {name}: {value}")  # noqa: T201


def environment() -> dict[str, dict[str, str]]:
    """Return the environment of nearlabel.

    Returns
    -------
    dict of str to dict of str to str
        "System": Python, platform and the number of cores. "Libraries": the version of each, or "not installed" for a
        missing optional one. "Kernels": the state of the compiled library ("built", or the reason why there is none),
        the levels that this processor runs, and the one in use, which `nearlabel.neighbors.kernel_level` or
        NEARLABEL_KERNELS set.

    Examples
    --------
    >>> from nearlabel.experiments import environment
    >>> {heading: list(facts)[0] for heading, facts in environment().items()}
    {'System': 'Python', 'Libraries': 'nearlabel', 'Kernels': 'state'}
    """
    return {
        "System": {
            "Python": " ".join(sys.version.split()),
            "executable": sys.executable,
            "platform": platform.platform(),
            "cores": str(os.cpu_count()),
        },
        "Libraries": {"nearlabel": __version__, **{name: _version(name) for name in (*_CORE, *_OTHERS)}},
        "Kernels": {"state": _state(), "levels": ", ".join(kernel_levels()), "in use": _in_use()},
    }


def made_with() -> dict[str, str]:
    """Return the parts of the environment that results may depend on: versions, machine and level of the kernels.

    Returns
    -------
    dict of str to str
        Versions of nearlabel, Python, numpy, scipy and scikit-learn, system and kind of machine, and "kernels", the
        level of the kernels in use. Neighbours do not depend on it, but the time of a search does.

    Examples
    --------
    >>> from nearlabel.experiments import made_with
    >>> from nearlabel.neighbors import kernel_level
    >>> with kernel_level("off"):
    ...     made_with()["kernels"]
    'off'
    """
    return {
        "nearlabel": __version__,
        "Python": platform.python_version(),
        **{name: _version(name) for name in _CORE},
        "machine": f"{platform.system()} {platform.machine()}",
        "kernels": _in_use(),
    }


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _state() -> str:
    """Return the state of the library, and a hint if there is none."""
    state = kernels_state()
    if state == "built":
        return state
    can_be_built = sys.platform in ("linux", "darwin")
    return f"{state}. {_HINT if can_be_built else 'They exist only for Linux and macOS so far.'}"


def _in_use() -> str:
    """Return the level in use, or the error in the environment variable."""
    try:
        return kernel_in_use()
    except ValueError as error:
        return f"none: {error}"
