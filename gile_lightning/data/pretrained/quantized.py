"""A frozen pretrained model with weights and activations in 8 bits, which OpenVINO runs on a CPU.

The ranges of the activations are set once, by texts that come with the package. So a text's vector
depends neither on the corpus nor on the other texts of a batch.
"""

import functools
import gzip
import hashlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.builtin import ATTACK_BUNDLE
from gile_lightning.common.console import note
from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import model, transformer
from gile_lightning.data.pretrained.batches import Encoded, in_batches
from gile_lightning.data.pretrained.subwords import Reading
from gile_lightning.data.shards.cache import default_cache, write_once

FORMAT = 2  # raised when the same model would be quantized otherwise
TEXTS = 300  # that set the ranges
TOKENS = 2_048  # in a batch, padding included
SAME = 0.999  # lowest cosine with the model's vectors before anything is rounded
LEAST = 0.9  # mean cosine with them afterwards

_MODEL, _FACTS = "model.xml", "facts.json"
_REMEDY = "set data.pretrained_backend to torch"

Run = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]  # as `transformer.encode_batch`


@functools.cache
def identity(name: str) -> str:
    """Return a hash of a model's files and of what quantizes and runs it."""
    versions = [version("openvino"), version("nncf"), str(FORMAT)]
    whole = " ".join(["int8", model.identity(name), *versions])
    return hashlib.sha256(whole.encode()).hexdigest()[:20]


def encode(name: str, subwords: Tensor, counts: Tensor, passages: bool = False) -> Encoded:
    """Encode texts on the CPU; see `Transformer.encode`.

    Raises:
        InputError: they are on another device, or the model cannot be run.
    """
    if subwords.device.type != "cpu":
        raise InputError(
            f"openvino-int8 (pretrained_backend) runs on a CPU, not on {subwords.device.type}: set "
            "it to torch"
        )
    run, padding = _loaded(name, torch.get_num_threads())
    size = model.dimension(name)
    return in_batches(run, subwords, counts, padding, size, TOKENS, passages=passages)


def cosine(name: str) -> float:
    """Return the mean cosine of the vectors with those in float32, on the texts of the ranges."""
    return float(_facts(_folder(name))["cosine"])


@functools.lru_cache(maxsize=2)
def _loaded(name: str, threads: int) -> tuple[Run, int]:
    """Return what runs a model, and the id that pads."""
    folder = _folder(name)
    return _compiled(str(folder / _MODEL), threads), _facts(folder)["padding"]


def _facts(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    return facts


def _folder(name: str) -> Path:
    """Return the folder with the quantized model in the cache; makes it if it is missing."""
    folder = default_cache() / "quantized" / identity(name)
    try:
        write_once(folder, functools.partial(_quantize, name))
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be written ({error.strerror or error}); set the environment "
            "variable XDG_CACHE_HOME to a folder that can"
        ) from error
    return folder


def _compiled(source: Any, threads: int) -> Run:
    """Return what runs an OpenVINO model or its file."""
    import openvino

    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "ENABLE_CPU_PINNING": False,  # it would put two processes on the same cores
        "INFERENCE_PRECISION_HINT": "f32",  # of the rest: 16 bits on some machines otherwise
    }
    compiled = openvino.Core().compile_model(source, "CPU", settings)

    def run(ids: Tensor, mask: Tensor, hidden: int = 0) -> tuple[Tensor, Tensor]:
        if hidden:
            raise InputError(
                "openvino-int8 runs no model whose pooling leaves out the prompt: "
                f"{_REMEDY}, or document_prompt and label_prompt to ''"
            )
        found = compiled((ids.numpy(), mask.numpy()))
        # the next run writes over both; the outputs are used before
        return torch.from_numpy(found[0].copy()), torch.from_numpy(found[1])

    return run


@torch.no_grad()
def _quantize(name: str, folder: Path) -> None:
    """Write a quantized model into an empty folder.

    Raises:
        InputError: OpenVINO cannot run the model, or it loses too much.
    """
    import openvino

    # without it, what is quantized is reported to the library's makers
    os.environ.setdefault("NNCF_CI", "1")
    import nncf

    whole = transformer.frozen(name).cpu()
    rows = Reading(name, document_prompt="").subwords([*_texts()])
    ids = [torch.from_numpy(row).long().unsqueeze(0) for row in rows]
    exact = torch.cat([transformer.encode_batch(whole.model, row, _ones(row))[0] for row in ids])
    converted = _converted(whole, name)
    some = slice(None, None, 10)
    lowest = float(_cosines(converted, ids[some], exact[some]).min())
    if not lowest >= SAME:
        raise InputError(
            f"{name}: OpenVINO computes other vectors (their lowest cosine is {lowest:.3f}); "
            f"{_REMEDY}"
        )
    logging.getLogger("nncf").setLevel(logging.ERROR)
    note(f"{name} is rounded to 8 bits; this is done once")
    with redirect_stdout(sys.stderr):  # its progress bars; predict writes labels to stdout
        quantized = nncf.quantize(
            converted,
            nncf.Dataset([(row.numpy(), np.ones(row.shape, np.int64)) for row in ids]),
            subset_size=len(ids),
            model_type=nncf.ModelType.TRANSFORMER,
        )
    mean = float(_cosines(quantized, ids, exact).mean())
    if not mean >= LEAST:
        raise InputError(
            f"{name} loses too much in 8 bits (the mean cosine with its vectors in float32 is "
            f"{mean:.3f}); {_REMEDY}"
        )
    openvino.save_model(quantized, folder / _MODEL, compress_to_fp16=False)
    facts = {"padding": whole.padding, "cosine": mean}
    (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")


class _Traced(nn.ModuleList):
    """`transformer.encode_batch` as a module."""

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        return transformer.encode_batch(self, ids, mask)


def _converted(whole: transformer.Transformer, name: str) -> Any:
    """Return a model in OpenVINO's form, in float32.

    Raises:
        InputError: it cannot be brought into it.
    """
    # not `openvino.convert_model`, which reports what is converted to the library's makers
    from openvino.frontend import FrontEndManager
    from openvino.frontend.pytorch.ts_decoder import TorchScriptPythonDecoder
    from transformers.utils import logging as messages

    shown = messages.get_verbosity()
    messages.set_verbosity_error()  # tracing reads properties that write warnings
    ids = torch.tensor([[5, 6, 7, 8, 9], [8, 7, 6, whole.padding, whole.padding]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            decoder = TorchScriptPythonDecoder(_Traced(whole.model), example_input=(ids, mask))
            frontend = FrontEndManager().load_by_framework("pytorch")
            return frontend.convert(frontend.load(decoder))
    except Exception as error:  # of many kinds, for models of many kinds
        raise InputError(
            f"{name}: OpenVINO cannot run this model ({type(error).__name__}); {_REMEDY}"
        ) from error
    finally:
        messages.set_verbosity(shown)


def _cosines(source: Any, ids: list[Tensor], exact: Tensor) -> Tensor:
    """Return the cosines of a model's vectors of texts with the exact ones."""
    run = _compiled(source, torch.get_num_threads())
    return F.cosine_similarity(torch.cat([run(row, _ones(row), 0)[0] for row in ids]), exact)


def _ones(ids: Tensor) -> Tensor:
    return torch.ones_like(ids)


def _texts() -> Iterator[str]:
    """Yield the texts that set the ranges: names, sentences and descriptions of ATT&CK."""
    with gzip.open(ATTACK_BUNDLE, "rt", encoding="utf-8") as file:
        objects = json.load(file)["objects"]
    techniques = [o for o in objects if o["type"] == "attack-pattern"]
    uses = [o for o in objects if o["type"] == "relationship" and o.get("description")]
    third = TEXTS // 3
    for texts in (
        [o["name"] for o in techniques],
        [o["description"] for o in uses],
        [o["description"] for o in techniques],
    ):
        yield from texts[:: len(texts) // third][:third]
