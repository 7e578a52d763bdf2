"""The programs of recipe pages as modules, for tests that need what they define."""

import sys
from types import ModuleType

from _pages import blocks


def recipe(page, file):
    """Return the module of a file of a page; its classes can be pickled."""
    (text,) = (block.text for block in blocks(page) if block.file == file)
    name = f"_recipe_{file.removesuffix('.py')}"
    module = ModuleType(name)
    exec(compile(text, f"{page}.md", "exec"), vars(module))
    sys.modules[name] = module
    return module


samplers = recipe("howto/add_a_sampler", "samplers.py")
MLROS, MLRUS, MLTL, MLeNN, REMEDIAL = (getattr(samplers, n) for n in ("MLROS", "MLRUS", "MLTL", "MLeNN", "REMEDIAL"))
