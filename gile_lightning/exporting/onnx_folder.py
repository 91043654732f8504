"""Models as ONNX, with all that labels texts without torch: words, labels and a script."""

import json
import logging
import warnings
import zlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim

from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.data.tokenizing import words
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.exporting import predict
from gile_lightning.exporting.graph import DocumentGraph, LabelGraph
from gile_lightning.exporting.model_card import Licence, model_card
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.loading import load_system
from gile_lightning.systems.neural import NeuralSystem
from gile_lightning.systems.predictor import find_language
from gile_lightning.systems.system import System
from gile_lightning.training.checkpoint import of_language
from gile_lightning.training.model_folder import VOCABULARY

MODEL, LABEL_MODEL = "model.onnx", "labels.onnx"
CONFIG, LABELS, WORDS, PREDICT, CARD = (
    *("config.json", "labels.jsonl", "words.py"),
    *("predict.py", "README.md"),
)
FILES = (MODEL, LABEL_MODEL, "*.onnx.data", CONFIG, LABELS, VOCABULARY, WORDS, PREDICT, CARD)

ONNX_FORMAT = 2
"""The number of the format. Raise it when a change makes older scripts fail."""

_MARK = "gile_lightning_onnx"
_LARGE = 1_900_000_000  # bytes of weights that one file of ONNX can hold, nearly
_INPUTS = ("words", "sentence_lengths", "document_lengths")
_IMPORT = "from gile_lightning.data.tokenizing import words"  # of the script


def is_onnx_folder(path: Path) -> bool:
    """Return whether a folder is a model that `export_to_onnx` wrote."""
    if not all((path / name).is_file() for name in (MODEL, CONFIG)):
        return False
    return _MARK in (path / CONFIG).read_text(encoding="utf-8")


def export_to_onnx(
    checkpoint: Mapping[str, Any],
    folder: Path,
    title: str,
    licence: Licence = Licence(),  # noqa: B008 (frozen)
    metrics: Mapping[str, Any] | None = None,
    language: str | None = None,
    frozen: bool = True,
    without_matchers: bool = False,
) -> None:
    """Write a model of one language as ONNX, with all that `predict.py` needs.

    Args:
        checkpoint: as `read_model` returns it.
        folder: is made.
        title: the name of the model in its card.
        licence: of the model.
        metrics: of its test, as `metrics_of` returns them.
        language: one of the model's; needed if it has several.
        frozen: whether the labels are part of the model. Otherwise they are a second input.
        without_matchers: leave the matchers of the model out, and its calibration with them.

    Raises:
        InputError: the model cannot be exported, or a package is missing.
    """
    _check_packages()
    system = load_system(dict(checkpoint))
    name = _language(system, language)
    network = _neural(system).network(name)
    if network.matchers and not without_matchers:
        kinds = ", ".join(type(matcher).__name__ for matcher in network.matchers)
        raise InputError(
            f"the matchers of this model ({kinds}) compare words as text, which ONNX cannot do; "
            "the joint space, label residual and ridge regression can be exported without them "
            "(--without_matchers true), or all of it with --format hub"
        )
    task = system.tasks[name]
    calibrated = not network.matchers and name in system.calibrations.by_task
    graph = DocumentGraph(_neural(system), name, frozen, calibrated).eval()
    example = _example(task)
    given: tuple[Tensor, ...] = example
    if not frozen:
        labels = LabelGraph(network).eval()
        _save(labels, example, _INPUTS, ["label_vectors"], folder / LABEL_MODEL)
        given += (torch.zeros(3, network.output.label_dim), torch.tensor([0, -1, -1]))
    inputs = (*_INPUTS, "label_vectors", "label_ids")[: len(given)]
    _save(graph, given, inputs, ["logits", "probabilities"], folder / MODEL)
    write(folder / VOCABULARY, "\n".join(task.tokenizer.vocabulary) + "\n")
    write(folder / LABELS, _label_lines(task, frozen, network.output.scores_unseen))
    write(folder / WORDS, Path(words.__file__).read_text(encoding="utf-8"))
    script = Path(predict.__file__).read_text(encoding="utf-8")
    write(folder / PREDICT, script.replace(_IMPORT, "import words"))
    usage = _usage(frozen, calibrated, bool(network.matchers), task)
    known = None if network.matchers else metrics  # which are those of the whole model
    if known is not None and len(system.tasks) > 1:
        own = f"{name}."
        known = {key.removeprefix(own): x for key, x in known.items() if key.startswith(own)}
    alone = of_language(dict(checkpoint), name)
    write(folder / CARD, model_card(alone, known, title, licence, usage))
    write(folder / CONFIG, _settings(task, name, frozen, calibrated, network.output.scores_unseen))


def _check_packages() -> None:
    missing = [name for name in ("onnx", "onnxscript") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"--format onnx needs {' and '.join(missing)}: pip install 'gile_lightning[onnx]'"
        )


def _language(system: System, language: str | None) -> str:
    names = list(system.tasks)
    if language is None and len(names) > 1:
        raise InputError(
            f"ONNX has one language, and the model has several ({', '.join(names)}): choose one "
            "(--language)"
        )
    return names[0] if language is None else find_language(system, language)


def _neural(system: System) -> NeuralSystem:
    """Return a system whose scores are those of its networks' parts.

    Raises:
        InputError: it is none.
    """
    if not isinstance(system, NeuralSystem):
        raise InputError(
            f"{type(system).__name__} cannot be exported to ONNX: it is no neural network but "
            "counts words; --format hub takes it"
        )
    for method in ("score", "prepare_labels", "log_odds"):
        if getattr(type(system), method) is not getattr(NeuralSystem, method):
            raise InputError(
                f"{type(system).__name__} has a {method} of its own, which ONNX would leave out; "
                "--format hub takes it"
            )
    return system


# --- graphs ---


def _example(task: Task) -> tuple[Tensor, Tensor, Tensor]:
    """Return texts to trace with: word ids, words per sentence, sentences per document."""
    size = len(task.tokenizer.vocabulary)
    ids = torch.arange(12) % size
    return ids, torch.tensor([3, 2, 4, 3]), torch.tensor([2, 1, 1])


def _save(
    graph: nn.Module,
    example: tuple[Tensor, ...],
    inputs: tuple[str, ...],
    outputs: list[str],
    path: Path,
) -> None:
    """Trace a module, and write it as ONNX with inputs of any length."""
    texts: dict[str, Any] = {key: {0: Dim(key)} for key in _INPUTS}
    labels = Dim("labels")
    shapes = texts | {key: {0: labels} for key in inputs[len(_INPUTS) :]}
    size = sum(x.numel() * x.element_size() for x in (*graph.parameters(), *graph.buffers()))
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        disabled = logging.root.manager.disable
        logging.disable(logging.WARNING)  # of packages that no graph here needs
        try:
            program = torch.onnx.export(
                graph,
                example,
                dynamo=True,
                input_names=list(inputs),
                output_names=outputs,
                dynamic_shapes=shapes,
                verbose=False,
            )
        except torch.onnx.errors.OnnxExporterError as error:
            reason = next(iter(str(error.__cause__ or error).splitlines()), "")
            raise InputError(
                f"a part of this model cannot be exported to ONNX ({reason}); --format hub takes "
                "the whole model"
            ) from error
        finally:
            logging.disable(disabled)
        path.parent.mkdir(parents=True, exist_ok=True)
        program.save(path, external_data=size > _LARGE)


# --- files ---


def _settings(task: Task, name: str, frozen: bool, calibrated: bool, scores_unseen: bool) -> str:
    tokenizer = task.tokenizer
    known = {"known_words_only": tokenizer.known_words_only, "elision": tokenizer.elision}
    limits = tokenizer.max_document_words, tokenizer.max_sentences, tokenizer.max_sentence_words
    settings = {
        _MARK: {"format": ONNX_FORMAT},
        "language": name,
        "labels": "frozen" if frozen else "vectors",
        "frozen": _names_checksum(task, scores_unseen) if frozen else None,
        "calibrated": calibrated,
        "reading": known | {"language": tokenizer.sentences, "limits": limits},
        "label_reading": known | {"language": None, "limits": [tokenizer.max_label_words]},
    }
    return json.dumps(settings, indent=1)


def _names_checksum(task: Task, scores_unseen: bool) -> int:
    """Return the CRC-32 of the names of the labels, by which `predict.py` knows them."""
    names = task.labels.names if scores_unseen else task.labels.names[: task.labels.seen]
    return zlib.crc32("\n".join(names).encode())


def _label_lines(task: Task, frozen: bool, scores_unseen: bool) -> str:
    labels = task.labels
    count = len(labels) if scores_unseen else labels.seen
    lines = []
    for i, id in zip(range(count), training_ids(labels).tolist(), strict=False):
        label: dict[str, Any] = {"name": labels.names[i]}
        if labels.uris[i]:
            label["uri"] = labels.uris[i]
        if not frozen:
            label |= {"text": labels.texts[i], "id": id}
        lines.append(json.dumps(label, ensure_ascii=False) + "\n")
    return "".join(lines)


def _usage(frozen: bool, calibrated: bool, matchers: bool, task: Task) -> str:
    packages = "numpy onnxruntime" + (" sentencex" if task.tokenizer.sentences else "")
    lines = [
        f"## Use\n\n    pip install {packages}\n    echo 'A text.' | python predict.py\n\n"
        "`predict.py` labels one text per line, without torch. Its class `Model` does so from "
        "Python.",
        "`model.onnx` takes word ids (`words`), words per sentence (`sentence_lengths`, none 0) "
        "and sentences per document (`document_lengths`). It gives `logits` and `probabilities`, "
        "a row per document and a column per line of `labels.jsonl`.",
    ]
    if not frozen:
        lines.append(
            "Labels are given with every call: `label_vectors`, which `labels.onnx` makes of their "
            "texts, and `label_ids`, -1 for labels that training has not seen. To score others, "
            "change `labels.jsonl`; a new label has a `name` and a `text`."
        )
    if matchers:
        lines.append(
            "The matchers of the model are left out. So its scores are others than those of the "
            "whole model, and worse; no test has measured them."
        )
    if not calibrated:
        lines.append("The probabilities are not calibrated.")
    return "\n\n".join(lines)
