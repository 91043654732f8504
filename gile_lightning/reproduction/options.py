"""The options of `reproduce`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gile_lightning.commands.parser import ErrorFirst
from gile_lightning.common.console import MANNERS
from gile_lightning.common.errors import InputError, positive
from gile_lightning.reproduction.grid import Grid
from gile_lightning.reproduction.writers import BUILTIN

FORMATS = ("md", "csv", "html", "png", "svg")
DESCRIPTION = (
    "Run a table of the paper, row by row and seed by seed, and print it beside the published "
    "figures. Without --data it runs on the built-in corpus, whose figures cannot be compared. "
    "After a crash, start the same command again: it repeats no fit that is done. It knows fits by "
    "their arguments, so choose another --output if the files below --data have changed. What "
    "follows a lone -- goes to every fit of the rows (--rows), such as -- --trainer.max_epochs 3"
)

# what `--check` does not take
_OF_A_TABLE = ("--rows", "--blocks", "--seeds", "--repeat", "--format", "--page", "--dry_run")
# keys of a fit that options of the command set
_OWN = ("config", "output", "ckpt_path", "seed_everything", "data.path", "data.word_vectors")


@dataclass(frozen=True)
class Options:
    """The options of the command.

    Attributes:
        table: number or name of the table; empty with ``check``.
        rows: names of its rows; None for all.
        blocks: names of its blocks; None for all.
        seeds: fits per cell.
        repeat: names of the runs that get all seeds; None for all.
        data: the folder of the corpus; None for the built-in one.
        word_vectors: the folder of the word vectors of DW.
        output: the folder of the fits and tables.
        jobs: fits at a time; None for one per GPU or core.
        formats: the formats of the files to write.
        dry_run: whether to list the fits and run none.
        overrides: settings of every fit, by the keys of the configuration.
        page: the result page to write; None for none.
        check: the results to check; None to run a table.
    """

    table: str
    rows: list[str] | None
    blocks: list[str] | None
    seeds: int
    data: str | None
    word_vectors: str | None
    output: Path
    jobs: int | None
    formats: list[str]
    dry_run: bool
    overrides: dict[str, str]
    page: Path | None = None
    check: Path | None = None
    repeat: list[str] | None = None

    @property
    def label(self) -> str:
        """The name of the table's folder and of the fits' W&B group."""
        return f"table{self.table}" if self.table.isdigit() else self.table


def read_options(args: list[str]) -> Options:
    """Read the arguments of the command.

    Raises:
        InputError: an argument is unknown, or makes no sense.
    """
    end = args.index("--") if "--" in args else len(args)
    keys = [arg.partition("=")[0] for arg in args[:end] if arg.startswith("--")]
    for key in keys:
        if "." in key:
            raise InputError(f"{key}: keys of the fits go after a lone --, as in -- {key} VALUE")
    read = _parser().parse_args(args[:end])
    positive(seeds=read.seeds)
    if (read.table is None) == (read.check is None):
        raise InputError("give --table NAME, or --check FILE without it")
    if read.check is not None:
        for key in (x for x in keys if x in _OF_A_TABLE):
            raise InputError(f"{key}: --check takes all that from its file; leave it out")
        if args[end + 1 :]:
            raise InputError("-- ...: --check takes the settings of fits from its file")
    if read.page is not None and Path(read.page).suffix != ".md":
        raise InputError(f"--page {read.page}: give the name of a Markdown file, such as table5.md")
    return Options(
        table=read.table or "",
        rows=_names(read.rows),
        blocks=_names(read.blocks),
        seeds=read.seeds,
        data=read.data,
        word_vectors=read.word_vectors,
        output=Path(read.output).expanduser(),
        jobs=read.jobs,
        formats=_formats(read.format),
        dry_run=read.dry_run,
        overrides=read_overrides(args[end + 1 :]),
        page=None if read.page is None else Path(read.page).expanduser(),
        check=None if read.check is None else Path(read.check).expanduser(),
        repeat=_names(read.repeat),
    )


def _parser() -> ErrorFirst:
    parser = ErrorFirst(
        prog="python -m gile_lightning.reproduce",
        description=DESCRIPTION,
        epilog=MANNERS,
        allow_abbrev=False,
    )
    parser.options = "--table NAME [--KEY VALUE ...] [-- --KEY VALUE ...]"
    add = parser.add_argument
    add(
        "--table",
        help="2 to 7, figure, sampling, ablation, scale, scale_invented (sweeps/tables/).",
    )
    add("--rows", help="Names of rows, with commas between them; by default all.")
    add("--blocks", help="Names of the table's blocks, such as general or german; by default all.")
    add("--seeds", type=int, default=3, help="Fits per cell, each with another seed.")
    add(
        "--repeat",
        help="In rows of several fits, such as one per language, those that get all seeds, such as "
        "english,german; the others get one. By default all get all.",
    )
    add(
        "--data",
        help="Folder of the corpus: BioASQ for table 2, sampling, ablation and scale, DW for the "
        "others.",
    )
    add("--word_vectors", help="Folder of the word vectors of DW.")
    add("--output", default="runs/reproduce", help="Folder of the fits and tables.")
    add("--jobs", type=int | None, help="Fits at a time; by default one per GPU or CPU core.")
    add("--format", default="md,csv,html,png,svg", help="Files to write.")
    add("--dry_run", type=bool, default=False, help="List the fits and how long they will take.")
    add("--page", help="Result page to write, PAGE.md, with its figures in PAGE.json beside it.")
    add(
        "--check",
        help="Results to check, such as docs/results/table5_news.json: run a small part anew, and "
        "say whether its figures still come out (status 1 if not).",
    )
    return parser


def corpus(grid: Grid, data: str | None, word_vectors: str | None) -> tuple[str, dict[str, Any]]:
    """Return the name of the corpus, and the overrides that choose it.

    Raises:
        InputError: a folder does not exist, is missing or is not for this table.
    """
    folders = {"path": ("--data", data), "word_vectors": ("--word_vectors", word_vectors)}
    for key, (option, value) in folders.items():
        if value is not None and key not in grid.data:
            raise InputError(f"{option}: this table does not use it; give --data alone")
        if value is not None and not Path(value).exists():
            raise InputError(f"{value}: no such folder ({option})")
    for key, (option, value) in folders.items():
        if value is None and key in grid.data and (data or word_vectors):
            raise InputError(f"{option} DIR is missing: this table reads two folders")
    if data is None:
        return BUILTIN, dict(grid.builtin)
    paths = {f"data.{key}": str(Path(str(folders[key][1])).resolve()) for key in grid.data}
    return Path(paths["data.path"]).name, paths


def read_overrides(args: list[str]) -> dict[str, str]:
    """Read the ``--KEY VALUE`` and ``--KEY=VALUE`` pairs that go to every fit.

    Raises:
        InputError: an argument is no such pair, or sets a key that the command itself sets.
    """
    found: dict[str, str] = {}
    rest = list(args)
    while rest:
        key, equals, value = rest.pop(0).partition("=")
        if not key.startswith("--") or not (equals or rest):
            raise InputError(f"{key}: expected --KEY VALUE pairs after --")
        key = key.removeprefix("--")
        if key == "test":
            raise InputError("--test: the figures of a table are of test documents; leave it out")
        if key in _OWN:
            raise InputError(
                f"--{key} is not for single fits: give --data, --word_vectors, --output or "
                "--seeds before --"
            )
        found[key] = value if equals else rest.pop(0)
    return found


def _formats(text: str) -> list[str]:
    formats = text.split(",")
    for kind in formats:
        if kind not in FORMATS:
            raise InputError(f"--format: {kind!r} is none of {', '.join(FORMATS)}")
    return formats


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",")]
