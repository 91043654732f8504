"""The published weights against what the authors' own code computed from them."""

import json
import shutil

import h5py
import numpy as np
import pytest
import torch

from gile_lightning.data.loading.ragged import Texts
from gile_lightning.released import ReleasedModel, read_weights

MODELS = {
    "enc-gen/gile-han-dense/german": ("none", "dense"),
    "enc-gen/gile-han-gru/arabic": ("none", "gru"),
    "enc-gen/gile-han-bigru/english": ("none", "bigru"),
    "bi-gen/en-de/gile-mhan-att/english": ("attention", "dense"),
    "bi-gen/en-de/gile-mhan-att/german": ("attention", "dense"),
    "bi-gen/en-ar/gile-mhan-enc/arabic": ("encoders", "dense"),
    "bi-gen/en-es/gile-mhan-both/spanish": ("both", "dense"),
    "mhan/bi-gen/en-ar/mhan-att/english": ("attention", "dense"),
}
FIELDS = ("h", "word_attention", "sentence_attention", "logits", "probs")

every_model = pytest.mark.parametrize("name", MODELS)
every_dtype = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)


def weights_of(folder):
    (path,) = folder.glob("*.h5")
    return path


def check(model, fixture, expected, dtype):
    """Compare all outputs for all languages; `expected` comes before `fixture`."""
    model = model.to(dtype)
    x = torch.from_numpy(fixture["x"])
    for language in fixture["languages"].tolist():
        key = f"e_{language}"
        labels = torch.from_numpy(fixture[key]) if key in fixture else None
        with torch.no_grad():
            output = model(language, x, labels)
        actual = dict(zip(FIELDS, [*output, output.logits.sigmoid()], strict=True))
        for field, value in actual.items():
            name = f"{field}_{language}"
            atol = 1e-9 if dtype == torch.float64 else 1e-3 if field == "logits" else 2e-5
            wanted = (expected if name in expected else fixture)[name]
            assert value.dtype == dtype
            np.testing.assert_allclose(value, wanted, rtol=0, atol=atol, err_msg=name)


@every_dtype
@every_model
def test_all_outputs(shared, name, dtype):
    folder = shared / "fixtures" / name
    model = read_weights(weights_of(folder), folder / "args.json")
    fixture = np.load(folder / "fixture.npz")
    check(model, fixture, fixture, dtype)


@every_dtype
@pytest.mark.parametrize(
    "name",
    [
        "enc-gen/gile-han-gru/arabic",
        "enc-gen/gile-han-bigru/english",
        "bi-gen/en-es/gile-mhan-both/spanish",
    ],
)
def test_all_outputs_with_live_scorers(shared, tmp_path, name, dtype):
    """In these models a network is 0 everywhere; another bias brings it to life."""
    folder = shared / "fixtures" / name
    path = shutil.copyfile(weights_of(folder), tmp_path / "live.h5")
    live = np.load(folder / "fixture_live.npz")
    with h5py.File(path, "r+") as file:
        for tensor, value in zip(live["tensors"].tolist(), live["values"], strict=True):
            file[tensor.partition("/")[0]][tensor][...] = value
    model = read_weights(path, folder / "args.json")
    check(model, np.load(folder / "fixture.npz"), live, dtype)


@every_model
def test_description(shared, name):
    folder = shared / "fixtures" / name
    model = read_weights(weights_of(folder), folder / "args.json")
    fixture = np.load(folder / "fixture.npz")
    entries = json.loads((shared / "fixtures" / "manifest.json").read_text())
    (entry,) = [entry for entry in entries if entry["folder"] == name]
    assert sum(p.numel() for p in model.parameters()) == fixture["n_parameters"]
    assert (model.sharing, model.layer_kind) == MODELS[name]
    assert model.languages == fixture["languages"].tolist()
    assert model.joint_dim == entry["d_j"]
    assert model.args == json.loads((folder / "args.json").read_text())
    counts = fixture["num_labels"].tolist() if entry["output"] == "linear" else [None, None]
    assert list(model.label_counts.values()) == counts[: len(model.languages)]


@every_model
def test_without_args(shared, name):
    folder = shared / "fixtures" / name
    known = read_weights(weights_of(folder), folder / "args.json")
    inferred = read_weights(weights_of(folder))
    assert inferred.languages == [f"language_{i}" for i in range(len(known.languages))]
    assert (inferred.sharing, inferred.layer_kind) == (known.sharing, known.layer_kind)
    assert list(inferred.label_counts.values()) == list(known.label_counts.values())
    assert inferred.args == {}
    for mine, other in zip(inferred.parameters(), known.parameters(), strict=True):
        assert torch.equal(mine, other)


@every_model
def test_ragged_documents(shared, name):
    """The encoder pads ragged documents to what the authors' code was given."""
    folder = shared / "fixtures" / name
    model: ReleasedModel = read_weights(weights_of(folder), folder / "args.json").double()
    fixture = np.load(folder / "fixture.npz")
    document_lengths = torch.from_numpy(fixture["document_lengths"]).long()
    lengths = torch.from_numpy(fixture["sentence_lengths"]).long()
    x = torch.from_numpy(fixture["x"]).double().view(-1, 30, 30, 40)
    words, sentence_lengths = [], []
    for document, size in enumerate(document_lengths.tolist()):
        for sentence in range(size):
            sentence_lengths.append(int(lengths[document, sentence]))
            words.append(x[document, sentence, : sentence_lengths[-1]])
    vectors = torch.cat(words)
    ragged = Texts(torch.arange(len(vectors)), torch.tensor(sentence_lengths), document_lengths)
    for language in model.languages:
        with torch.no_grad():
            found = model.encoder(language)(vectors, ragged)
        np.testing.assert_allclose(found, fixture[f"h_{language}"], rtol=0, atol=1e-9)
