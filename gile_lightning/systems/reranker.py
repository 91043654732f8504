"""A second stage: a cross-encoder reads each document with each of its best labels."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gile_lightning.common import hub
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.common.formats import check_format
from gile_lightning.data.pretrained.cross_encoder import CrossEncoder
from gile_lightning.metrics.thresholded import micro_f1_of_pairs
from gile_lightning.systems.best_labels import BestLabels
from gile_lightning.training.checkpoint import find_checkpoint
from gile_lightning.training.combination import Combination, fit_combination
from gile_lightning.training.model_folder import is_model_folder

FOLDER = "reranker"  # beside the checkpoint
SETTINGS = "gile_lightning.json"
DEPTH = 50

RERANKER_FORMAT = 1
"""The number of the format. Raise it when a change makes older folders unreadable."""

REMEDY = "delete the folder and fit it anew (python -m gile_lightning.rerank)"


class Reranker:
    """Ranks the best labels of a document anew; all others stay below them, in their order.

    The first stage is a system, which scores all labels. A cross-encoder scores the pairs of the
    document and the texts of its ``depth`` best labels. A label's rank follows from a weighted sum
    of its logit and that score, its probability from a weighted sum of its calibrated log-odds and
    that score. Both are logistic regressions on validation documents.

    Args:
        encoder: the cross-encoder.
        ranking: combines logits with scores.
        probability: combines calibrated log-odds with scores.
        threshold: of the probability, with the best micro-F1 on the validation documents.
        depth: how many labels of a document are ranked anew.
        checkpoint: identifies the first stage; see `identity`.
    """

    def __init__(
        self,
        encoder: CrossEncoder,
        ranking: Combination,
        probability: Combination,
        threshold: float,
        depth: int = DEPTH,
        checkpoint: str = "",
    ) -> None:
        self.encoder = encoder
        self.ranking, self.probability = ranking, probability
        self.threshold = threshold
        self.depth = depth
        self.checkpoint = checkpoint

    def rerank(
        self,
        texts: Sequence[str],
        labels: Sequence[str],
        ids: Tensor,
        logits: Tensor,
        log_odds: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """Order the best labels of documents anew.

        Args:
            texts: of B documents.
            labels: the texts of all labels.
            ids: the best labels of each document [B, J], best first.
            logits: theirs [B, J].
            log_odds: the calibrated ones [B, J].

        Returns:
            The new order, as places [B, J] in ``ids``, and the log-odds [B, J] in that order.
        """
        depth = min(self.depth, ids.shape[1])
        scores = score_pairs(self.encoder, texts, labels, ids[:, :depth]).to(logits.device)
        combined = self.ranking(logits[:, :depth], scores)
        places = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape).clone()
        places[:, :depth] = combined.argsort(dim=1, descending=True, stable=True)
        new = log_odds.clone()
        new[:, :depth] = self.probability(log_odds[:, :depth], scores).to(new.dtype)
        return places, new.gather(1, places)

    def apply(
        self, texts: Sequence[str], labels: Sequence[str], logits: Tensor, log_odds: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Return the logits and calibrated log-odds of all labels [B, K] as they are reranked.

        The best labels keep their logits as a set, and exchange them, so that they stay above the
        others. The log-odds of the others do not change.
        """
        best = logits.topk(min(self.depth, logits.shape[1]))
        own = log_odds.gather(1, best.indices)
        places, new = self.rerank(texts, labels, best.indices, best.values, own)
        ids = best.indices.gather(1, places)
        return logits.scatter(1, ids, best.values), log_odds.scatter(1, ids, new)

    def save(self, folder: Path) -> None:
        """Write the model, then the weights: a folder with these is whole."""
        self.encoder.save(folder)
        settings = {
            "format": RERANKER_FORMAT,
            "ranking": self.ranking._asdict(),
            "probability": self.probability._asdict(),
            "threshold": self.threshold,
            "depth": self.depth,
            "max_subwords": self.encoder.max_subwords,
            "checkpoint": self.checkpoint,
        }
        write(folder / SETTINGS, json.dumps(settings, indent=1))


def score_pairs(
    encoder: CrossEncoder, texts: Sequence[str], labels: Sequence[str], ids: Tensor
) -> Tensor:
    """Score documents with some of the labels each: [B, J] on the CPU.

    Args:
        encoder: scores pairs.
        texts: of B documents.
        labels: the texts of all labels.
        ids: labels of each document [B, J].
    """
    rows = zip(texts, ids.tolist(), strict=True)
    pairs = [(text, labels[i]) for text, row in rows for i in row]
    return encoder.predict(pairs).reshape(ids.shape)


def combine(
    encoder: CrossEncoder, best: BestLabels, scores: Tensor, depth: int, checkpoint: str
) -> tuple[Reranker, float]:
    """Fit the weights and the threshold of a second stage to validation documents.

    Args:
        encoder: the cross-encoder.
        best: the best labels of the documents [D, J].
        scores: of the cross-encoder [D, J].
        depth: how many labels it is to read of a document.
        checkpoint: identifies the first stage.

    Returns:
        The second stage, and the micro-F1 of the documents at its threshold.
    """
    logits, log_odds, second = (
        values.double().numpy().ravel() for values in (best.logits, best.log_odds, scores)
    )
    correct = best.correct.flatten()
    ranking = fit_combination(logits, second, correct.numpy())
    probability = fit_combination(log_odds, second, correct.numpy())
    combined = probability(best.log_odds, scores).flatten()
    found = micro_f1_of_pairs(combined, correct, int(best.positives.sum()))
    threshold, f1 = found.best()
    return Reranker(encoder, ranking, probability, threshold, depth, checkpoint), f1


def identity(checkpoint: Path) -> str:
    """Return a hash of a checkpoint's file."""
    with open(checkpoint, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:20]


def find_reranker(path: Path | str, device: str = "cpu") -> Reranker:
    """Load the second stage that lies beside a checkpoint.

    Args:
        path: of the checkpoint, or its run folder.
        device: where to compute.

    Raises:
        InputError: there is none, or it was fitted for another checkpoint.
    """
    here = Path(path).expanduser()
    if is_model_folder(here) or (not here.exists() and hub.is_name(here.as_posix())):
        raise InputError(
            f"{path}: a second stage lies beside a checkpoint, and this is an exported model: give "
            "the run folder, or leave rerank out"
        )
    checkpoint = find_checkpoint(path)
    folder = checkpoint.parent / FOLDER
    if not (folder / SETTINGS).is_file():
        raise InputError(
            f"{folder}: no second stage there (--rerank); fit one: python -m gile_lightning.rerank "
            f"--checkpoint {path} --pretrained NAME"
        )
    try:
        stored: dict[str, Any] = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        check_format(folder / SETTINGS, stored.get("format", 1), RERANKER_FORMAT, REMEDY)
        ranking, probability = (Combination(**stored[key]) for key in ("ranking", "probability"))
        threshold, depth = float(stored["threshold"]), int(stored["depth"])
        own, longest = str(stored["checkpoint"]), int(stored["max_subwords"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder / SETTINGS}: not readable ({error}); fit it anew") from error
    if own != identity(checkpoint):
        raise InputError(f"{folder}: fitted for another checkpoint than {checkpoint}; {REMEDY}")
    encoder = CrossEncoder(folder, longest)
    encoder.to(device)
    return Reranker(encoder, ranking, probability, threshold, depth, own)
