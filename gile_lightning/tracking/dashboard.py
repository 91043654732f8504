"""A W&B page, or workspace, that shows the runs of a project side by side.

Its panels show what every fit logs, by the names it is logged by. The definition is tested without
a server. That a server takes it, and how it looks there, was never tried.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gile_lightning.common.console import show
from gile_lightning.common.errors import InputError

STEP = "trainer/global_step"
# the settings that sweeps vary most, and their keys
SETTINGS = {
    "d_j": "model.init_args.output.init_args.joint_dim",
    "label sampling rate": "model.init_args.sampler.init_args.rate",
    "learning rate": "model.init_args.optimizer.init_args.lr",
    "embedding": "model.init_args.embedding.init_args.dim",
    "batch size": "data.init_args.batch_size",
}
SPEED = "documents_per_second"

_TIMEOUT = 20  # seconds


def dashboard(project: str = "gile_lightning", entity: str | None = None) -> str:
    """Make a page of a W&B project that shows its runs side by side.

    Args:
        project: the W&B project.
        entity: the user or team that owns it; by default the user.

    Raises:
        InputError: the package, a key, the project or the server is missing.
    """
    import wandb

    from gile_lightning.tracking.wandb_logger import has_key

    sections()  # fails without the package
    if not has_key():
        raise InputError("no W&B key: run `wandb login`, or set WANDB_API_KEY")
    try:
        owner = entity or wandb.Api(timeout=_TIMEOUT).default_entity
        page = workspace(project, str(owner)).save()
    except (wandb.Error, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"W&B did not make the page ({reason}): check --project {project}, --entity and the key"
        ) from error
    show(f"dashboard: {page.url}", url=str(page.url))
    return str(page.url)


def workspace(project: str, entity: str) -> Any:
    """Define the page, a `wandb_workspaces.workspaces.Workspace`; nothing is sent.

    Raises:
        InputError: the package is missing.
    """
    package = _package("workspaces")
    return package.Workspace(
        entity=entity,
        project=project,
        name="gile_lightning",
        sections=sections(),
        settings=package.WorkspaceSettings(x_axis=STEP),
    )


def sections() -> list[Any]:
    """Define the panels: curves, results by settings, tables."""
    wr, section = _package("reports.v2"), _package("workspaces").Section
    from gile_lightning.metrics.table import AVERAGE_PRECISION, PANELS, val
    from gile_lightning.tracking.drawings import TRAINING
    from gile_lightning.tracking.run_report import TABLES

    def curves(panels: Mapping[str, tuple[str, ...]]) -> list[Any]:
        return [wr.LinePlot(title=title, x=STEP, y=list(y)) for title, y in panels.items()]

    results = (val(AVERAGE_PRECISION.name), SPEED)
    clouds = [
        wr.ScatterPlot(
            title=f"{result} by {name}",
            x=wr.Config(SETTINGS[name]),
            y=wr.SummaryMetric(result),
            log_x=name == "label sampling rate",
        )
        for name in ("d_j", "label sampling rate")
        for result in results
    ]
    columns = [
        wr.ParallelCoordinatesPlotColumn(wr.Config(path), display_name=name)
        for name, path in SETTINGS.items()
    ]
    columns += [wr.ParallelCoordinatesPlotColumn(wr.SummaryMetric(result)) for result in results]
    lines = wr.ParallelCoordinatesPlot(columns=columns, title="settings and results")
    tables = [wr.WeavePanelSummaryTable(table_name=name) for name in TABLES]
    named = {
        "Validation": curves(PANELS),
        "Training": curves(TRAINING),
        "Settings": [*clouds, lines],
        "Tables": tables,
    }
    return [section(name=name, panels=panels, is_open=True) for name, panels in named.items()]


def _package(name: str) -> Any:
    try:
        with warnings.catch_warnings():  # it warns of our newer pydantic
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(f"wandb_workspaces.{name}")
    except ImportError as error:
        raise InputError(
            "the dashboard needs wandb-workspaces: pip install wandb-workspaces"
        ) from error
