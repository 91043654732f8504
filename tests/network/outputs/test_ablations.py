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


@pytest.mark.parametrize(
    ("kind", "parameters"),  # at the sizes of DW: d_h = 100, d = 40
    [(GILEOnlyLabel, 41 * 100 + 101), (GILEOnlyInput, 101 * 40 + 41)],
)
def test_number_of_parameters(kind, parameters):
    assert sum(p.numel() for p in kind(100, 40, 327).parameters()) == parameters
