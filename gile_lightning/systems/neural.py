"""The neural systems: any encoder with any output layer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Literal

import torch
from lightning.fabric.utilities import move_data_to_device
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase

from gile_lightning.common.console import say
from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.known import KNOWN_DOCUMENTS, UNUSED, KnownDocuments
from gile_lightning.data.loading.flat import segment_ids, send
from gile_lightning.data.loading.ragged import COMPUTED, PRETRAINED, RaggedBatch, Texts
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.data.training_data import TrainingData
from gile_lightning.explaining import Evidence, contributions, evidence
from gile_lightning.network import (
    EncodedLabels,
    Factories,
    LabelResidual,
    Network,
    PreparedLabels,
    Ridge,
    build_networks,
    prepare_labels,
)
from gile_lightning.network.encoders import WAN, Encoder, Mean, WordEmbedding
from gile_lightning.network.encoders.encoder import Sharing
from gile_lightning.network.matchers import Matcher
from gile_lightning.network.outputs import GILE, MatchersOnly, OutputLayer
from gile_lightning.systems.boost import DOCUMENTS, best_boost
from gile_lightning.systems.earlier_model import (
    PENALTIES,
    EarlierModel,
    few_labels,
    labels_of,
    rest_residuals,
)
from gile_lightning.systems.fingerprint import Fingerprints, check_fingerprints, fingerprints
from gile_lightning.systems.gradient import GradientSystem
from gile_lightning.systems.label_encoding import encode_labels
from gile_lightning.systems.label_regrouping import CHANGED, Changed, describe_labels
from gile_lightning.systems.task_module import Extra, smallest_task
from gile_lightning.systems.training_step import TrainingStep, prepare_step
from gile_lightning.systems.weights import (
    KnownToRidge,
    check_shared,
    count_words,
    distil,
    fit_ridge,
    set_word_vectors,
    word_dim,
)
from gile_lightning.training.checkpoint import STATE
from gile_lightning.training.exchange import broadcast_parameters
from gile_lightning.training.losses import BinaryCrossEntropy, Loss
from gile_lightning.training.samplers import LabelSampler, UniformLabels
from gile_lightning.training.scores import LOSS

MATCHED_DIM = "joint_dim"  # of what a checkpoint says beside its tasks; see `OutputLayer`
LayerNorm = partial(nn.LayerNorm, elementwise_affine=False)


class NeuralSystem(GradientSystem):
    """Scores texts against labels with an encoder and an output layer.

    Its parts are factories, since their sizes come from the data. Each task has a `Network`.

    Args:
        embedding: makes the word embedding from the vocabulary.
        encoder: makes the document encoder from the size of the word vectors.
        label_encoder: makes the label encoder from the size of the word vectors.
        output: makes the output layer from the sizes of document and label vectors, the number of
            labels seen in training and the matched size of a joint space (see `OutputLayer`).
        norm: makes, from their size, what document and label vectors pass through before the
            output layer. By default a layer norm without parameters. Without it, the means of
            many small word vectors are small and alike for all documents, and a model ranks labels
            by popularity alone for many epochs. ``torch.nn.Identity`` is the paper's form.
        sampler: chooses the labels that a training step scores.
        matchers: make matchers from the tokenizer; their scores are added to those of the output
            layer (see `gile_lightning.network.matchers`).
        label_residual: makes the residuals of single labels from the size of the document vectors,
            the labels' training frequencies and the number of matchers: `LabelResidual`. By
            default there is none.
        ridge: makes the ridge regression of seen labels from the size of the document vectors and
            the number of labels: `Ridge`. By default there is none. It needs document vectors that
            training does not change.
        loss: of logits, targets and weights, [B, K] each; defines the probabilities.
        dropout: the share of the numbers of a document's vector that a training step sets to zero.
        label_dropout: the same of a label's vector. Without it the joint space learns the vectors
            of seen labels by heart, and unseen labels are scored worse.
        sharing: which parts of their encoders the languages share: none, the layers ("encoders"),
            the attention, or both. The joint space is always shared; the linear output layer,
            matchers, label residuals and the prior never are.
        language_loss: whether the languages' losses are averaged (paper, Eq. 16) or added up
            (released code).
        kwargs: see `GradientSystem` and `System`.
    """

    labels_follow_changes = True

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
        ridge: Callable[[int, int], Ridge] | None = None,
        loss: Loss = BinaryCrossEntropy(),  # noqa: B008 (frozen)
        dropout: float = 0.0,
        label_dropout: float = 0.0,
        sharing: Sharing = "none",
        language_loss: Literal["mean", "sum"] = "mean",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for key, rate in (("dropout", dropout), ("label_dropout", label_dropout)):
            if not 0 <= rate < 1:
                raise InputError(f"model.{key} is {rate:g}: a share from 0 to below 1")
        self.factories = Factories(
            embedding=embedding,
            encoder=encoder,
            label_encoder=label_encoder,
            output=output,
            norm=norm,
            matchers=matchers or (),
            label_residual=label_residual,
            ridge=ridge,
            dropout=dropout,
            label_dropout=label_dropout,
        )
        self.sampler = sampler
        self.loss = loss
        self.sharing = sharing
        self.language_loss = language_loss
        self.networks = nn.ModuleDict()
        self.encoded_labels = nn.ModuleDict()
        self.earlier: EarlierModel | None = None
        self._matched_dim: int | None = None
        self._word_dim: int | None = None
        self._unfitted = False  # whether the regressions are still to be solved
        self._fingerprints: Fingerprints = {}
        self._documents: dict[str, dict[str, Tensor]] = {}  # their hashes, by split
        self._corpora: dict[str, str] = {}
        self._known_to_ridge: dict[str, KnownToRidge | None] = {}
        self._encoded_tasks: dict[str, Task] = {}

    # --- building ---

    def build(self, tasks: dict[str, Task], extra: Extra | None = None) -> None:
        """Make a network per task.

        Raises:
            InputError: the pretrained model is not the one of the training.
        """
        extra = extra or {}
        sizes = extra.get(MATCHED_DIM), extra.get("word_dim")
        networks = build_networks(self.factories, tasks, self.sharing, *sizes)
        self.networks.update(networks)
        self._matched_dim = next(iter(networks.values())).matched_dim
        self._word_dim = extra.get("word_dim")
        self._encoded_tasks.clear()
        self.set_tasks(tasks)
        self._fingerprints = fingerprints(networks, tasks, self.cache_dir, self.device)
        check_fingerprints(tasks, self._fingerprints, extra.get("fingerprints", {}))
        # word vectors and label texts that never change need not go to every process at every step
        # (the statistics of batch norm must); sparse gradients are exchanged by `GradientSystem`;
        # and DDP would wait for a gradient of what no logit depends on
        norms = [(name, part) for name, part in self.named_modules() if isinstance(part, _NormBase)]
        shared = {f"{name}.{key}" for name, norm in norms for key, _ in norm.named_buffers()}
        ignored = [name for name, _ in self.named_buffers() if name not in shared]
        ignored += self.sparse_parameters()
        unused = {id(x) for name in tasks for x in self.network(name).unused}
        ignored += [name for name, x in self.named_parameters() if id(x) in unused]
        self._ddp_params_and_buffers_to_ignore = ignored

    def check(
        self,
        names: Iterable[str] = ("text",),
        tokenizer: Tokenizer | None = None,
        epochs: int | None = None,
    ) -> None:
        """Make every part once, without memory; see `System.check`."""
        super().check(names, tokenizer, epochs)
        with torch.device("meta"):
            tasks = dict.fromkeys(names, smallest_task(tokenizer))
            networks = build_networks(self.factories, tasks, self.sharing)
        network = next(iter(networks.values()))
        if isinstance(network.embedding, WordEmbedding):
            network.embedding.check_file()
        if isinstance(network.output, MatchersOnly) and network.prior is None:
            raise InputError(
                "outputs.MatchersOnly scores nothing itself: set model.matchers or "
                "model.label_residual"
            )
        self.check_sparse(network.sparse)
        if network.ridge is not None and network.trains_documents:
            raise InputError(
                "model.ridge needs document vectors that training does not change: set "
                "--model.embedding.trainable false, and an encoder without weights that are "
                "trained, such as gile_lightning.network.encoders.IdfMean"
            )

    def extra_state(self) -> dict[str, Any]:
        """Return what the tasks do not tell.

        That is the matched size of the joint space, which depends on all tasks that were trained,
        the size of word vectors if few texts trained them, penalties of the regressions,
        fingerprints of pretrained models, hashes of the documents, and the keys of the encoded
        corpora in the cache.
        """
        ridges = {name: self.network(name).ridge for name in self.tasks}
        return {
            PENALTIES: {name: each.penalty for name, each in ridges.items() if each is not None},
            MATCHED_DIM: self._matched_dim,
            "word_dim": self._word_dim,
            "fingerprints": self._fingerprints,
            KNOWN_DOCUMENTS: self._documents,
            "corpora": self._corpora,
        }

    def set_tasks(self, tasks: dict[str, Task]) -> None:
        """Score the label sets of these tasks; vocabularies and seen labels must be the model's."""
        super().set_tasks(tasks)
        for name, task in tasks.items():
            if self._encoded_tasks.get(name) is not task:
                self.encoded_labels[name] = self._encode(name, task.tokenizer, task.labels)
                self._encoded_tasks[name] = task

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Check that the modules fit the checkpoint."""
        super().on_load_checkpoint(checkpoint)
        extra = checkpoint[STATE]["extra"]
        check_fingerprints(self.tasks, self._fingerprints, extra.get("fingerprints", {}))
        self._documents, self._corpora = extra.get(KNOWN_DOCUMENTS, {}), extra.get("corpora", {})

    def start_from(self, checkpoint: dict[str, Any], keep: bool = True) -> None:
        """Have `attach` begin with the weights of a checkpoint; see `System.start_from`."""
        self.earlier = EarlierModel(checkpoint, keep)

    def attach(self, data: TrainingData, resumed: bool = False) -> None:
        """Build the networks for training data, and set their initial weights.

        Args:
            data: the tasks and the training documents.
            resumed: the weights, word vectors among them, will come from a checkpoint.

        Raises:
            InputError: the weights or word vectors do not fit.
        """
        self.cache_dir = data.cache_dir
        self._unfitted = not resumed
        if self.earlier is not None:
            self.build(data.tasks, self.earlier.extra)
            self._begin_with(self.earlier, data)
        else:
            self.build(data.tasks, {"word_dim": self._word_dim_for(data)})
            if not resumed:
                self._begin_anew(data)
        self._corpora = dict(data.corpora)
        if not resumed:
            for name in data.tasks:
                self._know_documents(name, data)

    def _word_dim_for(self, data: TrainingData) -> int | None:
        """Return the size of word vectors if few texts train them; None for that of the embedding.

        It is said, too.
        """
        with torch.device("meta"):  # where it draws no random numbers
            embedding = self.factories.embedding([UNKNOWN])
        dim = word_dim(embedding, data)
        if dim is not None:
            say(f"word vectors of {dim} dimensions, as there are few texts")
        return dim

    def _begin_anew(self, data: TrainingData) -> None:
        """Set the weights that come from the training documents."""
        for name in data.tasks:
            set_word_vectors(self.network(name), name, self.encoded(name), data)
            count_words(self.network(name), name, data)

    def _begin_with(self, earlier: EarlierModel, data: TrainingData) -> None:
        """Load the weights of an earlier model, and say what became of its labels."""
        networks = {name: self.network(name) for name in data.tasks}
        encoded = {name: self.encoded(name) for name in networks}
        self.load_state_dict(earlier.weights(networks, encoded, data))
        state = earlier.checkpoint[STATE]
        for name in [name for name in earlier.kept_labels if name in networks]:
            old, labels = earlier.kept_labels[name], data.tasks[name].labels
            trained = labels_of(data.documents(name), labels.seen)
            rest_residuals(networks[name], trained)
            self.calibrations.begin_with(state["calibrations"], name, old, labels)
            changed = state.get(CHANGED, {}).get(name, Changed())
            say(f"labels ({name}): {describe_labels(old, labels, changed)}")
            if (warning := few_labels(old, labels, trained)) is not None:
                say(warning)

    def _know_documents(self, name: str, data: TrainingData) -> None:
        """Keep the hashes of the documents, and what the earlier regression knows of them."""
        found = {split: data.hashes(name, split) for split in (*SPLITS, UNUSED)}
        hashes = {split: own for split, own in found.items() if own is not None}
        known = KnownDocuments()
        if self.earlier is not None:
            known, labels = self.earlier.documents(name), data.tasks[name].labels
            self._known_to_ridge[name] = self.earlier.ridge(name, hashes.get("train"), labels)
        if "train" in hashes:
            self._documents[name] = known.joined(hashes).stored()

    def setup(self, stage: str) -> None:
        """Build the networks or check that they fit; find the vectors of a pretrained model.

        With a GPU steps are prepared ahead, unless weights are not float32.
        """
        super().setup(stage)
        data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
        device = self.trainer.strategy.root_device
        if not self.inputs.isdisjoint(COMPUTED):
            data.keep_text_vectors(device, self.inputs)
        # another precision changes the type of new tensors in all threads, while the model trains
        exact = self.trainer.precision in ("32-true", "16-mixed", "bf16-mixed")
        if stage == "fit" and device.type != "cpu" and exact:
            data.prepare_step = self.prepare_ahead
        if self._unfitted:
            for name, task in self.tasks.items():
                documents = partial(data.training_documents, name)
                if self.earlier is None:
                    distil(self.network(name), task, documents, self.cache_dir, device)
                known = self._known_to_ridge.get(name)
                fit_ridge(self.network(name), documents(), data.size(name, "train"), known)
            self._unfitted = False

    def load_state_dict(self, state_dict: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Load weights.

        Raises:
            InputError: they belong to a model with other parts.
        """
        check_shared(self.state_dict(keep_vars=True), state_dict)
        return super().load_state_dict(state_dict, *args, **kwargs)

    # --- training ---

    def on_validation_epoch_start(self) -> None:
        """Prepare the labels once, and choose how much regressions count on new documents."""
        if self.trainer.world_size > 1:  # statistics of the last step are each process's own
            norms = [part for part in self.modules() if isinstance(part, _NormBase)]
            broadcast_parameters(buffer for norm in norms for buffer in norm.buffers())
        super().on_validation_epoch_start()
        if not self.trainer.sanity_checking:
            for name in self.tasks:
                self._choose_boost(name)

    def _choose_boost(self, name: str) -> None:
        ridge, prepared = self.network(name).ridge, self._prepared[name]
        if ridge is None or not ridge.chooses_boost:
            return
        data: TextDataModule = self.trainer.datamodule  # type: ignore[attr-defined]
        documents = data.size(name, "validation")
        rows = range(0, documents, max(1, -(-documents // DOCUMENTS)))
        labels = prepared.subset(torch.arange(self.tasks[name].labels.seen))
        with self.trainer.precision_plugin.val_step_context():
            boost = best_boost(self, labels, data.some_documents(name, "validation", rows))
        # processes could choose differently, as GPUs add up in no fixed order
        boost = self.trainer.strategy.broadcast(boost)
        for own in (ridge, prepared.network.ridge):  # which may be a copy of higher precision
            own.boost.fill_(boost)

    def sparse_parameters(self) -> dict[str, nn.Parameter]:
        """Return the word vectors whose gradients are sparse, by their names."""
        networks = [self.network(name) for name in self.tasks]
        sparse = {id(each.word_vectors) for each in networks if each.sparse}
        return {name: p for name, p in self.named_parameters() if id(p) in sparse}

    def prepare_step(self, name: str, documents: RaggedBatch, batch_idx: int) -> RaggedBatch:
        """Add to the documents of a step what it draws and looks up: a `TrainingStep`."""
        parts = self.network(name), self.encoded(name), self.sampler
        # back to the host, where another's data module has moved them
        documents = move_data_to_device(documents, self.batch_device)
        step = prepare_step(*parts, documents, self.generator(name, batch_idx))
        return documents._replace(prepared=step)

    def prepare_ahead(
        self, batch: Mapping[str, RaggedBatch], batch_idx: int
    ) -> dict[str, RaggedBatch]:
        """Prepare a step in another thread, which does not know the GPU.

        It is done without autocast, as in turn. Entering that here would clear what it keeps for
        the thread that trains.
        """
        device = self.trainer.strategy.root_device
        with torch.cuda.device(device.index if device.type == "cuda" else -1):  # none
            return {k: self.prepare_step(k, documents, batch_idx) for k, documents in batch.items()}

    def training_step(self, batch: Mapping[str, RaggedBatch], batch_idx: int) -> Tensor:
        """Return the mean or sum of the losses of one batch per task, prepared or not."""
        losses = []
        for name, documents in batch.items():
            if documents.prepared is None:
                with torch.autocast(self.device.type, enabled=False):
                    documents = self.prepare_step(name, documents, batch_idx)
            step: TrainingStep = documents.prepared
            logits = self.network(name)(documents.texts, step.labels, step.words, step.fixed)
            sample = self.sampler.refine(step.sample, logits.detach(), step.generator)
            if sample.offsets is not None:
                logits = logits - sample.offsets
            loss = self.loss(logits, sample.targets, sample.weights)
            losses.append(loss * documents.loss_weight)
        stacked = torch.stack(losses)
        loss = stacked.sum() if self.language_loss == "sum" else stacked.mean()
        size = sum(len(documents.label_counts) for documents in batch.values())
        self.log(LOSS, loss, prog_bar=True, batch_size=size)
        return loss

    # --- scoring ---

    def sizes(self, name: str) -> dict[str, int]:
        """Count the parameters of the network's parts."""
        parts = self.network(name).named_children()
        return {key: sum(p.numel() for p in part.parameters()) for key, part in parts}

    reads_on_host = True

    @property
    def reads_new_words(self) -> bool:
        """Whether there are matchers, which compare words or look for names."""
        return bool(self.factories.matchers)

    @property
    def inputs(self) -> AbstractSet[str]:
        """The fields of `Texts` that networks need of documents."""
        return frozenset().union(*(self.network(name).inputs for name in self.tasks))

    def reads_subwords(self, name: str) -> bool:
        """Whether the encoder or a matcher reads subwords, or vectors made of them."""
        return not self.network(name).inputs.isdisjoint(PRETRAINED)

    def scores_unseen(self, name: str) -> bool:
        """Whether the output layer scores labels by their texts."""
        return self.network(name).output.scores_unseen

    def log_odds(self, logits: Tensor) -> Tensor:
        """Return the log-odds of the labels [B, K], as the loss defines them."""
        return self.loss.log_odds(logits)

    def log_rates(self, name: str) -> Tensor:
        """Return the log-rates of the sampler's negatives [L], where they are known; else zeros.

        They are known for binary cross-entropy, whose terms are single pairs.
        """
        labels = self.tasks[name].labels
        rates = None
        if isinstance(self.loss, BinaryCrossEntropy):
            frequencies = torch.tensor(labels.frequencies[: labels.seen])
            mean = sum(labels.frequencies) / labels.documents if labels.documents else 0.0
            rates = self.sampler.negative_rates(frequencies, mean)
        return super().log_rates(name) if rates is None else rates.log()

    def describe_scorer(self, name: str) -> str:
        """Name the output layer."""
        return f"a model with the output layer {type(self.network(name).output).__name__}"

    def prepare_labels(self, name: str, labels: LabelSet) -> PreparedLabels:
        """Encode and project the label texts, and prepare them for the matchers."""
        own = self.tasks[name].labels
        if labels is own:
            encoded = self.encoded(name)
        else:
            encoded = self._encode(name, self.tokenizer(name, labels), labels)
        return prepare_labels(self.network(name), encoded, own.seen)

    def score(self, name: str, documents: Texts, prepared: PreparedLabels) -> Tensor:
        """Score documents against prepared labels: logits [B, K]."""
        return prepared.score(documents.to(self.batch_device))

    def score_held_out(self, name: str, documents: RaggedBatch, prepared: PreparedLabels) -> Tensor:
        """Score training documents without what knows them by heart: [B, K].

        The ridge regression is that on all other documents, and label residuals have their biases
        and matcher weights alone. The joint space stays, though it was trained on the documents.
        """
        targets = torch.zeros(len(documents.label_counts), len(prepared), device=self.device)
        pairs = segment_ids(documents.label_counts), documents.label_ids
        targets[tuple(send(x, self.device) for x in pairs)] = 1
        return prepared.score(documents.texts, targets)

    def contributions(
        self, name: str, documents: Texts, prepared: PreparedLabels, ids: Tensor
    ) -> dict[str, Tensor]:
        """Return what each part of the network adds to the logits: [B, J] by part."""
        return contributions(prepared.subset(ids), documents)

    def evidence(
        self, name: str, document: Texts, prepared: PreparedLabels, ids: Tensor
    ) -> Evidence:
        """Return the words and names that carry the contributions, and the attention."""
        return evidence(prepared.subset(ids), document)

    def _encode(self, name: str, tokenizer: Tokenizer, labels: LabelSet) -> EncodedLabels:
        own, network = self.tasks[name].labels, self.network(name)
        return encode_labels(network, tokenizer, labels, own, self.cache_dir, self.device)

    # --- access ---

    def network(self, name: str) -> Network:
        """Return the network of a task."""
        network: Network = self.networks[name]  # type: ignore[assignment]
        return network

    def encoded(self, name: str) -> EncodedLabels:
        """Return the encoded labels of a task."""
        encoded: EncodedLabels = self.encoded_labels[name]  # type: ignore[assignment]
        return encoded
