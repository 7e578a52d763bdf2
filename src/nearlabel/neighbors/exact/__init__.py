"""The exact search, and distances; not public."""
