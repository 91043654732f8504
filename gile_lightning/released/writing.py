"""Writes files of the format in which the authors published their models."""

import json
from collections import Counter
from pathlib import Path

from torch import nn

from gile_lightning.released.arguments import ENCODERS, SHARING
from gile_lightning.released.layout import Layout
from gile_lightning.released.model import ReleasedModel
from gile_lightning.released.tensors import PARTS_KERAS_2


def write_weights(model: ReleasedModel, h5_path: Path | str, args_path: Path | str) -> None:
    """Write a model as `read_weights` reads it: its tensors (Keras 2) and its settings.

    So the import can be tried without the authors' files. Layers are numbered in the order in
    which the authors' code makes them. Of their settings only those are written that decide what
    a model computes.

    Args:
        model: of whatever sizes and languages.
        h5_path: the weight file to write; an older one is replaced.
        args_path: the file of settings to write, likewise.
    """
    gile = model.joint_dim is not None
    first = model.encoder(model.languages[0]).word_layer
    hidden_dim = int(first.hidden_dim)  # type: ignore[arg-type]
    layout = Layout(
        tuple(model.languages), model.sharing, model.layer_kind, gile, model.input_dim, hidden_dim
    )
    import h5py  # which takes a tenth of a second

    numbers: Counter[str] = Counter()
    with h5py.File(h5_path, "w") as file:
        for component in layout.components():
            numbers[component.kind] += 1
            name = f"{component.kind}_{numbers[component.kind]}"
            module = model.get_submodule(component.target)
            kernel, *others = (x.detach().cpu().numpy() for x in module.parameters())
            # Keras multiplies from the right, x W; nn.Linear holds W transposed
            values = [kernel.T if isinstance(module, nn.Linear) else kernel, *others]
            for part, value in zip(PARTS_KERAS_2[component.kind], values, strict=True):
                file[f"{name}/{name}/{part}"] = value
    arguments = {
        "languages": model.languages,
        "share": {ours: theirs for theirs, ours in SHARING.items()}[model.sharing],
        "enc": {ours: theirs for theirs, ours in ENCODERS.items()}[model.layer_kind],
        "la": gile,
        "wdim": model.input_dim,
        "sdim": hidden_dim,
        "ddim": hidden_dim,
        "gruact": model.layer.keywords.get("activation", "tanh"),
    }
    Path(args_path).write_text(json.dumps(arguments, indent=1), encoding="utf-8")
