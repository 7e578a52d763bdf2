"""Regressions and calibration that several methods are made of. Not public."""
