"""Plots of runs: for one run, for several, or for a matrix. Each is an SVG and the figures that it shows."""

from experiments.plots.collection import plots_of, write_plots
from experiments.plots.plot import Plot

__all__ = ["Plot", "plots_of", "write_plots"]
