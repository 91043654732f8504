"""Only the data step: from a raw corpus to encoded shards in the cache.

python -m gile_lightning.prepare --config sweeps/bioasq.yaml [--check]
"""

import sys
from typing import Any

from lightning.pytorch.cli import LightningArgumentParser

from gile_lightning.commands.checking import check
from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.parser import command
from gile_lightning.commands.starting import begin, with_earlier_configuration
from gile_lightning.common.console import show

DESCRIPTION = (
    "Encode the corpus of a configuration into the cache, so that training starts at once. Takes "
    "the same configuration as fit, also with --start_from, and reads its data section."
)


class PrepareCLI(GileCLI):
    """The parser of `prepare`, which can check the corpus too."""

    output_help = "Folder for the result of --check, as JSON and as a page."

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add the key of the check."""
        super().add_arguments_to_parser(parser)
        text = "Print what is in the corpus, and which configuration it suits."
        parser.add_argument("--check", type=bool, default=False, help=text)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns the counts of the encoded corpus, or the result of the check."""
    args = [*(sys.argv[1:] if args is None else args), "--trainer.logger", "false"]
    with with_earlier_configuration(args) as args:
        cli = PrepareCLI(args, "python -m gile_lightning.prepare", DESCRIPTION)
    data = cli.datamodule
    begin(cli)
    cli.announce(data)
    data.prepare_data()
    data.setup()
    if cli.config.check:
        return check(data, cli.config.output)
    meta: dict[str, Any] = data.meta
    folders = list(data.shards())
    found = {key: meta[key] for key in ("counts", "skipped")}
    show(data.summary(), *(f"encoded: {folder}" for folder in folders), encoded=folders, **found)
    return meta


if __name__ == "__main__":
    main()
