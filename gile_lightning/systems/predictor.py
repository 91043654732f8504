"""Labels for new texts, from a checkpoint alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest, positive
from gile_lightning.data.formats.descriptions import Described, described
from gile_lightning.data.formats.label_files import read_labels
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network.prepared_labels import PreparedLabels
from gile_lightning.systems.system import SCORES, System
from gile_lightning.training.checkpoint import load_system, read_checkpoint

Prediction = list[dict[str, Any]]
Text = str | Sequence[str]  # a document, as one text or in pieces such as title and text
LabelsLike = Mapping[str, str] | Iterable[Mapping[str, Any]] | Path | str


def load(path: Path | str, device: str = "cpu", language: str | None = None) -> "Predictor":
    """Load a checkpoint, or the best one of a run folder, to label texts with.

    Args:
        path: a checkpoint file or a run folder.
        device: where to compute, such as ``cpu`` or ``cuda``.
        language: which of the model's languages, its name or ISO 639-1 code; needed if it has
            several.

    Raises:
        InputError: there is no checkpoint of ours at ``path``.
    """
    return Predictor(load_system(read_checkpoint(path)), device, language)


def find_language(system: System, given: str) -> str:
    """Return the name of one of the model's languages, given it or the ISO 639-1 code.

    Raises:
        InputError: the model has no such language.
    """
    for name, task in system.tasks.items():
        if given.lower() in (name.lower(), task.tokenizer.sentences):
            return name
    names = list(system.tasks)
    raise InputError(
        f"the model has no {given!r}; its languages are {', '.join(names)}{nearest(given, names)}"
    )


class Predictor:
    """A trained model for one language, ready to label texts.

    Label vectors are computed once: at construction for the model's own labels, and once per
    call, or per `set_labels`, for others.

    Args:
        system: a trained model.
        device: where to compute.
        language: which of the model's languages, its name or ISO 639-1 code; needed if it has
            several.
    """

    def __init__(self, system: System, device: str = "cpu", language: str | None = None) -> None:
        names = list(system.tasks)
        if language is None and len(names) > 1:
            raise InputError(
                f"the model has several languages ({', '.join(names)}): choose one (--language, or "
                "language=... from Python)"
            )
        name = names[0] if language is None else find_language(system, language)
        try:
            self.system = system.to(device).eval()
        except (AssertionError, RuntimeError) as error:  # no such device, or none here
            reason = str(error).splitlines()[0]
            raise InputError(f"device {device!r} cannot be used: {reason}") from error
        self.device = device
        self._tuned = system.thresholds.get(name)
        self.name, self.task = name, system.tasks[name]
        own = self.task.labels
        self._own = self._prepare(own)
        self._own_names = own.names if system.scores_unseen(name) else own.names[: own.seen]
        self.label_names, self._prepared = self._own_names, self._own
        self._text = self.task.tokenizer

    def set_labels(self, labels: LabelsLike | None) -> None:
        """Choose the labels for the following predictions; None for the model's own.

        The text that the model reads of a label is put together as in training, by the options
        ``label_text``, ``label_synonyms`` and ``label_parents`` of `gile_lightning.data.Corpus`:
        its description, its name and description, or its name; then perhaps its synonyms, and the
        labels above it. A label without a description is described by its name where training
        labels were: with ``undescribed_labels: name``, with ``label_text: name``, or without a
        file of labels.

        Words of the labels that are new to the vocabulary are told from each other by the matchers
        of a model that has any (`gile_lightning.network.matchers`), in labels and documents.
        For all else they are the unknown word.

        Args:
            labels: descriptions by name; or records with ``name`` and ``description``, and perhaps
                ``synonyms`` and ``parents``; or a JSONL file of these. A label that the model
                knows keeps the synonyms it knows unless others are given.

        Raises:
            InputError: there is no label, a name comes twice, a description that is needed is
                missing, a parent that is asked for is none of the labels, or the model cannot
                score labels it was not trained on.
        """
        if labels is None:
            self.label_names, self._prepared = self._own_names, self._own
            self._text = self.task.tokenizer
            return
        if not self.system.scores_unseen(self.name):
            raise InputError(
                f"{self.system.layer(self.name)} scores only the labels it was trained on; "
                "train a model with gile_lightning.network.outputs.GILE to score others"
            )
        given = {
            name: label._replace(synonyms=label.synonyms or self._synonyms(name))
            for name, label in _described(labels, self.task.recipe.by_name).items()
        }
        recipe = self.task.recipe
        texts = {name: recipe.label_text(label, given) for name, label in given.items()}
        flat = self.task.tokenizer.labels(texts.values())
        empty = [name for name, words in zip(texts, flat[1], strict=True) if not words]
        if empty:
            raise InputError(f"labels without a word in their text: {', '.join(empty[:5])}")
        self.label_names = list(texts)
        synonyms = [list(label.synonyms) for label in given.values()]
        unseen = [0] * len(texts)
        label_set = LabelSet(self.label_names, list(texts.values()), unseen, synonyms=synonyms)
        self._prepared = self._prepare(label_set)
        self._text = self.system.tokenizer(self.name, label_set)

    def _synonyms(self, name: str) -> tuple[str, ...]:
        """Return the synonyms that the model knows of a label."""
        own = self.task.labels
        return tuple(own.synonyms[own.ids[name]]) if name in own.ids else ()

    def predict(
        self,
        texts: Sequence[Text],
        labels: LabelsLike | None = None,
        top_k: int | None = 5,
        threshold: float | Literal["tuned"] | None = None,
    ) -> list[Prediction]:
        """Label texts.

        Args:
            texts: documents, each one text or a list of pieces (title, text).
            labels: the candidates, as in `set_labels`; by default the model's own labels.
            top_k: at most so many labels per text; None for no limit.
            threshold: only labels with a score above this; ``tuned`` for the threshold that was
                best on the validation documents.

        Returns:
            For each text its labels, best first: ``{"name": ..., "score": ...}`` with the
            model's probability. A text without a single word gets none.
        """
        if isinstance(texts, str):
            raise InputError("predict takes a list of texts, not one text")
        if labels is not None:
            self.set_labels(labels)
        try:
            return [labelled for labelled in self.stream(texts, top_k, threshold)]
        finally:
            if labels is not None:
                self.set_labels(None)

    def stream(
        self,
        texts: Iterable[Text],
        top_k: int | None = 5,
        threshold: float | Literal["tuned"] | None = None,
        batch_size: int = 256,
    ) -> Iterator[Prediction]:
        """Label texts one after another, in batches, without keeping them."""
        if threshold == "tuned":
            threshold = self.tuned_threshold
        if isinstance(threshold, float) and not threshold <= 1:
            raise InputError(f"threshold is {threshold:g}; no probability is above it")
        if top_k is not None:
            positive(top_k=top_k)
        positive(batch_size=batch_size)
        if not self.label_names:
            raise InputError("the checkpoint holds no labels: give labels (predict --labels)")
        iterator = iter(texts)
        while batch := list(islice(iterator, batch_size)):
            yield from self._label(batch, top_k, threshold)

    @property
    def tuned_threshold(self) -> float:
        """The threshold of the best F1 on the validation documents."""
        if self._tuned is None:
            raise InputError("the checkpoint has no tuned threshold; give a number")
        return self._tuned

    @torch.inference_mode()
    def logits(self, texts: Sequence[Text]) -> Tensor:
        """Score each text against the current labels: [B, K]."""
        return self._score(self._encode(texts))

    def _encode(self, texts: Sequence[Text]) -> Texts:
        for text in texts:
            if not isinstance(text, str | list | tuple):
                raise InputError(f"a text is a string or a list of strings, not {text!r:.60}")
        encoder = self._text
        return Texts.from_flat(*encoder.documents(texts), *encoder.subwords(texts)).to(self.device)

    def _score(self, documents: Texts) -> Tensor:
        return self.system.score(self.name, documents, self._prepared)

    @torch.no_grad()
    def label_vectors(self) -> Any:
        """Return the current labels as the model prepares them: [K, d_j] for GILE."""
        prepared = self._prepared
        return prepared.all() if isinstance(prepared, PreparedLabels) else prepared

    @torch.inference_mode()
    def _label(
        self, texts: Sequence[Text], top_k: int | None, threshold: float | None
    ) -> Iterator[Prediction]:
        limit = -1.0 if threshold is None else threshold
        for documents in self._encode(texts).split(max(1, SCORES // len(self.label_names))):
            logits = self._score(documents)
            count = min(top_k or logits.shape[1], logits.shape[1])
            # of logits: probabilities near 1 are equal
            ids = logits.topk(count, sorted=True).indices
            scores = self.system.log_odds(logits).gather(1, ids).sigmoid().cpu()
            kept = scores.double() > limit  # on the CPU, as MPS has no float64
            kept &= documents.document_lengths.cpu().gt(0).unsqueeze(1)
            counts = kept.sum(1).tolist()
            for count, row, labels in zip(counts, scores, ids, strict=True):
                found = zip(row[:count].tolist(), labels[:count].tolist(), strict=True)
                yield [{"name": self.label_names[i], "score": score} for score, i in found]

    @torch.no_grad()
    def _prepare(self, labels: LabelSet) -> Any:
        return self.system.prepare_labels(self.name, labels)


def _record(number: int, label: Any) -> Described:
    if not isinstance(label, Mapping):
        raise InputError(
            f"label {number} is {label!r:.60}: give descriptions by name, or records with name and "
            "description"
        )
    return described(f"label {number}", str(label.get("name") or ""), label)


def _described(labels: LabelsLike, by_name: bool) -> dict[str, Described]:
    """Return the labels by name, checked; one without a description is no error if ``by_name``."""
    if isinstance(labels, Path | str):
        records: Iterable[Described] = read_labels(labels)
    else:
        if isinstance(labels, Mapping):
            labels = [{"name": name, "description": text} for name, text in labels.items()]
        records = (_record(i, label) for i, label in enumerate(labels))
    found: dict[str, Described] = {}
    for label in records:
        if not label.name:
            raise InputError(f"{label.where}: a label needs a name")
        if label.name in found:
            raise InputError(
                f"{label.where}: the label {label.name!r} is there already at "
                f"{found[label.name].where}"
            )
        if not label.description and not by_name:
            raise InputError(
                f"{label.where}: the label {label.name!r} has no description to score it by"
            )
        found[label.name] = label
    if not found:
        raise InputError("no label given; leave labels out to use the model's own")
    return found
