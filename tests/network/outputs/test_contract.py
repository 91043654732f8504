"""What every output layer promises. A new layer is one more entry of OUTPUTS."""

from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.common.errors import InputError
from gile_lightning.network import LabelGroups
from gile_lightning.network.outputs import (
    GILE,
    Bilinear,
    GILEOnlyInput,
    GILEOnlyLabel,
    JointBilinear,
    Linear,
    MatchersOnly,
    OutputLayer,
)
from gile_testing.own_parts import ById

DOCUMENT_DIM, LABEL_DIM, LABEL_COUNT = 3, 4, 6
OUTPUTS = {
    "GILE": (partial(GILE, joint_dim=5), True),
    "GILE, matched, tanh": (partial(GILE, joint_dim="matched", activation=nn.Tanh), True),
    "GILE, three layers": (partial(GILE, joint_dim=5, layers=3), True),
    "GILE, only label": (GILEOnlyLabel, True),
    "GILE, only label, two layers": (partial(GILEOnlyLabel, layers=2, activation=nn.Tanh), True),
    "GILE, only input": (GILEOnlyInput, True),
    "GILE, only input, two layers": (partial(GILEOnlyInput, layers=2, activation=nn.Tanh), True),
    "Bilinear": (Bilinear, True),
    "JointBilinear": (partial(JointBilinear, joint_dim=5), True),
    "Linear": (Linear, False),
    "MatchersOnly": (MatchersOnly, True),
}
every_output = pytest.mark.parametrize("name", OUTPUTS)


def make(name, seed=1):
    torch.manual_seed(seed)
    return OUTPUTS[name][0](DOCUMENT_DIM, LABEL_DIM, LABEL_COUNT).double()


def inputs(output):
    """Five documents; all labels, as vectors or ids."""
    generator = torch.Generator().manual_seed(2)
    documents = torch.randn(5, DOCUMENT_DIM, dtype=torch.double, generator=generator)
    vectors = torch.randn(LABEL_COUNT, LABEL_DIM, dtype=torch.double, generator=generator)
    return documents, vectors if output.scores_unseen else torch.arange(LABEL_COUNT)


@every_output
def test_scores_unseen(name):
    assert make(name).scores_unseen is OUTPUTS[name][1]


@every_output
def test_labels_projected_once_give_the_same_scores(name):
    output = make(name)
    documents, labels = inputs(output)
    logits = output(documents, labels)
    assert logits.shape == (5, LABEL_COUNT)
    assert torch.equal(output.score(documents, output.project_labels(labels)), logits)


@every_output
def test_a_pair_does_not_depend_on_the_others(name):
    output = make(name)
    documents, labels = inputs(output)
    expected = output(documents, labels)[[3, 0]][:, [5, 1, 1]]
    torch.testing.assert_close(output(documents[[3, 0]], labels[[5, 1, 1]]), expected)


@every_output
def test_every_parameter_gets_a_gradient(name):
    output = make(name)
    parameters = list(output.parameters())
    if parameters:
        output(*inputs(output)).square().sum().backward()
    assert all(p.grad.abs().max() > 1e-6 for p in parameters)


@every_output
def test_gradients_are_those_of_finite_differences(name):
    output = make(name)
    documents, labels = inputs(output)
    documents.requires_grad_()
    if output.scores_unseen:
        labels.requires_grad_()
    run = lambda documents, labels, *_: output(documents, labels)  # noqa: E731
    assert torch.autograd.gradcheck(run, (documents, labels, *output.parameters()))


@every_output
def test_state_gives_the_same_scores(name, tmp_path):
    output, other = make(name), make(name, seed=9)
    expected = output(*inputs(output))
    if output.state_dict():
        assert not torch.allclose(other(*inputs(output)), expected)
    torch.save(output.state_dict(), tmp_path / "state.pt")
    other.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    assert torch.equal(other(*inputs(output)), expected)


@every_output
def test_vectors_of_another_size_are_refused(name):
    output = make(name)
    documents, labels = inputs(output)
    with pytest.raises(ValueError, match=r"4 dimensions, but .* made for 3: .* model.encoder"):
        output(torch.zeros(5, DOCUMENT_DIM + 1).double(), labels)
    if output.scores_unseen:
        with pytest.raises(ValueError, match=r"5 dimensions, but .* 4: .* model.label_encoder"):
            output(documents, torch.zeros(2, LABEL_DIM + 1).double())
        with pytest.raises(ValueError, match=r"3 dimensions, but .* 4: .* model.label_encoder"):
            output(documents, torch.zeros(2, LABEL_DIM - 1).double())


@pytest.mark.parametrize("lacking", ["score", "project_labels"])
def test_a_layer_projects_labels_and_scores(lacking):
    methods = {"score": torch.mm, "project_labels": torch.t}
    methods = {name: staticmethod(method) for name, method in methods.items()}
    whole = type("Own", (OutputLayer,), methods)(300, 300)
    assert whole(torch.ones(2, 300), torch.ones(5, 300)).tolist() == [[300] * 5] * 2
    del methods[lacking]
    with pytest.raises(TypeError, match=f"abstract method '?{lacking}"):
        type("Own", (OutputLayer,), methods)(DOCUMENT_DIM, LABEL_DIM)


@every_output
def test_languages_share_the_named_modules_and_nothing_else(name):
    first, second = make(name), make(name, seed=9)
    second.share_with(first)
    common = {id(p) for p in first.parameters()}
    own = {key.partition(".")[0] for key, p in second.named_parameters() if id(p) not in common}
    assert own == {key.partition(".")[0] for key, _ in first.named_parameters()} - {*first.shared}
    assert "unit" not in first.shared


def test_a_layer_by_id_says_which_weights_are_of_which_label():
    layer, groups = ById(3, 4, 6), LabelGroups([[1], [0]], [2, 1])
    state = {"table": torch.tensor([1.0, 2.0])}
    with pytest.raises(InputError, match=r"ById knows its labels by number, and has no select\(\)"):
        layer.select(state, torch.tensor([1, 0]))
    with pytest.raises(InputError, match=r"and has no regroup\(\)"):
        layer.regroup(state, groups)
    assert MatchersOnly.regroup(state, groups) is state
