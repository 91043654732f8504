"""Fits a second stage beside a checkpoint, and gives it to tests."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml
from torch import Tensor

from gile_lightning.commands import launcher
from gile_lightning.commands.cli import GileCLI
from gile_lightning.common.console import say, show
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.formats import check_format
from gile_lightning.data import DocumentDataModule
from gile_lightning.data.known import KnownDocuments
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.pretrained.cross_encoder import CrossEncoder
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.systems import System
from gile_lightning.systems.best_labels import BestLabels, best_labels
from gile_lightning.systems.loading import restore
from gile_lightning.systems.reranker import (
    FOLDER,
    REMEDY,
    RERANKER_FORMAT,
    SETTINGS,
    combine,
    find_reranker,
    identity,
    score_pairs,
)
from gile_lightning.training.checkpoint import STATE, AtomicCheckpointIO, find_checkpoint
from gile_lightning.training.pair_training import PairTraining, train_pairs

_STATE = "training.pt"  # of a fit that is not done
_SCORED = 16  # documents that are scored between two writes of that file


class Settings(NamedTuple):
    """What a second stage is made of.

    Attributes:
        pretrained: the model to begin with.
        training: of it.
        depth: how many of the best labels of a document it reads.
        max_subwords: of a pair; None for the model's own limit.
        validation_documents: that the combination is fitted to, at most.
    """

    pretrained: str
    training: PairTraining
    depth: int
    max_subwords: int | None
    validation_documents: int


def fit_reranker(cli: GileCLI, path: str, checkpoint: dict[str, Any], settings: Settings) -> Path:
    """Train a cross-encoder and fit its combination; a fit that was stopped goes on.

    Args:
        cli: the checkpoint's configuration.
        path: of the checkpoint, or its run folder.
        checkpoint: its content.
        settings: of the second stage.

    Returns:
        The folder beside the checkpoint that holds the second stage.

    Raises:
        InputError: the model has several languages, the corpus is not that of its training, or the
            folder holds another second stage, or one that is being fitted.
    """
    positive(depth=settings.depth, validation_documents=settings.validation_documents)
    file = find_checkpoint(path)
    folder = file.parent / FOLDER
    if (folder / SETTINGS).is_file():
        raise InputError(f"{folder}: holds a second stage already; delete the folder to fit anew")
    held = launcher.lock(folder, launcher.RUNNING)
    if held is None:
        raise InputError(f"{folder}: another second stage is fitted there; wait for its end")
    with held:
        return _fit(cli, checkpoint, settings, file)


def _fit(cli: GileCLI, checkpoint: dict[str, Any], settings: Settings, file: Path) -> Path:
    folder = file.parent / FOLDER
    made_of = settings._asdict() | {"training": asdict(settings.training)}
    made_of |= {"checkpoint": identity(file)}
    state = _read_state(folder, made_of)
    torch.manual_seed(settings.training.seed)  # of a new output
    encoder = CrossEncoder(settings.pretrained, settings.max_subwords)
    model, corpus = _first_stage(cli, checkpoint)
    (name,) = model.tasks
    labels = model.tasks[name].labels.texts
    model.to("cuda" if torch.cuda.is_available() else "cpu").eval()
    encoder.to(model.device)

    def keep(changed: dict[str, Any]) -> None:
        state.update(changed)
        AtomicCheckpointIO().save_checkpoint(state, folder / _STATE)

    training = settings.training
    rows = _training_rows(training, corpus.size(name, "train"))
    found = best_labels(
        model, name, corpus.some_documents(name, "train", rows), settings.depth, held_out=True
    )
    if len(state.get("losses", ())) < training.steps:
        texts = corpus.original_texts("train", rows)
        ids, correct = found.ids, found.correct
        before = state if "model" in state else None
        train_pairs(encoder, texts, labels, ids, correct, training, before, keep)
    encoder.load_state_dict(state["model"])
    say(_curve(state["losses"]))
    rows = _draw(len(corpus.split("validation")), settings.validation_documents, training.seed)
    validation = best_labels(
        model, name, corpus.some_documents(name, "validation", rows), settings.depth
    )
    say(
        f"right labels among the {found.ids.shape[1]} best: {_share(found):.1%} on training "
        f"documents, {_share(validation):.1%} on validation documents"
    )
    texts = corpus.original_texts("validation", rows)
    parts: list[Tensor] = state.get("scores", [])
    for start in range(sum(map(len, parts)), len(texts), _SCORED):
        some = slice(start, start + _SCORED)
        parts = [*parts, score_pairs(encoder, texts[some], labels, validation.ids[some])]
        keep({"scores": parts})
    scores, hashed = torch.cat(parts), identity(file)
    reranker, f1 = combine(encoder, validation, scores, settings.depth, hashed)
    ranking, probability = reranker.ranking, reranker.probability
    say(f"rank: {ranking.first:.3f} x logit + {ranking.second:.3f} x score")
    say(
        f"log-odds: {probability.first:.3f} x those of the first stage + "
        f"{probability.second:.3f} x score {probability.intercept:+.3f}; "
        f"F1 {f1:.3f} above {reranker.threshold:.2f}"
    )
    reranker.save(folder)
    (folder / _STATE).unlink()
    show(f"second stage: {folder}", output=folder, f1=f1, threshold=reranker.threshold)
    return folder


def _first_stage(cli: GileCLI, checkpoint: dict[str, Any]) -> tuple[System, DocumentDataModule]:
    """Load the model, and open the corpus that it was trained on."""
    model, data = cli.model, cli.datamodule
    corpus = _corpus(data, list(checkpoint[STATE]["tasks"]))
    restore(model, checkpoint, corpus.cache_dir)
    stored = yaml.safe_load(checkpoint[STATE]["config"]) or {}
    if stored.get("start_from") is not None and stored.get("keep"):
        raise InputError(
            "a second stage needs the training documents, and a run that went on with another one "
            "(--start_from) does not have all of them: train from scratch, or with --keep false"
        )
    if stored.get("start_from") is not None:
        known_documents = KnownDocuments.of(checkpoint[STATE]["extra"])
        corpus.encode_for_training(model.tasks, known_documents=known_documents)
    corpus.prepare_data()
    corpus.setup("fit")
    if corpus.tasks != model.tasks:
        raise InputError(
            "a second stage is fitted to the documents that the checkpoint was trained on; this is "
            "another corpus, or it has other text settings (--data)"
        )
    corpus.keep_text_vectors("cuda" if torch.cuda.is_available() else "cpu", model.inputs)
    return model, corpus


def _corpus(data: TextDataModule, names: Sequence[str]) -> DocumentDataModule:
    if len(names) > 1:
        raise InputError(
            f"the model has several languages ({', '.join(names)}); a second stage is for one"
        )
    corpus = data.only(names[0])
    if not isinstance(corpus, DocumentDataModule):
        raise InputError(f"{type(data).__name__} cannot give the texts of its documents again")
    return corpus


def _read_state(folder: Path, made_of: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a fit that was stopped, or that of a new one."""
    file = folder / _STATE
    if not file.is_file():
        return {"format": RERANKER_FORMAT, "made_of": made_of}
    state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    check_format(file, state.get("format", 1), RERANKER_FORMAT, REMEDY)
    if changed := [key for key in made_of if state["made_of"].get(key) != made_of[key]]:
        raise InputError(
            f"{folder}: begun with another {', '.join(changed)}; give the same again to go on, or "
            "delete the folder"
        )
    say(f"{folder}: going on after {len(state['losses'])} steps")
    return state


def _training_rows(training: PairTraining, size: int) -> list[int]:
    """Return the training documents that the steps need, of ``size`` in all."""
    return _draw(size, training.steps * training.documents, training.seed)


def _draw(size: int, count: int, seed: int) -> list[int]:
    generator = np.random.default_rng((seed, 2))
    return sorted(int(i) for i in generator.permutation(size)[:count])


def _share(found: BestLabels) -> float:
    return float(found.correct.sum() / found.positives.sum())


def _curve(losses: Sequence[float]) -> str:
    parts = np.array_split(np.array(losses), min(10, len(losses)))
    return "loss, by tenths of the steps: " + " ".join(f"{part.mean():.3f}" for part in parts)


def rerank_tests(model: System, data: TextDataModule, path: str) -> None:
    """Have a model's next test rerank; thresholds become those of the second stage.

    Raises:
        InputError: there is no second stage beside the checkpoint, or the model has several
            languages.
    """
    reranker = find_reranker(path)
    corpus = _corpus(data, list(model.tasks))
    (name,) = model.tasks
    texts: list[str] = []

    def second_stage(
        name: str, documents: RaggedBatch, logits: Tensor, log_odds: Tensor
    ) -> tuple[Tensor, Tensor]:
        if not texts:
            texts.extend(corpus.original_texts("test", range(len(corpus.split("test")))))
            reranker.encoder.to(logits.device)
        rows = documents.rows
        some = [texts[i] for i in rows.tolist()] if rows is not None else texts
        labels = model.tasks[name].labels.texts
        return reranker.apply(some, labels, logits, log_odds)

    model.second_stage = second_stage
    model.thresholds[name] = reranker.threshold
    model.calibrations.thresholds.clear()  # of labels, which the second stage has none of
