"""The settings that the authors' code stores beside its weights, ``args.json``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import Sharing
from gile_lightning.released.encoder import SENTENCES, WORDS
from gile_lightning.released.layout import Layout
from gile_lightning.released.model import LayerKind

SHARING: dict[str, Sharing] = {
    "none": "none",
    "enc": "encoders",
    "att": "attention",
    "both": "both",
}
ENCODERS: dict[str, LayerKind] = {"attdense": "dense", "attgru": "gru", "attbigru": "bigru"}

REQUIRED = ("languages", "share", "enc")
FIXED = {"wpad": SENTENCES * WORDS, "spad": SENTENCES, "swpad": WORDS, "act": "relu"}
GRU_ACTIVATIONS = ("tanh", "relu")
FIXED_OF_GILE = {"laact": "relu", "onlyinput": False, "onlylabel": False}


def read_arguments(path: Path) -> dict[str, Any]:
    """Read ``args.json``.

    Raises:
        InputError: the file is missing, is no JSON object, or lacks a key.
    """
    try:
        arguments = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror or error}; give the model's args.json"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON text ({error})") from error
    if not isinstance(arguments, dict):
        raise InputError(f"{path}: a JSON {type(arguments).__name__}, expected an object")
    missing = [key for key in REQUIRED if key not in arguments]
    if missing:
        raise InputError(f"{path}: no {', '.join(map(repr, missing))}; is this the args.json?")
    return arguments


def layout_of(arguments: Mapping[str, Any], path: Path) -> Layout:
    """Return the layout that the settings of ``path`` describe.

    Raises:
        InputError: a setting is not one of a released model, so that the weights would compute
            something else here than they did there.
    """
    languages = arguments["languages"]
    if (
        not isinstance(languages, list)
        or not all(isinstance(name, str) and name.isidentifier() for name in languages)
        or not 0 < len(set(languages)) == len(languages)
    ):
        raise InputError(f"{path}: languages is {languages!r}, expected a list of different names")
    for key, choices in (("share", SHARING), ("enc", ENCODERS)):
        if arguments[key] not in list(choices):
            raise InputError(
                f"{path}: {key} is {arguments[key]!r}; only models with {key} "
                f"{' or '.join(choices)} can be read"
            )
    for key in ("wdim", "sdim"):
        if not isinstance(arguments.get(key, 1), int) or arguments.get(key, 1) < 1:
            raise InputError(f"{path}: {key} is {arguments[key]!r}, expected a number above 0")
    layout = Layout(
        tuple(languages),
        SHARING[arguments["share"]],
        ENCODERS[arguments["enc"]],
        gile=bool(arguments.get("la")),
        input_dim=arguments.get("wdim", 40),
        hidden_dim=arguments.get("sdim", 100),
    )
    expected: dict[str, Any] = FIXED | {"ddim": layout.hidden_dim}
    if layout.layer_kind != "dense":
        if "gruact" not in arguments:  # the baselines' models had another than the paper's
            raise InputError(f"{path}: no 'gruact', the activation of the recurrent layers")
        if arguments["gruact"] not in GRU_ACTIVATIONS:
            raise InputError(
                f"{path}: gruact is {arguments['gruact']!r}; only models with gruact "
                f"{' or '.join(GRU_ACTIVATIONS)} can be read"
            )
    if layout.gile:
        expected |= FIXED_OF_GILE
        if len(languages) > 1:
            expected |= {"lashare": True}
    for key, value in expected.items():
        if arguments.get(key, value) != value:
            raise InputError(
                f"{path}: {key} is {arguments[key]!r}; only models with {key} {value!r} can be read"
            )
    return layout
