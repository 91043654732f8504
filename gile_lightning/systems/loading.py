"""Systems from checkpoints."""

from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError

from gile_lightning.common import hub
from gile_lightning.common.errors import InputError, out_of_memory
from gile_lightning.common.factories import check_parts, import_part, instantiate
from gile_lightning.data.known import Known, KnownDocuments
from gile_lightning.data.pretrained import BackendChoice
from gile_lightning.data.pretrained.backends import chosen
from gile_lightning.data.shards.cache import local_cache
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.systems.label_regrouping import change_labels
from gile_lightning.systems.system import System
from gile_lightning.training.checkpoint import (
    HPARAMS,
    METRICS,
    STATE,
    read_checkpoint,
    tasks_of,
    with_backend,
)
from gile_lightning.training.model_folder import FILES, is_model_folder, read_folder

# what parts raise of settings and weights that are none
_WRONG = (
    *(ArgumentError, ImportError, AttributeError, ValueError, TypeError, LookupError),
    *(RuntimeError, RecursionError, OverflowError),
)


def read_model(path: Path | str) -> dict[str, Any]:
    """Read a trained model, wherever it is, without running code in it.

    Args:
        path: a checkpoint file; a run folder, for its best one; a folder that
            `gile_lightning.export` wrote; or the name of such a folder at the Hugging Face hub,
            ``user/name`` or ``user/name@revision``. What is here comes first.

    Returns:
        What `read_checkpoint` returns.

    Raises:
        InputError: there is no model, or it cannot be read.
    """
    place = find_model(path)
    return read_folder(place) if is_model_folder(place) else read_checkpoint(place)


def find_model(path: Path | str) -> Path:
    """Return where a model is, as `read_model` finds it; one at the hub is downloaded once.

    Raises:
        InputError: the hub has no such model, or cannot be reached.
    """
    folder, name = Path(path).expanduser(), Path(path).as_posix()
    if not folder.exists() and hub.is_name(name):
        folder = hub.download(name, (*FILES, METRICS))
        if not is_model_folder(folder):
            raise InputError(f"{name}: at the hub, but no model that gile_lightning.export wrote")
    return folder


def load_system(
    checkpoint: dict[str, Any], pretrained_backend: BackendChoice | None = None
) -> System:
    """Make the system of a checkpoint that `read_model` returned.

    Its parts are checked before any is made: see `gile_lightning.common.factories.Part`.

    Args:
        checkpoint: what was read.
        pretrained_backend: runs the pretrained model in place of what ran it in training.

    Raises:
        InputError: the checkpoint names something that is no part, or is not installed here; or it
            has no frozen pretrained model for the backend.
    """
    if pretrained_backend is not None:
        checkpoint = with_backend(checkpoint, chosen(pretrained_backend, local_cache(None)))
    if None in checkpoint[STATE]["tasks"].values():
        raise InputError(
            "the checkpoint holds imported weights without words: import them with --word_vectors "
            "(and --labels), or train them further (fit --start_from)"
        )
    hparams = checkpoint[HPARAMS]
    check_parts(hparams)
    try:
        system: System = instantiate(_class_of(checkpoint), hparams, check_parts)
    except _WRONG as error:
        raise InputError(
            f"the checkpoint names a part that cannot be made here: {' '.join(str(error).split())}"
        ) from error
    try:
        restore(system, checkpoint)
    except _WRONG as error:
        if out_of_memory(error):
            raise
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"the checkpoint is not whole: {reason:.300}") from error
    if pretrained_backend is not None and not any(
        task.tokenizer.pretrained for task in system.tasks.values()
    ):
        raise InputError("the model reads no pretrained vectors: leave pretrained_backend out")
    return system


def _class_of(checkpoint: dict[str, Any]) -> type[System]:
    path = checkpoint[STATE]["class_path"]
    kind = import_part(path)
    if not issubclass(kind, System):
        raise InputError(f"the checkpoint names {path!r} as its model, which is no System")
    return kind


def restore(system: System, checkpoint: dict[str, Any], cache_dir: Path | None = None) -> None:
    """Build a system as a checkpoint says, and load its weights.

    Args:
        system: a new one.
        checkpoint: what was read.
        cache_dir: the folder for vectors of texts, in place of the default.

    Raises:
        InputError: the parts of the system are not those of the checkpoint.
    """
    state = checkpoint[STATE]
    system.config = state["config"]
    if cache_dir is not None:
        system.cache_dir = cache_dir
    system.build(tasks_of(checkpoint), state["extra"])
    system.load_calibrations(state)
    system.load_state_dict(checkpoint["state_dict"])


def start_from(
    system: System, data: TextDataModule, checkpoint: dict[str, Any], keep: bool = True
) -> None:
    """Have a new system begin with a checkpoint's weights, for the labels of other data.

    The data get the vocabularies of the checkpoint, if it holds them all. The label changes of the
    data apply to the checkpoint too.

    Args:
        system: a new one.
        data: its training data.
        checkpoint: the checkpoint.
        keep: whether the labels of the checkpoint, and what it knows of its documents, stay.

    Raises:
        InputError: the system cannot be trained further.
    """
    before = tasks_of(checkpoint)
    if changes := data.changes():
        checkpoint = change_labels(checkpoint, changes, others_known=True)
    system.start_from(checkpoint, keep)
    tasks, state = tasks_of(checkpoint), checkpoint[STATE]
    if len(tasks) == len(state["tasks"]):
        corpora = state["extra"].get("corpora", {})
        known = {
            name: Known(task.labels, corpora.get(name, ""), before[name].labels)
            for name, task in tasks.items()
        }
        data.encode_for_training(
            tasks,
            known if keep else None,
            system.reads_new_words,
            KnownDocuments.of(state["extra"]),
        )
