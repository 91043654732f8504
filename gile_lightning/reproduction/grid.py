"""Grids of fits: a YAML file per table of the paper names its fits, columns and figures."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from string import Template
from typing import Any

import yaml

from gile_lightning.commands.shipped import SHIPPED, texts_of
from gile_lightning.common.errors import InputError, nearest

SEED = 1234  # of the first fit of a row; the next ones follow

Overrides = Mapping[str, Any]


@dataclass(frozen=True)
class Column:
    """One column of figures.

    Attributes:
        heading: its name.
        key: the figure's key in a fit's ``metrics.json``; ``RUN:KEY`` in rows of several runs. RUN
            and KEY may be patterns with ``*``: the figure is the mean of all that match. A mapping
            gives a key for each set of runs. A column with the key ``*:KEY`` is the last one.
        mean: whether the figure is the mean of the columns before this one.
        percent: whether the figure is a fraction, shown in percent.
        better: whether a ``higher`` or a ``lower`` figure is better.
        relative_to: the name of a row. The figure is then the excess over that row's figure, in
            percent.
        panel: the panel of learning curves that it belongs to.
        x: its place on the horizontal axis there.
    """

    heading: str
    key: str | Mapping[str, str] = ""
    mean: bool = False
    percent: bool = True
    better: str = "higher"
    relative_to: str | None = None
    panel: str = ""
    x: float | None = None

    @property
    def over_all_runs(self) -> bool:
        """Whether the figure is a mean over all runs of a row, such as all corpora."""
        return isinstance(self.key, str) and self.key.startswith("*:")

    def key_of(self, row: "Row") -> str:
        """Return the key of a row's figures; empty if there is none."""
        return self.key if isinstance(self.key, str) else self.key.get(row.runs, "")


@dataclass(frozen=True)
class Row:
    """One system.

    Attributes:
        name: its name, as in the paper.
        form: the formula of its output layer.
        config: its configuration, if it is not the table's.
        set: its overrides of the configuration.
        runs: its set of runs, if several fits make the row.
        paper: the paper's figures in the order of the columns, null where it has none; a mapping
            from blocks if the table has blocks.
        parameters: the number of parameters that the paper prints; a mapping with blocks.
        seconds: the rough time of a fit on the built-in corpus, on two CPU cores.
        seeds: the greatest number of seeds; 1 if nothing is drawn at random.
        x: its place on the horizontal axis of a figure.
    """

    name: str
    form: str = ""
    config: str | None = None
    set: Overrides = field(default_factory=dict)
    runs: str = ""
    paper: Any = None
    parameters: Any = None
    seconds: float = 60.0
    seeds: int | None = None
    x: float | None = None

    def printed(self, block: str, columns: int) -> list[float | None]:
        """Return the paper's figures of a block, None where there are none."""
        found = self.paper.get(block) if isinstance(self.paper, dict) else self.paper
        return list(found) if found else [None] * columns

    def printed_parameters(self, block: str) -> str:
        """Return the number of parameters as the paper prints it, or nothing."""
        found = self.parameters.get(block) if isinstance(self.parameters, dict) else self.parameters
        return found or ""


@dataclass(frozen=True)
class Fit:
    """One run of the `fit` command, for one cell or several.

    Attributes:
        block: the block of the table that it belongs to.
        row: the row that it belongs to.
        run: the name of this run among those of the row.
        seed: its seed.
        languages: number of languages of the model.
        arguments: all arguments except the run folder.
        key: the name of its folder. Equal fits of several rows and tables share one.
        texts: of its configuration and of those that it is laid over, by their paths.
    """

    block: str
    row: Row
    run: str
    seed: int
    languages: int
    arguments: tuple[str, ...]
    key: str
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        """Name the fit for messages."""
        parts = (self.row.name, self.block, self.run, f"seed {self.seed}")
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class Claim:
    """A statement that one row is better than another, to be held against our figures.

    Attributes:
        says: the statement.
        row: the row that should be better. A list in the file is a claim of each of its rows,
            whose name ``says`` has as ``$row``.
        over: the row that should be worse. A list is a claim over each, with ``$over`` in ``says``.
        columns: headings of the columns that tell; by default all that are no mean of others.
        blocks: the blocks that tell; by default all.
        together: whether the blocks tell together; else each by itself.
        margin: by how much the row may be worse and the statement still hold.
    """

    says: str
    row: str
    over: str
    columns: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    together: bool = False
    margin: float = 0.0


@dataclass(frozen=True)
class Check:
    """The small part of a table that is run anew to see whether its figures still come out.

    Attributes:
        rows: names of its rows.
        columns: headings of its columns.
        blocks: names of its blocks, if the table has any.
        tolerance: how far a figure may be from the one that is kept, in the unit of the table; or
            twice the deviation over seeds, where that is more.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    blocks: tuple[str, ...] = ("",)
    tolerance: float = 1.0


@dataclass(frozen=True)
class Grid:
    """A table of the paper.

    Attributes:
        title: what it shows.
        config: the configuration of its fits, relative to the repository.
        columns: its columns.
        rows: its rows.
        data: the data options that name its corpus.
        blocks: parts with the same rows. ``$block`` in overrides and keys is the block's name.
        block_set: overrides of the fits of a block, by its name; in the file the value of a block.
        set: overrides of every fit.
        builtin: further overrides on the built-in corpus.
        runs: sets of runs: overrides by name. The set without a name is that of all other rows.
        notes: lines below the table.
        figure: what a figure shows: ``x``, the headings ``score`` and ``speed``, and the row
            ``baseline``; or ``x`` and ``score`` of learning curves, where the columns have an x.
        claims: what the paper says about its rows, or our pages.
        check: the part that tells whether the figures still come out.
        root: the folder above `sweeps`.
    """

    title: str
    config: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    data: tuple[str, ...] = ("path",)
    blocks: tuple[str, ...] = ("",)
    block_set: Mapping[str, Overrides] = field(default_factory=dict)
    set: Overrides = field(default_factory=dict)
    builtin: Overrides = field(default_factory=dict)
    runs: Mapping[str, Mapping[str, Overrides]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    figure: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()
    check: Check | None = None
    root: Path = Path()

    def fits(
        self,
        seeds: int,
        further: Overrides,
        rows: Iterable[str] | None = None,
        blocks: Iterable[str] | None = None,
        repeat: Iterable[str] | None = None,
    ) -> list[Fit]:
        """List the fits of the table, seed by seed, so that a first table is complete early.

        Args:
            seeds: number of seeds.
            further: overrides that come after all others.
            rows: names of the rows; by default all.
            blocks: names of the blocks; by default all.
            repeat: in rows of several runs, the names of those that have further seeds than the
                first; by default all.

        Raises:
            InputError: there is no such row, block, run or configuration.
        """
        chosen = _select("--rows", rows, {row.name: row for row in self.rows})
        parts = _select("--blocks", blocks, {block: block for block in self.blocks})
        known = {name: name for runs in self.runs.values() for name in runs}
        repeated = {"", *_select("--repeat", repeat, known)}
        texts = {row.config or self.config: self._read(row) for row in chosen}
        contents = {name: [*map(yaml.safe_load, each.values())] for name, each in texts.items()}
        return [
            self._fit(block, row, run, SEED + seed, further, texts, contents)
            for seed in range(seeds)
            for block in parts
            for row in chosen
            if seed < (row.seeds or seeds)
            for run in self.runs.get(row.runs, {"": {}})
            if seed == 0 or repeat is None or self._shown(row, run, repeated)
        ]

    def _shown(self, row: Row, run: str, repeated: Iterable[str]) -> bool:
        """Whether a further seed of a run makes a figure: a column that needs no other runs."""
        runs = self.runs.get(row.runs, {"": {}}).keys()
        needed = [runs_of(key, runs) for column in self.columns if (key := column.key_of(row))]
        return any(run in some and some.issubset(repeated) for some in needed)

    def _path(self, config: str) -> Path:
        """Return the path of a configuration: below `root`, or else one of the package."""
        own, shipped = self.root / config, SHIPPED.parent / config
        return shipped if shipped.is_file() and not own.is_file() else own

    def _read(self, row: Row) -> dict[str, str]:
        """Return the text of a row's configuration, after those that it is laid over, by path."""
        config = self._path(row.config or self.config)
        if not config.is_file():
            raise InputError(f"{config}: no such file (configuration of {row.name!r})")
        return texts_of([str(config)])

    def _fit(
        self,
        block: str,
        row: Row,
        run: str,
        seed: int,
        further: Overrides,
        texts: Mapping[str, Mapping[str, str]],
        contents: Mapping[str, list[Any]],
    ) -> Fit:
        runs = self.runs.get(row.runs, {"": {}})
        own = {**self.set, **self.block_set.get(block, {}), **row.set, **runs[run]}
        overrides = filled(own, block) | dict(further)
        name = row.config or self.config
        config = self._path(name)
        settings = {**overrides, "seed_everything": seed}
        # sorted keys put a class before its arguments, and give equal fits equal flags
        flags = [part for key in sorted(settings) for part in (f"--{key}", as_text(settings[key]))]
        content = json.dumps([*contents[name], flags])
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        languages = len(_languages(overrides, contents[name]))
        arguments = ("--config", str(config), *flags)
        key = f"{config.stem}-{digest}"
        return Fit(block, row, run, seed, languages, arguments, key, texts[name])


def runs_of(key: str, runs: Iterable[str]) -> set[str]:
    """Return those of some runs that the key of a column takes; see `Column`."""
    pattern = key.rpartition(":")[0] or "*"
    return {run for run in runs if fnmatchcase(run, pattern)}


def filled(value: Any, block: str) -> Any:
    """Put the name of the block in place of ``$block``, in keys and values."""
    if isinstance(value, str):
        return Template(value).safe_substitute(block=block)
    if isinstance(value, Mapping):
        return {filled(k, block): filled(v, block) for k, v in value.items()}
    return value


def _languages(overrides: Overrides, contents: Sequence[Any]) -> list[str]:
    """Return the languages that a fit names, by its overrides or its configurations; or one."""
    named = overrides.get("data.languages")
    for content in contents if named is None and "data" not in overrides else ():
        data = content.get("data") if isinstance(content, dict) else None
        if isinstance(data, dict):
            own = {**data, **(data.get("init_args") or {})}
            named = own.get("languages", list(own.get("modules") or ()) or named)
    return named if isinstance(named, list) else as_text(named or "").split(",")


def as_text(value: Any) -> str:
    """Write a value as an argument of the command line."""
    return value if isinstance(value, str) else json.dumps(value)


def _select(option: str, names: Iterable[str] | None, known: Mapping[str, Any]) -> list[Any]:
    if names is None:
        return list(known.values())
    names = list(names)
    for name in names:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise InputError(f"{option}: {name!r} is none of {listed}{nearest(name, known)}")
    return [part for name, part in known.items() if name in names]
