"""The names of figures that training logs; `gile_lightning.metrics.table` has those of metrics."""

LOSS = "train/loss"


def language_score(monitor: str, language: str) -> str:
    """Return the name of a validation score for one of several languages."""
    return f"val/{language}/{monitor.removeprefix('val/')}"
