"""The names of the figures that training logs."""

LOSS = "train/loss"

UNSEEN = "unseen_average_precision"
BOTH = "seen_unseen_average_precision"  # the mean of the average precisions on seen and unseen
LOGGED = (  # in validation, as val/NAME
    "ranking_loss",
    "average_precision",
    "one_error",
    "precision_at_1",
    "precision_at_5",
    "f1",
    BOTH,
)

PRECISION = "val/average_precision"
ONE_ERROR = "val/one_error"
# of the ranking by training frequency
POPULARITY = "val/popularity_average_precision"
POPULARITY_ONE_ERROR = "val/popularity_one_error"


def language_score(monitor: str, language: str) -> str:
    """Return the name of a validation score for one of several languages."""
    return f"val/{language}/{monitor.removeprefix('val/')}"
