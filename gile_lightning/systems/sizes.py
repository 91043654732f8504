"""The numbers of parameters of a system."""

import lightning
from torch import nn

from gile_lightning.common.console import say
from gile_lightning.systems.system import System


class Sizes(lightning.Callback):
    """Prints the numbers of parameters before training."""

    def on_fit_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule
    ) -> None:
        """Print the numbers of a built system."""
        if isinstance(pl_module, System):
            say(describe_sizes(pl_module))


def describe_sizes(system: System) -> str:
    """List the numbers of parameters of all parts, a line per task, and their total."""
    lines = []
    for language in system.tasks:
        sizes = system.sizes(language).items()
        counts = ", ".join(f"{name} {count:,}" for name, count in sizes if count)
        if counts:
            lines.append(f"parameters ({language}): {counts}")
    total, languages = count_parameters(system), len(system.tasks)
    each = f", {total / languages:,.0f} per language" if languages > 1 else ""
    lines.append(f"parameters in all: {total:,}{each}")
    return "\n".join(lines)


def count_parameters(module: nn.Module) -> int:
    """Count the parameters; those that languages share count once."""
    return sum(p.numel() for p in module.parameters())
