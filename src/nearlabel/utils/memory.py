"""How much memory there is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_OF_CONTAINER = Path("/sys/fs/cgroup")


def free_bytes(unknown: int = 2**30) -> int:
    """Return how much more memory this process may take, by the machine, its container and its address space.

    `unknown` is taken for the machine's memory if the system reports none.
    """
    found = [_physical_bytes(unknown)]
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        files = _OF_CONTAINER / "memory.max", _OF_CONTAINER / "memory.current"
        most, used = (int(path.read_text(encoding="ascii")) for path in files)
        found.append(most - used + _cached_bytes())
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            n_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(limit - n_pages * resource.getpagesize())
    return max(0, min(found))


def _cached_bytes() -> int:
    """Return how much of the memory of a container is pages of files, which the system gives up."""
    lines = (_OF_CONTAINER / "memory.stat").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("active_file ", "inactive_file ")))


def _physical_bytes(unknown: int) -> int:
    """Return the available memory of the machine, or all of it where the system has no such figure."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return unknown
