"""Compile the kernels, each level with the instructions that it needs, into one library without dependencies.

The build of the package calls `build`; ``python build_kernels.py FOLDER`` does it by hand. Without a compiler there is
no library, and nearlabel searches with numpy: the same answers, later.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCES = Path(__file__).parent / "kernels"
NAME = "_nearlabel_kernels.so"
COMMON = ("-std=c++17", "-O3", "-fno-tree-pre", "-fPIC", "-fvisibility=hidden", "-fno-math-errno", "-Wall", "-Wextra")
_X86 = {
    "float32_avx2": ("FLOAT32_AVX2", ("-mavx2", "-mfma")),
    "float32_avx512": ("FLOAT32_AVX512", ("-mavx512f",)),
    "int16_vnni": ("INT16", ("-mavx512f", "-mavx512vnni")),
    "bf16_amx": ("BF16", ("-mavx512f", "-mamx-tile", "-mamx-bf16")),
}
LEVELS = {"x86_64": _X86, "amd64": _X86, "aarch64": {"float32_neon": ("FLOAT32_NEON", ())}, "arm64": {}}
PLAIN = ("points", "offer", "hostile")  # which every processor runs
LEVELS["arm64"] = LEVELS["aarch64"]


def find_compiler() -> list[str] | None:
    """Return the command of a C++ compiler, what CXX names or a usual one; None if there is none."""
    if "CXX" in os.environ:
        named = shlex.split(os.environ["CXX"])
        return named if named and shutil.which(named[0]) else None
    return next(([name] for name in ("c++", "g++", "clang++") if shutil.which(name)), None)


def build(folder: Path, *, flags: tuple[str, ...] = (), emulate_tiles: bool = False) -> Path | None:
    """Compile and link; return the library, or None if that is not possible here, after saying why.

    A level that the compiler does not know is left out.
    """
    compiler = find_compiler()
    levels = LEVELS.get(platform.machine().lower())
    if compiler is None or levels is None or sys.platform not in ("linux", "darwin"):
        print("nearlabel: no kernels are built:", "no C++ compiler" if compiler is None else "an unknown machine")
        return None
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        objects, defines = [], []

        def compiled(name: str, *own: str) -> bool:
            target = Path(temporary) / f"{name}.o"
            command = [*compiler, *COMMON, *flags, *own, "-c", str(SOURCES / f"{name}.cpp"), "-o", str(target)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                objects.append(str(target))
            else:
                print(f"nearlabel: {name} does not compile:\n{done.stderr}")
            return done.returncode == 0

        for name, (macro, own) in levels.items():
            emulates = emulate_tiles and macro == "BF16"
            if compiled(name, *(("-DNEARLABEL_EMULATE_TILES",) if emulates else own)):
                defines.append(f"-DNEARLABEL_HAS_{macro}")
        if emulate_tiles:
            defines.append("-DNEARLABEL_EMULATE_TILES")
        plain = (("sum_pairs", ("-ffp-contract=off",)), ("levels", defines), *((name, ()) for name in PLAIN))
        if not all(compiled(name, *own) for name, own in plain):
            return None
        library = folder / NAME
        part = folder / f".{NAME}.{os.getpid()}"
        command = [*compiler, *flags, "-shared", "-o", str(part), *objects]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"nearlabel: the kernels cannot be linked:\n{done.stderr}")
            return None
        part.replace(library)
    return library


if __name__ == "__main__":
    if build(Path(sys.argv[1])) is None:
        sys.exit(1)
