"""Checkpoints: written whole or not at all, read on any machine."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import torch
from jsonargparse import ArgumentError
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import distributed

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import check_parts, import_part, instantiate
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.systems.neural import NeuralSystem
from gile_lightning.systems.system import STATE, System

HPARAMS = System.CHECKPOINT_HYPER_PARAMS_KEY  # of the model

_DESCRIBED = ("epoch", "global_step", "pytorch-lightning_version")  # what Lightning asks for

BEST = Path("checkpoints/best.ckpt")
LAST = Path("checkpoints/last.ckpt")


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes beside the target and renames, so a crash leaves the previous file whole."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: str | os.PathLike[str], storage_options: Any = None
    ) -> None:
        """Save ``checkpoint`` to ``path``; of one language alone if ``storage_options`` names it.

        Raises:
            InputError: the disk is full, or cannot be written.
        """
        if storage_options is not None:
            checkpoint = of_language(checkpoint, storage_options["language"])
        target = Path(path)
        partial = target.with_name(target.name + ".partial")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(partial, "wb") as file:
                torch.save(checkpoint, file)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except Exception as error:
            with suppress(OSError):
                partial.unlink()  # where the disk is full it takes the last room
            # PyTorch's own error hides that of the disk
            chain = (error, error.__context__)
            disk = next((cause for cause in chain if isinstance(cause, OSError)), None)
            if disk is None:
                raise
            earlier = f"; the earlier {target.name} is whole" if target.is_file() else ""
            raise InputError(f"{target}: not written: {disk.strerror or disk}{earlier}") from error

    def load_checkpoint(
        self, path: str | os.PathLike[str], map_location: Any = "cpu", weights_only: Any = True
    ) -> dict[str, Any]:
        """Read a checkpoint of ours; no code in it is run.

        Of several processes the first one reads it and sends it to the others, which may be on
        nodes that do not see the file.
        """
        if not distributed.is_available() or not distributed.is_initialized():
            return _read(Path(path), map_location)
        read = [_read(Path(path), "cpu") if distributed.get_rank() == 0 else {}]
        distributed.broadcast_object_list(read)
        return read[0]


def find_checkpoint(path: Path | str, key: str = "--checkpoint") -> Path:
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
    raise InputError(f"{path}: no such file or folder ({key})")


def read_checkpoint(path: Path | str, key: str = "--checkpoint") -> dict[str, Any]:
    """Read a checkpoint of ours; no code in it is run.

    Raises:
        InputError: the file is missing, is no checkpoint, or is one of another program.
    """
    return _read(find_checkpoint(path, key), "cpu")


def _read(file: Path, map_location: Any) -> dict[str, Any]:
    try:
        checkpoint = torch.load(file, map_location=map_location, weights_only=True)
    except Exception as error:  # a file of another kind can raise anything
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file}: not a readable checkpoint ({reason})") from error
    if not isinstance(checkpoint, dict) or STATE not in checkpoint:
        raise InputError(f"{file}: a checkpoint of another kind; it was not made by gile_lightning")
    return cast("dict[str, Any]", checkpoint)


def load_system(checkpoint: dict[str, Any]) -> System:
    """Rebuild the model of a checkpoint that `read_checkpoint` returned.

    What it is made of is checked first: see `gile_lightning.common.factories.Part`.

    Raises:
        InputError: the checkpoint names a part that is none, or is not to be had here.
    """
    if None in checkpoint[STATE].get("tasks", {}).values():
        raise InputError(
            "the checkpoint holds imported weights without words: import them with --word_vectors "
            "(and --labels), or train them further (fit --start_from)"
        )
    hparams = checkpoint.get(HPARAMS, {})
    check_parts(hparams)
    try:
        system: System = instantiate(_system(checkpoint), hparams, check_parts)
    except (ArgumentError, ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"the checkpoint names a part that is not to be had here: {error}"
        ) from error
    restore(system, checkpoint)
    return system


def _system(checkpoint: dict[str, Any]) -> type[System]:
    path = checkpoint[STATE].get("class_path")
    kind = NeuralSystem if path is None else import_part(path)
    if not issubclass(kind, System):
        raise InputError(f"the checkpoint names {path!r} as its model, which is none of ours")
    return kind


def restore(system: System, checkpoint: dict[str, Any]) -> None:
    """Build an empty model as the checkpoint says, with its weights.

    Raises:
        InputError: the model's parts are not those of the checkpoint.
    """
    state = checkpoint[STATE]
    system.config = state["config"]
    system.build(tasks_of(checkpoint), state)
    system.thresholds = state.get("thresholds", {})
    system.load_state_dict(checkpoint["state_dict"])


def start_from(system: System, data: TextDataModule, checkpoint: dict[str, Any]) -> None:
    """Let an empty model begin with a checkpoint's weights, for the labels of other data.

    The vocabularies are those of the checkpoint, if it holds them.

    Raises:
        InputError: the data have a language that the checkpoint does not know.
    """
    system.start_from(checkpoint)
    languages = tasks_of(checkpoint)
    if len(languages) == len(checkpoint[STATE]["tasks"]):
        data.encode_for_training(languages)


def of_language(checkpoint: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a checkpoint of one of its languages: a whole model, but nothing to go on from."""
    state: dict[str, Any] = checkpoint[STATE]
    names = set(state["tasks"])

    def own(value: Any) -> Any:
        by_language = isinstance(value, dict) and value and names.issuperset(value)
        return {key: value[key] for key in value if key == name} if by_language else value

    others = names - {name}
    return {
        **{key: checkpoint[key] for key in _DESCRIBED if key in checkpoint},
        # of ModuleDicts by language, such as `networks.german.encoder...`
        "state_dict": {
            key: weight
            for key, weight in checkpoint["state_dict"].items()
            if others.isdisjoint(key.split(".")[1:2])
        },
        STATE: {key: own(value) for key, value in state.items()},
    }


def complete(checkpoint: dict[str, Any]) -> bool:
    """Whether a checkpoint holds the words and labels of its languages; imported ones may not."""
    states = checkpoint[STATE]["tasks"].values()
    return all(state is not None and state["labels"]["names"] for state in states)


def tasks_of(checkpoint: dict[str, Any]) -> dict[str, Task]:
    """Return the vocabularies and label sets, as far as the checkpoint holds them."""
    states = checkpoint[STATE]["tasks"].items()
    return {name: Task.from_state(state) for name, state in states if state is not None}
