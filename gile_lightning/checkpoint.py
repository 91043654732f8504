"""Checkpoints: written whole or not at all, read on any machine."""

import os
from pathlib import Path
from typing import Any, cast

import torch
from jsonargparse import ArgumentError
from lightning.pytorch.plugins.io import TorchCheckpointIO

from gile_lightning.classifier import STATE, TextClassifier
from gile_lightning.data.language import Language
from gile_lightning.errors import InputError
from gile_lightning.factories import instantiate

BEST = Path("checkpoints/best.ckpt")
LAST = Path("checkpoints/last.ckpt")


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes beside the target and renames, so a crash leaves the previous file whole."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Save ``checkpoint`` to ``path``."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        with open(partial, "wb") as file:
            torch.save(checkpoint, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)

    def load_checkpoint(
        self, path: str | os.PathLike[str], map_location: Any = None, weights_only: Any = True
    ) -> dict[str, Any]:
        """Read a checkpoint of ours; no code in it is run."""
        return _read(Path(path), map_location)


def find_checkpoint(path: Path | str) -> Path:
    """Return a checkpoint file, given it or its run folder (the best one there).

    Raises:
        InputError: there is none.
    """
    path = Path(path).expanduser()
    if path.is_file():
        return path
    for name in (BEST, LAST):
        if (path / name).is_file():
            return path / name
    if path.is_dir():
        raise InputError(f"{path}: no {BEST} or {LAST} there; is it a run folder?")
    raise InputError(f"{path}: no such file or folder (--checkpoint)")


def read_checkpoint(path: Path | str) -> dict[str, Any]:
    """Read a checkpoint of ours; no code in it is run.

    Raises:
        InputError: the file is missing, is no checkpoint, or is one of another program.
    """
    return _read(find_checkpoint(path), "cpu")


def _read(file: Path, map_location: Any) -> dict[str, Any]:
    try:
        checkpoint = torch.load(file, map_location=map_location, weights_only=True)
    except Exception as error:  # a file of another kind can raise anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file}: not a readable checkpoint ({reason})") from error
    if not isinstance(checkpoint, dict) or STATE not in checkpoint:
        raise InputError(f"{file}: a checkpoint of another kind; it was not made by gile_lightning")
    return cast("dict[str, Any]", checkpoint)


def load_classifier(checkpoint: dict[str, Any]) -> TextClassifier:
    """Rebuild the model of a checkpoint that `read_checkpoint` returned."""
    try:
        classifier: TextClassifier = instantiate(TextClassifier, checkpoint[STATE]["parts"])
    except ArgumentError as error:
        raise InputError(
            f"the checkpoint names a part that is not to be had here: {error}"
        ) from error
    restore(classifier, checkpoint)
    return classifier


def restore(classifier: TextClassifier, checkpoint: dict[str, Any]) -> None:
    """Build an empty model as the checkpoint says, with its weights.

    Raises:
        InputError: the model's parts are not those of the checkpoint.
    """
    state = checkpoint[STATE]
    classifier.build({k: Language.from_state(v) for k, v in state["languages"].items()})
    classifier.config = state["config"]
    classifier.load_state_dict(checkpoint["state_dict"])
