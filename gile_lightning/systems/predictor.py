"""Labels for new texts, from a checkpoint alone."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from gile_lightning.common.errors import InputError, nearest, positive
from gile_lightning.common.processes import found_device
from gile_lightning.data.formats.descriptions import composed
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.language_name import code_of
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import BackendChoice
from gile_lightning.data.shards.original_texts import joined
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.explaining import Explanation, align_text
from gile_lightning.network import PreparedLabels
from gile_lightning.network.outputs import GILE
from gile_lightning.systems.best_labels import best_on_host
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.candidates import LabelsLike, candidate_labels, read_candidates
from gile_lightning.systems.explainer import Explainer
from gile_lightning.systems.loading import load_system, read_model
from gile_lightning.systems.reranker import Reranker, find_reranker
from gile_lightning.systems.system import SCORES, System

Prediction = list[dict[str, Any]]
Threshold = float | Literal["tuned", "labels"]
Text = str | Sequence[str]  # a document, as one text or in pieces such as title and text


def load(
    path: Path | str,
    device: str = "cpu",
    language: str | None = None,
    pretrained_backend: BackendChoice | None = None,
    rerank: bool = False,
) -> "Predictor":
    """Load a model to label texts with.

    Args:
        path: a checkpoint file; a run folder, for its best one; a folder that
            `gile_lightning.export` wrote; or the name of one at the Hugging Face hub, such as
            ``user/name``, which is downloaded once. A file or folder of that name comes first.
        device: where to compute: ``cpu``, ``cuda``, or ``auto`` for a GPU if there is one.
        language: the name or ISO 639-1 code of one of the model's languages; needed if it has
            several.
        pretrained_backend: runs the pretrained model, by default what ran it in training.
        rerank: whether the second stage beside the checkpoint ranks the best labels anew.

    Raises:
        InputError: there is no model at ``path``, or no second stage, or it cannot be loaded.
    """
    device = found_device(device)
    system = load_system(read_model(path), pretrained_backend)
    predictor = Predictor(system, device, language)
    predictor.reranker = find_reranker(path, device) if rerank else None
    return predictor


def find_language(system: System, language: str) -> str:
    """Return the name of one of the model's languages.

    Args:
        system: the model.
        language: the name, in any case, or the ISO 639-1 code.

    Raises:
        InputError: the model has no such language.
    """
    names = list(system.tasks)
    for name in names:
        if language.lower() == name.lower():
            return name
    code = code_of(language) or language.lower()
    for name, task in system.tasks.items():
        if code in (code_of(name), task.tokenizer.sentences):
            return name
    raise InputError(
        f"the model has no {language!r}; its languages are {', '.join(names)}"
        f"{nearest(language, names)}"
    )


class _Labels(NamedTuple):
    """The labels that a predictor scores, in order, and what is prepared of them."""

    names: list[str]
    texts: list[str]
    uris: list[str]
    prepared: Any
    tokenizer: Tokenizer
    training_ids: Tensor
    left_out: Skipped


class Predictor:
    """A trained model for one language, ready to label texts.

    Labels are prepared once: the model's own when the predictor is made, others in `set_labels`.

    Attributes:
        reranker: the second stage; by default there is none.

    Args:
        system: a trained model.
        device: where to compute.
        language: the name or ISO 639-1 code of one of its languages; needed if it has several.
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
        self.reranker: Reranker | None = None
        self.name, self.task = name, system.tasks[name]
        own = self.task.labels
        names = own.names if system.scores_unseen(name) else own.names[: own.seen]
        self._own_labels = self._labels = _Labels(
            names,
            own.texts,
            own.uris,
            self._prepare(own),
            self.task.tokenizer,
            training_ids(own),
            Skipped(),
        )

    @property
    def label_names(self) -> list[str]:
        """The names of the labels that are scored, in the order of `logits`."""
        return self._labels.names

    @property
    def label_uris(self) -> list[str]:
        """The URI of each label, empty where it has none."""
        return self._labels.uris

    @property
    def left_out(self) -> Skipped:
        """What `set_labels` left out of a file of labels."""
        return self._labels.left_out

    def set_labels(
        self, labels: LabelsLike | None, language: str | None = None, complete: bool = True
    ) -> None:
        """Choose the labels for the following predictions; None for the model's own.

        Label texts are put together as those of the training labels were, by the options
        ``label_text``, ``label_synonyms`` and ``label_parents`` of `gile_lightning.data.Corpus`. A
        label needs a description unless training labels did without: with ``undescribed_labels:
        name``, with ``label_text: name``, or without a file of labels.

        The matchers of a model (`gile_lightning.network.matchers`) tell words apart that are new
        to the vocabulary, in labels and documents. Encoders read them as the unknown word.

        Args:
            labels: descriptions by name; or records with ``name`` and ``description``, and perhaps
                ``synonyms``, ``parents`` and ``uri``; or a file of labels, as `read_labels` takes
                it. What a file has and is left out is counted in ``left_out``.
            language: of the labels, if the file has several; by default that of training.
            complete: one of the model's own labels keeps its synonyms, its parents and its URI if
                it comes without.

        Raises:
            InputError: there is no label, a name comes twice, a description is missing, a parent
                is none of the labels, or the model scores only labels it was trained on.
        """
        if labels is None:
            self._labels = self._own_labels
            return
        if not self.system.scores_unseen(self.name):
            raise InputError(
                f"{self.system.describe_scorer(self.name)} scores only the labels it was trained "
                "on; train a model with gile_lightning.network.outputs.GILE to score others"
            )
        recipe, tokenizer = self.task.recipe, self.task.tokenizer
        skipped = Skipped()
        given = read_candidates(labels, recipe.by_name, language or recipe.label_language, skipped)
        own = self.task.labels if complete else None
        label_set = candidate_labels(given, recipe, own, skipped)
        names, texts, uris = label_set.names, label_set.texts, label_set.uris
        counts = tokenizer.labels(texts)[1]
        if empty := [name for name, words in zip(names, counts, strict=True) if not words]:
            raise InputError(f"labels without a word in their text: {', '.join(empty[:5])}")
        self._labels = _Labels(
            names,
            texts,
            uris,
            self._prepare(label_set),
            self.system.tokenizer(self.name, label_set),
            training_ids(label_set, self.task.labels),
            skipped,
        )

    def predict(
        self,
        texts: Sequence[Text],
        labels: LabelsLike | None = None,
        top_k: int | None = 5,
        threshold: Threshold | None = None,
    ) -> list[Prediction]:
        """Label texts.

        Args:
            texts: documents, each one text or a list of pieces (title, text).
            labels: the candidates of this call, as in `set_labels`; by default those chosen there,
                or the model's own.
            top_k: the largest number of labels per text; None for no limit.
            threshold: the score that labels must exceed; ``tuned`` for the threshold with the best
                F1 on the validation documents, ``labels`` for one of each label, which is near that
                where few validation documents have the label.

        Returns:
            For each text its labels, best first: ``{"name": ..., "score": ...}`` with the
            model's probability, and ``uri`` where the label has one. A text without a single word
            gets none.
        """
        if labels is None:
            return list(self.stream(texts, top_k, threshold))
        before = self._labels
        try:
            self.set_labels(labels)
            return list(self.stream(texts, top_k, threshold))
        finally:
            self._labels = before

    def explain(
        self,
        text: Text,
        labels: Iterable[str] | None = None,
        top_k: int | None = 5,
        threshold: Threshold | None = None,
    ) -> Explanation:
        """Explain why a text gets its labels: what each part adds, and what in the text carries it.

        The labels are those that `predict` gives, of the model or of `set_labels`.

        Args:
            text: one text or a list of pieces (title, text).
            labels: names of further labels to explain, whether predicted or not.
            top_k: see `predict`; 0 for no label but those asked for.
            threshold: see `predict`.

        Raises:
            InputError: there is no label of a name, or a second stage.
        """
        if self.reranker is not None:
            raise InputError(
                "scores of a second stage cannot be explained: load the model without it (rerank)"
            )
        asked = self.places_of([labels] if isinstance(labels, str) else labels or ())
        found = [] if top_k == 0 else next(self.stream([text], top_k, threshold))
        explainer = Explainer(
            self.system,
            self.name,
            self._labels.prepared,
            self._labels.names,
            self._labels.uris,
            self._labels.training_ids,
            self._labels.tokenizer,
        )
        return explainer.explain(
            self._encode([text]),
            align_text(self._labels.tokenizer, text),
            self.places_of(label["name"] for label in found),
            asked,
        )

    def places_of(self, labels: Iterable[str]) -> list[int]:
        """Return the places of labels among `label_names`.

        Raises:
            InputError: there is no label of a name.
        """
        places = {name: i for i, name in enumerate(self.label_names)}
        names = [composed(str(label)) for label in labels]
        for name in names:
            if name not in places:
                known = f"the model can score no label {name!r}{nearest(name, self.label_names)}"
                raise InputError(known)
        return [places[name] for name in names]

    def stream(
        self,
        texts: Iterable[Text],
        top_k: int | None = 5,
        threshold: Threshold | None = None,
        batch_size: int = 256,
    ) -> Iterator[Prediction]:
        """Label texts as an iterator yields them, in batches; see `predict`."""
        if isinstance(texts, str):
            raise InputError("give a list of texts, not one text")
        own = threshold == "labels"
        if own and self.reranker is not None:
            raise InputError("a second stage (rerank) has no thresholds of labels; give a number")
        if own and self.name not in self.system.calibrations.thresholds:
            raise InputError("the checkpoint has no thresholds of labels; give a number")
        if isinstance(threshold, str):
            if threshold not in ("tuned", "labels"):
                raise InputError(f"threshold is {threshold!r}; give a number, tuned or labels")
            threshold = self.tuned_threshold
        if threshold is not None and not threshold <= 1:
            raise InputError(f"threshold is {threshold:g}; no probability is above it")
        if top_k is not None:
            if not isinstance(top_k, Integral):
                raise InputError(f"top_k is {top_k!r}; give a whole number, or None for all labels")
            positive(top_k=top_k)
        positive(batch_size=batch_size)
        if not self.label_names:
            raise InputError("the checkpoint holds no labels: give labels (predict --labels)")
        iterator = iter(texts)
        while batch := list(islice(iterator, batch_size)):
            yield from self._label(batch, top_k, threshold, own)

    @property
    def tuned_threshold(self) -> float:
        """The threshold of the best F1 on the validation documents."""
        if self.reranker is not None:
            return self.reranker.threshold
        if self.name not in self.system.thresholds:
            raise InputError("the checkpoint has no tuned threshold; give a number")
        return self.system.thresholds[self.name]

    @torch.inference_mode()
    def logits(self, texts: Sequence[Text]) -> Tensor:
        """Score each text against the current labels: [B, K]."""
        return self._score(self._encode(texts))

    def _encode(self, texts: Sequence[Text]) -> Texts:
        if isinstance(texts, str):
            raise InputError("give a list of texts, not one text")
        for text in texts:
            pieces = [text] if isinstance(text, str) else text
            if not isinstance(pieces, list | tuple) or not all(isinstance(x, str) for x in pieces):
                raise InputError(f"a text is a string or a list of strings, not {text!r:.60}")
        tokenizer = self._labels.tokenizer
        needed = self.system.reads_subwords(self.name)
        subwords = tokenizer.subwords(texts) if needed else (None, None)
        encoded = Texts.from_flat(*tokenizer.documents(texts), *subwords)
        return encoded.to(self.system.batch_device)

    def _score(self, documents: Texts) -> Tensor:
        return self.system.score(self.name, documents, self._labels.prepared)

    @torch.no_grad()
    def label_vectors(self) -> Any:
        """Return the current labels as the model prepares them: [K, d_j] for GILE."""
        prepared = self._labels.prepared
        return prepared.all() if isinstance(prepared, PreparedLabels) else prepared

    @torch.inference_mode()
    def document_vectors(self, texts: Sequence[Text]) -> Tensor:
        """Return texts in the joint space of GILE: [B, d_j].

        These are h' ⊙ w (paper, Eq. 12 to 14): their products with the `label_vectors`, plus the
        bias of the unit, are what the joint space adds to the logits.

        Raises:
            InputError: the model has no such joint space.
        """
        prepared = self._labels.prepared
        output = prepared.network.output if isinstance(prepared, PreparedLabels) else None
        if not isinstance(output, GILE):
            raise InputError(
                f"{self.system.describe_scorer(self.name)} has no joint space of texts and labels; "
                "train a model with gile_lightning.network.outputs.GILE"
            )
        return output.weighted_documents(prepared.encode(self._encode(texts))[1])

    @torch.inference_mode()
    def _label(
        self, texts: Sequence[Text], top_k: int | None, threshold: float | None, own: bool
    ) -> Iterator[Prediction]:
        limit: float | Tensor = -1.0 if threshold is None else threshold
        calibrations, reranker = self.system.calibrations, self.reranker
        size, start = max(1, SCORES // len(self._labels.names)), 0
        for documents in self._encode(texts).split(size):
            logits = self._score(documents)
            labels = logits.shape[1]
            count = min(top_k or labels, labels)
            depth = count if reranker is None else min(max(count, reranker.depth), labels)
            ids, best, log_odds, lengths = best_on_host(
                self.system, logits, depth, documents.document_lengths
            )
            log_odds = calibrations.apply(self.name, log_odds, self._labels.training_ids[ids])
            if reranker is not None:
                some = [joined(text) for text in texts[start : start + size]]
                places, log_odds = reranker.rerank(some, self._labels.texts, ids, best, log_odds)
                ids, log_odds = ids.gather(1, places)[:, :count], log_odds[:, :count]
            start += size
            scores = log_odds.sigmoid()
            if own and threshold is not None:
                limit = calibrations.limits(self.name, threshold, self._labels.training_ids[ids])
            kept = scores > limit  # in float32, as metrics count
            kept &= lengths.gt(0).unsqueeze(1)
            for rows in zip(kept.tolist(), scores.tolist(), ids.tolist(), strict=True):
                found = zip(*rows, strict=True)
                yield [{**self._named(i), "score": s} for some, s, i in found if some]

    def _named(self, label: int) -> dict[str, str]:
        """Return the name of one of the current labels, and its URI if it has one."""
        uri = self._labels.uris[label]
        return {"name": self._labels.names[label], **({"uri": uri} if uri else {})}

    @torch.no_grad()
    def _prepare(self, labels: LabelSet) -> Any:
        return self.system.prepare_labels(self.name, labels)
