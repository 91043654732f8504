"""Explanations of predictions: where they go, and those of a test."""

import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from gile_lightning.common import console
from gile_lightning.common.console import coloured, complain, note, show
from gile_lightning.common.errors import InputError
from gile_lightning.common.files import write
from gile_lightning.explaining import Explanation, align_ids
from gile_lightning.explaining.terminal import shown
from gile_lightning.systems import System
from gile_lightning.systems.calibrated import training_ids
from gile_lightning.systems.explainer import Explainer
from gile_lightning.tracking.examples import Tested
from gile_lightning.tracking.explanation_page import explanations_page

PAGE = 100  # documents on a page


class Writer(ABC):
    """Receives explanations, one after another; leaving its context ends them."""

    def __enter__(self) -> "Writer":
        return self

    @abstractmethod
    def add(self, explain: Callable[[], Explanation]) -> None:
        """Take what explains the next document."""

    @abstractmethod
    def end(self) -> None:
        """Receive the news that all documents are explained."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.end()


class Terminal(Writer):
    """Prints explanations."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.colours = coloured(stream)

    def add(self, explain: Callable[[], Explanation]) -> None:
        """Print one, and an empty line."""
        self.stream.write(shown(explain(), self.colours) + "\n")
        self.stream.flush()

    def end(self) -> None:
        """Do nothing: all is printed."""


class Collected(Writer):
    """Keeps explanations for the object of ``--json``; see `Explanation.state`."""

    def __init__(self) -> None:
        self.states: list[dict[str, Any]] = []

    def add(self, explain: Callable[[], Explanation]) -> None:
        """Keep one."""
        self.states.append(explain().state())

    def end(self) -> None:
        """Add them to the results."""
        show(explanations=self.states)


class Page(Writer):
    """Keeps the first documents, and writes a page of them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kept: list[Explanation] = []
        self.count = 0

    def add(self, explain: Callable[[], Explanation]) -> None:
        """Explain and keep one, if there is room."""
        self.count += 1
        if len(self.kept) < PAGE:
            self.kept.append(explain())

    def end(self) -> None:
        """Write the page."""
        write(self.path, explanations_page("Predictions explained", self.kept))
        if self.count > PAGE:
            complain(
                f"{self.path}: explains the first {PAGE} of {self.count:,} documents; a .json file "
                "has all"
            )
        else:
            note(f"{self.path}: explains {self.count:,} document{'s' * (self.count != 1)}")


class Json(Writer):
    """Writes a list of objects, one per document; see `Explanation.state`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.partial = path.with_name(f".{path.name}.{os.getpid()}")
        self.file = self.partial.open("w", encoding="utf-8")
        self.separator = "[\n"

    def add(self, explain: Callable[[], Explanation]) -> None:
        """Write one."""
        self.file.write(self.separator + json.dumps(explain().state(), ensure_ascii=False))
        self.separator = ",\n"

    def end(self) -> None:
        """Close the list."""
        self.file.write("\n]\n" if self.separator == ",\n" else "[]\n")
        self.file.close()
        self.partial.replace(self.path)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)  # type: ignore[arg-type]
        self.file.close()
        self.partial.unlink(missing_ok=True)


def explain_tested(system: System, tested: Tested) -> Explanation:
    """Explain the best label of a test document, and the best gold label if that is another one.

    Args:
        system: in its test.
        tested: the document.
    """
    task = system.tasks[tested.language]
    names, uris, ids = task.labels.names, task.labels.uris, training_ids(task.labels)
    prepared = system.prepared(tested.language)
    explainer = Explainer(system, tested.language, prepared, names, uris, ids, task.tokenizer)
    document = tested.text.to(system.batch_device)
    aligned = align_ids(task.tokenizer, tested.text)
    explanation = explainer.explain(document, aligned, [tested.best], tested.missed)
    return replace(explanation, gold=tuple(names[i] for i in tested.gold))


def writer(path: str) -> Writer:
    """Return what writes explanations to a page, a JSON file or (``-``) standard output.

    Raises:
        InputError: the name has another ending, or its folder is missing.
    """
    if path == "-":
        return Collected() if console.as_json() else Terminal(sys.stdout)
    kinds: dict[str, type[Page | Json]] = {".html": Page, ".json": Json}
    kind = kinds.get(Path(path).suffix.lower())
    if kind is None:
        raise InputError(f"{path}: a page (.html), JSON (.json) or - for the terminal (--explain)")
    if not Path(path).parent.is_dir():
        raise InputError(f"{path}: the folder is missing (--explain)")
    try:
        return kind(Path(path))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror} (--explain)") from error
