"""The scripts of shells, of which bash is here to run its own."""

import subprocess

import pytest

from gile_lightning.__main__ import COMMANDS
from gile_lightning.commands.completion import completion
from gile_lightning.common.errors import InputError

pytest.importorskip("shtab")

SOME = {name: COMMANDS[name] for name in ("fit", "predict", "reproduce")}
ASK = """
source {script}
COMP_WORDS=({words} ""); COMP_WORDS[-1]='{last}'; COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_shtab_gile_lightning 2> /dev/null
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "gile_lightning"
    path.write_text(completion("bash", SOME), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("words", "last", "expected"),
    [
        ("", "pre", ["predict"]),
        ("predict", "--thr", ["--threshold"]),
        ("predict", "--qui", ["--quiet"]),
        ("predict --pretrained_backend", "o", ["openvino-int8"]),
        ("reproduce", "--dry", ["--dry_run"]),
        ("fit --config", "bioa", ["bioasq"]),
        ("fit", "--model.encoder.poo", ["--model.encoder.pooling"]),
        (
            "fit --model.output",
            "gile_lightning.network.outputs.B",
            ["gile_lightning.network.outputs.Bilinear"],
        ),
        ("fit --data.label_text", "name_", ["name_description"]),
    ],
)
def test_bash(script, words, last, expected, tmp_path):
    text = ASK.format(script=script, words=f"gile_lightning {words}", last=last)
    command = ["bash", "--norc", "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split() == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell):
    text = completion(shell, {"predict": COMMANDS["predict"]})
    assert "threshold" in text
    assert "openvino-int8" in text


def test_an_unknown_shell():
    with pytest.raises(InputError, match="'csh' is none of bash, zsh, fish"):
        completion("csh", SOME)
