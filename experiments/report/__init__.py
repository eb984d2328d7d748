"""The report: runs as one HTML file, with plots and every trajectory."""

from experiments.report.build import report

__all__ = ["report"]
