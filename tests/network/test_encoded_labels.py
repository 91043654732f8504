import torch
from torch import nn

from gile_lightning.network import NOT_SEEN, EncodedLabels
from gile_testing.ragged import texts

ROWS = [[1, 2], [3], [], [4, 5, 5], [0]]


def test_select():
    labels = EncodedLabels(texts(ROWS), frequencies=[7, 2])
    assert len(labels) == len(ROWS)
    assert labels.frequencies.tolist() == [7, 2]
    selected = labels.select(torch.tensor([3, 2, 0]))
    assert selected.ids.tolist() == [3, 2, 0]
    assert selected.residual_ids.tolist() == [NOT_SEEN] * 3
    assert selected.texts.words.tolist() == [4, 5, 5, 1, 2]
    assert selected.texts.sentence_lengths.tolist() == [3, 0, 2]
    assert selected.texts.document_lengths.tolist() == [1, 1, 1]
    assert labels.select(torch.tensor([1]), texts=False).texts is None


def test_they_move_with_the_model_but_are_not_saved():
    vectors = torch.zeros(len(ROWS), 2)
    labels = EncodedLabels(texts(ROWS)._replace(vectors=vectors))
    holder = nn.ModuleDict({"en": labels})
    assert holder.state_dict() == {}
    assert {buffer.device.type for buffer in holder.to("meta").buffers()} == {"meta"}
    assert labels.words.device.type == "cpu"  # where labels are chosen
