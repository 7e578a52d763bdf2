"""The build of the kernels with other compilers than this machine's, and without one: a script stands in for them."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="compilers are scripts of a shell here")

# Notes its arguments, makes an empty file of each name after -o, and fails if an argument is one of those given.
COMPILER = """#!/bin/sh
echo "$*" >> {log}
for argument; do
  case "$argument" in {unknown}) echo "unknown: $argument" >&2; exit 1;; esac
  if [ "$last" = -o ]; then : > "$argument"; fi
  last=$argument
done
"""


@pytest.fixture
def builder(monkeypatch):
    """The module, on a processor that has several levels."""
    path = ROOT / "build_kernels.py"
    if not path.exists():
        pytest.skip("no sources of the kernels here")
    spec = importlib.util.spec_from_file_location("build_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    return module


@pytest.fixture
def compile_with(monkeypatch, tmp_path):
    """Let CXX be a compiler that does not know some arguments; returns a function that returns its calls."""

    def make(unknown):
        compiler, log = tmp_path / "c++", tmp_path / "log"
        compiler.write_text(COMPILER.format(log=log, unknown=unknown))
        compiler.chmod(0o755)
        monkeypatch.setenv("CXX", f"{compiler} --some-option")
        return lambda: [line.split() for line in log.read_text().splitlines()]

    return make


def test_levels_and_flags_that_a_compiler_does_not_know_are_left_out(builder, compile_with, tmp_path, capsys):
    """The others are built, and the table of levels is told of those only."""
    calls = compile_with("-mamx-tile|-fno-tree-pre")
    assert builder.build(tmp_path / "lib") == tmp_path / "lib" / builder.NAME
    assert [file.name for file in (tmp_path / "lib").iterdir()] == [builder.NAME]
    assert "bf16_amx does not compile:\nunknown: -mamx-tile" in capsys.readouterr().out
    (table,) = [call for call in calls() if call[-1].endswith("/levels.o")]
    defines = {argument for argument in table if argument.startswith("-D")}
    left = "FLOAT32_AVX2", "FLOAT32_AVX512", "SUM_PAIRS_AVX512", "INT16"
    assert defines == {f"-DNEARLABEL_HAS_{level}" for level in left}
    assert "-fno-tree-pre" not in table
    assert "--some-option" in table


def test_what_needs_most_is_linked_last(builder, compile_with, tmp_path):
    """The linker takes the first of equal functions, which every processor that gets there must be able to run."""
    calls = compile_with("nothing")
    builder.build(tmp_path / "lib")
    objects = [Path(argument).stem for argument in calls()[-1] if argument.endswith(".o")]
    levels = ["float32_avx2", "float32_avx512", "sum_pairs_avx512", "int16_vnni", "bf16_amx"]
    assert objects[-len(levels) :] == levels
    assert {"levels", "points", "offer", "offer_sparse"} <= set(objects[: -len(levels)])


@pytest.mark.parametrize(
    ("unknown", "every_level"), [("-mamx-tile", True), ("-ffp-contract=off", False), ("-DNEARLABEL_HAS_BF16", False)]
)
def test_a_build_that_fails_leaves_no_library(builder, compile_with, tmp_path, unknown, every_level):
    """An older one would be of other sources."""
    compile_with(unknown)
    library = tmp_path / builder.NAME
    library.write_text("of older sources")
    assert builder.build(tmp_path, every_level=every_level) is None
    assert not library.exists()


@pytest.mark.parametrize("command", ["false", "no-such-compiler", "no-such-compiler --option"])
def test_a_compiler_that_does_not_work_is_none(builder, monkeypatch, command):
    """As CXX=false, or one without the standard library."""
    monkeypatch.setenv("CXX", command)
    assert builder.find_compiler() is None


def test_a_processor_without_levels(builder, compile_with, monkeypatch, tmp_path, capsys):
    """Said by its name; the compiler has nothing to do."""
    compile_with("nothing")
    monkeypatch.setattr(builder.platform, "machine", lambda: "s390x")
    assert builder.build(tmp_path / "lib") is None
    assert "no kernels are built: none for linux on s390x" in capsys.readouterr().out


def test_an_editable_installation_builds_only_what_changed(builder, tmp_path):
    """A library that is as new as all sources stays; an older one, or none, is built."""
    assert builder.built(tmp_path) is None
    library = tmp_path / builder.NAME
    library.write_text("of these sources")
    assert builder.built(tmp_path) == library
    os.utime(library, (0, 0))
    assert builder.built(tmp_path) is None
