"""The reference of all keys of a configuration, as Markdown."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from gile_lightning.search.sweep_cli import SweepCLI
from gile_site.classes import Key, as_yaml, keys_of, read_keys
from gile_site.sections import PAGES

ROOT = Path(__file__).parents[2]
PAPER = {"BioASQ": "paper_bioasq.yaml", "DW": "paper_dw.yaml"}  # its configurations


class Entry(NamedTuple):
    """A class of the reference: its page and place, its own keys, and those of other classes.

    ``inherited`` has the class that declares a key, and the default that it has here.
    """

    kind: type
    path: str
    page: str
    place: str
    own: list[Key]
    inherited: dict[str, tuple[str, str]]


@cache
def entries() -> dict[str, Entry]:
    """Return all classes of the reference by name, in order."""
    found: dict[str, Entry] = {}
    members = [(page, kind, x) for page in PAGES for kind in page.kinds for x in kind.members()]
    listed = {member.__name__: member for _, _, member in members}
    for page, kind, member in members:
        own: list[Key] = []
        inherited = {}
        for key in keys_of(member, kind.given):
            owner = _owner(member, key.name, listed)
            if owner == member.__name__:
                own.append(key)
            else:
                inherited[key.name] = owner, key.default
        path = f"{kind.module}.{member.__name__}"
        name = member.__name__
        found[name] = Entry(member, path, page.path, kind.place, own, inherited)
    return found


def _owner(kind: type, key: str, listed: Mapping[str, type]) -> str:
    """Return the name of the listed class that declares a key of this one."""
    name = key.partition(".")[0]
    for base in kind.__mro__:
        declared = getattr(vars(base).get("__init__"), "__annotations__", {})
        if name in declared or name in vars(base).get("__annotations__", {}):
            return base.__name__ if listed.get(base.__name__) is base else kind.__name__
    return kind.__name__


@cache
def paper_values() -> dict[tuple[str, str], dict[str, str]]:
    """Return what the paper's configurations set: by class and key, then by corpus.

    The class is empty for keys outside of parts, such as ``trainer.max_epochs``. What the file says
    behind a value stands behind it here.
    """
    found: dict[tuple[str, str], dict[str, str]] = {}
    for corpus, file in PAPER.items():
        text = (ROOT / "sweeps" / file).read_text()
        remarks = dict(re.findall(r"^ +(\w+): [^#\n]*\S +# (.*)$", text, re.M))
        config = yaml.safe_load(text)
        config.pop("seed_everything")  # which the paper does not tell
        model = {"class_path": "NeuralSystem", "init_args": config.pop("model")}
        values = [*_values(model), *_values(config.pop("data"))]
        values += [("", key, value) for key, value in _flat(config)]
        for owner, key, value in values:
            if value is not None:  # nothing is set
                remark = remarks.get(key.rpartition(".")[2])
                shown = f"`{as_yaml(value)}`" + (f" ({remark})" if remark else "")
                found.setdefault((owner, key), {})[corpus] = shown
    return found


def _values(part: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the values that a part and the parts in it are given, with the class of each key."""
    name = part["class_path"].rpartition(".")[2]
    for key, value in (part.get("init_args") or {}).items():
        entry = entries().get(name)
        yield (entry.inherited[key][0] if entry and key in entry.inherited else name), key, value
        if isinstance(value, Mapping) and "class_path" in value:
            yield from _values(value)


def _flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


class _Parsed(Exception):  # noqa: N818 (no error)
    """The parser is made, and nothing is to be parsed."""


class _Keys(SweepCLI):
    """The command with the most keys, for its parser alone."""

    def parse_arguments(self, parser: Any, args: Any) -> None:
        """Stop before anything is parsed."""
        raise _Parsed


@cache
def run_keys() -> dict[str, Key]:
    """Return the keys of a run by name: all but those of the model and the data."""
    cli = _Keys.__new__(_Keys)
    with suppress(_Parsed):
        cli.__init__([])  # type: ignore[misc]
    return {key.name: key for key in read_keys(cli.parser)}


def show(key: Key, place: str, owner: str, level: int = 4) -> str:
    """Write a key as a heading with its kind, its default, the paper's value and what it does.

    Args:
        key: the key.
        place: what stands before it in a configuration.
        owner: the class that it belongs to, or empty.
        level: of the heading.
    """
    full = f"{place}.{key.name}" if place else key.name
    facts = [key.kind, f"default `{key.default}`" if key.default else "required"]
    values: dict[str, list[str]] = {}
    for corpus, value in paper_values().get((owner, key.name), {}).items():
        values.setdefault(value, []).append(corpus)
    facts += [f"paper, {' and '.join(names)}: {value}" for value, names in values.items()]
    anchor = f"{owner}.{key.name}" if owner else key.name
    heading = f"{'#' * level} `{full}` {{ #{anchor} .key }}"
    return f"{heading}\n\n{' · '.join(facts)}\n{{ .facts }}\n\n{key.text}"


def linked(text: str, page: str, but: str = "") -> str:
    """Turn the names of classes in a text into links to where they are described.

    Args:
        text: Markdown.
        page: the file that it stands in.
        but: a name that is left as it is: the class that is being described.
    """

    def link(match: re.Match[str]) -> str:
        name = match[1].rpartition(".")[2]
        file, anchor = targets().get(name, ("", ""))
        if not file or name == but:
            return match[0]
        return f"[{match[0]}]({'' if file == page else file.rpartition('/')[2]}#{anchor})"

    return re.sub(r"(?<!\[)`([\w.]+)`(?!\])", link, text)


@cache
def targets() -> dict[str, tuple[str, str]]:
    """Return the page and the anchor of every class, and of every base that a section has."""
    sections = {
        kind.classes: (page.path, kind.title.lower().replace(" ", "-"))
        for page in PAGES
        for kind in page.kinds
        if isinstance(kind.classes, str)
    }
    return sections | {name: (entry.page, name) for name, entry in entries().items()}
