import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.outputs import GILE, Linear
from gile_lightning.released import ReleasedModel

LANGUAGES = ("english", "german", "arabic")
COUNTS = dict(zip(LANGUAGES, (5, 7, 9), strict=True))


def gile(**settings):
    return ReleasedModel(LANGUAGES, joint_dim=6, input_dim=3, hidden_dim=4, **settings)


def linear(**settings):
    return ReleasedModel(LANGUAGES, label_counts=COUNTS, input_dim=3, hidden_dim=4, **settings)


@pytest.mark.parametrize(
    ("sharing", "layers", "poolings"),
    [("none", 3, 3), ("encoders", 1, 3), ("attention", 3, 1), ("both", 1, 1)],
)
def test_sharing(sharing, layers, poolings):
    model = gile(sharing=sharing)
    encoders = [model.encoder(name) for name in LANGUAGES]
    for names, count in ((encoders[0].layers, layers), (encoders[0].poolings, poolings)):
        for name in names:
            assert len({id(getattr(encoder, name)) for encoder in encoders}) == count
    outputs = [model.outputs[name] for name in LANGUAGES]
    assert all(isinstance(output, GILE) for output in outputs)
    assert len({id(output.document_projection) for output in outputs}) == 1
    assert len({id(output.label_projection) for output in outputs}) == 1
    assert len({id(output.unit) for output in outputs}) == 3
    assert model.label_counts == dict.fromkeys(LANGUAGES)


def test_linear():
    model = linear(sharing="both", args={"share": "both"})
    assert all(isinstance(model.outputs[name], Linear) for name in LANGUAGES)
    assert model.label_counts == COUNTS
    assert model.args == {"share": "both"}
    output = model("german", torch.randn(2, 900, 3))
    assert output.logits.shape == (2, 7)
    expected = model.outputs["german"].linear(output.document_vectors)
    torch.testing.assert_close(output.logits, expected)
    with pytest.raises(ValueError, match="needs its number of labels"):
        ReleasedModel(LANGUAGES)


def test_shapes_and_dtype():
    model = gile(layer_kind="bigru").double()
    output = model("arabic", torch.randn(2, 900, 3), torch.randn(8, 3))  # float32 in
    assert {value.dtype for value in output} == {torch.float64}
    shapes = [tuple(value.shape) for value in output]
    assert shapes == [(2, 8), (2, 30, 30), (2, 30), (2, 8)]


@pytest.mark.parametrize("make", [gile, linear])
def test_fine_tuning_reaches_every_module(make):
    torch.manual_seed(1)
    model = make(sharing="attention")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.abs_()  # so that no ReLU is 0 everywhere
    for name in LANGUAGES:
        labels = torch.rand(8, 3) if make is gile else None
        model(name, torch.rand(2, 900, 3), labels).logits.square().sum().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


@pytest.mark.parametrize(
    ("make", "language", "x", "labels", "message"),
    [
        (gile, "germann", (1, 900, 3), (8, 3), r"no language 'germann', only .*mean 'german'\?"),
        (gile, "", (1, 900, 3), (8, 3), "no language ''"),
        (gile, "german", (900, 3), (8, 3), r"documents have shape \[900, 3\], expected \[B, 900"),
        (gile, "german", (1, 900, 4), (8, 3), r"shape \[1, 900, 4\], expected \[B, 900, 3\]"),
        (gile, "german", (1, 30, 3), (8, 3), "pad to 30 sentences of 30 words"),
        (gile, "german", (1, 900, 3), None, r"give label vectors \[k, 3\]"),
        (gile, "german", (1, 900, 3), (8, 4), r"label vectors have shape \[8, 4\], expected"),
        (gile, "german", (1, 900, 3), (3,), r"label vectors have shape \[3\], expected \[k, 3\]"),
        (linear, "german", (1, 900, 3), (8, 3), "linear output layers.*leave the label vectors"),
    ],
)
def test_wrong_inputs(make, language, x, labels, message):
    given = None if labels is None else torch.zeros(labels)
    with pytest.raises(InputError, match=message):
        make()(language, torch.zeros(x), given)
