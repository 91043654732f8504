"""Small models with every part of the package, for tests of numbers."""

from functools import partial

import torch
from torch import nn

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.network import LabelResidual, Ridge
from gile_lightning.network.encoders import (
    GRU,
    HAN,
    HNN,
    WAN,
    AveragePooling,
    BiGRU,
    Concatenation,
    Dense,
    HashedWords,
    IdfMean,
    Mean,
    SumPooling,
    WordEmbedding,
)
from gile_lightning.network.matchers import (
    CharacterMatch,
    LexicalMatch,
    LexicalPassage,
    NameMention,
)
from gile_lightning.network.outputs import (
    GILE,
    Bilinear,
    GILEOnlyInput,
    GILEOnlyLabel,
    JointBilinear,
    Linear,
    MatchersOnly,
)
from gile_lightning.systems import NeuralSystem
from gile_lightning.training.losses import BinaryCrossEntropy, SoftmaxCrossEntropy
from gile_lightning.training.samplers import (
    AllLabels,
    HardLabels,
    PopularLabels,
    SharedUniformLabels,
    UniformLabels,
)
from gile_testing.two_languages import PARTS, languages

NAME = "english"
REGRESSION = partial(Ridge, word_features=8, ngram_features=8)
FROZEN = {"embedding": partial(WordEmbedding, dim=6, trainable=False), "encoder": IdfMean}
MODELS = {
    **{
        f"{kind.__name__}, {layer.__name__}": {
            "encoder": partial(kind, layer=partial(layer, dim=4))
        }
        for kind in (WAN, HAN, HNN)
        for layer in (Dense, GRU, BiGRU)
    },
    "Mean": {"encoder": Mean},
    "IdfMean": {"encoder": partial(IdfMean, sublinear_tf=True, learned=True)},
    "HashedWords": {"encoder": HashedWords},
    "Concatenation": {"encoder": partial(Concatenation, encoders=[Mean, HashedWords])},
    "sparse": {"embedding": partial(WordEmbedding, dim=6, sparse=True)},
    **{
        kind.__name__: {"encoder": partial(WAN, layer=partial(Dense, dim=4), pooling=kind)}
        for kind in (SumPooling, AveragePooling)
    },
    "GILE": {"output": GILE},
    "GILE, layers": {"output": partial(GILE, joint_dim=4, layers=3, activation=nn.Tanh)},
    "Bilinear": {"output": Bilinear},
    "JointBilinear": {"output": partial(JointBilinear, joint_dim=4)},
    "GILEOnlyLabel": {"output": GILEOnlyLabel},
    "GILEOnlyInput": {"output": GILEOnlyInput},
    "Linear": {"output": Linear},
    "MatchersOnly": {"output": MatchersOnly, "matchers": [LexicalMatch]},
    **{
        type(sampler).__name__ + getattr(sampler, "correction", ""): {"sampler": sampler}
        for sampler in (
            AllLabels(),
            UniformLabels(0.5),
            HardLabels(hard=1, random=1),
            PopularLabels(0.5),
            PopularLabels(0.5, correction="importance"),
            SharedUniformLabels(0.5, correction="log_q"),
        )
    },
    "softmax, importance": {
        "sampler": SharedUniformLabels(0.7, correction="importance"),
        "loss": SoftmaxCrossEntropy(),
    },
    "softmax, log_q": {
        "sampler": PopularLabels(0.7, correction="log_q"),
        "loss": SoftmaxCrossEntropy(),
    },
    "BinaryCrossEntropy": {"loss": BinaryCrossEntropy()},
    "SoftmaxCrossEntropy": {"loss": SoftmaxCrossEntropy()},
    "LexicalMatch": {"matchers": [partial(LexicalMatch, stemmer="english")]},
    "LexicalPassage": {"matchers": [partial(LexicalPassage, stemmer="english", passage_words=5)]},
    "CharacterMatch": {"matchers": [CharacterMatch]},
    "NameMention": {"matchers": [partial(NameMention, hidden=3, taxonomy=True)]},
    "residual and regression": FROZEN | {"label_residual": LabelResidual, "ridge": REGRESSION},
}


def model(parts, tasks=None, seed=1) -> NeuralSystem:
    """Return a model whose weights and draws follow from a seed; by default of English."""
    torch.manual_seed(seed)
    made = NeuralSystem(**PARTS | parts)
    made.build(tasks or {NAME: languages()[NAME]})
    for parameter in made.parameters():
        parameter.data.add_(torch.randn_like(parameter) / 10)
    made.log = lambda *args, **options: None
    made.generator = lambda *place: torch.Generator().manual_seed(seed + 2)
    return made


def parts_of_a_step(made: NeuralSystem, batch: RaggedBatch) -> set[str]:
    """Return the names of the parts and of the functions with own gradients that a step runs."""
    found: set[str] = set()
    for part in made.modules():
        part.register_forward_hook(lambda part, *_: found.add(type(part).__name__))
    waiting, met = [made.training_step({NAME: batch}, 0).grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in met:
            met.add(node)
            waiting += [before for before, _ in node.next_functions]
    found |= {type(node).__name__.removesuffix("Backward") for node in met}
    samplers = [made.sampler, getattr(made.sampler, "pool", None)]
    return found | {type(part).__name__ for part in (made.loss, *samplers)}
