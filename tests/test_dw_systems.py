"""Every system that docs/systems.md makes of sweeps/dw.yaml, by the overrides it shows."""

from pathlib import Path

import pytest
import torch

from gile_lightning.commands.cli import GileCLI
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

ROOT = Path(__file__).parents[1]
LABELS = {"english": 327, "german": 367}
SHORT = {"$E.": "gile_lightning.network.encoders.", "$O.": "gile_lightning.network.outputs."}

MONO, BOTH = ["english"], ["english", "german"]
NN, HNN = "--model.encoder $E.Mean", "--model.encoder $E.HNN"
LINEAR = "--model.output $O.Linear"
GRU, BIGRU = "--model.encoder.layer $E.GRU", "--model.encoder.layer $E.BiGRU"


def sharing(kind):
    return f"--model.sharing {kind}"


HEADS = 101 * 327, 101 * (327 + 367)  # linear layers over documents of 100
JOINT = (41 + 101) * 233 + 233 + 1  # GILE in English
JOINT_2 = (41 + 101) * 495 + 2 * (495 + 1)  # and in both languages
SYSTEMS = {
    "NN": (MONO, [NN, LINEAR], 41 * 327),
    "HNN": (MONO, [HNN, LINEAR], 14_200 + HEADS[0]),
    "HAN": (MONO, [LINEAR], 34_602 + HEADS[0]),
    "GILE-NN": (MONO, [NN], 2 * 41 * 163 + 163 + 1),
    "GILE-HNN": (MONO, [HNN], 14_200 + JOINT),
    "GILE-HAN": (MONO, [], 34_602 + JOINT),
    "MHAN-Enc": (BOTH, [LINEAR, sharing("encoders")], 14_200 + 2 * 20_402 + HEADS[1]),
    "MHAN-Att": (BOTH, [LINEAR, sharing("attention")], 2 * 14_200 + 20_402 + HEADS[1]),
    "MHAN-Both": (BOTH, [LINEAR, sharing("both")], 34_602 + HEADS[1]),
    "GILE-MHAN-Enc": (BOTH, [sharing("encoders")], 14_200 + 2 * 20_402 + JOINT_2),
    "GILE-MHAN-Att": (BOTH, [], 120_084),
    "GILE-MHAN-Both": (BOTH, [sharing("both")], 34_602 + JOINT_2),
    "HAN-GRU": (MONO, [GRU, LINEAR], 123_002 + HEADS[0]),
    "HAN-biGRU": (MONO, [BIGRU, LINEAR], 346_002 + 201 * 327),
    "GILE-HAN-GRU": (MONO, [GRU], 123_002 + JOINT),
    "GILE-HAN-biGRU": (MONO, [BIGRU], 402_622),
    "BIL-HAN [N16]": (MONO, ["--model.output $O.Bilinear"], 34_602 + 4_000),
    "BIL-HAN [YH15]": (
        MONO,
        ["--model.output $O.JointBilinear", "--model.output.joint_dim 100"],
        34_602 + 4_000 + 10_000,
    ),
    "constrained": (MONO, ["--model.output.joint_dim 100"], 34_602 + 41 * 100 + 101 * 100 + 101),
    "only label": (MONO, ["--model.output $O.GILEOnlyLabel"], 34_602 + 41 * 100 + 101),
    "only input": (MONO, ["--model.output $O.GILEOnlyInput"], 34_602 + 101 * 40 + 41),
}


def language(labels):
    names = [f"label {i}" for i in range(labels)]
    return Task(Tokenizer(["word", "UNK"]), LabelSet(names, names, [1] * labels))


@pytest.mark.parametrize("system", SYSTEMS)
def test_system_is_an_override_of_the_file(system, tmp_path):
    languages, overrides, parameters = SYSTEMS[system]
    text = " ".join(overrides)
    for short, long in SHORT.items():
        text = text.replace(f" {short}", f" {long}")
    names = ",".join(languages)
    args = ["--config", str(ROOT / "sweeps/dw.yaml"), "--data.languages", names, *text.split()]
    args += ["--output", str(tmp_path / "run"), "--trainer.logger", "false"]
    cli = GileCLI([*args, "--trainer.accelerator", "cpu"], "fit", "")
    cli.model.check(cli.datamodule.names)
    with torch.device("meta"):
        cli.model.build({name: language(LABELS[name]) for name in cli.datamodule.names})
    assert sum(p.numel() for p in cli.model.parameters()) == parameters
