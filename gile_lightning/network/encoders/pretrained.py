"""A pretrained sentence encoder."""

from typing import ClassVar

from torch import Tensor, nn

from gile_lightning.common.errors import InputError
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import dimension, transformer
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders.encoder import Encoder


class Pretrained(Encoder):
    """The text's vector of a `sentence-transformers` model, scaled to length 1.

    The model is the data's (``data.pretrained``), which split texts into its subwords. As it was
    trained it is no part of the checkpoint, which only names it, and it runs once for each text,
    whose vector is then kept in the cache. Fine-tuned, its weights are parameters as others are.

    Args:
        input_dim: size of the word vectors, which are not read.
        trainable: whether training changes the model's weights.
    """

    layers: ClassVar[tuple[str, ...]] = ("transformer",)

    def __init__(self, input_dim: int, trainable: bool = False) -> None:
        super().__init__()
        self.reads = {"subwords"} if trainable else {"vectors"}
        self.trainable = trainable
        self.transformer: nn.Module = nn.Identity()
        self.output_dim = 0

    def attach(self, text: Tokenizer) -> None:
        """Find the model for which texts are split into subwords.

        Raises:
            InputError: there is none, or it is not to be had here.
        """
        if text.pretrained is None:
            raise InputError(
                "encoders.Pretrained and matchers.Cosine need a pretrained model: set "
                "--data.pretrained, such as all-MiniLM-L6-v2"
            )
        self.name = text.pretrained
        self.output_dim = dimension(self.name)
        if self.trainable:
            self.transformer = transformer.Transformer(self.name).train()

    def forward(self, word_vectors: Tensor, texts: Texts) -> Tensor:
        """Encode texts by their subwords, or return the vectors that are known already."""
        if texts.vectors is not None and not self.trainable:
            return texts.vectors.to(word_vectors.dtype)
        if texts.subwords is None or texts.subword_counts is None:
            raise InputError("texts without subwords: set --data.pretrained and prepare them again")
        if self.trainable:
            vectors: Tensor = self.transformer(texts.subwords, texts.subword_counts)
        else:
            vectors = transformer.encode(self.name, texts.subwords, texts.subword_counts)
        return vectors.to(word_vectors.dtype)
