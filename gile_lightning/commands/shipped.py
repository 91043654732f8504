"""The configurations that come with the package, which are also found by name."""

from collections.abc import Iterable, Mapping
from os.path import isfile
from pathlib import Path
from typing import Any

import yaml

from gile_lightning.common.errors import InputError, nearest
from gile_lightning.common.plain import check_plain

SHIPPED = Path(__file__).parents[1] / "sweeps"
"""Their folder: a link to that at the top of the repository, whose files a wheel holds."""


def find_configuration(name: str) -> str:
    """Return the path of a configuration: of a file, or of one that comes with the package.

    Args:
        name: a path, or the name of a shipped configuration, such as ``bioasq``.

    Raises:
        InputError: there is neither.
    """
    if isfile(name):  # a Path raises an error where a name is too long
        return name
    known = {path.stem: path for path in SHIPPED.glob("*.yaml")}
    path = known.get(name.removesuffix(".yaml"))
    if path is not None:
        return str(path)
    remedy = nearest(Path(name).stem, known) or f" (those are {', '.join(sorted(known))})"
    raise InputError(f"{name}: no such file, nor a configuration of the package{remedy} (--config)")


def with_bases(file: str) -> list[str]:
    """Return a configuration after those that it is laid over.

    Its key ``base`` names one: a file beside it, or what `find_configuration` takes. That one may
    have a base, too.

    Raises:
        InputError: there is no such file, or a base leads back to a file that it is the base of.
    """
    files = [file]
    while (base := _base(files[0])) is not None:
        beside = Path(files[0]).parent / base
        found = str(beside) if isfile(beside) else find_configuration(base)
        if any(Path(found).samefile(other) for other in files):
            raise InputError(f"{files[0]}: its base {base} leads back to it")
        files.insert(0, found)
    return files


def texts_of(files: Iterable[str]) -> dict[str, str]:
    """Return the texts of configurations and of all that they are laid over, by their paths.

    Raises:
        InputError: there is no such file.
    """
    found = [path for file in files for path in with_bases(find_configuration(file))]
    return {path: Path(path).read_text(encoding="utf-8") for path in found}


def check_unchanged(texts: Mapping[str, str], remedy: str = "start it again") -> None:
    """Refuse configurations that have another text than when they were read first.

    Args:
        texts: what `texts_of` returned then.
        remedy: what to do.

    Raises:
        InputError: one has, or is gone.
    """
    for path, text in texts.items():
        if not isfile(path) or Path(path).read_text(encoding="utf-8") != text:
            raise InputError(f"{path}: changed since this command has begun; {remedy}")


def read_configuration(file: str) -> dict[str, Any]:
    """Read a configuration as plain values; one that is no YAML is empty.

    The parser, which reads it too, says what is wrong.

    Raises:
        InputError: it is no UTF-8 text, or nested so deep, or so large by its anchors, that no
            parser can read it.
    """
    try:
        content = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: not UTF-8 text ({error.reason})") from error
    except RecursionError as error:
        raise InputError(f"{file}: nested too deep") from error
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    check_plain(content, file)
    return content if isinstance(content, dict) else {}


def _base(file: str) -> str | None:
    base = read_configuration(file).get("base")
    return base if isinstance(base, str) else None
