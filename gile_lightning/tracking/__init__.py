"""Run histories, pages and W&B."""
