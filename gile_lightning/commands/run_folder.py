"""The folder of a run: its files, where it lies, and the checkpoint that it goes on from."""

import fnmatch
import io
import json
import math
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gile_lightning.commands.launcher import CONFIG
from gile_lightning.commands.shipped import with_bases
from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.common.formats import check_format
from gile_lightning.metrics.document_scores import GOLD
from gile_lightning.training.checkpoint import BEST, LAST
from gile_lightning.training.checkpoint import METRICS as METRICS

REPORT, SKIPPED = "report.html", "skipped.json"
ORIGIN = "ckpt_path.txt"  # the checkpoint elsewhere that a run goes on from
DOCUMENTS = "documents.npz"

RUN_FORMAT = 1
"""The number of the format. Raise it when `read_metrics` would misread older folders."""

_RANKS = ("RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "SLURM_PROCID")  # 0 in the first process


def write_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write the figures of a run, with the number of the folder's format.

    JSON has no NaN, as scores are without a document that counts: such a figure is null.
    """
    plain = {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in metrics.items()
    }
    write(folder / METRICS, json.dumps({"format": RUN_FORMAT, **plain}, indent=1))


def read_metrics(folder: Path) -> dict[str, Any]:
    """Read what `write_metrics` wrote, with NaN for null; one without a number is of format 1.

    Raises:
        InputError: a newer version wrote it.
        OSError: there are no figures, as the run is not done.
        ValueError: it is no JSON object, such as half a file.
    """
    found = json.loads((folder / METRICS).read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{folder / METRICS}: not a JSON object")
    check_format(folder / METRICS, found.pop("format", 1), RUN_FORMAT, "repeat the run")
    return {key: math.nan if value is None else value for key, value in found.items()}


def write_documents(folder: Path, arrays: Mapping[str, Tensor]) -> None:
    """Write what each test document contributes to the figures of a run, by their keys."""
    content = io.BytesIO()
    plain: dict[str, Any] = {key: values.numpy() for key, values in arrays.items()}
    np.savez_compressed(content, **plain)
    write(folder / DOCUMENTS, content.getvalue())


def read_documents(folder: Path, pattern: str = "*") -> dict[str, Tensor]:
    """Read what `write_documents` wrote; nothing where there is no such file, as in older runs.

    Args:
        folder: of the run.
        pattern: of the keys that are read, beside the numbers made of the documents' labels.
    """
    try:
        with np.load(folder / DOCUMENTS, allow_pickle=False) as arrays:
            keys = {*fnmatch.filter(arrays, pattern), *fnmatch.filter(arrays, f"*{GOLD}")}
            return {key: torch.from_numpy(arrays[key]) for key in arrays if key in keys}
    except FileNotFoundError:
        return {}


def best_of(language: str) -> Path:
    """Return where a run folder keeps the best epoch of one of several languages."""
    return BEST.with_stem(f"{BEST.stem}-{language}")


def run_folder(config: Any) -> tuple[Path, Path | None]:
    """Choose the folder of a run, and the checkpoint to resume.

    Args:
        config: the parsed configuration: ``config``, ``output`` and ``ckpt_path``.

    Returns:
        The folder, which need not exist, and the checkpoint, or None for a run from the beginning.

    Raises:
        InputError: the folder holds another run, or there is no run or checkpoint to resume.
    """
    stem = config_name(config, "fit")
    output = config.output and Path(config.output).expanduser()
    path = config.ckpt_path and str(Path(config.ckpt_path).expanduser())
    if output is not None and Path(output).is_file():
        raise InputError(f"{output}: a file; give the name of a folder (--output)")
    if path == "last":
        return _last(Path(output) if output else _newest(stem))
    if path is not None and not Path(path).is_file():
        raise InputError(f"{path}: no such checkpoint (--ckpt_path)")
    if output is None:
        # each of several processes makes its own; only the first one writes, into its own
        output = Path("runs", stem, datetime.now().strftime("%Y-%m-%d_%H-%M-%S"))
    elif (Path(output) / CONFIG).is_file() and not _is_worker():
        raise InputError(
            f"{output}: holds a run already; go on with it (--ckpt_path last) or choose another "
            "--output"
        )
    return Path(output), Path(path) if path else None


def run_name(path: Path | str) -> str:
    """Return a name for what goes on with a run, by its folder or one of its checkpoints.

    It is not that of a folder below which the run itself lies.

    >>> run_name("runs/best/2026-01-31_12-00-00"), run_name("runs/mine/checkpoints/best.ckpt")
    ('best', 'mine-further')
    """
    place = Path(path).absolute()
    folder = place.parent.parent if place.suffix == ".ckpt" else place
    timed = folder.parent.parent.name == "runs"
    return folder.parent.name if timed else f"{folder.name}-further"


def config_name(config: Any, default: str) -> str:
    """Return the name of the first configuration that was given, which names runs and studies.

    Args:
        config: the parsed configuration, whose ``config`` has the files. Those that the first is
            laid over precede it.
        default: the name where no file was given.
    """
    files = [str(file) for file in config.get("config") or []]
    given = [file for i, file in enumerate(files) if with_bases(file) == files[: i + 1]]
    return Path((given or files or [default])[-1]).stem


def _newest(stem: str) -> Path:
    """Return the newest run of a configuration that has a checkpoint to resume."""
    found = sorted(Path("runs", stem).glob(f"*/{LAST}"), key=lambda path: path.stat().st_mtime)
    if not found:
        raise InputError(f"runs/{stem}: no run to go on with; name it with --output")
    return found[-1].parent.parent


def _last(output: Path) -> tuple[Path, Path | None]:
    """Return a run folder with its last checkpoint, if the run got as far as one."""
    if not (output / CONFIG).is_file():
        raise InputError(f"{output}: no run there to go on with (--ckpt_path last)")
    if (output / LAST).is_file():
        return output, output / LAST
    if (output / METRICS).is_file():
        raise InputError(
            f"{output}: done, and without {LAST} to go on from; begin with its weights "
            f"(--start_from {output}) and another --output"
        )
    if (output / ORIGIN).is_file():
        origin = Path((output / ORIGIN).read_text(encoding="utf-8").strip())
        if not origin.is_file():
            raise InputError(f"{origin}: the checkpoint that {output} goes on from is gone")
        say(f"{output} has no checkpoint yet: going on from {origin}")
        return output, origin
    say(f"{output} has no checkpoint yet: starting from the beginning")
    return output, None


def _is_worker() -> bool:
    """Tell by the launchers' variables whether another process of this run is the first one."""
    return any(os.environ.get(key, "0") != "0" for key in _RANKS)
