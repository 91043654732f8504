"""Make a page of a W&B project that shows its runs side by side.

python -m gile_lightning.dashboard --project gile_lightning

Needs `pip install wandb-workspaces` and a W&B key.
"""

from gile_lightning.commands.parser import command, parse
from gile_lightning.tracking.dashboard import dashboard


@command
def main(args: list[str] | None = None) -> str:
    """Run the command; returns the page's address."""
    return dashboard(**parse(dashboard, args, "python -m gile_lightning.dashboard"))


if __name__ == "__main__":
    main()
