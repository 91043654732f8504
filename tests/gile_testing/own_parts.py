"""A class of one's own for every kind of part, each with an argument of its own: a factor."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import lightning
import torch

from gile_lightning import evaluate, load
from gile_lightning.common.factories import Part
from gile_lightning.data import Document, DocumentDataModule
from gile_lightning.network.encoders import IdfMean, Mean, WordEmbedding
from gile_lightning.network.matchers import LexicalMatch
from gile_lightning.network.outputs import GILE, MatchersOnly
from gile_lightning.systems import NeuralSystem, System
from gile_lightning.systems.baselines import TfidfCosine
from gile_lightning.training.losses import BinaryCrossEntropy, Loss
from gile_lightning.training.samplers import LabelSampler, UniformLabels
from gile_lightning.training.schedules import Schedule
from gile_testing import children

FRUIT = ("apple", "berry", "cherry", "damson", "elder", "fig")
LABELS = {f"label {i}": f"{fruit} {fruit}tree common" for i, fruit in enumerate(FRUIT)}
TEXTS = ["apple common", "damson figtree"]


class Reader(DocumentDataModule):
    """Documents of as many of their label's words as the factor says."""

    def __init__(self, factor: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def sources(self):
        return {}

    def label_texts(self, skipped):
        return LABELS

    def documents(self, skipped):
        for i in range(60):
            name = f"label {i % 5}"
            text = " ".join(LABELS[name].split()[: int(self.factor)])
            yield Document("", str(i), [text], [name], ("train", "validation", "test")[i // 5 % 3])


class OwnEncoder(Mean):
    def __init__(self, input_dim: int, factor: float = 1.0) -> None:
        super().__init__(input_dim)
        self.factor = factor

    def forward(self, word_vectors, texts):
        return self.factor * super().forward(word_vectors, texts)


class OwnOutput(GILE):
    def __init__(
        self, document_dim: int, label_dim: int, labels: int, matched: int, factor: float = 1.0
    ) -> None:
        super().__init__(document_dim, label_dim, labels, matched, joint_dim=4)
        self.factor = factor

    def score(self, documents, projected):
        return self.factor * super().score(documents, projected)


class OwnMatcher(LexicalMatch):
    def __init__(self, tokenizer: Any, factor: float = 1.0) -> None:
        super().__init__(tokenizer)
        self.factor = factor

    def forward(self, documents, labels):
        return self.factor * super().forward(documents, labels)


class OwnNorm(Part, torch.nn.Module):
    def __init__(self, dim: int, factor: float = 1.0) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, vectors):
        return self.factor * vectors


class OwnSampler(LabelSampler):
    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def __call__(self, label_ids, label_counts, frequencies, generator):
        draw = UniformLabels(negatives=int(self.factor))
        return draw(label_ids, label_counts, frequencies, generator)


class OwnLoss(Loss):
    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def __call__(self, logits, targets, weights):
        return BinaryCrossEntropy()(self.factor * logits, targets, weights)

    def log_odds(self, logits):
        return self.factor * logits


class OwnSchedule(Schedule):
    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def __call__(self, epoch, last):
        return self.factor


class OwnSystem(NeuralSystem):
    def __init__(self, factor: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def score(self, name, documents, projected):
        return self.factor * super().score(name, documents, projected)


class OwnBaseline(TfidfCosine):
    def __init__(self, factor: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.factor = factor

    def score(self, name, documents, projected):
        return self.factor * super().score(name, documents, projected)


def neural(kind: type[NeuralSystem] = NeuralSystem, **given: Any) -> NeuralSystem:
    """Return a small system with other parts than the defaults."""
    small = {
        "embedding": partial(WordEmbedding, dim=4),
        "encoder": Mean,
        "output": partial(GILE, joint_dim=4),
        "norm": torch.nn.Identity,
        "optimizer": partial(torch.optim.SGD, lr=0.5),
    }
    return kind(**small | given)


SYSTEMS: dict[str, Callable[[float], System]] = {
    "encoder": lambda factor: neural(encoder=partial(OwnEncoder, factor=factor)),
    "output layer": lambda factor: neural(output=partial(OwnOutput, factor=factor)),
    "matcher": lambda factor: neural(matchers=[partial(OwnMatcher, factor=factor)]),
    "norm": lambda factor: neural(norm=partial(OwnNorm, factor=factor)),
    "sampler": lambda factor: neural(sampler=OwnSampler(factor)),
    "loss": lambda factor: neural(loss=OwnLoss(factor)),
    "schedule": lambda factor: neural(schedule=OwnSchedule(factor)),
    "system": lambda factor: neural(OwnSystem, factor=factor),
    "baseline": lambda factor: OwnBaseline(factor),
}


def train(kind: str, factor: float, folder: Path) -> Path:
    """Train a system for a step; return its checkpoint."""
    torch.manual_seed(5)
    data = Reader(3, min_count=1, batch_size=16, cache_dir=folder / "cache")
    trainer = lightning.Trainer(
        fast_dev_run=True,
        logger=False,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        use_distributed_sampler=False,
    )
    data.prepare_data()
    data.setup()
    trainer.fit(SYSTEMS[kind](factor), data)
    path = folder / f"{kind}-{factor}.ckpt"
    trainer.save_checkpoint(path)
    return path


def scores(checkpoint: Path) -> Any:
    """Return the labels of texts with their probabilities."""
    return load(checkpoint).predict(TEXTS, top_k=None)


def elsewhere(folder: Path) -> dict[str, Any]:
    """Score with all checkpoints of a folder, and evaluate its run, in another process."""
    with children.forked(folder / "log.txt", __name__, folder) as process:
        assert process.wait(240) == 0, (folder / "log.txt").read_text()
    found: dict[str, Any] = json.loads((folder / "elsewhere.json").read_text())
    return found


def main(folder: str) -> None:
    """Write what `elsewhere` returns."""
    found = {path.stem: scores(path) for path in Path(folder).glob("*.ckpt")}
    fresh = f"{folder}/fresh"  # a cache that has nothing of the corpus yet
    found["run"] = evaluate.main(["--checkpoint", f"{folder}/run", "--data.cache_dir", fresh])
    Path(folder, "elsewhere.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])


class TurnedMean(IdfMean):
    """The mean of words times a fixed matrix, by a product that autocast would round."""

    def __init__(self, input_dim: int) -> None:
        super().__init__(input_dim)
        turned = torch.linspace(-1, 1, input_dim**2).reshape(input_dim, input_dim)
        self.register_buffer("turned", turned, persistent=False)

    def forward(self, word_vectors, texts):
        """Encode texts of B documents as [B, d]."""
        return super().forward(word_vectors, texts) @ self.turned


class ById(MatchersOnly):
    """An output layer by label ids that does not say which of its weights are of which label."""

    scores_unseen = False
