"""Files that are written as the authors' are, and read back."""

import h5py
import pytest
import torch

from gile_lightning.released import ReleasedModel, read_weights, write_weights

MODELS = {
    "two languages": (["english", "german"], "attention", "dense", 7),
    "shared encoders": (["english", "arabic"], "encoders", "dense", 5),
    "recurrent": (["arabic"], "none", "gru", 6),
    "both directions": (["english"], "none", "bigru", 4),
    "linear": (["german"], "none", "dense", None),
}


@pytest.mark.parametrize("name", MODELS)
def test_what_is_written_is_read(name, tmp_path):
    languages, sharing, kind, joint_dim = MODELS[name]
    torch.manual_seed(0)
    counts = dict.fromkeys(languages, 3)
    model = ReleasedModel(languages, sharing, kind, counts, joint_dim, input_dim=8, hidden_dim=5)
    write_weights(model, tmp_path / "weights.h5", tmp_path / "args.json")
    again = read_weights(tmp_path / "weights.h5", tmp_path / "args.json")
    assert (again.languages, again.sharing, again.layer_kind) == (languages, sharing, kind)
    own, read = model.state_dict(), again.state_dict()
    assert own.keys() == read.keys()
    assert all(torch.equal(own[key], read[key].to(own[key].dtype)) for key in own)


def test_layers_have_the_published_names(tmp_path):
    """Those of the bilingual models that share their attention."""
    model = ReleasedModel(["english", "german"], "attention", joint_dim=7)
    write_weights(model, tmp_path / "weights.h5", tmp_path / "args.json")
    with h5py.File(tmp_path / "weights.h5") as file:
        shapes = {name: file[f"{name}/{name}/kernel"].shape for name in file}
    hidden, score, unit, word = (100, 100), (100, 1), (7, 1), (40, 100)
    by_number = [hidden, score, hidden, score, word, hidden, unit, word, hidden, unit]
    expected = {f"time_distributed_{i}": shape for i, shape in enumerate(by_number, 1)}
    assert shapes == expected | {"dense_1": (100, 7), "dense_2": (40, 7)}
