"""The run that another one begins with: ``--start_from``."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.options import option, options
from gile_lightning.commands.run_folder import run_name
from gile_lightning.commands.shipped import find_configuration, read_configuration, with_bases
from gile_lightning.commands.stored import stored_configuration
from gile_lightning.common.errors import InputError
from gile_lightning.systems.loading import start_from
from gile_lightning.training.checkpoint import read_checkpoint

_START = "--start_from"
# keys of the data that were for that run alone
_DONE = ("held_out_labels", "label_changes", "replay")


@contextmanager
def with_earlier_configuration(args: Sequence[str]) -> Iterator[list[str]]:
    """Put the configuration of the run that the arguments begin with, if any, before them.

    Raises:
        InputError: there is no such run.
    """
    given = option(list(args), _START)
    start = _start_of_files(args) if given is None else given
    if start is None or start == "null" or {"-h", "--help"} & set(args):
        yield list(args)
        return
    checkpoint = read_checkpoint(start, _START)
    with stored_configuration(checkpoint, _DONE, run_name(start)) as config:
        yield ["--config", config, *args]


def _start_of_files(args: Sequence[str]) -> str | None:
    """Return the run that the last configuration with this key names, if any does."""
    start = None
    for name in options(args, "--config", "-c"):
        for file in with_bases(find_configuration(name)):
            content = read_configuration(file)
            start = content.get(_START.removeprefix("--"), start)
    return None if start is None else str(start)


def begin(cli: GileCLI) -> None:
    """Give a system and its data what the run knows that they begin with, if any.

    Raises:
        InputError: there is no such run, or `start_from` refuses it; or documents of one are asked
            for, and there is none.
    """
    if cli.config.start_from is not None:  # perhaps from the configuration of such a run
        checkpoint = read_checkpoint(cli.config.start_from, _START)
        start_from(cli.model, cli.datamodule, checkpoint, cli.config.keep)
    elif getattr(cli.datamodule, "replay", 0):
        raise InputError(
            "data.replay needs the run whose documents it draws: give --start_from RUN"
        )
