"""Import an optional library, or say which extra installs it."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return the imported module.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {library}: pip install 'nearlabel[{extra}]'.") from error
