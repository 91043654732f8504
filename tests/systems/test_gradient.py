from functools import partial
from types import SimpleNamespace

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import WordEmbedding
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.optimizers import LazyAdam
from gile_testing.two_languages import PARTS, TwoLanguages, languages


def test_sparse_gradients_need_an_optimizer_that_takes_them():
    sparse = partial(WordEmbedding, dim=6, sparse=True)
    adam = partial(torch.optim.Adam, lr=0.01)
    with pytest.raises(InputError, match="LazyAdam, or --model"):
        NeuralSystem(embedding=sparse, optimizer=adam).check()
    NeuralSystem(embedding=sparse, optimizer=LazyAdam).check()
    frozen = partial(WordEmbedding, dim=6, sparse=True, trainable=False)
    NeuralSystem(embedding=frozen, optimizer=adam).check()


def test_sparse_gradients_are_those_of_trained_word_vectors():
    data = TwoLanguages().training_data()
    for trainable in (True, False):
        embedding = partial(WordEmbedding, sparse=True, trainable=trainable)
        model = NeuralSystem(embedding=embedding, optimizer=LazyAdam)
        model.attach(data)
        model.configure_optimizers()
        names = [f"networks.{name}.embedding.weight" for name in languages()] if trainable else []
        assert [*model.sparse_parameters()] == names
        # DDP leaves them alone
        assert {*names} <= {*model._ddp_params_and_buffers_to_ignore}


def test_frozen_parts_are_not_trained():
    model = NeuralSystem(**PARTS | {"embedding": partial(WordEmbedding, dim=6, trainable=False)})
    model.build(languages())
    (group,) = model.configure_optimizers().param_groups
    trained = {id(parameter) for parameter in group["params"]}
    for name in languages():
        assert id(model.networks[name].embedding.weight) not in trained
    assert len(trained) == sum(p.requires_grad for p in model.parameters())


def test_an_encoder_has_a_learning_rate_of_its_own():
    adam = partial(torch.optim.Adam, lr=1e-3)
    model = NeuralSystem(**PARTS | {"optimizer": adam})
    model.build(languages())
    encoder = model.networks["english"].encoder
    encoder.lr = 1e-5
    rest, own = model.configure_optimizers().param_groups
    assert (rest["initial_lr"], own["initial_lr"]) == (1e-3, 1e-5)
    assert {id(p) for p in own["params"]} == {id(p) for p in encoder.parameters()}
    trained = sum(p.requires_grad for p in model.parameters())
    assert len(rest["params"]) + len(own["params"]) == trained


@pytest.mark.parametrize("scheduled", [False, True])
def test_a_run_that_goes_on_without_a_schedule_has_the_rate_of_its_beginning(scheduled):
    """A schedule sets the rate anew in each step; without one it would stay what it fell to."""
    model = NeuralSystem(**PARTS | {"optimizer": partial(torch.optim.Adam, lr=1e-3)})
    model.build(languages())
    optimizer = model.configure_optimizers()
    (group,) = optimizer.param_groups
    group["lr"] = 1e-9  # of the checkpoint
    configs = [object()] if scheduled else []
    model._trainer = SimpleNamespace(
        optimizers=[optimizer], lr_scheduler_configs=configs, world_size=1
    )
    model.on_train_start()
    assert group["lr"] == (1e-9 if scheduled else 1e-3)
