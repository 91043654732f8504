"""Explanations of any system's scores for one document."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from gile_lightning.data.loading.flat import segment_ids
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.explaining import (
    AlignedText,
    Evidence,
    ExplainedLabel,
    Explanation,
    Phrase,
)
from gile_lightning.explaining.explanation import LOGIT
from gile_lightning.network.matchers import Mention
from gile_lightning.systems.system import SCORES, System

WORDS = 2**17  # of documents without a sentence, scored at a time


class Explainer:
    """Explains the scores of the documents of one task against prepared labels.

    Args:
        system: a trained system, in evaluation.
        name: of the task.
        prepared: the labels, as the system prepares them.
        names: of these labels.
        uris: of these labels; empty where there are none.
        training_ids: of these labels; see `gile_lightning.systems.calibrated.training_ids`.
        tokenizer: of the documents.
    """

    def __init__(
        self,
        system: System,
        name: str,
        prepared: Any,
        names: Sequence[str],
        uris: Sequence[str],
        training_ids: Tensor,
        tokenizer: Tokenizer,
    ) -> None:
        self.system = system
        self.name = name
        self.prepared = prepared
        self.names = names
        self.uris = uris
        self.training_ids = training_ids.cpu()
        self.tokenizer = tokenizer

    @torch.inference_mode()
    def explain(
        self,
        document: Texts,
        aligned: AlignedText,
        predicted: Sequence[int],
        asked: Sequence[int] = (),
    ) -> Explanation:
        """Explain the scores of a document.

        Args:
            document: one document.
            aligned: the same as it is written.
            predicted: places of the predicted labels.
            asked: those of further labels.
        """
        places = list(dict.fromkeys([*predicted, *asked]))
        ids = torch.tensor(places, dtype=torch.long, device=document.words.device)
        logits = self.system.score(self.name, document, self.prepared)
        log_odds = self.system.log_odds(logits)[0, ids].cpu()
        logits = logits[0, ids].cpu()
        training = self.training_ids[ids.cpu()]
        calibrated = self.system.calibrations.apply(self.name, log_odds[None], training)[0]
        calibration = (calibrated - logits).nan_to_num(0, math.inf, -math.inf)
        added = {
            part: values[0].cpu() for part, values in self._contributions(document, ids).items()
        }
        evidence = self.system.evidence(self.name, document, self.prepared, ids)
        spans = aligned.spans
        words = {part: _by_word(values, spans) for part, values in evidence.words.items()}
        effects = self._effects(document, aligned, ids, {**added, LOGIT: logits})
        labels = [
            ExplainedLabel(
                name=self.names[i],
                uri=self.uris[i],
                unseen=bool(training[j] < 0),
                predicted=i in predicted,
                score=float(calibrated[j].sigmoid()),
                logit=float(logits[j]),
                calibration=float(calibration[j]),
                contributions={part: float(values[j]) for part, values in added.items()},
                words={part: values[:, j].tolist() for part, values in words.items()},
                phrases=_phrases(evidence, j, aligned),
                sentences=effects[j],
            )
            for j, i in enumerate(places)
        ]
        attention = _attention(evidence, document, aligned)
        note = (
            ""
            if added or not places
            else f"{type(self.system).__name__} has no parts to tell apart."
        )
        return Explanation(aligned, labels, *attention, note)

    def _contributions(self, documents: Texts, ids: Tensor) -> dict[str, Tensor]:
        return self.system.contributions(self.name, documents, self.prepared, ids)

    def _effects(
        self, document: Texts, aligned: AlignedText, ids: Tensor, whole: dict[str, Tensor]
    ) -> list[list[dict[str, float]]]:
        """Return for each label and sentence by how much the whole document has more."""
        found: list[list[dict[str, float]]] = [
            [{} for _ in range(aligned.sentences)] for _ in range(len(ids))
        ]
        if not aligned.read or not len(ids):
            return found
        variants = aligned.without_sentences(document, self.tokenizer)
        size = max(1, min(WORDS // len(document.words), SCORES // len(self.names)))
        rows: dict[str, list[Tensor]] = {part: [] for part in whole}
        for some in variants.split(size):
            added = self._contributions(some, ids)
            if added:
                added[LOGIT] = torch.stack([*added.values()]).sum(0)
            else:
                added[LOGIT] = self.system.score(self.name, some, self.prepared)[:, ids]
            for part, values in added.items():
                rows[part].append(values.cpu())
        for part, without in rows.items():
            # scores may be infinite: two of them do not differ
            effects = (whole[part] - torch.cat(without)).nan_to_num(0, math.inf, -math.inf)
            for sentence, of_labels in zip(aligned.read, effects.tolist(), strict=True):
                for j, effect in enumerate(of_labels):
                    found[j][sentence][part] = effect
        return found


def _by_word(values: Tensor, spans: list[tuple[int, int]]) -> Tensor:
    """Sum what the model's words [N, J] add over the words as they are written."""
    sums = torch.cat([values.new_zeros(1, values.shape[1]), values]).cpu().double().cumsum(0)
    ends = torch.tensor(spans, dtype=torch.long).view(-1, 2)
    return sums[ends[:, 1]] - sums[ends[:, 0]]


def _phrases(evidence: Evidence, label: int, aligned: AlignedText) -> list[Phrase]:
    owners = [i for i, word in enumerate(aligned.words) for _ in range(word.tokens)]
    found = chain.from_iterable(
        ((part, mention) for mention in mentions) for part, mentions in evidence.mentions.items()
    )
    return [_phrase(part, one, owners, aligned) for part, one in found if one.label == label]


def _phrase(part: str, mention: Mention, owners: list[int], aligned: AlignedText) -> Phrase:
    first, last = owners[mention.start], owners[mention.start + mention.size - 1]
    text = " ".join(word.text for word in aligned.words[first : last + 1])
    return Phrase(part, text, first, last, mention.inside)


def _attention(
    evidence: Evidence, document: Texts, aligned: AlignedText
) -> tuple[list[float], list[float]]:
    """Return the weights of words and sentences as they are written; empty without attention.

    A sentence has the weights of its words; those of a hierarchical encoder are multiplied with
    the weight of the sentence that the encoder reads them in.
    """
    if evidence.attention is None:
        return [], []
    words, sentences = evidence.attention
    by_word = _by_word(words.unsqueeze(1), aligned.spans)[:, 0].tolist()
    if sentences is not None:
        words = words * sentences[segment_ids(document.sentence_lengths)]
    shares = _by_word(words.unsqueeze(1), aligned.spans)[:, 0].tolist()
    of_sentences = [0.0] * aligned.sentences
    for word, share in zip(aligned.words, shares, strict=True):
        of_sentences[word.sentence] += share
    return by_word, of_sentences
