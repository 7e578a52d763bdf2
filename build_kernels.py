"""Compile the kernels, each level with the instructions that it needs, into one library without dependencies.

The build of the package calls `build`; ``python build_kernels.py FOLDER [--every-level]`` does it by hand. Without a
compiler there is no library, and nearlabel searches with numpy: the same answers, later.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parent / "kernels"
NAME = "_nearlabel_kernels.so"
# Deallocation without sizes keeps the library loadable beside the libstdc++ of older systems (manylinux_2_17).
COMMON = (
    *("-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-fno-sized-deallocation"),
    *("-Wall", "-Wextra"),
)
IF_KNOWN = ("-fno-tree-pre",)  # of GCC, which else keeps sums in memory beside the registers; clang has no such flag
_X86 = {
    "float32_avx2": ("FLOAT32_AVX2", ("-mavx2", "-mfma")),
    "float32_avx512": ("FLOAT32_AVX512", ("-mavx512f",)),
    "sum_pairs_avx512": ("SUM_PAIRS_AVX512", ("-mavx512f", "-ffp-contract=off")),
    "int16_vnni": ("INT16", ("-mavx512f", "-mavx512vnni")),
    "bf16_amx": ("BF16", ("-mavx512f", "-mamx-tile", "-mamx-bf16")),
}
_ARM = {"float32_neon": ("FLOAT32_NEON", ())}
LEVELS = {"x86_64": _X86, "amd64": _X86, "aarch64": _ARM, "arm64": _ARM}
SYSTEMS = ("linux", "darwin")


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler that works, what CXX names or a usual one; None if there is none."""
    named = shlex.split(os.environ.get("CXX", ""))
    return next(filter(_works, [named] if named else [["c++"], ["g++"], ["clang++"]]), None)


def build(
    folder: Path, *, flags: Sequence[str] = (), emulate_tiles: bool = False, every_level: bool = False
) -> Path | None:
    """Compile and link; return the library, or None if that is not possible here, after saying why.

    A level that the compiler does not know is left out, unless `every_level`. If nothing is built, none is left there.
    """
    compiler, levels = find_compiler(), LEVELS.get(platform.machine().lower(), {})
    library = folder / NAME
    if compiler is None or not levels or sys.platform not in SYSTEMS:
        why = "no C++ compiler" if compiler is None else f"none for {sys.platform} on {platform.machine()}"
        print("nearlabel: no kernels are built:", why)
    else:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            known = [flag for flag in IF_KNOWN if _works(compiler, flag)]
            compilation = _Compilation([*compiler, *known, *flags], Path(temporary), emulate_tiles)
            if compilation.builds(library, levels, every_level=every_level):
                return library
    library.unlink(missing_ok=True)  # it would be of other sources
    return None


def built(folder: Path) -> Path | None:
    """Return the library in a folder if no source is newer, else None."""
    library = folder / NAME
    sources = [Path(__file__), *SOURCES.iterdir()]
    current = library.exists() and library.stat().st_mtime >= max(source.stat().st_mtime for source in sources)
    return library if current else None


class _Compilation(NamedTuple):
    """A compiler with the flags for all files, and the folder of objects."""

    compiler: Sequence[str]
    folder: Path
    emulate_tiles: bool

    def builds(self, library: Path, levels: dict[str, tuple[str, tuple[str, ...]]], *, every_level: bool) -> bool:
        """Return whether the library was made."""
        own = {name: self._flags(*of_level) for name, of_level in levels.items()}
        with ThreadPoolExecutor() as pool:
            made = dict(zip(own, pool.map(self._compiles, own, own.values()), strict=True))
            defines = [f"-DNEARLABEL_HAS_{levels[name][0]}" for name in made if made[name]]
            base = {"sum_pairs": ["-ffp-contract=off"], "levels": [*defines, *self._emulation()]}
            base |= {"points": [], "offer": [], "offer_sparse": [], "hostile": [], "stumps": [], "left_out": []}
            all_of_base = all(pool.map(self._compiles, base, base.values()))
        if not all_of_base or (every_level and not all(made.values())):
            return False
        # Of a function that several objects have the linker takes the first. Files of levels have none of these, which
        # a test checks; if one did, it would be taken from a file that every processor runs.
        return self._links(library, [*base, *(name for name in made if made[name])])

    def _flags(self, macro: str, flags: tuple[str, ...]) -> Sequence[str]:
        return self._emulation() if macro == "BF16" and self.emulate_tiles else flags

    def _emulation(self) -> list[str]:
        return ["-DNEARLABEL_EMULATE_TILES"] if self.emulate_tiles else []

    def _compiles(self, name: str, own: Iterable[str]) -> bool:
        source, target = SOURCES / f"{name}.cpp", self.folder / f"{name}.o"
        return _runs(f"{name} does not compile", [*self.compiler, *COMMON, *own, "-c", str(source), "-o", str(target)])

    def _links(self, library: Path, names: Iterable[str]) -> bool:
        part = library.with_name(f".{NAME}.{os.getpid()}")
        objects = [str(self.folder / f"{name}.o") for name in names]
        linked = _runs("the kernels cannot be linked", [*self.compiler, "-shared", "-o", str(part), *objects])
        if linked:
            part.replace(library)  # a process that has loaded the old one keeps it
        return linked


def _works(compiler: Sequence[str], *flags: str) -> bool:
    """Return whether a compiler makes a library, with flags that it knows."""
    if not shutil.which(compiler[0]):
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "empty.cpp"
        source.write_text("#include <vector>\n")
        command = [*compiler, "-Werror", *flags, "-shared", "-fPIC", str(source), "-o", f"{folder}/empty.so"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _runs(fault: str, command: Sequence[str]) -> bool:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"nearlabel: {fault}:\n{done.stderr}")
    return done.returncode == 0


if __name__ == "__main__":
    if build(Path(sys.argv[1]), every_level="--every-level" in sys.argv[2:]) is None:
        sys.exit(1)
