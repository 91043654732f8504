"""Turns the authors' released Keras weights into checkpoints of this package."""

from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.language_name import check_language
from gile_lightning.data.readers.columns import names_of
from gile_lightning.data.readers.dw import LANGUAGES
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Mean, WordEmbedding
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.released.encoder import SENTENCES, WORDS, ReleasedHAN
from gile_lightning.released.keras import read_weights
from gile_lightning.released.model import ReleasedModel
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.gradient import Adam
from gile_lightning.training.checkpoint import FORMAT, HPARAMS, STATE
from gile_lightning.training.samplers import AllLabels

_LABEL_WORDS = 100  # of the released code


def released_checkpoint(
    file: Path,
    args: Path | None = None,
    word_vectors: Path | None = None,
    labels: Path | None = None,
    languages: list[str] | str | None = None,
) -> dict[str, Any]:
    """Return the checkpoint of a `NeuralSystem` that computes what a released model does.

    The arguments are those of `gile_lightning.import_weights.import_weights`.

    Raises:
        InputError: a file is missing or damaged, or the files are not of one model.
    """
    if labels is not None and word_vectors is None:
        raise InputError("--labels are sequences of words: give --word_vectors too")
    model = read_weights(file, args)
    names = _names(model, languages)
    if model.joint_dim is None and labels is None:
        say(
            "The linear output layers know their labels by number; without --labels these are "
            "called label 0, label 1, ..., and no corpus has them."
        )
    weights = _weights(model, names)
    tasks: dict[str, Any] = dict.fromkeys(names.values())
    for place, name in names.items() if word_vectors is not None else ():
        count = model.label_counts[place]
        task, vectors = _task(name, count, model.input_dim, word_vectors, labels)
        tasks[name] = task.state()
        weights[f"networks.{name}.embedding.weight"] = vectors
    system = _system(model)
    say(
        f"{file.name}: {', '.join(tasks)}; {model.layer_kind} layers, sharing {model.sharing}, "
        f"{'linear output' if model.joint_dim is None else f'GILE with d_j = {model.joint_dim}'}; "
        f"{'no words' if word_vectors is None else 'words'}, "
        f"{'no labels' if labels is None else 'labels'}"
    )
    return {
        "state_dict": weights,
        HPARAMS: dict(system.hparams),
        STATE: {
            "format": FORMAT,
            "class_path": "gile_lightning.systems.NeuralSystem",
            "tasks": tasks,
            "config": _configuration(system, list(names.values()), word_vectors),
            "thresholds": {},
            "calibrations": {},
            "extra": {"joint_dim": model.joint_dim},
        },
    }


def _names(model: ReleasedModel, languages: list[str] | str | None) -> dict[str, str]:
    """Return the languages' names in the checkpoint by those in the model."""
    names = list(names_of(languages or model.languages))
    if not len(set(names)) == len(names) == len(model.languages):
        raise InputError(
            f"--languages: {names} for a model of {len(model.languages)} languages; name each once"
        )
    for name in names:
        check_language(name)
    return dict(zip(model.languages, names, strict=True))


def _weights(model: ReleasedModel, names: dict[str, str]) -> dict[str, torch.Tensor]:
    """Name the weights as `NeuralSystem` does; what languages share is stored once."""
    return {
        f"networks.{name}.{part}.{key}": value
        for place, name in names.items()
        for part, module in (("encoder", model.encoder(place)), ("output", model.output(place)))
        for key, value in module.state_dict().items()
    }


def _system(model: ReleasedModel) -> NeuralSystem:
    return NeuralSystem(
        embedding=partial(WordEmbedding, dim=model.input_dim, trainable=False),
        encoder=partial(ReleasedHAN, layer=model.layer),
        label_encoder=Mean,
        output=Linear if model.joint_dim is None else partial(GILE, joint_dim=model.joint_dim),
        norm=torch.nn.Identity,
        sampler=AllLabels(),
        optimizer=Adam,
        sharing=model.sharing,
        language_loss="sum",
    )


def _configuration(system: NeuralSystem, languages: list[str], word_vectors: Path | None) -> str:
    parts = {key: value for key, value in system.hparams.items() if key != "seed"}
    data = {
        "class_path": "gile_lightning.data.DW",
        "init_args": {
            "path": None,
            "word_vectors": word_vectors and str(Path(word_vectors).absolute()),
            "languages": languages,
        },
    }
    config = {"model": parts, "data": data, "early_stopping": {"monitor": "val/f1"}}
    return yaml.safe_dump(config, sort_keys=False)


def _task(
    name: str, label_count: int | None, dim: int, word_vectors: Path | None, labels: Path | None
) -> tuple[Task, torch.Tensor]:
    """Return the vocabulary and labels of a language, and its word vectors [V, d]."""
    path = Path("" if labels is None else labels)
    files = ReleasedArticles(str(path), word_vectors=word_vectors, language=name)
    tokenizer = Tokenizer(
        files.vector_words(),
        max_document_words=SENTENCES * WORDS,
        max_label_words=_LABEL_WORDS,
        max_sentences=SENTENCES,
        max_sentence_words=WORDS,
        sentences=LANGUAGES.get(name, name if len(name) <= 3 else "en"),  # as `DW` does
        known_words_only=True,
    )
    vectors = torch.from_numpy(files.read_vectors().vectors)
    if vectors.shape[1] != dim:
        raise InputError(
            f"{files.vectors_file()}: {vectors.shape[1]}-dimensional vectors, the model has {dim}"
        )
    names = [f"label {i}" for i in range(label_count or 0)]
    if labels is not None:
        names = _labels(files, path, name)
        if label_count is not None and label_count != len(names):
            raise InputError(f"{labels}: {len(names)} labels ({name}), the model has {label_count}")
        wordless = [label for label in names if not tokenizer.words(label)]
        if wordless and label_count is None:
            raise InputError(f"{labels}: labels without a known word: {', '.join(wordless[:5])}")
    recipe = TextRecipe(by_name=True, language="language")
    return Task(tokenizer, LabelSet(names, names, [1] * len(names)), recipe), vectors


def _labels(files: ReleasedArticles, folder: Path, name: str) -> list[str]:
    for file in (folder / f"{name}.json", folder / "train" / f"{name}.json"):
        if file.is_file():
            return files.labels_of(file)
    file = folder / f"{name}.jsonl"
    if not file.is_file():
        raise InputError(
            f"{folder}: no {name}.json, train/{name}.json or {name}.jsonl there (--labels)"
        )
    return [label.name for label in read_labels(file)]
