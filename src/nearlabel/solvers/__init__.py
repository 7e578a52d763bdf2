"""Regressions and calibration that several methods use. Not public."""
