import torch

from gile_lightning.training.samplers import AllLabels


def test_every_label_once():
    frequencies = torch.tensor([5, 3, 1, 1])
    given = torch.tensor([2, 0, 3]), torch.tensor([2, 0, 1]), frequencies
    sample = AllLabels()(*given, torch.Generator())
    assert sample.labels.tolist() == [0, 1, 2, 3]
    assert sample.targets.tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert sample.weights.tolist() == [[1] * 4] * 3
