"""A pretrained sentence encoder."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.loading.flat import send
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import Backend, backends, dimension, transformer
from gile_lightning.data.pretrained.batches import Encoded
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import Encoder

_NO_SUBWORDS = "texts without subwords: set --data.pretrained and prepare them again"


class Pretrained(Encoder):
    """A `sentence-transformers` model: one vector of length 1 per text.

    The model is the one whose subwords the data has (``data.pretrained``). Frozen, it runs once for
    each text, the cache keeps the vectors, and checkpoints have the model's name alone. Fine-tuned,
    its weights are parameters like all others.

    Args:
        input_dim: unused; words have no vectors here.
        trainable: whether training changes the weights of the model.
        lr: the learning rate of these weights, which need a lower one than new ones do; by default
            that of the optimizer.
    """

    layers: ClassVar[tuple[str, ...]] = ("transformer",)

    def __init__(self, input_dim: int, trainable: bool = False, lr: float | None = None) -> None:
        super().__init__()
        if lr is not None and not trainable:
            raise InputError(
                "encoders.Pretrained: lr has no effect on frozen weights: set trainable: true, or "
                "leave lr out"
            )
        positive(**({} if lr is None else {"lr": lr}))
        self.lr = lr
        self.inputs = {"subwords"} if trainable else {"vectors"}
        self.trainable = trainable
        self.transformer: nn.Module = nn.Identity()
        self.output_dim = 0
        self.backend: Backend = "torch"

    def set_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Load the model whose subwords the tokenizer makes.

        Raises:
            InputError: it makes none, the model is not available here, or its backend cannot train.
        """
        if tokenizer.pretrained is None:
            raise InputError(
                "encoders.Pretrained, matchers.Cosine and matchers.BestPassage need a pretrained "
                "model: set --data.pretrained, such as all-MiniLM-L6-v2"
            )
        self.name, self.backend = tokenizer.pretrained, tokenizer.pretrained_backend
        self.output_dim = dimension(self.name)
        if self.trainable:
            if self.backend == "openvino-int8":
                raise InputError(
                    f"{self.backend} (data.pretrained_backend) runs models that are not trained: "
                    "set it to torch, or trainable of encoders.Pretrained to false"
                )
            self.transformer = transformer.Transformer(self.name).train()

    def encode_with_passages(self, documents: Texts, device: torch.device) -> Encoded:
        """Encode documents and their passages with the frozen model.

        Args:
            documents: with their subwords.
            device: where to compute.
        """
        if documents.subwords is None or documents.subword_counts is None:
            raise InputError(_NO_SUBWORDS)
        rows = documents.subwords, documents.subword_counts
        return backends.encode_with_passages(self.name, *rows, self.backend, device)

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts by their subwords, or return their vectors if they have some."""
        if texts.vectors is not None and not self.trainable:
            return send(texts.vectors, word_vectors.device).to(word_vectors.dtype)
        if texts.subwords is None or texts.subword_counts is None:
            raise InputError(_NO_SUBWORDS)
        if self.trainable:
            vectors: Tensor = self.transformer(texts.subwords, texts.subword_counts)
        else:
            rows = texts.subwords, texts.subword_counts
            vectors = backends.encode(self.name, *rows, self.backend, word_vectors.device)
        return vectors.to(word_vectors.dtype)
