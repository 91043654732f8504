"""Labels the documents of a file or a stream with a checkpoint."""

import gzip
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

from gile_lightning.commands.documents import DocumentReader, InputDocument, lines_of
from gile_lightning.commands.explaining import writer
from gile_lightning.common import console
from gile_lightning.common.console import complain, note, show
from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.files import new_text
from gile_lightning.common.processes import found_device
from gile_lightning.common.progress import Progress
from gile_lightning.data.label_changes import read_changes
from gile_lightning.data.pretrained import Backend, BackendChoice, quantized
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.explaining import Explanation
from gile_lightning.systems import System
from gile_lightning.systems.label_regrouping import change_labels
from gile_lightning.systems.loading import load_system, read_model
from gile_lightning.systems.predictor import Prediction, Predictor, find_language
from gile_lightning.systems.reranker import Reranker, find_reranker
from gile_lightning.training.checkpoint import tasks_of

Threshold = float | Literal["tuned", "labels"] | None


def label_documents(
    *,
    checkpoint: Path,
    input: str,
    output: str,
    labels: Path | None,
    label_language: str | None,
    top_k: int | None,
    threshold: Threshold,
    language: str | None,
    format: str,
    batch_size: int,
    device: str,
    pretrained_backend: BackendChoice | None,
    rerank: bool,
    label_changes: Path | None,
    explain: str | None,
    explain_labels: list[str] | None,
) -> None:
    """Write a line of JSON per document, batch by batch.

    The arguments are those of `gile_lightning.predict.predict`.

    Raises:
        InputError: a file, a setting or a record is wrong.
    """
    positive(batch_size=batch_size, **({} if top_k is None else {"top_k": top_k}))
    if format in ("csv", "tsv") and input == "-":
        raise InputError(f"a table is read from a file: give --input FILE.{format}")
    if explain is None and explain_labels:
        raise InputError("explain_labels has no effect without explain: give --explain page.html")
    if explain is not None and rerank:
        raise InputError("scores of a second stage cannot be explained: leave --rerank out")
    if label_language is not None and labels is None:
        raise InputError("label_language has no effect without labels: give --labels FILE")
    read = {"input": input, "labels": labels, "label_changes": label_changes}
    _check_places(read, {"output": output, "explain": explain})
    if top_k is None and threshold is None:
        top_k = 5
    device = found_device(device)
    with ExitStack() as stack:
        source = sys.stdin if input == "-" else stack.enter_context(_open(input))
        system = _system(checkpoint, label_changes, pretrained_backend)
        reranker = find_reranker(checkpoint, device) if rerank else None
        predictors = _Predictors(system, device, reranker, labels, label_language)
        default = _default_language(system, language)
        if default is not None:
            # which refuses wrong settings before a text is read
            predictors[default].places_of(explain_labels or ())
        name = "standard input" if input == "-" else input
        explained = None if explain is None else stack.enter_context(writer(explain))
        reader = DocumentReader(lines_of(source, name), name, format, system, default)
        lines = _Lines(output, explain, stack)
        documents = iter(reader)
        explain_one = partial(predictors.explain, explain_labels, top_k, threshold)
        with _progress(source, lines) as progress:
            while batch := list(islice(documents, batch_size)):
                labelled = predictors.label(batch, top_k, threshold)
                for document, prediction in zip(batch, labelled, strict=True):
                    lines.add({"id": document.id, "labels": prediction})
                    if explained is not None:
                        explained.add(partial(explain_one, document))
                    progress.advance()
                lines.flush()
        reader.report()
        lines.end(reader)


def _system(
    checkpoint: Path, label_changes: Path | None, pretrained_backend: BackendChoice | None
) -> System:
    """Load a system, and say what runs its pretrained models otherwise than in training."""
    stored = read_model(checkpoint)
    if label_changes is not None:
        stored = change_labels(stored, read_changes(label_changes))
    system = load_system(stored, pretrained_backend)
    for name, (backend, before) in _run_otherwise(system, tasks_of(stored)).items():
        said = f"{name}: run by {backend}, unlike in training"
        if "openvino-int8" in (backend, before):
            cosine = quantized.cosine(name)
            said += f"; of vectors in 8 bits and in float32 the mean cosine is {cosine:.3f}"
        note(said)
    return system


class _Predictors(dict[str, Predictor]):
    """Predictors by language, each made for its first text."""

    def __init__(
        self,
        system: System,
        device: str,
        reranker: Reranker | None,
        labels: Path | None,
        label_language: str | None,
    ) -> None:
        super().__init__()
        self._system, self._device, self._reranker = system, device, reranker
        self._labels, self._label_language = labels, label_language

    def __missing__(self, language: str) -> Predictor:
        """Make the predictor of a language, and tell which labels it has."""
        made = Predictor(self._system, self._device, language)
        made.reranker = self._reranker
        if self._labels is not None:
            made.set_labels(self._labels, self._label_language)
            given, own = len(made.label_names), len(self._system.tasks[language].labels)
            of = f" ({language})" if len(self._system.tasks) > 1 else ""
            note(f"labels{of}: {given:,} of {self._labels}, in place of the model's {own:,}")
            for reason, count in sorted(made.left_out.counts.items()):
                complain(f"{self._labels}: left out {count:,} {reason}")
        self[language] = made
        return made

    def label(
        self, batch: Sequence[InputDocument], top_k: int | None, threshold: Threshold
    ) -> list[Prediction]:
        """Label documents, those of a language at once."""
        found: dict[int, Prediction] = {}
        for language in dict.fromkeys(document.language for document in batch):
            places = [i for i, document in enumerate(batch) if document.language == language]
            texts = [batch[i].text for i in places]
            labelled = self[language].stream(texts, top_k, threshold, len(batch))
            found |= zip(places, labelled, strict=True)
        return [found[i] for i in range(len(batch))]

    def explain(
        self,
        labels: list[str] | None,
        top_k: int | None,
        threshold: Threshold,
        document: InputDocument,
    ) -> Explanation:
        """Explain the labels of a document."""
        found = self[document.language].explain(document.text, labels, top_k, threshold)
        return replace(found, id=document.id)


def _check_places(read: dict[str, Any], written: dict[str, Any]) -> None:
    """Refuse to write a file over one that is read, or that is written too."""
    taken: dict[Path, str] = {}
    for key, path in (*read.items(), *written.items()):
        if path in (None, "-"):
            continue
        place = Path(path).expanduser().resolve()
        if key in written and place in taken:
            raise InputError(f"{path}: --{key} would overwrite that of --{taken[place]}")
        taken[place] = key


class _Lines:
    """Takes the predictions: writes them as lines, or keeps them for the object of ``--json``."""

    def __init__(self, output: str, explain: str | None, stack: ExitStack) -> None:
        self.output, self.count = output, 0
        self.kept: list[dict[str, Any]] | None = None
        # the terminal gets explanations in place of lines
        self.silent = explain == "-" == output
        self.to_terminal = output == "-" and console.is_terminal(sys.stdout)
        self.stream = sys.stdout
        if output != "-":
            try:
                self.stream = stack.enter_context(new_text(Path(output).expanduser()))
            except OSError as error:
                raise InputError(f"{output}: {error.strerror} (--output)") from error
        elif console.as_json():
            self.kept = []

    def add(self, line: dict[str, Any]) -> None:
        self.count += 1
        if self.kept is not None:
            self.kept.append(line)
        elif not self.silent:
            text = json.dumps(line, ensure_ascii=False).encode("utf-8", "replace").decode()
            self.stream.write((console.printable(text) if self.to_terminal else text) + "\n")

    def flush(self) -> None:
        self.stream.flush()

    def end(self, reader: DocumentReader) -> None:
        """Add what `add` has got to the results, and what was left out."""
        left_out = {"broken": reader.broken, "empty": reader.empty}
        show(documents=self.count, left_out=left_out)
        show(**({"output": self.output} if self.kept is None else {"predictions": self.kept}))


def _progress(source: TextIO, lines: _Lines) -> Progress:
    """Show how many documents are labelled, unless the terminal shows the labels themselves."""
    total = None
    zipped = isinstance(source.buffer, gzip.GzipFile)  # to unfold it twice takes long
    if source is not sys.stdin and source.seekable() and not zipped:
        total, last = 0, b"\n"
        for block in iter(partial(source.buffer.read, 2**20), b""):
            total, last = total + block.count(b"\n"), block[-1:]
        total += last != b"\n"  # a text that no newline ends
        source.seek(0)
    return Progress("labelling", total, "documents", show=not lines.to_terminal)


def _run_otherwise(system: System, trained: dict[str, Task]) -> dict[str, tuple[Backend, Backend]]:
    """Return what runs pretrained models now, and what ran them in training, if it differs."""
    pairs = [(task.tokenizer, trained[name].tokenizer) for name, task in system.tasks.items()]
    return {
        str(now.pretrained): (now.pretrained_backend, before.pretrained_backend)
        for now, before in pairs
        if now.pretrained_backend != before.pretrained_backend
    }


def _default_language(system: System, language: str | None) -> str | None:
    """Return the language of the documents that do not name theirs, if there is one."""
    if language is not None:
        language = find_language(system, language)
    if len(system.tasks) == 1:
        (language,) = system.tasks
    return language


def _open(path: str) -> TextIO:
    try:
        if path.endswith(".gz"):
            return gzip.open(path, "rt", encoding="utf-8")
        return open(path, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror} (--input)") from error
