"""Checkpoint files: written whole or not at all, read on any machine."""

import os
import pickletools
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import lightning
import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO
from torch import distributed

from gile_lightning.common.errors import InputError, nearest_file, of_the_machine
from gile_lightning.common.formats import check_format
from gile_lightning.common.plain import check_plain
from gile_lightning.data.language_name import check_language
from gile_lightning.data.pretrained import Backend
from gile_lightning.data.tokenizing.task import Task

BEST = Path("checkpoints/best.ckpt")
LAST = Path("checkpoints/last.ckpt")
METRICS = "metrics.json"  # the figures of a model, in its run folder or beside its weights

STATE = "gile_lightning"  # the key of what this package stores
HPARAMS = lightning.LightningModule.CHECKPOINT_HYPER_PARAMS_KEY  # of the system's arguments

FORMAT = 2
"""The number of the format. Raise it when a change makes older files unreadable."""

_OUTDATED = "train the model again, or use the version that wrote the file"

# beside the weights, what a checkpoint of one language keeps; Lightning asks for most of them
_KEPT = ("epoch", "global_step", "pytorch-lightning_version", HPARAMS)


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
                partial.unlink()  # on a full disk it takes the last room
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
        """Read a checkpoint without running code in it.

        Of several processes the first one reads it and sends it to the others, which may be on
        nodes that do not see the file.
        """
        if not distributed.is_available() or not distributed.is_initialized():
            return _read(Path(path), map_location)
        read = [_read(Path(path), "cpu") if distributed.get_rank() == 0 else {}]
        hosts = distributed.new_group(backend="gloo")  # NCCL would send it through device memory
        distributed.broadcast_object_list(read, group=hosts)
        distributed.destroy_process_group(hosts)
        return read[0]


def find_checkpoint(path: Path | str, key: str = "--checkpoint") -> Path:
    """Return a checkpoint file: ``path`` itself, or the best one of the run folder ``path``.

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
        runs = sorted(found.parents[1].name for found in path.glob(f"*/{BEST}"))
        more = ", ..." if len(runs) > 5 else ""
        remedy = f"give {', '.join(runs[:5])}{more} in it" if runs else "is it a run folder?"
        raise InputError(f"{path}: no checkpoint in this folder ({BEST} or {LAST}); {remedy}")
    raise InputError(f"{path}: no such file or folder ({key}){nearest_file(path)}")


def read_checkpoint(path: Path | str, key: str = "--checkpoint") -> dict[str, Any]:
    """Read a checkpoint, or the best one of a run folder, without running code in it.

    Raises:
        InputError: the file is missing, is no checkpoint, or is one of another program or format.
    """
    return _read(find_checkpoint(path, key), "cpu")


def _read(file: Path, map_location: Any) -> dict[str, Any]:
    try:
        _check_sums(file)
        checkpoint = torch.load(file, map_location=map_location, weights_only=True)
    except Exception as error:  # a file of another kind can raise anything
        if isinstance(error, OSError) and of_the_machine(error):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file}: not a readable checkpoint ({reason})") from error
    if not isinstance(checkpoint, dict) or STATE not in checkpoint:
        raise InputError(f"{file}: a checkpoint of another kind; it was not made by gile_lightning")
    state = checkpoint[STATE]
    found = state.get("format") if isinstance(state, dict) and HPARAMS in checkpoint else None
    check_format(file, found, FORMAT, _OUTDATED, oldest=FORMAT)
    check_plain(checkpoint[HPARAMS], f"{file}: {HPARAMS}")
    return cast("dict[str, Any]", checkpoint)


def _check_sums(file: Path) -> None:
    """Compare the records of a file with their CRC-32, which `torch.load` does not look at.

    Raises:
        ValueError: one differs.
    """
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.compress_type != zipfile.ZIP_STORED:  # it may unfold to any size
                raise ValueError(f"the record {entry.filename} is compressed, as PyTorch's are not")
            if entry.filename.endswith("/data.pkl"):
                _check_names(archive.read(entry))
        if (record := archive.testzip()) is not None:
            raise ValueError(f"the record {record} is damaged; take another checkpoint or a copy")


def _check_names(content: bytes) -> None:
    """Refuse long names in a pickle: PyTorch takes minutes to say that it does not know one."""
    for operation, argument, _ in pickletools.genops(content):
        if operation.name == "GLOBAL" and len(str(argument)) > 500:
            raise ValueError("it names a class by more than 500 characters")


def of_language(checkpoint: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a checkpoint of one language: a whole model, but without the optimizer's state."""
    names = set(checkpoint[STATE]["tasks"])
    others = names - {name}

    def own(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        if value and names.issuperset(value):  # a dictionary by language
            return {key: value[key] for key in value if key == name}
        return {key: own(nested) for key, nested in value.items()}

    return {
        **{key: checkpoint[key] for key in _KEPT if key in checkpoint},
        # of ModuleDicts by language, such as `networks.german.encoder...`
        "state_dict": {
            key: weight
            for key, weight in checkpoint["state_dict"].items()
            if others.isdisjoint(key.split(".")[1:2])
        },
        STATE: own(checkpoint[STATE]),
    }


def complete(checkpoint: dict[str, Any]) -> bool:
    """Whether a checkpoint holds the words and labels of its tasks; imported ones may lack them."""
    states = checkpoint[STATE]["tasks"].values()
    return all(state is not None and state["labels"]["names"] for state in states)


def with_backend(checkpoint: dict[str, Any], backend: Backend) -> dict[str, Any]:
    """Return a checkpoint in which another backend runs the pretrained models, if there are any."""

    def changed(task: dict[str, Any] | None) -> dict[str, Any] | None:
        if task is None or task.get("pretrained") is None:
            return task
        return task | {"pretrained_backend": backend}

    state = checkpoint[STATE]
    tasks = {name: changed(task) for name, task in state["tasks"].items()}
    return checkpoint | {STATE: state | {"tasks": tasks}}


def tasks_of(checkpoint: dict[str, Any]) -> dict[str, Task]:
    """Return those tasks of a checkpoint that it holds the words of.

    Raises:
        InputError: a task has a name that no language can have.
    """
    states = checkpoint[STATE]["tasks"].items()
    for name, _ in states:
        check_language(name)
    return {name: Task.from_state(state, name) for name, state in states if state is not None}
