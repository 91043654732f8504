"""Weights & Biases: online where a key is set, offline otherwise, never in the way."""

import netrc
import os
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import wandb
from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_warn

_CONNECT = 20.0  # seconds to wait for the server before a run goes offline
_FINISH = 120.0  # seconds to wait for the last upload


def default_mode() -> str:
    """Return WANDB_MODE if it can work without a prompt, else online with a key, else offline."""
    mode = os.environ.get("WANDB_MODE", "")
    if mode in ("disabled", "offline", "dryrun"):
        return "offline" if mode == "dryrun" else mode
    return "online" if _has_key() else "offline"


def _has_key() -> bool:
    if os.environ.get("WANDB_API_KEY"):
        return True
    host = urlparse(os.environ.get("WANDB_BASE_URL") or "https://api.wandb.ai").hostname
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return netrc.netrc(str(path)).authenticators(host or "") is not None
    except (OSError, netrc.NetrcParseError):
        return False


def _earlier_run(directory: Path) -> str | None:
    """Return the id of the W&B run that a resumed run goes on with."""
    latest = directory / "wandb" / "latest-run"
    return latest.resolve().name.rpartition("-")[2] if latest.is_dir() else None


class RunLogger(WandbLogger):
    """A W&B run that goes offline where the server cannot be reached, instead of waiting.

    Args:
        directory: the run folder; W&B's files go there too.
        project: the W&B project.
        name: the name of the run; by default that of the folder.
        group: runs that belong together.
        tags: words to find runs by.
    """

    def __init__(
        self,
        directory: Path,
        project: str = "gile_lightning",
        name: str | None = None,
        group: str | None = None,
        tags: list[str] | None = None,
    ) -> None:
        settings = wandb.Settings(
            silent=True, init_timeout=_CONNECT, login_timeout=_CONNECT, finish_timeout=_FINISH
        )
        super().__init__(
            id=_earlier_run(directory),
            name=name or directory.name,
            project=project,
            save_dir=directory,
            group=group,
            tags=tags,
            mode=default_mode(),
            settings=settings,
        )
        self._wandb_init.pop("anonymous")  # W&B warns of the argument, whatever its value

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The W&B run."""
        try:
            return super().experiment
        except (wandb.Error, TimeoutError) as error:
            if self._wandb_init["mode"] == "offline":
                raise
            reason = str(error).splitlines()[0]
            rank_zero_warn(f"W&B cannot be reached ({reason}): this run is logged offline")
            wandb.teardown()
            self._wandb_init["mode"] = "offline"
            return super().experiment

    def log_results(
        self, figures: dict[str, Any], columns: list[str], rows: list[list[str]]
    ) -> None:
        """Log final figures to the run's summary, and the table of results."""
        run = self.experiment
        run.log({"results": wandb.Table(columns=[*columns], data=rows)})
        run.summary.update(figures)
