"""The pages of the site: which are for users, how many words they have, and how long the site takes to build.

    python tests/words.py            the users' pages with their words, and the sums
    python tests/words.py --build    builds the site first, as `make docs` does, and prints the seconds

Users' pages are those of the start page's lists but the last one, which is for contributors. A word is what stands
between blanks, code and tables included. `REFERENCE` is looked up rather than read, and is counted apart.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "_sphinx"))
from users_pages import listed, users_pages  # noqa: E402 (from the folder of the site's programs)

__all__ = ["DOCS", "MOST_PAGES", "MOST_WORDS", "REFERENCE", "listed", "n_words", "users_pages"]

MOST_PAGES = 35
MOST_WORDS = 60_000
MOST_SECONDS = 300
# Looked up, not read: what is made of docstrings and of `examples`, and the list of all options of all commands.
REFERENCE = ("api", "command_line", "gallery/index")


def n_words(name: str) -> int:
    """Return the number of words of a page."""
    return len((DOCS / f"{name}.md").read_text(encoding="utf-8").split())


def seconds_to_build() -> float:
    """Build the site into a folder that is then removed; a warning is an error."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "sphinx", "-W", "--jobs", "auto", "--keep-going", "--quiet", "-E"]
        places = ["-d", f"{folder}/read", str(DOCS), f"{folder}/site"]
        subprocess.run([*command, *places], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Count the users' pages and their words.")
    parser.add_argument("--build", action="store_true", help="build the site, and print the seconds")
    options = parser.parse_args()
    pages = users_pages(DOCS)
    read = {name: n_words(name) for name in pages if name not in REFERENCE}
    for name, words in sorted(read.items(), key=lambda one: -one[1]):
        print(f"{words:7,}  {name}")
    print(f"{sum(read.values()):7,}  words of users' pages, at most {MOST_WORDS:,}")
    print(f"{len(pages):7,}  users' pages, at most {MOST_PAGES}; words not counted of {', '.join(REFERENCE)}")
    print(f"{n_words('command_line'):7,}  words of the command line's options, apart")
    everything = sum(len(page.read_text(encoding="utf-8").split()) for page in DOCS.glob("**/*.md"))
    print(f"{everything:7,}  words of all pages")
    if options.build:
        print(f"{seconds_to_build():7.0f}  seconds to build the site, at most {MOST_SECONDS}")


if __name__ == "__main__":
    main()
