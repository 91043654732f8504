import pytest
import torch

from gile_lightning.network.outputs import GILEOnlyInput, GILEOnlyLabel


@pytest.mark.parametrize("kind", [GILEOnlyLabel, GILEOnlyInput])
def test_one_projection(kind):
    torch.manual_seed(1)
    layer = kind(3, 4, 5).double()
    documents, labels = torch.randn(6, 3).double(), torch.randn(5, 4).double()
    found, unit = layer(documents, labels), layer.unit
    if kind is GILEOnlyLabel:
        labels = layer.label_projection(labels).relu()
    else:
        documents = layer.document_projection(documents).relu()
    expected = (documents * unit.weight) @ labels.T + unit.bias
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
