"""A million labels are scored and ranked in bounded memory, beside a direct computation."""

import numpy as np
import pytest
import torch
from measuring import peak_memory

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.metrics.ranking import rank_positives
from gile_lightning.metrics.whole_ranking import AveragePrecision, OneError, RankingLoss
from gile_lightning.network import prepared_labels
from gile_lightning.network.encoded_labels import EncodedLabels
from gile_testing.models import MODELS, NAME, model
from gile_testing.two_languages import ragged

LABELS, WORDS, DOCUMENTS, POSITIVES = 1_000_000, 5_000, 3, 4


@pytest.mark.parametrize("kept", [2**27, 0], ids=["projections", "vectors"])
def test_scores_ranks_and_memory(kept, monkeypatch):
    monkeypatch.setattr(prepared_labels, "KEPT", kept)
    words = [f"w{chr(97 + i % 26)}{i}" for i in range(WORDS)]
    task = Task(Tokenizer([*words, "UNK"]), LabelSet(["a"], ["b"], [1]))
    network = model(MODELS["Mean"], {NAME: task}).eval().network(NAME)
    draw = np.random.default_rng(3)
    of_labels = draw.integers(WORDS, size=(LABELS, 2))
    ones = torch.ones(LABELS, dtype=torch.long)
    encoded = EncodedLabels(Texts(torch.from_numpy(of_labels).flatten(), 2 * ones, ones))
    of_documents = draw.integers(WORDS, size=(DOCUMENTS, 9)).tolist()
    documents = ragged(of_documents, [[]] * DOCUMENTS).texts
    ids = torch.from_numpy(draw.integers(LABELS, size=(DOCUMENTS, POSITIVES)))
    found = []

    def run():
        with torch.no_grad():
            scores = prepared_labels.prepare_labels(network, encoded, 0).score(documents)
        ids[:, 0] = scores.topk(50).indices[:, 7]  # near the top
        counts = torch.full((DOCUMENTS,), POSITIVES)
        found.extend((scores, rank_positives(scores, ids.flatten(), counts)))

    peak = peak_memory(run)
    assert peak is None or peak < 200  # MiB: some times the projections and the scores, 42 MiB
    scores, ranks = found

    with torch.no_grad():  # all at once, in float64
        double = network.double()
        embed = double.embedding.weight.numpy()

        def joint(layer, norm, ids):
            means = torch.from_numpy(embed[ids].mean(1))
            return layer(norm(means)).relu()

        output = double.output
        labels = joint(output.label_projection, double.label_norm, of_labels)
        rows = joint(output.document_projection, double.document_norm, np.array(of_documents))
        wanted = ((rows * output.unit.weight) @ labels.T + output.unit.bias).numpy()
    np.testing.assert_allclose(scores.numpy(), wanted, rtol=1e-4, atol=1e-5)

    for i, (row, own) in enumerate(zip(scores.numpy(), ids.numpy(), strict=True)):
        above = np.array([(row >= row[label]).sum() for label in own])
        among = np.array([(row[own] >= row[label]).sum() for label in own])
        negatives = (above - among).sum() / (POSITIVES * (LABELS - POSITIVES))
        assert RankingLoss()(ranks)[i].item() == pytest.approx(negatives, rel=1e-12)
        assert AveragePrecision()(ranks)[i].item() == pytest.approx(np.mean(among / above))
        assert OneError()(ranks)[i].item() == (row.argmax() not in own)
