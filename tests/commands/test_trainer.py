from types import SimpleNamespace

import pytest
import torch

from gile_lightning.commands import trainer as module
from gile_lightning.common.errors import InputError


def trainer(count, device="cpu"):
    return SimpleNamespace(
        num_devices=count, strategy=SimpleNamespace(root_device=torch.device(device))
    )


def test_many_more_processes_than_cores_are_refused(monkeypatch, capsys):
    monkeypatch.setattr(module, "cores", lambda: 2)
    module.check_processes(trainer(2))
    module.check_processes(trainer(99, "cuda"))
    assert not capsys.readouterr().out
    module.check_processes(trainer(8))
    assert "8: on the CPU that many processes, for 2 cores; 2 would be" in capsys.readouterr().out
    with pytest.raises(InputError, match=r"--trainer\.devices 9: .* set it to 2 at most"):
        module.check_processes(trainer(9))
