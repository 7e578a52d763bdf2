"""How much memory there is."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_OF_CONTAINER = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def free_bytes() -> int:
    """Return how much more memory this process may take, by the machine, its container and its address space."""
    found = [_physical_bytes()]
    with contextlib.suppress(OSError, ValueError):  # "max": no limit
        most, used = (int(path.read_text(encoding="ascii")) for path in _OF_CONTAINER)
        found.append(most - used)
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            n_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            found.append(limit - n_pages * resource.getpagesize())
    return max(0, min(found))


def _physical_bytes() -> int:
    """Return the available memory of the machine, or all of it where the system has no such figure; or a gibibyte."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return 2**30
