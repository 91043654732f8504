"""DW articles in the authors' format: word ids that refer to a file of word vectors."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import Document
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.fingerprint import stamp

_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_KEYS = ("X_ids", "Y_ids", "label_ids")


class ReleasedArticles(DocumentDataModule):
    """One language of the corpus as the authors' scripts write it.

    ``path`` holds ``{train,dev,test}/LANGUAGE.json`` with ``X_ids`` (documents, sentences, word
    ids), ``Y_ids`` (documents, label numbers) and ``label_ids`` (labels as word ids joined with
    '_'). Word ids are positions in the file of word vectors.

    Args:
        path: the folder.
        kwargs: see `DocumentDataModule`; ``word_vectors`` is needed.
    """

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = path
        self._labels: dict[Path, list[str]] = {}

    def files(self) -> dict[str, Path]:
        """Return the file of every split."""
        folder, name = Path(self.path).expanduser(), f"{self.language}.json"
        return {split: folder / part / name for part, split in _SPLITS.items()}

    def sources(self) -> dict[str, Any]:
        """Return the files with their sizes and times."""
        return {split: stamp(file) for split, file in self.files().items()}

    def recipe(self) -> TextRecipe:
        """Return that names describe labels; new texts are read like other articles."""
        return TextRecipe(by_name=True, columns=("title", "teaser", "text"), language="language")

    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Return the labels, named by their words."""
        names: dict[str, str] = {}
        for file in self.files().values():
            self._labels[file] = self.labels_of(file)
            names |= dict.fromkeys(self._labels[file], "")
        return {name: name for name in names}

    def labels_of(self, file: Path) -> list[str]:
        """Return the labels of a file, in their order, named by their words."""
        _, _, rest = _read(file)
        return [self._label(file, number, key) for number, key in enumerate(rest["label_ids"])]

    def documents(self, skipped: Skipped) -> Iterator[Document]:
        """Stream the documents, split by split."""
        for split, file in self.files().items():
            labels = self._labels[file]
            text, starts, rest = _read(file)
            found = rest["Y_ids"]
            number = -1
            for number, sentences in enumerate(_elements(text, starts["X_ids"])):
                where = f"{file}: document {number}"
                if number >= len(found):
                    break
                pieces = _list(sentences, f"{where} in X_ids")
                numbers = _list(found[number], f"{where} in Y_ids")
                yield Document(
                    where,
                    f"{split}-{number}",
                    [self._words(where, _list(ids, f"{where}: a sentence")) for ids in pieces],
                    [self._pick(where, labels, label) for label in numbers],
                    split,
                )
            if number + 1 != len(found):
                raise InputError(
                    f"{file}: X_ids and Y_ids differ in their number of documents "
                    f"({number + 1:,} or more, and {len(found):,})"
                )

    def _words(self, where: str, ids: list[int]) -> list[str]:
        words = self.vector_words()
        last = len(words) - 2  # then follows `UNKNOWN`
        try:
            if ids and not 0 <= min(ids) <= max(ids) <= last:
                raise IndexError
            return [words[i] for i in ids]
        except (IndexError, TypeError) as error:
            raise InputError(
                f"{where}: a word id is none of the {len(words) - 1:,} words of "
                f"{self.vectors_file()}; are these the word vectors of this corpus?"
            ) from error

    @staticmethod
    def _pick(where: str, labels: list[str], label: Any) -> str:
        if not isinstance(label, int) or not 0 <= label < len(labels):
            raise InputError(f"{where}: label {label!r} is none of the {len(labels)} label_ids")
        return labels[label]

    def _label(self, file: Path, number: int, key: Any) -> str:
        where = f"{file}: label {number}"
        try:
            ids = [int(i) for i in str(key).split("_")]
        except ValueError as error:
            raise InputError(f"{where} is {key!r}, not word ids joined with '_'") from error
        return " ".join(self._words(where, ids))


def _read(file: Path) -> tuple[str, dict[str, int], dict[str, Any]]:
    """Return a file's text, where X_ids starts in it, and the values of the other keys.

    The documents are not decoded all at once: lists of Python numbers take ten times the memory
    of their text.
    """
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    decoder = json.JSONDecoder()
    starts: dict[str, int] = {}
    values: dict[str, Any] = {}
    try:
        text = file.read_text(encoding="utf-8")
        place = _skip(text, _skip(text, 0, "{"))
        while text[place] != "}":
            key, place = decoder.raw_decode(text, place)
            starts[key] = place = _skip(text, _skip(text, place, ":"))
            if key == "X_ids":
                place = max((end for _, end in _ends(text, place)), default=place + 1)
                place = _skip(text, _skip(text, place, "]"))
            else:
                values[key], place = decoder.raw_decode(text, place)
            place = _skip(text, _skip(text, place, ","))
    except (ValueError, IndexError, TypeError, RecursionError) as error:
        raise InputError(f"{file}: not readable as the authors' JSON ({error})") from error
    missing = [key for key in _KEYS if key not in starts]
    if missing:
        raise InputError(f"{file}: no {' and no '.join(missing)} in it; the keys are {[*starts]}")
    for key in _KEYS[1:]:
        _list(values[key], f"{file}: {key}")
    return text, starts, values


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError(f"{where} is {value!r:.80}, not a list")
    return value


def _elements(text: str, start: int) -> Iterator[Any]:
    try:
        for value, _ in _ends(text, start):
            yield value
    except RecursionError as error:
        raise InputError("X_ids is nested too deep; it has documents, sentences, words") from error


def _ends(text: str, start: int) -> Iterator[tuple[Any, int]]:
    """Decode the elements of the list at ``start`` one by one, with the place after each."""
    decoder = json.JSONDecoder()
    place = _skip(text, start, "[")
    while text[_skip(text, place)] != "]":
        value, place = decoder.raw_decode(text, _skip(text, place))
        yield value, place
        place = _skip(text, place, ",")


def _skip(text: str, place: int, sign: str = "") -> int:
    """Return the place after white space, and after ``sign`` if that follows."""
    while text[place].isspace():
        place += 1
    return place + len(sign) if sign and text.startswith(sign, place) else place
