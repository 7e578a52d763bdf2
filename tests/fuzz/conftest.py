"""Fuzzing of readers needs processes that fork, which Windows has not."""

import os
from pathlib import Path

collect_ignore = (
    [] if hasattr(os, "fork") else [p.name for p in Path(__file__).parent.glob("*.py") if p.name != "conftest.py"]
)
