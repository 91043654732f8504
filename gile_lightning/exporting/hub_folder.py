"""Models for the Hugging Face hub: weights, settings, labels and a card in one folder."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gile_lightning.commands.run_folder import read_metrics, write_metrics
from gile_lightning.common import hub
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.exporting import onnx_folder
from gile_lightning.exporting.model_card import Licence, model_card
from gile_lightning.systems.loading import find_model
from gile_lightning.training.checkpoint import BEST, HPARAMS, METRICS, STATE
from gile_lightning.training.model_folder import FILES, is_model_folder, write_folder

CARD = "README.md"
# the parts that run a pretrained model at prediction
_READERS = (".Pretrained", ".Cosine", ".BestPassage")


def export_for_hub(
    checkpoint: Mapping[str, Any],
    folder: Path,
    title: str,
    licence: Licence = Licence(),  # noqa: B008 (frozen)
    metrics: Mapping[str, Any] | None = None,
) -> None:
    """Write the folder of a model, which `gile_lightning.load` reads.

    Args:
        checkpoint: as `read_model` returns it.
        folder: is made; see `gile_lightning.exporting.new_folder`.
        title: the name of the model in its card.
        licence: of the model.
        metrics: of its test, as `metrics_of` returns them.

    Raises:
        InputError: the checkpoint cannot be exported.
    """
    card = model_card(checkpoint, metrics, title, licence, _usage(checkpoint))
    write(folder / CARD, card)
    if metrics is not None:
        write_metrics(folder, metrics)
    write_folder(checkpoint, folder)  # last, as its last file makes the folder a model


def push(folder: Path | str, name: str, private: bool = False) -> str:
    """Upload an exported folder to the Hugging Face hub, in one commit.

    Only files that `gile_lightning.export` writes are uploaded.

    Args:
        folder: a folder that `gile_lightning.export` wrote.
        name: ``user/name``. It is made if it is new.
        private: whether a new name can be read by its owner alone.

    Returns:
        The address of the page.

    Raises:
        InputError: the folder is no such folder, or the hub refuses it or cannot be reached.
    """
    folder = Path(folder).expanduser()
    files: tuple[str, ...] = onnx_folder.FILES
    if is_model_folder(folder):
        files = (*FILES, METRICS, CARD)
    elif not onnx_folder.is_onnx_folder(folder):
        raise InputError(f"{folder}: not a folder that gile_lightning.export wrote; export first")
    return hub.upload(folder, name, files, private)


def metrics_of(path: Path | str) -> dict[str, Any] | None:
    """Return the metrics of a model's test, if they are known.

    They are those of a run folder or its best checkpoint, and of an exported folder, here or at the
    hub.
    """
    path = find_model(path)
    if path.is_file() and path.parts[-2:] == BEST.parts:
        path = path.parent.parent
    file = path / METRICS
    whole = (path / BEST).is_file() or is_model_folder(path)
    if not (whole and file.is_file()):
        return None
    try:
        return read_metrics(path)
    except ValueError as error:
        raise InputError(
            f"{file}: not JSON ({error}); remove it to export without scores"
        ) from error


def _usage(checkpoint: Mapping[str, Any]) -> str:
    state = checkpoint[STATE]
    names = list(state["tasks"])
    language = f', language="{names[0]}"' if len(names) > 1 else ""
    several = f"It has the languages {', '.join(names)}. " if len(names) > 1 else ""
    reads = any(path.endswith(_READERS) for path in _class_paths(checkpoint[HPARAMS]))
    pretrained = {str(task["pretrained"]) for task in state["tasks"].values() if reads}
    needed = (
        f"It reads texts with {', '.join(sorted(pretrained))}, which is not in this folder: "
        "`pip install 'gile_lightning[pretrained]'`. "
        if pretrained
        else ""
    )
    return f"""## Use

With gile_lightning installed:

```python
import gile_lightning

model = gile_lightning.load("FOLDER"{language})  # a folder, or user/name at the hub
model.predict(["A text."], top_k=5)
model.predict(["A text."], labels={{"New label": "Its description."}})
```

{several}{needed}`config.json` has all settings. The folder holds no code and no pickle; parts are
named by import path and made anew. Only models that score labels by their texts take `labels`."""


def _class_paths(config: Any) -> Iterator[str]:
    """Yield the import paths in plain values."""
    if isinstance(config, Mapping):
        if isinstance(path := config.get("class_path"), str):
            yield path
        config = list(config.values())
    if isinstance(config, list):
        for value in config:
            yield from _class_paths(value)
