"""Label new texts, also with labels that did not exist at training time.

python -m gile_lightning.predict --checkpoint RUN --input texts.jsonl --labels labels.jsonl
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from gile_lightning.errors import InputError, nearest, positive
from gile_lightning.parser import command, parse

if TYPE_CHECKING:
    from gile_lightning.predictor import Text

_MAX_BROKEN = 100
_PARTS = ("title", "teaser", "abstract", "abstractText")


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
        input: texts, one per line: JSON with the columns that the model was trained with, or with
            "text" (or "title" and "abstract"), and perhaps an "id"; or plain text; - is standard
            input. The id is the line number where none is given.
        output: where the lines go; - is standard output.
        labels: JSON lines with "name" and "description", and perhaps "synonyms" and "parents"
            (lists of names), to label with in place of the model's. Their texts are put together
            as those of the labels were in training.
        top_k: labels per text; 5 unless a threshold is given.
        threshold: give only labels whose score, a probability, is above this; tuned for the
            threshold that was best on the validation documents.
        language: of the texts, if the model has several.
        format: of the input; auto looks at its first line.
        batch_size: texts scored at a time.
        device: cpu, cuda, or auto.
    """
    import torch  # not before --help, which it would keep waiting

    from gile_lightning.predictor import load

    positive(batch_size=batch_size, **({} if top_k is None else {"top_k": top_k}))
    if top_k is None and threshold is None:
        top_k = 5
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    with ExitStack() as stack:
        source = sys.stdin if input == "-" else stack.enter_context(_open(input))
        predictor = load(checkpoint, device, language)
        if labels is not None:
            predictor.use_labels(labels)
        name = "standard input" if input == "-" else input
        reader = _Reader(source, name, format, predictor.columns)
        target = sys.stdout if output == "-" else stack.enter_context(_open(output, "w"))
        documents = iter(reader)
        while batch := list(islice(documents, batch_size)):
            labelled = predictor.stream([text for _, text in batch], top_k, threshold, batch_size)
            for (identity, _), found in zip(batch, labelled, strict=True):
                line = json.dumps({"id": identity, "labels": found}, ensure_ascii=False)
                target.write(line + "\n")
            target.flush()
        reader.report()


def _open(path: str, mode: Literal["r", "w"] = "r") -> TextIO:
    try:
        return open(path, mode, encoding="utf-8")
    except OSError as error:
        key = {"r": "--input", "w": "--output"}[mode]
        raise InputError(f"{path}: {error.strerror} ({key})") from error


class _Reader:
    """Reads (id, text) from lines of JSON or plain text, and counts what it leaves out."""

    def __init__(
        self, lines: Iterable[str], name: str, kind: str, columns: Sequence[str] = ()
    ) -> None:
        self.lines, self.name, self.kind, self.columns = lines, name, kind, columns
        self.broken = 0
        self.empty = 0

    def __iter__(self) -> Iterator[tuple[str | int, "Text"]]:
        for number, line in self._numbered():
            text = line.strip().lstrip("\ufeff")
            if not text:
                self.empty += 1
                continue
            if self.kind == "auto":
                self.kind = "jsonl" if text.startswith("{") else "text"
            if self.kind == "text":
                yield number, text
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

    def _document(self, number: int, line: str) -> "tuple[str | int, Text] | None":
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
        pieces = [str(fields[name]) for name in self.columns if fields.get(name)]
        if self.columns and fields.get(self.columns[-1]):
            return identity, pieces
        if not fields.keys() & {"text", *_PARTS}:
            raise InputError(
                f"{where}: no 'text' (or 'title' and 'abstract'); the keys are "
                f"{', '.join(fields) or 'none'}{nearest('text', fields)}"
            )
        if fields.get("text"):
            return identity, str(fields["text"])
        return identity, [str(fields[name]) for name in _PARTS if fields.get(name)]

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
