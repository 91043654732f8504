"""The paper's tables as grids of fits: the fits, their runner, and the tables written."""
