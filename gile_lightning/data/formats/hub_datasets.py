"""Datasets of Hugging Face: saved in a folder, or on the hub."""

from collections.abc import Iterator
from pathlib import Path

from gile_lightning.common.errors import InputError, nearest_file, of_the_machine
from gile_lightning.data.formats.arrow import check_table
from gile_lightning.data.formats.lines import Record

_FILES = (".csv", ".gz", ".json", ".jsonl", ".tsv", ".txt")  # no name on the hub ends so
_SAVED = ("dataset_dict.json", "state.json")  # what `datasets` writes into a folder of its own


def is_saved_dataset(folder: Path) -> bool:
    """Return whether Hugging Face `datasets` has saved a dataset into a folder."""
    return any((folder / name).is_file() for name in _SAVED)


def read_dataset(path: str, split_column: str | None = None) -> Iterator[Record]:
    """Stream the rows of a dataset, split by split.

    Args:
        path: a folder that `datasets` has saved, or the name of a dataset on the hub.
        split_column: gets the name of the split in rows that lack this column.

    Raises:
        InputError: there is no such dataset, or it is damaged.
    """
    if Path(path).suffix in _FILES and not Path(path).exists():
        raise InputError(f"{path}: no such file{nearest_file(path)}")
    import datasets  # which takes a second

    if Path(path).is_dir():
        try:
            source = datasets.load_from_disk(path)
            for part in source.values() if isinstance(source, dict) else [source]:
                check_table(part.data.table)
        except FileNotFoundError as error:
            raise InputError(
                f"{path}: a folder without a saved dataset and without .txt files"
            ) from error
        except Exception as error:  # of many kinds: damaged JSON, damaged Arrow files
            if of_the_machine(error):
                raise
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise InputError(f"{path}: no readable saved dataset ({reason:.200})") from error
    else:
        try:
            source = datasets.load_dataset(path, streaming=True)
        except Exception as error:  # of many kinds: network, name, format
            raise InputError(
                f"{path}: no file or folder here, nor a dataset that can be loaded "
                f"from the hub ({type(error).__name__}: {error})"
            ) from error
    splits = source if isinstance(source, dict) else {"": source}
    for split, rows in splits.items():
        for number, fields in enumerate(rows, 1):
            if split_column:
                fields.setdefault(split_column, split)
            yield Record(f"{path}[{split}]:{number}" if split else f"{path}:{number}", fields)
