"""Weights & Biases: online if there is a key, else offline. It never delays or asks."""

import netrc
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from lightning.fabric.loggers.logger import rank_zero_experiment
from lightning.pytorch.loggers import WandbLogger
from lightning.pytorch.utilities import rank_zero_warn

from gile_lightning.tracking.repository import repository
from gile_lightning.tracking.run_report import BY_FREQUENCY, RELIABILITY, WITH_NAMES, RunReport

FREQUENCY_BARS = "average_precision_by_frequency"
RELIABILITY_DIAGRAM = "reliability_diagram"

# Seconds. A server that does not answer costs at most 20: after the first limit the run continues
# offline; after the second `wandb sync` has to upload the rest.
_CONNECT = 8.0  # to start the run
_FINISH = 12.0  # to upload the end of the run

_STAGING = "WANDB_DATA_DIR"


def default_mode() -> str:
    """Return WANDB_MODE if it needs no prompt, else online with a key, else offline."""
    mode = os.environ.get("WANDB_MODE", "")
    if mode in ("disabled", "offline", "dryrun"):
        return "offline" if mode == "dryrun" else mode
    return "online" if has_key() else "offline"


def has_key() -> bool:
    """Return whether there is a key for the server, in the environment or W&B's file."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    hosts = {urlparse(_server()).hostname or ""}
    if not os.environ.get("WANDB_BASE_URL"):
        hosts.add("api.wandb.ai")  # former default, which W&B reads too
    path = Path(os.environ.get("NETRC") or "~/.netrc").expanduser()
    try:
        return not hosts.isdisjoint(netrc.netrc(str(path)).hosts)
    except (OSError, netrc.NetrcParseError):
        return False


def _server() -> str:
    import wandb

    # the host of W&B's default has changed
    return os.environ.get("WANDB_BASE_URL") or str(wandb.Settings().base_url)


def _go_offline() -> str:
    # else an offline run asks W&B's server about usage statistics
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    return "offline"


def _earlier_run(directory: Path) -> str | None:
    """Return the id of the W&B run that a resumed run continues."""
    latest = directory / "wandb" / "latest-run"
    return latest.resolve().name.rpartition("-")[2] if latest.is_dir() else None


class RunLogger(WandbLogger):
    """A W&B run. It goes offline if the server does not answer.

    Args:
        directory: the run folder, also for W&B's files.
        project: the W&B project.
        name: the name of the run; by default the folder's.
        group: the group of the run, such as a study.
        tags: words to find runs by, or one.
        job_type: the kind of the run within its group.
    """

    def __init__(
        self,
        directory: Path,
        project: str = "gile_lightning",
        name: str | None = None,
        group: str | None = None,
        tags: list[str] | str | None = None,
        job_type: str = "fit",
    ) -> None:
        import wandb  # here and below: importing it takes a second

        # W&B would look for the repository in the run folder, and warn if that does not exist yet
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
            tags=[tags] if isinstance(tags, str) else tags,
            job_type=job_type,
            mode=_go_offline() if mode == "offline" else mode,
            settings=settings,
        )
        self._wandb_init.pop("anonymous")  # W&B warns of this argument

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
        """Remove the files of an attempt to go online: `wandb sync` would upload them as a run."""
        import wandb

        wandb.teardown()
        for folder in Path(self.save_dir or ".", "wandb").glob("run-*"):
            if folder.name not in self._known:
                shutil.rmtree(folder, ignore_errors=True)

    def log_results(
        self, figures: dict[str, Any], columns: list[str], rows: list[list[str]]
    ) -> None:
        """Log a table of results, and final figures to the summary."""
        import wandb

        run = self.experiment
        with kept_beside(run):
            run.log({"results": wandb.Table(columns=[*columns], data=rows)})
        run.summary.update(figures)

    def log_report(self, report: RunReport, figures: dict[str, Any]) -> None:
        """Log the tables of a fit, a bar chart, and final figures to the summary.

        There the validation scores of the kept checkpoint take the place of the last ones.
        """
        import wandb

        logged: dict[str, Any] = {
            name: wandb.Table(
                columns=[*columns],
                data=rows if name in WITH_NAMES else _numbers(rows),
                allow_mixed_types=True,
            )
            for name, (columns, rows) in report.tables.items()
        }
        if BY_FREQUENCY in logged:
            # another table: the chart takes over its own
            columns, rows = report.tables[BY_FREQUENCY]
            logged[FREQUENCY_BARS] = wandb.plot.bar(
                wandb.Table(columns=[*columns], data=rows),
                columns[0],
                columns[1],
                title="Average precision (%) on seen labels by their training documents",
            )
        if RELIABILITY in logged:
            columns, rows = report.tables[RELIABILITY]
            logged[RELIABILITY_DIAGRAM] = wandb.plot.scatter(
                wandb.Table(columns=[*columns], data=rows),
                columns[2],
                columns[3],
                title="Reliability of the ten best labels of test documents",
            )
        run = self.experiment
        with kept_beside(run):
            run.log(logged)  # at once: all belong to the last step
        kept = {k.replace(".", "/"): x for k, x in figures.items() if k.startswith("val.")}
        run.summary.update({**figures, **kept})


@contextmanager
def kept_beside(run: Any) -> Iterator[None]:
    """Keep the files of logged tables in the run's folder until they are uploaded.

    W&B copies them to the user's home, and an offline run only refers to the copies. They would be
    missing once the home is cleaned up.
    """
    before = os.environ.get(_STAGING)
    folder = getattr(run, "dir", None)  # none if W&B is disabled
    if before is None and folder is not None:
        os.environ[_STAGING] = str(Path(folder).parent)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_STAGING, None)


def finish() -> None:
    """End the W&B run, if there is one. What could not be uploaded stays on disk."""
    if "wandb" not in sys.modules:
        return
    import wandb

    run = wandb.run
    try:
        wandb.finish()
    except TimeoutError:
        folder = Path(run.dir).parent if run is not None else "the run's folder"
        rank_zero_warn(f"W&B does not answer: `wandb sync {folder}` uploads the rest of the run")


def _numbers(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Turn columns of formatted numbers into numbers, which W&B can sort and draw.

    A column with anything else stays text.
    """
    columns = []
    for column in zip(*rows, strict=True):
        texts = [value.replace(",", "") for value in column if isinstance(value, str) and value]
        numeric = all(text.replace(".", "", 1).isdecimal() for text in texts)
        columns.append([_cell(value, numeric) for value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Any, numeric: bool) -> Any:
    if not isinstance(value, str):
        return value
    return float(value.replace(",", "")) if numeric and value else value or None
