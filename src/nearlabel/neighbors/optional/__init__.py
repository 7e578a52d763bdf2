"""Searches by other libraries, devices, clusters and databases; not public."""
