"""Whole runs: tables, replays, benchmarks, and the console script. `runs/` is not part of the source."""
