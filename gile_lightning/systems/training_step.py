"""What the host does for a training step before the device computes."""

from typing import NamedTuple

import torch

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.network import EncodedLabels, Network
from gile_lightning.network.encoded_labels import LabelBatch
from gile_lightning.network.network import DistinctWords, Fixed
from gile_lightning.training.samplers import LabelSample, LabelSampler


class TrainingStep(NamedTuple):
    """What is drawn and looked up for the documents of a step.

    Attributes:
        sample: the labels that are scored, and which pairs count.
        labels: these labels, with their texts.
        words: the words whose vectors are trained, if any are.
        fixed: what training does not change of the documents and labels.
        generator: the source of randomness, after these draws.
    """

    sample: LabelSample
    labels: LabelBatch
    words: DistinctWords | None
    fixed: Fixed
    generator: torch.Generator


def prepare_step(
    network: Network,
    encoded: EncodedLabels,
    sampler: LabelSampler,
    documents: RaggedBatch,
    generator: torch.Generator,
) -> TrainingStep:
    """Draw the labels of a step, select what is known of them, and look at the documents' words."""
    positives = documents.label_ids, documents.label_counts
    device = network.word_vectors.device
    sample = sampler.sample(*positives, encoded.frequencies, generator, device)
    labels = encoded.select(sample.labels, network.output.scores_unseen)
    labels = labels._replace(targets=sample.targets)
    if network.label_residual is not None:
        kept = network.label_residual.drop(labels.residual_ids, generator)
        labels = labels._replace(residual_ids=kept)
    labels = network.look_up(documents.texts, labels.sent(device))
    words = network.distinct_words(documents.texts, labels)
    fixed = network.fixed(documents.texts, labels)
    return TrainingStep(sample, labels, words, fixed, generator)
