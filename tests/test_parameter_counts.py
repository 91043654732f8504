"""The sizes that the paper prints, from models that are built but never allocated."""

from functools import partial

import pytest
import torch
from torch import nn

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import GRU, HAN, BiGRU, Dense, WordEmbedding
from gile_lightning.network.outputs import (
    GILE,
    Bilinear,
    GILEOnlyInput,
    GILEOnlyLabel,
    JointBilinear,
    Linear,
)
from gile_lightning.systems import NeuralSystem
from gile_lightning.systems.sizes import count_parameters

WORDS = 528_156
LABELS = 27_455  # those of MeSH 2015


@pytest.fixture(scope="module")
def bioasq():
    """Vocabulary and label set of the paper's size; every label is seen in training."""
    vocabulary = [*map(str, range(WORDS - 1)), "UNK"]
    names = [f"label {i}" for i in range(LABELS)]
    return Task(Tokenizer(vocabulary), LabelSet(names, names, [1] * LABELS))


def build(task, **parts):
    with torch.device("meta"):
        model = NeuralSystem(**parts)
        model.build({"en": task})
    assert {p.device.type for p in model.parameters()} == {"meta"}
    return model


@pytest.mark.parametrize(
    ("output", "parameters"),
    [
        (GILE, 52_937_402),  # 52.93M
        (partial(GILE, joint_dim=100), 52_856_202),  # 52.85M
        (Linear, 55_608_856),  # 55.60M
        (GILEOnlyLabel, 52_846_102),  # 52.84M
        (GILEOnlyInput, 52_846_102),  # 52.84M
        (Bilinear, 52_845_901),  # 52.84M
        (JointBilinear, 52_855_901),  # 52.85M
    ],
    ids=["GILE", "constrained", "WAN", "only label", "only input", "BIL N16", "BIL YH15"],
)
def test_sizes_of_table_2(bioasq, output, parameters):
    model = build(bioasq, output=output)
    assert count_parameters(model) == parameters
    assert model.network("en").embedding.weight.numel() == WORDS * 100


def test_default_norm_adds_no_parameter():
    task = Task(Tokenizer(["word", "UNK"]), LabelSet(["a"], ["word"], [1]))
    with_norm, without = build(task), build(task, norm=nn.Identity)
    assert isinstance(with_norm.network("en").document_norm, nn.LayerNorm)
    assert isinstance(with_norm.network("en").label_norm, nn.LayerNorm)
    assert count_parameters(with_norm) == count_parameters(without)


# --- DW: labels per language, general and specific (paper, Table 1) ---

LABELS_OF = {
    "english": (327, 1058),
    "german": (367, 809),
    "spanish": (159, 684),
    "portuguese": (95, 301),
    "ukrainian": (28, 260),
    "russian": (102, 814),
    "arabic": (91, 344),
    "persian": (71, 127),
}
MATCHED = partial(GILE, joint_dim="matched")
GENERAL, SPECIFIC = 0, 1


def dw_parameters(languages, kind=GENERAL, encoder=HAN, output=MATCHED, sharing="none"):
    """Count the parameters of a model with fixed 40-dimensional word vectors."""
    known = {}
    for name in languages:
        names = [f"label {i}" for i in range(LABELS_OF[name][kind])]
        labels = LabelSet(names, names, [1] * len(names))
        known[name] = Task(Tokenizer(["word", "UNK"]), labels)
    with torch.device("meta"):
        model = NeuralSystem(
            embedding=partial(WordEmbedding, dim=40, trainable=False),
            encoder=encoder,
            output=output,
            sharing=sharing,
        )
        model.build(known)
    return count_parameters(model)


def layered(layer):
    return partial(HAN, layer=layer)


@pytest.mark.parametrize(
    ("layer", "general", "printed"),  # mean over languages; "printed" in thousands (Table 4)
    [(Dense, 34_602 + 101 * 155, 50), (GRU, 123_002 + 101 * 155, 138), (BiGRU, 377_157, 377)],
)
def test_linear_sizes_of_table_4(layer, general, printed):
    counts = [dw_parameters([name], encoder=layered(layer), output=Linear) for name in LABELS_OF]
    assert sum(counts) / len(counts) == general
    assert general // 1000 == printed


def test_linear_size_with_specific_labels():
    counts = [dw_parameters([name], SPECIFIC, output=Linear) for name in LABELS_OF]
    assert sum(counts) / 8 == pytest.approx(34_602 + 101 * 549.625)
    assert int(sum(counts) / 8000) == 90


@pytest.mark.parametrize(
    ("layer", "means"),
    [(Dense, (50_369, 90_659)), (GRU, (138_769, None)), (BiGRU, (372_794, None))],
)
def test_mean_gile_sizes(layer, means):
    for kind, mean in enumerate(means):
        if mean is not None:
            found = [dw_parameters([name], kind, layered(layer)) for name in LABELS_OF]
            assert round(sum(found) / 8) == mean


@pytest.mark.parametrize(
    ("kind", "linear", "gile"), [(GENERAL, 32_405, 33_345), (SPECIFIC, 72_262, 75_626)]
)
def test_sizes_per_language_of_eight(kind, linear, gile):
    for output, mean in ((Linear, linear), (MATCHED, gile)):
        total = dw_parameters(LABELS_OF, kind, output=output, sharing="attention")
        assert int(total / 8) == mean


@pytest.mark.parametrize(("kind", "mean"), [(GENERAL, 40_056), (SPECIFIC, 79_913)])
def test_linear_sizes_per_language_of_two(kind, mean):
    # the printed figure averages the label counts over the eight languages
    encoder = dw_parameters(["english", "german"], output=Linear, sharing="attention")
    encoder -= 101 * sum(LABELS_OF[name][GENERAL] for name in ("english", "german"))
    labels = sum(counts[kind] for counts in LABELS_OF.values()) / 8
    assert round(encoder / 2 + 101 * labels) == mean


MULTILINGUAL = [
    ("attention", GENERAL, {"german": 120_084, "spanish": 98_772, "portuguese": 92_148}),
    ("attention", GENERAL, {"ukrainian": 85_236, "russian": 92_868, "arabic": 91_716}),
    ("attention", GENERAL, {"persian": 89_700}),
    ("encoders", GENERAL, {"arabic": 97_918}),
    ("both", GENERAL, {"spanish": 84_572, "portuguese": 77_948, "ukrainian": 71_036}),
    ("both", GENERAL, {"persian": 75_500}),
    ("attention", SPECIFIC, {"german": 240_756, "spanish": 227_940, "portuguese": 188_484}),
    ("attention", SPECIFIC, {"ukrainian": 184_308, "arabic": 192_948, "persian": 170_628}),
    ("encoders", SPECIFIC, {"russian": 247_534, "ukrainian": 190_510, "persian": 176_830}),
    ("both", SPECIFIC, {"german": 226_556}),
]


@pytest.mark.parametrize(
    ("sharing", "kind", "auxiliary", "total"),
    [(s, k, name, total) for s, k, totals in MULTILINGUAL for name, total in totals.items()],
)
def test_released_bilingual_totals(sharing, kind, auxiliary, total):
    assert dw_parameters(["english", auxiliary], kind, sharing=sharing) == total


@pytest.mark.parametrize(
    ("layer", "language", "total"),
    [
        (Dense, "german", 72_069),
        (Dense, "persian", 41_753),
        (GRU, "arabic", 132_298),
        (GRU, "russian", 133_299),
        (BiGRU, "english", 402_622),
        (BiGRU, "spanish", 373_462),
        (BiGRU, "portuguese", 362_284),
        (BiGRU, "ukrainian", 350_863),
    ],
)
def test_released_monolingual_totals(layer, language, total):
    assert dw_parameters([language], encoder=layered(layer)) == total
