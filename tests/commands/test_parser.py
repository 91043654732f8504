import errno
import re
from typing import Literal

import pytest
import yaml

from gile_lightning import fit
from gile_lightning.commands.parser import command, parse
from gile_lightning.common.errors import InputError
from gile_testing import runs

USAGE = [
    "usage: python -m gile_lightning.fit [--config FILE] [--KEY VALUE ...]",
    "       python -m gile_lightning.fit --help lists every key; --model.help NeuralSystem and "
    "--data.help CLASS those of a part",
]
UNKNOWN = "unknown key"
OUTPUTS = "gile_lightning.network.outputs"
BIOASQ = "of gile_lightning.data.BioASQ; did you mean 'batch_size'?"


def refused(*args) -> str:
    """Run `fit`, which must refuse its arguments; return the error."""
    done = runs.call(fit.main, *args)
    assert done.status == 2
    assert done.printed == ""
    first, *rest = done.errors.splitlines()
    assert first.startswith("error: ")
    assert rest in ([], USAGE)  # the error is one line, the usage comes last
    return first.removeprefix("error: ")


@pytest.fixture
def config(tmp_path):
    """Writes the shipped configuration with a part of it replaced."""

    def write(old="", new="", name="edited.yaml"):
        text = runs.CONFIG.read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, new, 1) if old else new)
        return tmp_path / name

    return write


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("--trainer.max_epoch", "'trainer.max_epoch'; did you mean 'trainer.max_epochs'?"),
        ("--outptu", "'outptu'; did you mean 'output'?"),
        (
            "--model.ouput.joint_dim",
            "gile_lightning.systems.NeuralSystem; did you mean 'output'?",
        ),
        ("--data.batchsize", f"'batchsize' {BIOASQ}"),
        ("--data.batch-size", f"'batch-size' {BIOASQ}"),
        ("--model.encoder.layer.dims", "did you mean 'dim'?"),
        ("--model.optimizer.learning_rate", "of torch.optim.Adam; it takes "),
    ],
)
def test_unknown_keys(key, error):
    line = refused(*runs.arguments(None), key, "3")
    assert line.startswith(UNKNOWN)
    assert error in line


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("patience:", "patiance:", "did you mean 'early_stopping.patience'?"),
        ("batch_size:", "batchsize:", f"'batchsize' {BIOASQ}"),
        ("\nmodel:", "\nmodle:", "did you mean 'model'?"),
    ],
)
def test_unknown_keys_in_a_file(config, old, new, error):
    line = refused("--config", config(old, new))
    assert UNKNOWN in line
    assert error in line


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("--data.batch_size", "many"), "data.batch_size: expected int, not 'many'"),
        (
            ("--model.matchers.stemmer", "german"),
            "model.matchers.stemmer: model.matchers is a list",
        ),
        (("--model.encoder.encoders.embedding", "x"), "model.encoder.encoders is a list"),
        (("--model.label_encoder.encoders.embedding=x",), "model.label_encoder.encoders is a list"),
        (("--data.label_text", "all"), "data.label_text: expected 'description' or 'name_descr"),
        (("--model.sampler.rate", "big"), "model.sampler.rate: expected float, not 'big'"),
        (("--model.output.joint_dim", "x"), "model.output.joint_dim: expected int or 'matched', n"),
        (("--seed_everything", "x"), "seed_everything: expected bool or int, not 'x'"),
        (
            ("--model.encoder", "torch.nn.Linear"),
            "model.encoder: Expected 'torch.nn.Linear' to be a sub",
        ),
        (
            ("--model.output.joint_dim", "9", "--model.output", f"{OUTPUTS}.Bilinear"),
            f"unknown key 'joint_dim' of {OUTPUTS}.Bilinear",
        ),
        (("--model.loss", "nosuch"), "model.loss: there is no 'nosuch'; give an import path"),
        (("--data", "BioASK"), "data: there is no 'BioASK'; did you mean 'BioASQ'?"),
        (("--model.output", "gile_lightning.network.outputs.Gile"), "did you mean 'GILE'?"),
        (("--model", "AiTextM"), "model: there is no 'AiTextM'; did you mean 'AiTextML'?"),
        (("--output",), "argument --output: expected one argument"),
        (("extra",), "unrecognized arguments: extra"),
    ],
)
def test_wrong_values(args, error):
    assert error in refused(*runs.arguments(None), *args)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("batch_size: 64", "batch_size: many", "data.batch_size: expected int, not 'many'"),
        ("rate: 0.01", "rate: big", "model.sampler.rate: expected float, not 'big'"),
        (
            "batch_size: 64",
            "batch_size: 64\n    language: no",
            "data.language: expected str, not 'False'; put it in quotes, since YAML reads yes and",
        ),
        ("data.BioASQ", "data.BioASK", "data: there is no 'BioASK'; did you mean 'BioASQ'?"),
    ],
)
def test_wrong_values_in_a_file_name_it(config, old, new, error):
    path = config(old, new)
    line = refused("--config", path)
    assert line.startswith(f"{path}: ")
    assert error in line


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("--trainer.accelerator", "abacus"), "invalid accelerator name: `accelerator='abacus'`"),
        (("--trainer.max_epochs", "-3"), "`max_epochs` must be a non-negative integer or -1"),
        (("--early_stopping.monitor", "val/one_eror"), "did you mean 'val/one_error'?"),
        (("--early_stopping.monitor", "x"), "'x'; the scores are val/ranking_loss, "),
        (("--model.optimizer.lr", "-1"), "model.optimizer: Invalid learning rate: -1.0"),
    ],
)
def test_refused_by_what_they_configure(args, error, tmp_path):
    assert error in refused(*runs.arguments(tmp_path / "run"), *args)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("model: [unclosed\n  x: {", "line 2, column 4"),
        ("- 1\n- 2\n", "expected keys with values"),
        ("", "expected keys with values"),
    ],
)
def test_a_file_that_is_no_configuration(config, text, error):
    path = config("", text)
    line = refused("--config", path)
    assert line.startswith(f"{path}: ")
    assert re.search(error, line)


@pytest.mark.parametrize("name", ["bioask", "configurations/bioask.yaml", "."])
def test_a_missing_file(name):
    assert refused("--config", name).startswith(f"{name}: no such file")
    assert name == "." or "did you mean 'bioasq'?" in refused(f"--config={name}")


def test_no_data_section(config):
    file = config("", "seed_everything: 1\n")
    error = "missing: data; give it as --KEY VALUE or in a file (--config FILE)"
    assert refused() == refused("--config", file) == error


# --- a command's function as its parser ---


def cook(dish: str, minutes: int = 5, heat: Literal["low", "high"] = "low") -> None:
    """Cook a dish.

    Args:
        dish: what.
        minutes: how long.
        heat: how hot.
    """


def test_parse_a_function(tmp_path, capsys):
    given = {"dish": "soup", "minutes": 7, "heat": "high"}
    assert parse(cook, ["--dish", "soup", "--minutes", "7", "--heat", "high"], "cook") == given
    (tmp_path / "soup.yaml").write_text(yaml.safe_dump(given))
    config = ["--config", str(tmp_path / "soup.yaml")]
    assert parse(cook, [*config, "--minutes", "9"], "cook") == given | {"minutes": 9}
    with pytest.raises(SystemExit) as stop:
        parse(cook, ["--help"], "cook")
    assert not stop.value.code
    printed = capsys.readouterr().out
    assert "Cook a dish." in printed
    assert "how long. (type: int, default: 5)" in printed
    assert "Args" not in printed


def fry(oil: bool = False, lid: bool = True, minutes: int = 5) -> None:
    """Fry something."""


@pytest.mark.parametrize(
    ("args", "given"),
    [
        ((), (False, True, 5)),
        (("--oil",), (True, True, 5)),
        (("--oil", "--lid", "false", "--minutes", "3"), (True, False, 3)),
        (("--lid=false", "--oil", "true"), (True, False, 5)),
        (("--minutes", "3", "--oil"), (True, True, 3)),
    ],
)
def test_a_switch_needs_no_value(args, given):
    assert tuple(parse(fry, [*args], "fry").values()) == given


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((), "missing: dish; give it as --KEY VALUE or in a file (--config FILE)"),
        (("--dish", "soup", "--minuts", "3"), "unknown key 'minuts'; did you mean 'minutes'?"),
        (("--dish", "soup", "--minutes", "long"), "minutes: expected int, not 'long'"),
        (("--dish", "soup", "--heat", "hot"), "heat: expected 'low' or 'high', not 'hot'"),
    ],
)
def test_parse_errors(args, error, capsys):
    with pytest.raises(SystemExit) as stop:
        parse(cook, [*args], "cook")
    assert stop.value.code == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == f"error: {error}"
    usage = ["usage: cook [--config FILE] [--KEY VALUE ...]", "       cook --help lists every key"]
    assert rest == usage


@pytest.mark.parametrize(
    ("error", "status", "printed"),
    [
        (InputError("no such file"), 2, "error: no such file\n"),
        (KeyboardInterrupt(), 130, "interru"),
        (OSError(errno.ENOSPC, "No space", "table.md"), 2, "error: table.md: No space; make"),
        (OSError(errno.ENOSPC, "No space left"), 2, "error: No space left; make room first\n"),
        (OSError(errno.EFBIG, "Too large", "a"), 2, "error: a: Too large; raise its limit first\n"),
        (PermissionError(errno.EACCES, "denied", "a"), 2, "error: a: denied; "),
        (OSError(errno.EINVAL, "Invalid argument", "a"), None, ""),
        (ZeroDivisionError(), None, ""),
    ],
)
def test_errors_of_users_end_a_command_without_a_traceback(error, status, printed, capsys):
    @command
    def main(args=None):
        raise error

    with pytest.raises(type(error) if status is None else SystemExit) as stop:
        main([])
    if status is not None:
        assert stop.value.code == status
        assert capsys.readouterr().err.startswith(printed)


def test_a_command_returns():
    @command
    def main(args=None):
        """Count."""
        return len(args)

    assert (main(["a", "b"]), main.__doc__) == (2, "Count.")
