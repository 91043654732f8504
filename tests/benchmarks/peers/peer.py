"""What the script of every peer shares: the corpus, the clock, the memory and the scores.

It needs NumPy alone, so that it runs in each peer's own environment.
"""

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FROM_TEXT = "scored from its text"  # how a system takes a label that is added after training
RETRAINED = "trained again, with documents"


class Documents(NamedTuple):
    """Texts, and the numbers of the labels of each."""

    texts: list[str]
    labels: list[list[int]]


class Corpus:
    """A corpus that `corpus.py` has written.

    Attributes:
        names: of the labels; those seen in training come first.
        descriptions: of the labels.
        synonyms: lists of other names.
        seen: number of labels seen in training.
        train, validation, test: documents.
    """

    def __init__(self, folder: Path) -> None:
        lines = _lines(folder / "labels.jsonl")
        self.names = [line["name"] for line in lines]
        self.descriptions = [line["text"] for line in lines]
        self.synonyms = [line["synonyms"] for line in lines]
        self.seen = sum(line["seen"] for line in lines)
        self.train, self.validation, self.test = (
            Documents([x["text"] for x in lines], [x["labels"] for x in lines])
            for lines in (_lines(folder / f"{s}.jsonl") for s in ("train", "validation", "test"))
        )


class Measured:
    """The seconds of each stage of a peer, and its peak memory."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what is done within."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def main(package: str, run: Callable[[Corpus, Measured, Path], dict[str, Any]]) -> None:
    """Run a peer and keep its scores: ``NAME.npy`` [N, K] float32, and ``NAME.json``.

    Args:
        package: of the peer, whose version is noted.
        run: trains and scores, in the stages ``train`` and ``score``. It gets the corpus, the
            clock and a folder of its own, and returns ``scores``: by the name of a system, for test
            documents and labels, NaN in columns of labels that it cannot score; and ``new_label``:
            how it takes a label that is added later, by the name of a system.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, help="what corpus.py has written")
    folder = parser.parse_args().folder.resolve()  # as a peer may change the working directory
    corpus, measured = Corpus(folder), Measured()
    own = folder / package
    own.mkdir(exist_ok=True)
    found = run(corpus, measured, own)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    for name, scores in found["scores"].items():
        assert scores.shape == (len(corpus.test.texts), len(corpus.names)), scores.shape
        np.save(folder / f"{name}.npy", scores.astype(np.float32))
        stages = found.get("stages", {}).get(name, ("train", "score"))
        told = {
            "package": f"{package} {version(package)}",
            "train_seconds": measured.seconds[stages[0]],
            "texts_per_second": len(corpus.test.texts) / measured.seconds[stages[1]],
            "peak_mib": max(peak, children),
            "new_label": found["new_label"][name],
        }
        (folder / f"{name}.json").write_text(json.dumps(told, indent=1))
        print(name, told)


def _lines(path: Path) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
