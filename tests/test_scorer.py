import pytest
import torch
from torch import nn

from gile_lightning import scorer as scorer_module
from gile_lightning.data.ragged import Texts
from gile_lightning.encoders import WAN, Mean, WordEmbedding
from gile_lightning.outputs import GILE, Linear
from gile_lightning.scorer import LabelTexts, Scorer, project_all

LABELS = [[1, 2], [3], [], [4, 5, 5], [0]]  # the third has no word
DOCUMENTS = [[5, 1, 3], [2], [], [0, 4]]
SEEN = 3


def texts(rows):
    return Texts(
        torch.tensor([word for row in rows for word in row], dtype=torch.int32),
        torch.tensor([len(row) for row in rows]),
        torch.ones(len(rows)).long(),
    )


def make(output, norm=nn.Identity):
    torch.manual_seed(6)
    embedding = WordEmbedding([f"w{i}" for i in range(6)], 4)
    encoder = WAN(4)
    norms = [norm(), norm()]
    return Scorer(embedding, encoder, Mean(4), output(encoder.output_dim, 4, SEEN), *norms).double()


class Times(nn.Module):
    """Multiplies by its number."""

    count = 1

    def __init__(self):
        super().__init__()
        Times.count += 1
        self.number = Times.count

    def forward(self, values):
        return values * self.number


def equal(actual, expected):
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)


def test_vectors_are_normed_encodings(monkeypatch):
    monkeypatch.setattr(Times, "count", 1)
    scorer = make(GILE, norm=Times)  # documents times 2, labels times 3
    documents, labels = texts(DOCUMENTS), texts(LABELS)
    embed = scorer.embedding
    equal(scorer.encode_documents(documents), 2 * scorer.encoder.encode(embed, documents))
    equal(scorer.encode_labels(labels), 3 * scorer.label_encoder.encode(embed, labels))
    equal(
        scorer(documents, labels),
        scorer.output(scorer.encode_documents(documents), scorer.encode_labels(labels)),
    )


def test_projected_labels_give_the_scores_of_their_texts():
    scorer = make(GILE)
    labels = LabelTexts(texts(LABELS))
    projected = project_all(scorer, labels, SEEN)
    assert projected.shape == (len(LABELS), 500)  # the unseen ones, too
    assert not projected.requires_grad
    logits = scorer.output.score(scorer.encode_documents(texts(DOCUMENTS)), projected)
    equal(logits, scorer(texts(DOCUMENTS), texts(LABELS)))
    ids = torch.tensor([4, 0, 1])
    equal(scorer(texts(DOCUMENTS), labels.take(ids)), logits[:, ids])


@pytest.mark.parametrize("slab", [1, 2, 5, 6])
def test_projecting_in_slabs(monkeypatch, slab):
    scorer = make(GILE)
    labels = LabelTexts(texts(LABELS))
    whole = project_all(scorer, labels, SEEN)
    sizes = []
    encode = Mean.encode
    monkeypatch.setattr(scorer_module, "_LABEL_SLAB", slab)
    monkeypatch.setattr(
        Mean, "encode", lambda self, *args: sizes.append(len(args[1][2])) or encode(self, *args)
    )
    equal(project_all(scorer, labels, SEEN), whole)
    assert sum(sizes) == len(LABELS)
    assert max(sizes) == min(slab, len(LABELS))


def test_linear_gets_ids():
    scorer = make(Linear)
    vectors = scorer.encode_documents(texts(DOCUMENTS))
    linear = scorer.output.linear
    everything = vectors @ linear.weight.T + linear.bias
    ids = torch.tensor([2, 0])
    equal(scorer(texts(DOCUMENTS), ids), everything[:, ids])
    projected = project_all(scorer, LabelTexts(texts(LABELS)), SEEN)
    equal(scorer.output.score(vectors, projected), everything)  # the seen ones only


def test_take_label_texts():
    labels = LabelTexts(texts(LABELS))
    assert len(labels) == len(LABELS)
    taken = labels.take(torch.tensor([3, 2, 0, 3]))
    assert taken.words.tolist() == [4, 5, 5, 1, 2, 4, 5, 5]
    assert taken.sentence_lengths.tolist() == [3, 0, 2, 3]
    assert taken.document_lengths.tolist() == [1, 1, 1, 1]


def test_label_texts_move_with_the_model_but_are_not_saved():
    holder = nn.ModuleDict({"en": LabelTexts(texts(LABELS))})
    assert holder.state_dict() == {}
    holder.double()
    assert not any(buffer.is_floating_point() for buffer in holder.buffers())
    assert {buffer.device.type for buffer in holder.to("meta").buffers()} == {"meta"}
