"""PyTorch Lightning suite for generalized input-label embedding (GILE) text classification."""

import os
from typing import TYPE_CHECKING, Any

from gile_lightning.common import lean_lightning
from gile_lightning.common.errors import InputError

if TYPE_CHECKING:
    from gile_lightning.exporting.hub_folder import push
    from gile_lightning.systems.predictor import load

__version__ = "0.1.0"
__all__ = ["InputError", "load", "push"]

lean_lightning.install()
# Pages of 2 MB for larger tensors, where Linux gives them on request: Adam on a vocabulary of half
# a million words is then 1.7 times as fast. PyTorch looks at this once, when it first allocates.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


def __getattr__(name: str) -> Any:
    # torch takes seconds to import; `python -m gile_lightning` and --help of others need none
    if name == "load":
        from gile_lightning.systems.predictor import load

        return load
    if name == "push":
        from gile_lightning.exporting.hub_folder import push

        return push
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
