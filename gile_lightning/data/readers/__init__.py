"""Data modules for the corpora that are read."""
