"""Builds the kernels with the package: a wheel for this machine where a C++ compiler is found, else a pure one.

Also gives the package its page for an index, and addresses: `repository` in pyproject.toml says where the sources are.

NEARLABEL_BUILD_KERNELS=off in the environment builds none; NEARLABEL_BUILD_KERNELS=required fails unless every level
can be built.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface
from packaging.tags import platform_tags

VARIABLE = "NEARLABEL_BUILD_KERNELS"
CHOICES = ("auto", "off", "required")


class KernelsHook(BuildHookInterface):
    """Compiles the kernels beside the module that loads them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, before files are collected; `version` is "editable" or "standard"."""
        wanted = os.environ.get(VARIABLE) or "auto"
        if wanted not in CHOICES:
            raise ValueError(f"{VARIABLE} must be one of {', '.join(CHOICES)}, got {wanted!r}.")
        builder = _module(Path(self.root) / "build_kernels.py")
        folder = Path(self.root) / "src" / "nearlabel" / "neighbors"
        if wanted == "off":
            if version == "editable":
                (folder / builder.NAME).unlink(missing_ok=True)  # it would still be loaded
            return
        library = builder.built(folder) if version == "editable" and wanted == "auto" else None
        library = library or builder.build(folder, every_level=wanted == "required")
        if library is not None:
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{_platform()}"  # the library knows nothing of Python
            build_data["artifacts"].append(str(library.relative_to(self.root)))
        elif wanted == "required":
            raise RuntimeError(
                f"The kernels could not be built, for the reason printed above, and {VARIABLE}=required. Hint: install"
                f" g++ 11 or clang 12, or newer, or unset {VARIABLE}: without kernels answers are the same, later."
            )


class PageHook(MetadataHookInterface):
    """Makes the page and the addresses that a package index shows."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Fill in what pyproject.toml calls dynamic."""
        page = _module(Path(self.root) / "long_description.py")
        address, version = self.config["repository"].rstrip("/"), metadata["version"]
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = page.with_absolute_links(readme, address, version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        metadata["urls"] = page.urls(address, version)


def _platform() -> str:
    """Return the tag of this machine. What it says of older systems (manylinux) only auditwheel can tell."""
    return next(tag for tag in platform_tags() if not tag.startswith(("manylinux", "musllinux")))


def _module(path: Path) -> Any:
    """Return the module of a file that cannot be imported by name, since a build runs elsewhere."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} must be a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
