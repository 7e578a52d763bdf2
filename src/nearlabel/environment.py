"""What a result was made with: versions of Python and libraries, and the compiled kernels of the exact search."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from functools import cache

from nearlabel import __version__
from nearlabel.neighbors._kernels import kernel_in_use, kernel_levels, kernels_state  # as searches find them

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
    """Print what nearlabel runs on: system, versions of libraries, and the kernels of the exact search.

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
    """Return what nearlabel runs on.

    Returns
    -------
    dict of str to dict of str to str
        "System": Python, platform and the number of cores. "Libraries": the version of each, of optional ones "not
        installed" if so. "Kernels": the state of the compiled library ("built", or why there is none), the levels that
        this processor runs, and the one in use, which `nearlabel.neighbors.kernel_level` or NEARLABEL_KERNELS choose.

    Examples
    --------
    >>> from nearlabel.environment import environment
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
    """Return what the numbers of a run could depend on, in short: versions, machine and level of the kernels.

    Returns
    -------
    dict of str to str
        Versions of nearlabel, Python, numpy, scipy and scikit-learn, system and kind of machine, and "kernels", the
        level of the kernels in use. Neighbours do not depend on it, but the time of a search does.

    Examples
    --------
    >>> from nearlabel.environment import made_with
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
    """Return the state of the library, and what to do if there is none."""
    state = kernels_state()
    if state == "built":
        return state
    can_be_built = sys.platform in ("linux", "darwin")
    return f"{state}. {_HINT if can_be_built else 'They are for Linux and macOS as yet.'}"


def _in_use() -> str:
    """Return the level in use; what is wrong with the environment's choice is told, too."""
    try:
        return kernel_in_use()
    except ValueError as error:
        return f"none: {error}"
