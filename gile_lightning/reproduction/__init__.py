"""The paper's tables as grids of fits: what to run, how to run it, how to show it."""
