"""What happens beside the steps of training: stopping, checkpoints, checks."""

from gile_lightning.training.callbacks.best_checkpoint import BestCheckpoint
from gile_lightning.training.callbacks.early_stopping import PlateauEarlyStopping
from gile_lightning.training.callbacks.finite_loss import FiniteLoss
from gile_lightning.training.callbacks.language_checkpoint import LanguageCheckpoint
from gile_lightning.training.callbacks.last_checkpoint import LastCheckpoint
from gile_lightning.training.callbacks.stop_signals import StopSignals

__all__ = [
    "BestCheckpoint",
    "FiniteLoss",
    "LanguageCheckpoint",
    "LastCheckpoint",
    "PlateauEarlyStopping",
    "StopSignals",
]
