"""The command line of `sweep`: a configuration with a `sweep` section."""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError
from lightning.pytorch.cli import LightningArgumentParser

from gile_lightning.commands.cli import GileCLI, Parser
from gile_lightning.commands.options import classes_first
from gile_lightning.common.errors import InputError
from gile_lightning.search.setting import Value
from gile_lightning.search.settings import Search
from gile_lightning.search.space import arguments

DESCRIPTION = (
    "Search for the best settings, as the sweep section of a configuration says. Every trial is a "
    "fit in its own process. The same command continues a study that was stopped. Run it several "
    "times, on any machine that reaches the storage, and all work on one study together."
)


class SweepCLI(GileCLI):
    """A configuration with its `sweep` section. It makes no model, data or trainer.

    Args:
        args: the arguments of the command.
    """

    parser: Parser
    output_help = "The study's folder; by default runs/sweeps/NAME, NAME being that of the study."

    def __init__(self, args: list[str]) -> None:
        self.args = classes_first(args)
        super().__init__(args, "python -m gile_lightning.sweep", DESCRIPTION)

    def add_sweep_arguments(self, parser: LightningArgumentParser) -> None:
        """Add the section, and how trials share this machine."""
        parser.add_class_arguments(Search, "sweep", instantiate=False)
        parser.add_argument(
            "--jobs",
            type=int | None,
            default=None,
            help="Trials at a time; by default as many as --devices allow, one without GPUs.",
        )
        parser.add_argument(
            "--devices",
            type=str | None,
            default=None,
            help="GPUs to share out, such as 0,1,2,3; by default all. A trial has trainer.devices.",
        )

    def before_instantiate_classes(self) -> None:
        """Do nothing: trials make the run folders."""

    def instantiate_classes(self) -> None:
        """Do nothing: trials make model, data and trainer."""

    def try_values(self, values: Mapping[str, Value]) -> Any:
        """Make an empty `model` and `data` with these values; returns both.

        Raises:
            InputError: a part refuses its values.
        """
        self.parser.exit_on_error = False
        try:
            config = self.parser.parse_args([*self.args, *arguments(values)])
            made = self.parser.instantiate(config)
            epochs = config.trainer.max_epochs
            made.model.check(made.data.names, made.data.subword_tokenizer(), epochs)
        except (ArgumentError, InputError, ValueError) as error:
            raise InputError(self.parser.explain(_reason(error))) from error
        return made

    def shared(self) -> str:
        """Return the whole configuration that all trials share, as YAML."""
        return self._resolved(self.args)

    def configuration(self, shared: str, values: Mapping[str, Value]) -> str:
        """Return the whole configuration of a trial with these values, as YAML.

        The files that the command was given may have changed since it began.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "shared.yaml"
            file.write_text(shared, encoding="utf-8")
            return self._resolved(["--config", str(file), *arguments(values)])

    def _resolved(self, args: list[str]) -> str:
        config = self.parser.parse_args(args)
        for key in ("jobs", "devices"):
            config.pop(key)
        return self.resolved(config)


def _reason(error: BaseException) -> str:
    """Return a part's own message, without those of the other types that the parser tried."""
    found = re.findall(r"^ *- (.*)$", str(error), re.MULTILINE)
    own = [line for line in found if not line.startswith(("Problem with", "Expected", "Does not"))]
    refused = "Does not validate against any of the Union subtypes" in str(error)
    return own[0] if refused and own else str(error)
