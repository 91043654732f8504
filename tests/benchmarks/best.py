"""The model of sweeps/best.yaml as it is shipped, on invented documents, without a network.

Vectors of documents and labels are random ones in the place of those of all-MiniLM-L6-v2. Those of
documents are kept as the cache keeps them, and gathered for each batch.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
import torch.nn.functional as F
import yaml
from torch import Tensor
from workload import NAME, Workload

from gile_lightning.common.factories import instantiate
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.pretrained import VectorStore, backends, vectors
from gile_lightning.data.pretrained.passages import passage_counts
from gile_lightning.data.pretrained.subwords import NEXT
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.network.encoders import Idf, pretrained
from gile_lightning.network.matchers import Matcher
from gile_lightning.systems import NeuralSystem, label_encoding, neural
from gile_lightning.systems.weights import fit_ridge

CONFIG = Path(__file__).parents[2] / "sweeps/best.yaml"
DIM, WINDOW = 384, 256  # of all-MiniLM-L6-v2: size of a vector, subwords that it reads at once
TUNED = {
    "class_path": "gile_lightning.network.encoders.Pretrained",
    "init_args": {"trainable": True, "lr": 2e-5},
}


def random_vectors(count: int) -> Tensor:
    """Return vectors of length 1."""
    return F.normalize(torch.randn(count, DIM))


@dataclass
class BestWorkload(Workload):
    """Documents for the model of best.yaml, with the row of a stored vector each.

    Labels are named by two words.
    """

    stored: int = 50_000

    def __post_init__(self) -> None:
        super().__post_init__()
        folder = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, folder)
        stand_in = {
            "identity": lambda name, backend: "random",
            "encode": lambda name, ids, counts, backend: random_vectors(len(counts)),
        }
        with (
            mock.patch.multiple(backends, **stand_in),
            mock.patch.object(vectors, "bfloat16_speedup", return_value=1.0),
            known_size(vectors),
        ):
            self.store = VectorStore("random", Path(folder))
            ids = np.arange(self.stored, dtype=np.int32)  # a text of one subword each
            self.rows = self.store.fill([(ids, np.ones(self.stored, dtype=np.int64))])

    def gathered(self, batch: RaggedBatch) -> RaggedBatch:
        """Add stored vectors of its documents and their passages to a batch, as a loader does."""
        counts = passage_counts(batch.subwords, batch.subword_counts)
        # one after the other, as those of a document stand in the store
        places = np.concatenate(
            [
                row + np.arange(n)
                for row, n in zip(batch.rows.tolist(), counts.tolist(), strict=True)
            ]
        )
        return batch._replace(
            vectors=self.store.texts.take(self.rows[batch.rows]),
            passages=self.store.texts.take(self.rows[places % self.stored]),
            passage_counts=counts,
        )

    def batches(self, count: int) -> Iterator[RaggedBatch]:
        """Draw batches of documents, with subwords: four for three words, in windows."""
        for batch in super().batches(count):
            counts = batch.sentence_lengths * 4 // 3
            counts += (counts - 1) // WINDOW
            places = torch.cat([torch.arange(n) for n in counts.tolist()])
            subwords = torch.from_numpy(self.random.integers(999, 30_000, len(places)))
            between = places % (WINDOW + 1) == WINDOW
            yield batch._replace(
                rows=torch.from_numpy(self.random.integers(self.stored, size=len(counts))),
                subwords=subwords.where(~between, NEXT).int(),
                subword_counts=counts,
            )

    def model(self, encoder: str | None = None) -> NeuralSystem:  # type: ignore[override]
        """Make the model; its regression has seen a batch, and words are counted in it.

        Args:
            encoder: the folder of a sentence encoder, which is trained as the first encoder of
                documents. There is no regression then, which needs vectors that do not change.
        """
        settings: dict[str, Any] = yaml.safe_load(CONFIG.read_text())["model"]
        settings["schedule"] = None  # which needs a trainer
        if encoder is not None:
            settings["encoder"]["init_args"]["encoders"][0] = TUNED
            settings["ridge"] = None
        model: NeuralSystem = instantiate(NeuralSystem, settings)
        with (
            known_size(pretrained),
            mock.patch.object(label_encoding, "encode_texts", _encode),
            mock.patch.object(neural, "fingerprints", return_value={}),
        ):
            model.build({NAME: self.task(encoder or "random")})
        (batch,) = map(self.gathered, self.batches(1))
        network = model.network(NAME)
        counts = document_frequencies([batch], self.vocabulary)
        for part in network.modules():
            if isinstance(part, Idf | Matcher):
                part.count_words(*counts)
        fit_ridge(network, [batch])
        model.log = lambda *args, **kwargs: None  # type: ignore[method-assign]
        return model

    def task(self, encoder: str) -> Task:
        """Return words, and labels with names and texts."""
        words = np.array([spelled(i) for i in range(self.vocabulary - 1)] + [UNKNOWN])
        texts = np.split(words[self.label_texts.words], self.label_texts.sentence_lengths.cumsum(0))
        names: dict[str, None] = {}
        while len(names) < self.labels:
            names[" ".join(words[self.draw(self.words, 2)])] = None
        labels = LabelSet(
            list(names),
            [" ".join(text) for text in texts[: self.labels]],
            [1] * self.labels,
            documents=self.stored,
        )
        return Task(Tokenizer(words.tolist(), pretrained=encoder), labels)


def known_size(module: Any) -> Any:
    """Have a module know the size of the vectors without the model that makes them."""
    return mock.patch.object(module, "dimension", return_value=DIM)


def _encode(tokenizer: Tokenizer, texts: list[str], inputs: Any, **places: Any) -> Texts:
    encoded = Texts.from_flat(*tokenizer.labels(texts))
    return encoded._replace(vectors=random_vectors(len(texts))) if "vectors" in inputs else encoded


def spelled(number: int) -> str:
    """Write a number as letters.

    >>> spelled(0), spelled(27)
    ('a', 'bb')
    """
    letters = ""
    while True:
        number, letter = divmod(number, 26)
        letters = chr(ord("a") + letter) + letters
        if not number:
            return letters


def write_encoder(folder: Path, layers: int = 6) -> str:
    """Write a BERT of the size of all-MiniLM-L6-v2, with random weights; return its folder."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    sizes = {"hidden_size": DIM, "intermediate_size": 4 * DIM, "num_attention_heads": 12}
    bert = BertModel(BertConfig(**sizes, num_hidden_layers=layers))
    bert.save_pretrained(folder / "bert")
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]"}
    words = Tokenizer(models.WordLevel({"[PAD]": 0, "[UNK]": 1}, special["unk_token"]))
    PreTrainedTokenizerFast(tokenizer_object=words, **special).save_pretrained(folder / "bert")
    layers_ = [Transformer(str(folder / "bert")), Pooling(DIM, "mean"), Normalize()]
    SentenceTransformer(modules=layers_, device="cpu").save(str(folder / "model"))
    return str(folder / "model")
