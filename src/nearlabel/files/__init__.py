"""Atomic files, stores of matrices, and rows in files that other processes open. Not public."""
