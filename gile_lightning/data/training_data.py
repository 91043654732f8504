"""What a system is built from."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.tokenizing.task import Task


@dataclass(frozen=True)
class TrainingData:
    """What a system is built from, and what it may learn before its first step.

    Attributes:
        tasks: tokenizer and label set by the name of the language.
        vectors: returns the word vectors [V, d] that the corpus brings for a language, if any.
        documents: yields every training document of a language once, in order, in batches.
        cache_dir: the folder for what is computed from texts.
        corpora: the keys of the encoded corpora in the cache, by language.
        hashes: returns a hash of each document of a language and split, in order; None if unknown.
    """

    tasks: dict[str, Task]
    vectors: Callable[[str], Tensor | None]
    documents: Callable[[str], Iterator[RaggedBatch]]
    cache_dir: Path
    corpora: Mapping[str, str] = field(default_factory=dict)
    hashes: Callable[[str, str], NDArray[np.int64] | None] = lambda name, split: None
