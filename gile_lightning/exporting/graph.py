"""A network of one language as one module of tensors: word ids in, scores out."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.exporting.graph_encoders import (
    GraphHashedNgrams,
    GraphHashedWords,
    graph_encoder,
)
from gile_lightning.exporting.graph_segments import Flat, flat
from gile_lightning.network import LabelResidual, Network, PreparedLabels, Ridge
from gile_lightning.network.matchers.matcher import LOGIT_SCALE
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.neural import NeuralSystem


class LabelGraph(nn.Module):
    """The label encoder: vectors [K, d] of label texts.

    Args:
        network: of one language.
    """

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.encoder = graph_encoder(network.label_encoder, network.word_vectors)
        self.norm = network.label_norm

    def forward(
        self, words: Tensor, sentence_lengths: Tensor, document_lengths: Tensor
    ) -> tuple[Tensor]:
        """Encode the texts of K labels, each of one sentence; see `DocumentGraph.forward`."""
        return (self.norm(self.encoder(flat(words, sentence_lengths, document_lengths))),)


class DocumentGraph(nn.Module):
    """All of a network but its matchers: logits and probabilities.

    What single labels have of their own, a residual and a ridge regression, is a row of two tables;
    a last row of zeros is that of a label which training has not seen.

    Args:
        system: the trained model.
        name: of the language.
        frozen: whether the labels are those of the model, in order. Otherwise they are given.
        calibrated: whether probabilities are calibrated.
    """

    residuals: Tensor
    residual_biases: Tensor
    regressions: Tensor
    projected: Tensor
    training_ids: Tensor

    def __init__(self, system: NeuralSystem, name: str, frozen: bool, calibrated: bool) -> None:
        super().__init__()
        network, labels = system.network(name), system.tasks[name].labels
        if not frozen and not network.output.scores_unseen:
            raise InputError(
                f"the output layer {type(network.output).__name__} knows its labels by number and "
                "scores no others: leave --labels vectors out"
            )
        own = {LabelResidual: network.label_residual, Ridge: network.ridge}
        for kind, part in own.items():
            if part is not None and type(part) is not kind:
                raise InputError(
                    f"{type(part).__name__} is not {kind.__name__} itself, whose formula ONNX "
                    "would have; --format hub takes the whole model"
                )
        self.log_odds = system.log_odds
        self.calibration = system.calibrations.by_task.get(name) if calibrated else None
        self.encoder = graph_encoder(network.encoder, network.word_vectors)
        self.norm = network.document_norm
        self.output, self.prior = network.output, network.prior
        self.hashed = nn.ModuleList()
        self.has_ridge = network.ridge is not None
        if network.ridge is not None and network.ridge.words is not None:
            self.hashed.append(GraphHashedWords(network.ridge.words, network.word_vectors))
        if network.ridge is not None and network.ridge.ngrams is not None:
            self.hashed.append(GraphHashedNgrams(network.ridge.ngrams))
        tables = _residuals(network, labels.seen), _regressions(network, labels.seen)
        (residuals, biases), regressions = tables
        self.frozen = frozen
        if frozen:
            prepared: PreparedLabels = system.prepare_labels(name, labels)
            ids = training_ids(labels)[: len(prepared)]
            self.register_buffer("projected", prepared.all().detach())
            self.register_buffer("training_ids", ids)
            residuals, biases, regressions = (x[ids] for x in (residuals, biases, regressions))
        self.register_buffer("residuals", residuals)
        self.register_buffer("residual_biases", biases)
        self.register_buffer("regressions", regressions)
        self.has_residuals = network.label_residual is not None

    def forward(
        self,
        words: Tensor,
        sentence_lengths: Tensor,
        document_lengths: Tensor,
        label_vectors: Tensor | None = None,
        label_ids: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Score B documents against K labels: logits and probabilities, [B, K] each.

        Args:
            words: ids in the vocabulary [N].
            sentence_lengths: words of each sentence [S], none of which is empty.
            document_lengths: sentences of each document [B].
            label_vectors: of `LabelGraph` [K, d]; only where labels are not frozen.
            label_ids: the ids of the labels in training [K], -1 for those which it has not seen;
                likewise.
        """
        texts = flat(words, sentence_lengths, document_lengths)
        documents = self.norm(self.encoder(texts))
        own = self.residuals, self.residual_biases, self.regressions
        if label_vectors is None or label_ids is None:
            projected, ids = self.projected, self.training_ids
        else:
            projected, ids = self.output.project_labels(label_vectors), label_ids
            last = len(self.residual_biases) - 1
            own = tuple(table[ids.where(ids >= 0, last)] for table in own)  # type: ignore[assignment]
        residuals, biases, regressions = own
        logits = self.output.score(documents, projected)
        if self.prior is not None:
            logits = logits + self.prior
        if self.has_ridge:
            logits = logits + self._features(documents, texts) @ regressions.T
        if self.has_residuals:
            logits = logits + documents @ residuals.T + biases
        log_odds = self.log_odds(logits)
        if self.calibration is not None:
            log_odds = self.calibration(log_odds, ids)
        return logits, log_odds.sigmoid()

    def _features(self, documents: Tensor, texts: Flat) -> Tensor:
        """Return what the ridge regression reads, of length 1: [B, d]; see `Ridge.features`."""
        parts = [F.normalize(documents), *(hashed(texts) for hashed in self.hashed)]
        return F.normalize(torch.cat(parts, 1))


def _residuals(network: Network, seen: int) -> tuple[Tensor, Tensor]:
    """Return vectors [L + 1, d_h] and biases [L + 1] of the label residual, if there is one."""
    residual = network.label_residual
    if residual is None:
        return torch.zeros(seen + 1, 0), torch.zeros(seen + 1)
    vectors = residual.vectors.detach() / math.sqrt(residual.document_dim)
    return F.pad(vectors, (0, 0, 0, 1)), F.pad(residual.biases.detach(), (0, 1))


def _regressions(network: Network, seen: int) -> Tensor:
    """Return the coefficients of the ridge regression with all its factors: [L + 1, d]."""
    ridge, residual = network.ridge, network.label_residual
    if ridge is None:
        return torch.zeros(seen + 1, 0)
    factors = torch.ones(seen)
    if residual is not None:
        factors = residual.factors(torch.arange(seen))[-1]
    scale = ridge.scale * LOGIT_SCALE * ridge.boost
    return F.pad((ridge.coefficients * (scale * factors).unsqueeze(1)).detach(), (0, 0, 0, 1))
