"""Import an optional library; the error names the extra that installs it."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return the imported module.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra that installs it. Also if its import fails.
    """
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == library
        if is_missing:
            raise ImportError(f"{purpose} needs {library}: pip install 'nearlabel[{extra}]'.") from error
        raise ImportError(f"{purpose} needs {library}, which is installed but cannot be imported: {error}") from error
