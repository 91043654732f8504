"""Only the data step: from a raw corpus to encoded shards in the cache.

python -m gile_lightning.prepare --config sweeps/bioasq.yaml
"""

import sys
from typing import Any

from gile_lightning.commands.cli import GileCLI, announce
from gile_lightning.commands.parser import command
from gile_lightning.common.console import say

DESCRIPTION = (
    "Encode the corpus of a configuration into the cache, so that training starts at once. Takes "
    "the same configuration as fit, and reads its data section."
)


@command
def main(args: list[str] | None = None) -> dict[str, Any]:
    """Run the command; returns the counts of the encoded corpus."""
    args = [*(sys.argv[1:] if args is None else args), "--trainer.logger", "false"]
    data = GileCLI(args, "python -m gile_lightning.prepare", DESCRIPTION).datamodule
    announce(data)
    data.prepare_data()
    data.setup()
    say(data.summary())
    for folder in data.shards():
        say(f"encoded: {folder}")
    meta: dict[str, Any] = data.meta
    return meta


if __name__ == "__main__":
    main()
