"""Turn the authors' released Keras weights into a checkpoint.

python -m gile_lightning.import_weights FILE.h5 --args args.json --output DIR
"""

from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml

from gile_lightning.commands.cli import CONFIG
from gile_lightning.commands.parser import command, parse
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.readers.columns import names_of
from gile_lightning.data.readers.dw import LANGUAGES
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Mean, WordEmbedding
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.released import ReleasedHAN, ReleasedModel, read_weights
from gile_lightning.released.encoder import SENTENCES, WORDS
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.checkpoint import (
    BEST,
    FORMAT,
    HPARAMS,
    STATE,
    AtomicCheckpointIO,
)
from gile_lightning.training.samplers import AllLabels

__all__ = ["import_weights", "main", "read_weights"]

_LABEL_WORDS = 100  # of the released code


def import_weights(
    file: Path,
    args: Path | None = None,
    output: Path | None = None,
    word_vectors: Path | None = None,
    labels: Path | None = None,
    languages: list[str] | str | None = None,
) -> Path:
    """Turn the authors' released Keras weights into a checkpoint.

    The checkpoint is an ordinary one, with encoders that compute what the released code does. The
    files hold neither words nor labels. evaluate and fit --start_from take both from their data;
    predict needs the word vectors in the checkpoint, and labels there or of its own. To evaluate a
    model with linear output layers, which know labels by number alone, give both here.

    Args:
        file: the weights, epoch_N-weights.h5.
        args: the model's settings, args.json; without it they are inferred.
        output: the run folder to write; by default runs/import_weights/NAME.
        word_vectors: folder with the languages' word vectors (english.pkl.gz, ...).
        labels: folder with the languages' labels in the order of the training data - in the
            authors' format (LANGUAGE.json, or train/LANGUAGE.json), or as JSON lines with "name"
            (LANGUAGE.jsonl).
        languages: their names where there is no args.json: English first in the bilingual models.
    """
    folder = output or Path("runs/import_weights") / file.stem
    if (folder / CONFIG).is_file():
        raise InputError(f"{folder}: holds a run already; choose another --output")
    if labels is not None and word_vectors is None:
        raise InputError("--labels are sequences of words: give --word_vectors too")
    model = read_weights(file, args)
    names = _names(model, languages)
    if model.joint_dim is None and labels is None:
        say(
            "The linear output layers know their labels by number; without --labels these are "
            "called label 0, label 1, ..., and no corpus has them."
        )
    states = _weights(model, names)
    known: dict[str, Any] = dict.fromkeys(names.values())
    for place, name in names.items() if word_vectors is not None else ():
        count = model.label_counts[place]
        task, vectors = _task(name, count, model.input_dim, word_vectors, labels)
        known[name] = task.state()
        states[f"networks.{name}.embedding.weight"] = vectors
    system = _system(model)
    config = _configuration(system, list(names.values()), word_vectors)
    checkpoint = {
        "state_dict": states,
        HPARAMS: dict(system.hparams),
        STATE: {
            "format": FORMAT,
            "class_path": "gile_lightning.systems.NeuralSystem",
            "tasks": known,
            "config": config,
            "thresholds": {},
            "extra": {"joint_dim": model.joint_dim},
        },
    }
    say(
        f"{file.name}: {', '.join(known)}; {model.layer_kind} layers, sharing {model.sharing}, "
        f"{'linear output' if model.joint_dim is None else f'GILE with d_j = {model.joint_dim}'}; "
        f"{'no words' if word_vectors is None else 'words'}, "
        f"{'no labels' if labels is None else 'labels'}"
    )
    AtomicCheckpointIO().save_checkpoint(checkpoint, folder / BEST)
    (folder / CONFIG).write_text(config, encoding="utf-8")
    return folder


def _names(model: ReleasedModel, languages: list[str] | str | None) -> dict[str, str]:
    """Return the languages' names in the checkpoint by those in the model."""
    names = list(names_of(languages or model.languages))
    if not len(set(names)) == len(names) == len(model.languages):
        raise InputError(
            f"--languages: {names} for a model of {len(model.languages)} languages; name each once"
        )
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
    text = Tokenizer(
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
        wordless = [label for label in names if not text.words(label)]
        if wordless and label_count is None:
            raise InputError(f"{labels}: labels without a known word: {', '.join(wordless[:5])}")
    recipe = TextRecipe(by_name=True, language="language")
    return Task(text, LabelSet(names, names, [1] * len(names)), recipe), vectors


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


@command
def main(args: list[str] | None = None) -> Path:
    """Run the command; returns the run folder."""
    given = parse(import_weights, args, "python -m gile_lightning.import_weights", positional=True)
    folder = import_weights(**given)
    say(f"run folder: {folder}")
    return folder


if __name__ == "__main__":
    main()
