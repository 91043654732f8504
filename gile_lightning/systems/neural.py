"""The neural systems: any encoder with any output layer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import RaggedBatch, Texts
from gile_lightning.data.pretrained import VectorStore
from gile_lightning.data.shards.cache import default_cache
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.frequencies import document_frequencies
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.data.training_data import TrainingData
from gile_lightning.network import (
    NOT_SEEN,
    EncodedLabels,
    Factories,
    LabelResidual,
    Network,
    PreparedLabels,
    build_networks,
    prepare_labels,
)
from gile_lightning.network.encoders import WAN, Encoder, Idf, Mean, WordEmbedding
from gile_lightning.network.encoders.encoder import Sharing
from gile_lightning.network.matchers import Matcher
from gile_lightning.network.outputs import GILE, MatchersOnly, OutputLayer
from gile_lightning.systems.system import LOSS, NEW, STATE, System, nothing
from gile_lightning.training.losses import BinaryCrossEntropy, Loss
from gile_lightning.training.optimizers import clip_gradients, refusal
from gile_lightning.training.samplers import LabelSampler, UniformLabels
from gile_lightning.training.schedules import Schedule

LayerNorm = partial(nn.LayerNorm, elementwise_affine=False)
Adam = partial(torch.optim.Adam, lr=1e-3, fused=True)

_PROBE = "The quick brown fox jumps over the lazy dog, 42 times."  # tells pretrained models apart
_SAME = 0.999  # cosine of two vectors of the same text by the same model, on whatever device


class NeuralSystem(System):
    """Scores texts against labels with an encoder and an output layer.

    The parts are given as factories. Their sizes come from the data, so the modules are built
    when a data module is attached or a checkpoint is read. A language is one `Network`.

    Args:
        embedding: makes the word embedding from the vocabulary.
        encoder: makes the document encoder from the size of the word vectors.
        label_encoder: makes the label encoder from the size of the word vectors.
        output: makes the output layer from the sizes of document and label vectors, the number of
            labels seen in training and the matched size of a joint space (see `OutputLayer`).
        norm: makes, from their size, what document and label vectors pass through before the
            output layer. By default a layer norm without parameters: the mean of many small word
            vectors is so small, and so alike for all documents, that without it a model ranks
            labels by popularity alone for many epochs. ``torch.nn.Identity`` is the paper's form.
        sampler: chooses the labels that a training step scores.
        matchers: make further scores of documents and labels from the tokenizer, which are
            added to that of the output layer (see `gile_lightning.network.matchers`).
        label_residual: makes the residuals of single labels from the size of the document vectors,
            the labels' training frequencies and the number of matchers: `LabelResidual`; by default
            there is none.
        loss: of logits, targets and weights, [B, K] each; says what the probabilities are.
        optimizer: makes the optimizer (paper: Adam).
        schedule: changes the learning rate in training; by default it stays as it is (paper).
        dropout: the share of the numbers of a document's vector that a training step sets to zero.
        label_dropout: the same of a label's vector. Labels that are not seen in training gain by
            it: without it the joint space learns the vectors of the seen ones by heart.
        sharing: which parts of their encoders the languages have in common: none, the layers
            ("encoders"), the attention, or both. The joint space is always common to all; the
            linear output layer, matchers, label residuals and the prior never.
        language_loss: the languages' losses are averaged (paper, Eq. 16) or added up (released
            code).
        kwargs: see `System`.
    """

    def __init__(
        self,
        embedding: Callable[[Sequence[str]], WordEmbedding] = WordEmbedding,
        encoder: Callable[[int], Encoder] = WAN,
        label_encoder: Callable[[int], Encoder] = Mean,
        output: Callable[[int, int, int, int], OutputLayer] = GILE,
        norm: Callable[[int], nn.Module] = LayerNorm,
        sampler: LabelSampler = UniformLabels(),  # noqa: B008 (frozen)
        matchers: list[Callable[[Tokenizer], Matcher]] | None = None,
        label_residual: Callable[[int, list[int], int], LabelResidual] | None = None,
        loss: Loss = BinaryCrossEntropy(),  # noqa: B008 (frozen)
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] = Adam,
        schedule: Schedule | None = None,
        dropout: float = 0.0,
        label_dropout: float = 0.0,
        sharing: Sharing = "none",
        language_loss: Literal["mean", "sum"] = "mean",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for key, share in (("dropout", dropout), ("label_dropout", label_dropout)):
            if not 0 <= share < 1:
                raise InputError(f"model.{key} is {share:g}: a share from 0 to below 1")
        self.make = Factories(
            embedding,
            encoder,
            label_encoder,
            output,
            norm,
            matchers or (),
            label_residual,
            dropout,
            label_dropout,
        )
        self.sampler = sampler
        self.loss = loss
        self.make_optimizer = optimizer
        self.schedule = schedule
        self.sharing = sharing
        self.language_loss = language_loss
        self.networks = nn.ModuleDict()
        self.label_texts = nn.ModuleDict()
        self.cache_dir = default_cache()
        self._matched_dim: int | None = None
        self._probes: dict[str, list[float]] = {}
        self._start: dict[str, Any] | None = None

    # --- building ---

    def build(self, tasks: dict[str, Task], state: Mapping[str, Any] = NEW) -> None:
        """Make a network per language.

        Raises:
            InputError: the pretrained model is not the one of the training.
        """
        known = state.get("matched_dim")
        networks = build_networks(self.make, tasks, self.sharing, known)
        self.networks.update(networks)
        self._matched_dim = next(iter(networks.values())).matched_dim
        self.set_tasks(tasks)
        self._probes = {name: vector for name in tasks if (vector := self._probe(name))}
        self._check_pretrained(state)
        # word vectors and label texts that never change need not go to every process at every step
        self._ddp_params_and_buffers_to_ignore = [name for name, _ in self.named_buffers()]

    def check(
        self,
        names: Iterable[str] = ("text",),
        pretrained: str | None = None,
        epochs: int | None = None,
    ) -> None:
        """Make every part once, without memory: before hours of encoding, not after them.

        Args:
            names: of the languages.
            pretrained: the pretrained model that texts are split into subwords for.
            epochs: of the training; below 0 for no end, None where they are not known yet.

        Raises:
            InputError: a part refuses its settings.
        """
        super().check(names, pretrained, epochs)
        if self.schedule is not None and epochs is not None:
            self.schedule.check(epochs)
        with torch.device("meta"):
            tasks = dict.fromkeys(names, nothing(pretrained))
            networks = build_networks(self.make, tasks, self.sharing)
        network = next(iter(networks.values()))
        if isinstance(network.embedding, WordEmbedding):
            network.embedding.check_file()
        if isinstance(network.output, MatchersOnly) and network.prior is None:
            raise InputError(
                "outputs.MatchersOnly scores nothing itself: set model.matchers or "
                "model.label_residual"
            )
        self._optimizer([nn.Parameter(torch.zeros(1))])
        if network.sparse and (reason := refusal(self.make_optimizer)):
            raise InputError(
                f"model.optimizer cannot take the sparse gradient of the embedding ({reason}): set "
                "--model.optimizer gile_lightning.training.optimizers.LazyAdam, or "
                "--model.embedding.sparse false"
            )

    def own_state(self) -> dict[str, Any]:
        """Return what the languages alone do not tell.

        That is the size of the matched joint space, which depends on all languages trained, and
        what the frozen pretrained models make of a text: they are no part of a checkpoint.
        """
        return {"matched_dim": self._matched_dim, "probes": self._probes}

    def set_tasks(self, tasks: dict[str, Task]) -> None:
        """Score these label sets; the vocabularies and the seen labels must be the model's."""
        super().set_tasks(tasks)
        for name, task in tasks.items():
            self.label_texts[name] = self._encoded(name, task.tokenizer, task.labels)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that the modules fit the checkpoint."""
        super().on_load_checkpoint(checkpoint)
        self._check_pretrained(checkpoint[STATE])

    def _probe(self, name: str) -> list[float]:
        """Return the vector that a language's frozen pretrained model makes of a text, if any."""
        network, text = self.network(name), self.tasks[name].tokenizer
        if "vectors" not in network.inputs | network.label_encoder.inputs:
            return []
        vectors = self._read(text, [_PROBE], {"vectors"}).vectors
        return [] if vectors is None else vectors[0].tolist()

    def _check_pretrained(self, state: Mapping[str, Any]) -> None:
        """Refuse other pretrained models than those of a checkpoint, which may say nothing."""
        for name, known in state.get("probes", {}).items():
            found = self._probes.get(name, [])
            cosine = np.dot(known, found) if len(known) == len(found) else 0.0
            if cosine < _SAME:
                raise InputError(
                    f"{self.tasks[name].tokenizer.pretrained}: not the pretrained model that the "
                    f"checkpoint was trained with (their vectors of a text have a cosine of "
                    f"{cosine:.3f}): put that one in its place, or train with this one"
                )

    def start_from(self, checkpoint: dict[str, Any]) -> None:
        """Begin with the weights of a checkpoint, in the languages of the data to come."""
        self._start = checkpoint

    def attach(self, data: TrainingData, resumed: bool = False) -> None:
        """Build the modules for the languages of training data, with the weights to begin with.

        Args:
            data: what the data module hands over.
            resumed: the weights, word vectors among them, are to come from a checkpoint.

        Raises:
            InputError: the weights or word vectors do not fit.
        """
        self.cache_dir = data.cache_dir
        start = self._start or {STATE: {}}
        self.build(data.tasks, start[STATE])
        if self._start is not None:
            self._init_weights(self._start, data)
        elif not resumed:
            for name in data.tasks:
                self._init_word_vectors(name, data)
                self._count_words(name, data)

    def setup(self, stage: str) -> None:
        """Build the modules or check that they fit; find the vectors of a pretrained model."""
        super().setup(stage)
        if any("vectors" in self.network(name).inputs for name in self.tasks):
            data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
            data.keep_text_vectors(self.trainer.strategy.root_device)

    def _init_word_vectors(self, name: str, data: TrainingData) -> bool:
        """Begin with word vectors that the corpus brings, those of a file or learned ones.

        Every process reads or learns them itself, and finds the same.
        """
        vectors = data.vectors(name)
        embedding: WordEmbedding = self.network(name).embedding  # type: ignore[assignment]
        if vectors is not None:
            embedding.set_vectors(vectors, f"the corpus' word vectors ({name})")
        else:
            words = self.tasks[name].tokenizer.vocabulary
            embedding.load_vectors(words)
            if embedding.start is not None:
                documents = (batch.texts for batch in data.documents(name))
                seen = torch.arange(self.tasks[name].labels.seen)
                texts = self.texts(name).texts_of(seen)
                embedding.learn_vectors(documents, texts, self.cache_dir)
            if embedding.found is not None:
                say(
                    f"word vectors ({name}): {embedding.found:,} of {len(words):,} words have one "
                    f"of {embedding.vectors or type(embedding.start).__name__}"
                )
        return vectors is not None

    def _count_words(self, name: str, data: TrainingData) -> None:
        """Count, for the parts that ask for it, how many training documents have each word."""
        parts = [part for part in self.network(name).modules() if isinstance(part, Idf | Matcher)]
        if parts:
            words = len(self.tasks[name].tokenizer.vocabulary)
            counts = document_frequencies(data.documents(name), words)
            for part in parts:
                part.count_words(*counts)

    def _init_weights(self, checkpoint: dict[str, Any], data: TrainingData) -> None:
        stored = checkpoint[STATE]["tasks"]
        weights = dict(checkpoint["state_dict"])
        for name, task in self.tasks.items():
            if name not in stored:
                raise InputError(
                    f"the checkpoint knows {', '.join(stored)}, not {name}: set data.languages"
                )
            network = self.network(name)
            if stored[name] is None:  # imported weights, without words and labels
                if not self._init_word_vectors(name, data):
                    raise InputError(
                        "the checkpoint holds no word vectors and the corpus brings none: set "
                        "--data.word_vectors"
                    )
                weights[f"networks.{name}.embedding.weight"] = network.embedding.weight
            old = LabelSet(**stored[name]["labels"]) if stored[name] else LabelSet([], [], [])
            known = {label: i for i, label in enumerate(old.names[: old.seen])}
            labels = task.labels.names[: task.labels.seen]
            ids = torch.tensor([known.get(label, NOT_SEEN) for label in labels]).long()
            if not network.output.scores_unseen:
                if new := [label for label in labels if label not in known]:
                    raise InputError(
                        f"the output layer {type(network.output).__name__} knows its labels by "
                        f"number, and {len(new)} of the corpus' labels ({name}; such as "
                        f"{new[0]!r}) are none of the checkpoint's"
                    )
                weights |= network.output.select(_below(f"networks.{name}.output.", weights), ids)
            if network.label_residual is not None:
                weights |= network.label_residual.select(
                    _below(f"networks.{name}.label_residual.", weights), ids
                )
        names = tuple(f"networks.{name}." for name in self.tasks)
        self.load_state_dict({k: v for k, v in weights.items() if k.startswith(names)})

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Take over weights.

        Raises:
            InputError: they are those of a model with other parts.
        """
        self._check_shared(*args, **kwargs)
        return super().load_state_dict(*args, **kwargs)

    def _check_shared(self, state: Mapping[str, Tensor], *args: Any, **kwargs: Any) -> None:
        """Refuse weights that differ between languages for what these share here."""
        first: dict[int, str] = {}
        for key, own in self.state_dict(keep_vars=True).items():
            before = first.setdefault(id(own), key)
            stored = [state[k] for k in (before, key) if k in state]
            if len(stored) == 2 and not torch.equal(*stored):
                raise InputError(
                    f"the model is not that of the checkpoint, where {before} and {key} differ: "
                    "set model.sharing as there"
                )

    # --- training ---

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Make the optimizer of all trainable parameters.

        Raises:
            InputError: its settings are wrong, or gradients are sparse and GPUs exchange them.
        """
        sparse = any(self.network(name).sparse for name in self.tasks)
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if sparse and distributed and torch.distributed.get_backend() == "nccl":
            raise InputError(
                "NCCL, with which several GPUs exchange gradients, knows no sparse ones: set "
                "--model.embedding.sparse false, or the strategy "
                "lightning.pytorch.strategies.DDPStrategy with process_group_backend: gloo"
            )
        if self.schedule is not None:
            self.schedule.check(self.trainer.max_epochs or 0)
        optimizer = self._optimizer([p for p in self.parameters() if p.requires_grad])
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        # a gradient scaler unscales before gradients are clipped, where a fused step would do it
        optimizer._step_supports_amp_scaling = False  # type: ignore[attr-defined]
        return optimizer

    def _optimizer(self, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
        try:
            return self.make_optimizer(parameters)
        except ValueError as error:  # such as a learning rate below 0
            raise InputError(f"model.optimizer: {error}") from error

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients, dense and sparse; Lightning calls it with the trainer's settings."""
        if gradient_clip_val:
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            by_value = gradient_clip_algorithm == "value"
            clip_gradients(parameters, gradient_clip_val, "value" if by_value else "norm")

    def on_train_batch_start(self, batch: Any, batch_idx: int) -> None:
        """Set the learning rate, and seed dropout, by the place in training."""
        if self.schedule is not None:
            done = self.current_epoch + (batch_idx + 1) / self.trainer.num_training_batches
            last = self.trainer.max_epochs or 0
            for optimizer in self.trainer.optimizers:
                for group in optimizer.param_groups:
                    group["lr"] = group["initial_lr"] * self.schedule(done, last)
        if any(isinstance(part, nn.Dropout) and part.p for part in self.modules()):
            torch.manual_seed(self.generator(next(iter(self.tasks)), batch_idx).initial_seed())

    def training_step(self, batch: dict[str, RaggedBatch], batch_idx: int) -> Tensor:
        """Return the loss of one batch per language, as `language_loss` puts them together."""
        losses = []
        for name, documents in batch.items():
            network, texts = self.network(name), self.texts(name)
            generator = self.generator(name, batch_idx)
            positives = documents.label_ids, documents.label_counts
            sample = self.sampler(*positives, texts.frequencies, generator)
            labels = texts.select(sample.labels, network.output.scores_unseen)
            if network.label_residual is not None:
                kept = network.label_residual.drop(labels.residual_ids, generator)
                labels = labels._replace(residual_ids=kept)
            logits = network(documents.texts, labels)
            sample = self.sampler.refine(sample, logits.detach(), generator)
            if sample.offsets is not None:
                logits = logits - sample.offsets
            loss = self.loss(logits, sample.targets, sample.weights)
            losses.append(loss * documents.loss_weight)
        together = torch.stack(losses)
        loss = together.sum() if self.language_loss == "sum" else together.mean()
        size = sum(len(documents.label_counts) for documents in batch.values())
        self.log(LOSS, loss, prog_bar=True, batch_size=size)
        return loss

    # --- scoring ---

    def sizes(self, name: str) -> dict[str, int]:
        """Count the parameters of the network's parts."""
        parts = self.network(name).named_children()
        return {key: sum(p.numel() for p in part.parameters()) for key, part in parts}

    @property
    def reads_new_words(self) -> bool:
        """Whether there are matchers, which compare words or look for names."""
        return bool(self.make.matchers)

    def scores_unseen(self, name: str) -> bool:
        """Whether the output layer scores labels by their texts."""
        return self.network(name).output.scores_unseen

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return numbers whose sigmoids are the labels' probabilities [B, K], as the loss says."""
        return self.loss.log_odds(logits)

    def layer(self, name: str) -> str:
        """Name the output layer."""
        return f"a model with the output layer {type(self.network(name).output).__name__}"

    def prepare_labels(self, name: str, labels: LabelSet) -> PreparedLabels:
        """Project the label texts: [K, d_j] for GILE; prepare them for the matchers."""
        own = self.tasks[name].labels
        if labels is own:
            texts = self.texts(name)
        else:
            texts = self._encoded(name, self.tokenizer(name, labels), labels)
        return prepare_labels(self.network(name), texts, own.seen)

    def score(self, name: str, documents: Texts, prepared: PreparedLabels) -> Tensor:
        """Score documents against prepared labels: logits [B, K]."""
        return prepared.score(documents)

    def _encoded(self, name: str, text: Tokenizer, labels: LabelSet) -> EncodedLabels:
        network = self.network(name)
        known = 0 if network.label_residual is None else len(network.label_residual)
        own = self.tasks[name].labels.ids
        places = [own.get(label, known) for label in labels.names]
        ids = np.array([i if i < known else NOT_SEEN for i in places], dtype=np.int64)
        matchers: Iterable[Any] = network.matchers
        encode = partial(self._read, text)
        prepared = [matcher.prepare_labels(text, labels, encode) for matcher in matchers]
        texts = self._read(text, labels.texts, network.label_encoder.inputs)
        seen = labels.frequencies[: labels.seen]
        return EncodedLabels(texts, torch.from_numpy(ids), prepared, seen).to(self.device)

    def _read(self, text: Tokenizer, texts: list[str], reads: AbstractSet[str]) -> Texts:
        """Encode label texts as what an encoder reads: words, and perhaps subwords or vectors."""
        subwords = text.subwords(texts)
        read = Texts.from_flat(*text.labels(texts), None, *subwords)
        if "vectors" in reads and subwords[0] is not None:
            store = VectorStore(str(text.pretrained), text.max_subwords, self.cache_dir)
            store.fill([subwords], len(texts), self.device)
            read = read._replace(vectors=store.find(*subwords))
        if "subwords" not in reads:
            read = read._replace(subwords=None, subword_counts=None)
        return read

    # --- access ---

    def network(self, name: str) -> Network:
        """Return the network of a language."""
        network: Network = self.networks[name]  # type: ignore[assignment]
        return network

    def texts(self, name: str) -> EncodedLabels:
        """Return the encoded label texts of a language."""
        texts: EncodedLabels = self.label_texts[name]  # type: ignore[assignment]
        return texts


def _below(prefix: str, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the part of a state whose names begin so."""
    return {key: value for key, value in state.items() if key.startswith(prefix)}
