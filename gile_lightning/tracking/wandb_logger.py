"""Weights & Biases: online where a key is set, offline otherwise, never in the way."""

import netrc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_warn

from gile_lightning.tracking.fit_report import BY_FREQUENCY, FitReport
from gile_lightning.tracking.repository import repository

FREQUENCY_BARS = "average_precision_by_frequency"

# Seconds. A server that cannot be reached costs no more than 20 in all: either the first, and the
# run goes on offline, or the second, and the rest of the run is uploaded by `wandb sync`.
_CONNECT = 8.0  # until it knows the run
_FINISH = 12.0  # until it has the last of the run

_STAGING = "WANDB_DATA_DIR"


def default_mode() -> str:
    """Return WANDB_MODE if it can work without a prompt, else online with a key, else offline."""
    mode = os.environ.get("WANDB_MODE", "")
    if mode in ("disabled", "offline", "dryrun"):
        return "offline" if mode == "dryrun" else mode
    return "online" if has_key() else "offline"


def has_key() -> bool:
    """Return whether there is a key for the server, in the environment or where W&B keeps it."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    hosts = {urlparse(_server()).hostname or ""}
    if not os.environ.get("WANDB_BASE_URL"):
        hosts.add("api.wandb.ai")  # the former name of the default, which W&B looks up too
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return not hosts.isdisjoint(netrc.netrc(str(path)).hosts)
    except (OSError, netrc.NetrcParseError):
        return False


def _server() -> str:
    import wandb

    # W&B's own default, whose host has changed
    return os.environ.get("WANDB_BASE_URL") or str(wandb.Settings().base_url)


def _go_offline() -> str:
    # an offline run would still ask W&B's server whether it takes figures on how W&B is used
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    return "offline"


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
        group: runs that belong together, such as the trials of a study.
        tags: words to find runs by.
        job_type: what the run is within its group.
    """

    def __init__(
        self,
        directory: Path,
        project: str = "gile_lightning",
        name: str | None = None,
        group: str | None = None,
        tags: list[str] | None = None,
        job_type: str = "fit",
    ) -> None:
        import wandb  # here and below: it takes a second

        # W&B would look for the repository in the run folder, which need not be in one, and warns
        # where that folder is not there yet
        code = repository()
        settings = wandb.Settings(
            silent=True,
            init_timeout=_CONNECT,
            login_timeout=_CONNECT,
            finish_timeout=_FINISH,
            finish_timeout_raises=True,
            disable_git=code is None,
            git_root=None if code is None else str(code.folder),
        )
        mode = default_mode()
        self._known = {folder.name for folder in (directory / "wandb").glob("run-*")}
        super().__init__(
            id=_earlier_run(directory),
            name=name or directory.name,
            project=project,
            save_dir=directory,
            group=group,
            tags=tags,
            job_type=job_type,
            mode=_go_offline() if mode == "offline" else mode,
            settings=settings,
        )
        self._wandb_init.pop("anonymous")  # W&B warns of the argument, whatever its value

    @property
    @rank_zero_experiment
    def experiment(self) -> Any:
        """The W&B run."""
        import wandb

        if self._experiment is None and self._wandb_init["mode"] == "online":
            try:
                return super().experiment
            except (wandb.Error, TimeoutError) as error:
                self._clear()
                reason = (str(error).splitlines() or [type(error).__name__])[0]
                rank_zero_warn(f"W&B cannot be reached ({reason}): this run is logged offline")
            self._wandb_init["mode"] = _go_offline()
        return super().experiment

    def _clear(self) -> None:
        """Remove what an attempt to go online left: `wandb sync` would take it for a run."""
        import wandb

        wandb.teardown()
        for folder in Path(self.save_dir or ".", "wandb").glob("run-*"):
            if folder.name not in self._known:
                shutil.rmtree(folder, ignore_errors=True)

    def log_results(
        self, figures: dict[str, Any], columns: list[str], rows: list[list[str]]
    ) -> None:
        """Log final figures to the run's summary, and the table of results."""
        import wandb

        run = self.experiment
        with _kept_beside(run):
            run.log({"results": wandb.Table(columns=[*columns], data=rows)})
        run.summary.update(figures)

    def log_report(self, report: FitReport, figures: dict[str, Any]) -> None:
        """Log the tables of a fit, bars of one of them, and final figures to the summary."""
        import wandb

        logged: dict[str, Any] = {
            name: wandb.Table(columns=[*columns], data=[list(map(_number, row)) for row in rows])
            for name, (columns, rows) in report.tables.items()
        }
        if BY_FREQUENCY in logged:
            # a table of its own: a chart takes over the one it is made of
            columns, rows = report.tables[BY_FREQUENCY]
            logged[FREQUENCY_BARS] = wandb.plot.bar(
                wandb.Table(columns=[*columns], data=rows),
                columns[0],
                columns[1],
                title="Average precision (%) on seen labels by their training documents",
            )
        run = self.experiment
        with _kept_beside(run):
            run.log(logged)  # at once, so that all belong to the last step
        run.summary.update(figures)


@contextmanager
def _kept_beside(run: Any) -> Iterator[None]:
    """Keep the tables that are logged in the run's own folder until they are uploaded.

    W&B copies the files of a table to the user's home, and the offline run but points there: it
    would lack them once that is cleaned up.
    """
    before = os.environ.get(_STAGING)
    folder = getattr(run, "dir", None)  # none where W&B is disabled
    if before is None and folder is not None:
        os.environ[_STAGING] = str(Path(folder).parent)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_STAGING, None)


def finish() -> None:
    """Close the W&B run, if there is one; what could not be uploaded is kept."""
    if "wandb" not in sys.modules:
        return
    import wandb

    run = wandb.run
    try:
        wandb.finish()
    except TimeoutError:
        folder = Path(run.dir).parent if run is not None else "the run's folder"
        rank_zero_warn(f"W&B does not answer: `wandb sync {folder}` uploads the rest of the run")


def _number(value: Any) -> Any:
    """Turn a number that is laid out as text into one; W&B sorts and draws numbers only."""
    if not isinstance(value, str):
        return value
    plain = value.replace(",", "")
    return float(plain) if plain.replace(".", "", 1).isdecimal() else value or None
