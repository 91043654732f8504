import importlib
import subprocess
import sys

import pytest

from gile_lightning.__main__ import COMMANDS


def test_commands_are_listed():
    command = [sys.executable, "-m", "gile_lightning"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name, text in COMMANDS.items():
        (line,) = [line for line in printed.splitlines() if f"gile_lightning.{name} " in line]
        assert line.endswith(text)
    assert len(printed.splitlines()) == 1 + len(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_main(name):
    module = importlib.import_module(f"gile_lightning.{name}")
    assert callable(module.main)
    assert f"python -m gile_lightning.{name}" in module.__doc__


@pytest.mark.parametrize("name", COMMANDS)
def test_help_with_the_arguments_of_the_process(name, monkeypatch, capsys):
    module = importlib.import_module(f"gile_lightning.{name}")
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as stop:
        module.main()
    assert not stop.value.code
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: python -m gile_lightning.{name} ")
    assert ("--project PROJECT" if name == "dashboard" else "--output OUTPUT") in printed


def test_load_is_imported_when_it_is_wanted():
    code = "import gile_lightning, sys; assert 'torch' not in sys.modules; gile_lightning.nothing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "AttributeError: module 'gile_lightning' has no attribute 'nothing'" in done.stderr
