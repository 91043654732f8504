"""What a worker of a study needs to know."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gile_lightning.commands.launcher import Launcher
from gile_lightning.search.settings import Search
from gile_lightning.search.space import Space


@dataclass(frozen=True)
class Plan:
    """What a worker runs, and with what.

    Attributes:
        search: how many trials, for how long, ...
        space: the settings that are varied.
        objectives: names of the scores, in the order of the study's directions.
        configuration: the configuration that all trials share, as YAML.
        pruner: as plain values, None for none.
        folder: the study's.
        storage: its URL.
        launcher: runs the trials, several at a time.
    """

    search: Search
    space: Space
    objectives: Sequence[str]
    configuration: str
    pruner: Any
    folder: Path
    storage: str
    launcher: Launcher
