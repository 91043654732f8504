"""Reports, run histories and W&B."""
