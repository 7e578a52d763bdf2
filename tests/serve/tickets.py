"""A small table of tickets for the tests of the service."""

import numpy as np

WORDS = {"login": "password reset locked", "billing": "invoice card refund", "bug": "crash error freeze"}


def tickets(n=60):
    """Return rows of a table of tickets, with their tags."""
    rng, rows = np.random.default_rng(0), []
    for number in range(n):
        tags = rng.choice(list(WORDS), size=1 + (number % 3 == 0), replace=False)
        text = " ".join(rng.permutation(" ".join(WORDS[tag] for tag in tags).split()))
        rows.append({"id": f"T{number}", "text": text, "product": ["app", "web"][number % 2], "priority": number % 5})
        rows[-1]["tags"] = sorted(tags.tolist())
    return rows
