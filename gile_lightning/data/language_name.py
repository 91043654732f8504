"""Names of languages, which become names of files and of modules."""

import re

from torch import nn

from gile_lightning.common.errors import InputError

_NAME = re.compile(r"\w([\w ()-]*[\w)])?")
_LONGEST = 50  # with four bytes for each character, a file system still takes it
# what Windows opens as a device, in whatever folder
_DEVICES = {"con", "prn", "aux", "nul"} | {f"{x}{i}" for x in ("com", "lpt") for i in range(10)}
_MODULES = nn.ModuleDict()


def check_language(name: str) -> None:
    """Refuse a name that cannot be that of a file or of a module on every system.

    Raises:
        InputError: it has other signs than letters, digits, spaces, brackets, ``_`` and ``-``, is
            longer than 50 characters, or has another meaning for Windows or PyTorch.
    """
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        why = (
            f"give a name of up to {_LONGEST} letters and digits, with spaces, '_', '-' and "
            "brackets between them"
        )
    elif name.lower() in _DEVICES:
        why = "Windows keeps this name for a device; give another"
    elif hasattr(_MODULES, name):
        why = "PyTorch keeps this name for itself; give another"
    else:
        return
    raise InputError(f"{name[: _LONGEST + 10]!r} cannot be the name of a language: {why}")
