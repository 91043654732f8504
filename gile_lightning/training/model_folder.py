"""A model as a folder of open formats: what a checkpoint holds, without a pickle.

It has the weights as ``model.safetensors``, everything else as ``config.json``, and for each
language a folder with ``vocabulary.txt`` and ``labels.jsonl``. Reading it gives what
`read_checkpoint` does, but for the optimizer's state and the configuration of the run.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.common.formats import check_format
from gile_lightning.common.plain import check_plain
from gile_lightning.data.known import KNOWN_DOCUMENTS
from gile_lightning.data.language_name import check_language
from gile_lightning.training.checkpoint import FORMAT, HPARAMS, STATE, complete

CONFIG, WEIGHTS = "config.json", "model.safetensors"
VOCABULARY, LABELS = "vocabulary.txt", "labels.jsonl"
FILES = (CONFIG, WEIGHTS, f"*/{VOCABULARY}", f"*/{LABELS}")

FOLDER_FORMAT = 1
"""The number of the format. Raise it when a change makes older folders unreadable."""

_MARK = "gile_lightning"  # the key of the format
_TENSOR = "$tensor"  # stands, with its name, for a tensor among plain values
_DAMAGE = (
    *(OSError, SafetensorError, ValueError, TypeError, AttributeError, KeyError),
    RecursionError,
)
_STATE = "state:"  # before the names of tensors that are no weights


def is_model_folder(path: Path) -> bool:
    """Return whether a folder is a model that `write_folder` wrote."""
    return (path / CONFIG).is_file() and (path / WEIGHTS).is_file()


def write_folder(checkpoint: Mapping[str, Any], folder: Path) -> None:
    """Write the model of a checkpoint into a folder.

    Raises:
        InputError: the checkpoint lacks words or labels, or holds what is no plain value.
    """
    if not complete(dict(checkpoint)):
        raise InputError(
            "the checkpoint lacks words or labels, so that nobody could use the model elsewhere: "
            "import its weights with --word_vectors and --labels"
        )
    state = checkpoint[STATE]
    weights, shared = _distinct(checkpoint["state_dict"])
    others = ("format", "config", "tasks")
    plain = {key: value for key, value in state.items() if key not in others}
    # hashes of the documents, which only further training and tests need; whoever has a text could
    # tell by them whether it was among these
    plain["extra"] = {key: value for key, value in state["extra"].items() if key != KNOWN_DOCUMENTS}
    config = {
        _MARK: {"format": FOLDER_FORMAT},
        "init_args": checkpoint[HPARAMS],
        **plain,
        "tasks": {name: _settings(task) for name, task in state["tasks"].items()},
        "shared_weights": shared,
    }
    text = _to_json(_without_tensors(config, weights, _STATE))
    for name, task in state["tasks"].items():
        check_language(name)
        write(folder / name / VOCABULARY, task["vocabulary"] + "\n")
        write(folder / name / LABELS, _label_lines(task["labels"]))
    write(folder / WEIGHTS, save(weights, {"format": "pt"}))
    write(folder / CONFIG, text)  # last, as it makes the folder a model


def read_folder(folder: Path) -> dict[str, Any]:
    """Read the model of a folder as `read_checkpoint` reads a checkpoint.

    Nothing in it can run code: see `gile_lightning.common.factories.Part` for its class paths.

    Raises:
        InputError: a file is missing, damaged, or of another format.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        mark = config.get(_MARK) if isinstance(config, dict) else None
        found = mark.get("format") if isinstance(mark, dict) else None
        remedy = "export the model again (python -m gile_lightning.export)"
        check_format(folder / CONFIG, found, FOLDER_FORMAT, remedy)
        check_plain(config.get("init_args"), str(folder / CONFIG))
        weights = load_file(folder / WEIGHTS)
        config = _with_tensors(config, weights)
        tasks = {name: _task(folder, name, task) for name, task in config["tasks"].items()}
        kept = {key: w for key, w in weights.items() if not key.startswith(_STATE)}
        kept |= {key: weights[same] for key, same in config["shared_weights"].items()}
        state = {key: config[key] for key in ("class_path", "thresholds", "calibrations", "extra")}
        return {
            "state_dict": kept,
            HPARAMS: config["init_args"],
            STATE: {**state, "format": FORMAT, "config": "", "tasks": tasks},
        }
    except _DAMAGE as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise InputError(f"{folder}: not a readable model ({reason})") from error


# --- weights ---


def _distinct(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return each tensor once, and by the names of the others the name of the same tensor."""
    first: dict[Any, str] = {}
    kept: dict[str, Tensor] = {}
    shared: dict[str, str] = {}
    for name, weight in weights.items():
        place = weight.data_ptr(), weight.dtype, weight.shape, weight.stride()
        same = first.setdefault(place if weight.numel() else name, name)
        if same != name:
            shared[name] = same
        else:
            # a copy, as two views of one memory cannot be written
            kept[name] = weight.detach().cpu().clone().contiguous()
    return kept, shared


def _without_tensors(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """Return plain values in which names stand for tensors, which are added to ``tensors``."""
    if isinstance(value, Tensor):
        tensors[name] = value.detach().cpu().clone().contiguous()
        return {_TENSOR: name}
    if isinstance(value, Mapping):
        below = name if name == _STATE else f"{name}."
        return {k: _without_tensors(v, tensors, f"{below}{k}") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(v, tensors, f"{name}.{i}") for i, v in enumerate(value)]
    return value


def _with_tensors(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """Return what `_without_tensors` was given."""
    if isinstance(value, dict):
        if value.keys() == {_TENSOR}:
            return tensors[value[_TENSOR]]
        return {key: _with_tensors(nested, tensors) for key, nested in value.items()}
    return [_with_tensors(item, tensors) for item in value] if isinstance(value, list) else value


def _to_json(config: Any) -> str:
    try:
        text = json.dumps(config, ensure_ascii=False, indent=1)
    except TypeError as error:
        raise InputError(f"the checkpoint holds more than plain values: {error}") from error
    if json.loads(text) != config:  # such as a mapping by numbers, which JSON has not
        raise InputError("the checkpoint holds values that JSON cannot: numbers as keys, or NaN")
    return text


# --- words and labels ---


_OPTIONAL = {"uri": "uris", "parents": "parents"}  # of a line, and of a label set


def _settings(task: Mapping[str, Any]) -> dict[str, Any]:
    """Return what stands in `CONFIG` of a task: all but its words and labels."""
    kept = {key: value for key, value in task.items() if key not in ("vocabulary", "labels")}
    return kept | {"documents": task["labels"]["documents"]}


def _label_lines(labels: Mapping[str, Any]) -> str:
    columns = {
        "name": labels["names"],
        "text": labels["texts"],
        "frequency": labels["frequencies"],
        "synonyms": labels["synonyms"],
        **{key: labels[field] for key, field in _OPTIONAL.items() if field in labels},
    }
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _task(folder: Path, name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    check_language(name)  # before it becomes part of a path
    # split at newlines alone: words and JSON may hold other separators of lines
    words = (folder / name / VOCABULARY).read_bytes().decode()
    lines = (folder / name / LABELS).read_bytes().decode().split("\n")
    labels = [json.loads(line) for line in lines if line]
    return {
        **{key: value for key, value in settings.items() if key != "documents"},
        "vocabulary": words.removesuffix("\n"),
        "labels": {
            "names": [label["name"] for label in labels],
            "texts": [label["text"] for label in labels],
            "frequencies": [label["frequency"] for label in labels],
            "documents": settings["documents"],
            "synonyms": [label["synonyms"] for label in labels],
            **{
                field: [label[key] for label in labels]
                for key, field in _OPTIONAL.items()
                if any(key in label for label in labels)
            },
        },
    }
