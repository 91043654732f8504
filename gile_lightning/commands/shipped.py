"""The configurations that come with the package, which are also found by name."""

from pathlib import Path

from gile_lightning.common.errors import InputError, nearest

SHIPPED = Path(__file__).parents[1] / "sweeps"
"""Their folder: a link to that at the top of the repository, whose files a wheel holds."""


def find_configuration(name: str) -> str:
    """Return the path of a configuration: of a file, or of one that comes with the package.

    Args:
        name: a path, or the name of a shipped configuration, such as ``bioasq``.

    Raises:
        InputError: there is neither.
    """
    if Path(name).is_file():
        return name
    known = {path.stem: path for path in SHIPPED.glob("*.yaml")}
    path = known.get(name.removesuffix(".yaml"))
    if path is not None:
        return str(path)
    remedy = nearest(Path(name).stem, known) or f" (those are {', '.join(sorted(known))})"
    raise InputError(f"{name}: no such file, nor a configuration of the package{remedy} (--config)")
