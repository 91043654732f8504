"""Small random sentence encoders of each architecture that docs/pretrained.md names, as folders.

Files that import this are skipped where `sentence_transformers` is missing.
"""

import pytest

pytest.importorskip("sentence_transformers")

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    PreTrainedTokenizerFast,
)

from gile_testing.sentences import SENTENCES

SIZE = 32
WORDS = 200
SIZES = {
    "hidden_size": SIZE,
    "intermediate_size": 2 * SIZE,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": WORDS,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "initializer_range": 0.3,  # so that different texts have different vectors
}
MORE = {
    "qwen3": {"num_key_value_heads": 2, "head_dim": 8},
    "modernbert": {"cls_token_id": 1, "sep_token_id": 2, "local_attention": 8},
    "gemma3_text": {"num_key_value_heads": 1, "head_dim": 8, "use_bidirectional_attention": True},
}


def tokenizer(architecture):
    """Return a tokenizer of the architecture's kind, learned from a few sentences."""
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if architecture in ("bert", "mpnet"):
        made = Tokenizer(models.WordPiece(unk_token="<unk>"))
        made.normalizer = normalizers.BertNormalizer()
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=WORDS, special_tokens=special)
    elif architecture in ("xlm-roberta", "gemma3_text"):
        made = Tokenizer(models.Unigram())
        made.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=WORDS, special_tokens=special, unk_token="<unk>"
        )
    else:
        made = Tokenizer(models.BPE())
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        trainer = trainers.BpeTrainer(
            vocab_size=300, special_tokens=special, initial_alphabet=alphabet
        )
    made.train_from_iterator(SENTENCES, trainer)
    begin = "" if architecture == "qwen3" else "<s> "
    made.post_processor = processors.TemplateProcessing(
        single=f"{begin}$A </s>",
        pair=f"{begin}$A </s> $B:1 </s>:1",
        special_tokens=[("<s>", 1), ("</s>", 2)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
        padding_side="left" if architecture == "qwen3" else "right",
        model_max_length=60,
    )


def save(folder, architecture, pooling="mean", dense=0, max_seq_length=None, **options):
    """Write a model into a folder, and return it as the library reads it."""
    torch.manual_seed(1)
    inner = folder / "transformer"
    own = tokenizer(architecture)
    sizes = SIZES | {"vocab_size": len(own)} | MORE.get(architecture, {})
    AutoModel.from_config(AutoConfig.for_model(architecture, **sizes)).save_pretrained(inner)
    own.save_pretrained(inner)
    include = options.pop("include_prompt", True)
    transformer = Transformer(str(inner), max_seq_length=max_seq_length)
    layers = [transformer, Pooling(SIZE, pooling, include_prompt=include)]
    if dense:
        layers.append(Dense(layers[-1].get_embedding_dimension(), dense))
    layers.append(Normalize())
    SentenceTransformer(modules=layers, device="cpu", **options).save(str(folder / "model"))
    return SentenceTransformer(str(folder / "model"), device="cpu")


def save_pairs(folder, outputs=1):
    """Write a cross-encoder with random weights into a folder."""
    torch.manual_seed(2)
    own = tokenizer("bert")
    sizes = SIZES | {"vocab_size": len(own), "num_labels": outputs}
    config = AutoConfig.for_model("bert", **sizes)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    own.save_pretrained(folder)
    return folder
