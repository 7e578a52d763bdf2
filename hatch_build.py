"""Builds the kernels with the package: a wheel for this machine where a C++ compiler is found, else a pure one.

NEARLABEL_BUILD_KERNELS=off in the environment builds none, NEARLABEL_BUILD_KERNELS=required fails if none can be built.
"""

from __future__ import annotations

import importlib.util
import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "NEARLABEL_BUILD_KERNELS"


class KernelsHook(BuildHookInterface):
    """Compiles the kernels beside the module that loads them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before files are collected; `version` is "editable" or "standard"."""
        wanted = os.environ.get(VARIABLE, "")
        library = None
        if wanted != "off":
            library = _module(Path(self.root) / "build_kernels.py").build(
                Path(self.root) / "src" / "nearlabel" / "neighbors"
            )
        if library is None:
            if wanted == "required":
                raise RuntimeError(f"The kernels could not be built, and {VARIABLE}=required.")
            return
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"  # the library knows nothing of Python
        build_data["artifacts"].append(str(library.relative_to(self.root)))


def _module(path: Path) -> Any:
    """Return the module of a file that cannot be imported by name, since a build runs elsewhere."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} must be a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
