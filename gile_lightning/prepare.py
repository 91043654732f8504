"""Only the data step: from a raw corpus to encoded shards in the cache.

python -m gile_lightning.prepare --config sweeps/bioasq.yaml
"""

from typing import Any

from gile_lightning.commands.cli import GileCLI
from gile_lightning.commands.parser import command
from gile_lightning.common.console import say
from gile_lightning.fit import announce

DESCRIPTION = (
    "Encode the corpus of a configuration into the cache, so that training starts at once. Takes "
    "the same configuration as fit and uses its data section."
)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns the counts of the encoded corpus."""
    cli = GileCLI(
        [*_arguments(args), "--trainer.logger", "false"],
        "python -m gile_lightning.prepare",
        DESCRIPTION,
    )
    announce(cli.datamodule)
    cli.datamodule.prepare_data()
    cli.datamodule.setup()
    say(cli.datamodule.summary())
    for folder in cli.datamodule.shards():
        say(f"encoded: {folder}")
    meta: dict[str, Any] = cli.datamodule.meta
    return meta


def _arguments(args: list[str] | None) -> list[str]:
    import sys

    return sys.argv[1:] if args is None else args


if __name__ == "__main__":
    main()
