"""Label new texts, also with labels that did not exist at training time.

python -m gile_lightning.predict --checkpoint RUN --input texts.jsonl --labels labels.jsonl
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TextIO

import torch

from gile_lightning.commands.parser import command, parse
from gile_lightning.common.errors import InputError, nearest, positive
from gile_lightning.systems.loading import load_system
from gile_lightning.systems.predictor import Prediction, Predictor, Text, find_language
from gile_lightning.systems.system import System
from gile_lightning.training.checkpoint import read_checkpoint

_MAX_BROKEN = 100
_HEADINGS = ("title", "teaser")
_PARTS = (*_HEADINGS, "abstract", "abstractText")


def predict(
    checkpoint: Path,
    input: str = "-",
    output: str = "-",
    labels: Path | None = None,
    top_k: int | None = None,
    threshold: float | Literal["tuned"] | None = None,
    language: str | None = None,
    format: Literal["auto", "jsonl", "text"] = "auto",
    batch_size: int = 256,
    device: str = "auto",
) -> None:
    """Label new texts, also with labels that did not exist at training time.

    Writes a line of JSON per text: {"id": ..., "labels": [{"name": ..., "score": ...}, ...]},
    best label first.

    Args:
        checkpoint: a checkpoint file, or a run folder for its best one.
        input: texts, one per line: JSON with the columns that the model was trained with, of which
            some may be empty, or with "text" (or "title" and "abstract"), and perhaps an "id"; or
            plain text; - is standard input. The id is the line number where none is given.
        output: where the lines go; - is standard output.
        labels: JSON lines with "name" and "description", and perhaps "synonyms" and "parents"
            (lists of names), to label with in place of the model's. Their texts are put together
            as those of the labels were in training.
        top_k: labels per text; 5 unless a threshold is given.
        threshold: give only labels whose score, a probability, is above this; tuned for the
            threshold that was best on the validation documents.
        language: of the texts that do not say their own, if the model has several. A record does
            in its "language" (or the column that the corpus had): the name or ISO 639-1 code. A
            model of one language refuses records of others if its corpus had such a column.
        format: of the input; auto looks at its first line.
        batch_size: texts scored at a time.
        device: cpu, cuda, or auto.
    """
    positive(batch_size=batch_size, **({} if top_k is None else {"top_k": top_k}))
    if top_k is None and threshold is None:
        top_k = 5
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    with ExitStack() as stack:
        source = sys.stdin if input == "-" else stack.enter_context(_open(input))
        system = load_system(read_checkpoint(checkpoint))

        @cache
        def predictor(language: str) -> Predictor:
            made = Predictor(system, device, language)
            if labels is not None:
                made.set_labels(labels)
            return made

        default = language and find_language(system, language)
        if len(system.tasks) == 1:
            (default,) = system.tasks
        if default is not None:
            predictor(default)  # which refuses wrong settings before a text is read
        name = "standard input" if input == "-" else input
        reader = _Reader(source, name, format, system, default)
        target = sys.stdout if output == "-" else stack.enter_context(_open(output, "w"))
        documents = iter(reader)
        while batch := list(islice(documents, batch_size)):
            found: dict[int, Prediction] = {}
            for of in dict.fromkeys(document.language for document in batch):
                places = [i for i, document in enumerate(batch) if document.language == of]
                texts = [batch[i].text for i in places]
                labelled = predictor(of).stream(texts, top_k, threshold, batch_size)
                found |= zip(places, labelled, strict=True)
            for i, document in enumerate(batch):
                line = json.dumps({"id": document.id, "labels": found[i]}, ensure_ascii=False)
                target.write(line + "\n")
            target.flush()
        reader.report()


def _open(path: str, mode: Literal["r", "w"] = "r") -> TextIO:
    try:
        return open(path, mode, encoding="utf-8")
    except OSError as error:
        key = {"r": "--input", "w": "--output"}[mode]
        raise InputError(f"{path}: {error.strerror} ({key})") from error


class _Document(NamedTuple):
    id: str | int
    language: str
    text: Text


class _Reader:
    """Reads documents from lines of JSON or plain text, and counts what it leaves out."""

    def __init__(
        self,
        lines: Iterable[str],
        name: str,
        kind: str,
        system: System,
        language: str | None,
    ) -> None:
        self.lines, self.name, self.kind = lines, name, kind
        self.system, self.default = system, language
        columns = (known.recipe.language for known in system.tasks.values())
        several = "language" if len(system.tasks) > 1 else None
        self.column = next(filter(None, columns), several)  # of a record's language
        self.broken = 0
        self.empty = 0

    def __iter__(self) -> Iterator[_Document]:
        for number, line in self._numbered():
            text = line.strip().lstrip("\ufeff")
            if not text:
                self.empty += 1
                continue
            if self.kind == "auto":
                self.kind = "jsonl" if text.startswith("{") else "text"
            if self.kind == "text":
                yield _Document(number, self._language(f"{self.name}:{number}", {}), text)
                continue
            document = self._document(number, text)
            if document is not None:
                yield document

    def _numbered(self) -> Iterator[tuple[int, str]]:
        number = 0
        try:
            for number, line in enumerate(self.lines, 1):
                yield number, line
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}: not UTF-8 text near line {number + 1:,} ({error.reason})"
            ) from error

    def _document(self, number: int, line: str) -> _Document | None:
        where = f"{self.name}:{number}"
        try:
            fields = json.loads(line)
            if not isinstance(fields, dict):
                raise ValueError("not a JSON object")
        except ValueError as error:
            self.broken += 1
            sys.stderr.write(f"{where}: left out, not a JSON object ({error})\n")
            if self.broken > _MAX_BROKEN:
                raise InputError(
                    f"{where}: more than {_MAX_BROKEN} lines are not JSON objects; is this plain "
                    "text? Then use --format text"
                ) from error
            return None
        identities = (fields.get(key) for key in ("id", "pmid"))
        identity = next((i for i in identities if i not in (None, "")), number)
        language = self._language(where, fields)
        columns = self.system.tasks[language].recipe.columns
        filled = {name: str(value) for name, value in fields.items() if value}
        own = [name for name in columns if name in filled]
        others = filled.keys() & {"text", *_PARTS} - {*columns}
        # a title that the model knows may stand beside an abstract by a name that it does not know
        if others and len(own) < len(columns) and {*_HEADINGS}.issuperset(own):
            own = []
        if own:
            return _Document(identity, language, [filled[name] for name in own])
        if not fields.keys() & {"text", *_PARTS, *columns}:
            raise InputError(
                f"{where}: no 'text' (or 'title' and 'abstract'); the keys are "
                f"{', '.join(fields) or 'none'}{nearest('text', fields)}"
            )
        if "text" in filled:
            return _Document(identity, language, filled["text"])
        pieces = [filled[name] for name in _PARTS if name in filled]
        return _Document(identity, language, pieces)

    def _language(self, where: str, fields: Mapping[str, Any]) -> str:
        """Return the model's language that a record is in."""
        given = None if self.column is None else fields.get(self.column)
        if given is None or given == "":
            if self.default is None:
                raise InputError(
                    f"{where}: the model has several languages "
                    f"({', '.join(self.system.tasks)}): choose one (--language), or name "
                    f"it in each record ({self.column!r})"
                )
            return self.default
        try:
            return find_language(self.system, str(given))
        except InputError as error:
            raise InputError(f"{where}: {error}") from error

    def report(self) -> None:
        if self.broken or self.empty:
            sys.stderr.write(
                f"{self.name}: left out {self.broken} broken and {self.empty} empty lines\n"
            )


@command
def main(args: list[str] | None = None) -> None:
    """Run the command."""
    predict(**parse(predict, args, "python -m gile_lightning.predict"))


if __name__ == "__main__":
    main()
