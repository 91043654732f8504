"""The settings of encoding."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

from gile_lightning.common.errors import InputError
from gile_lightning.data.language_name import elides
from gile_lightning.data.pretrained import Backend
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

FEW_WORDS = 30_000


@dataclass(frozen=True, kw_only=True)
class EncodingSettings:
    """How a corpus is encoded; part of the cache key.

    Attributes:
        min_count: training occurrences that a word of the vocabulary needs. "auto" is 1 for up to
            30,000 words of training documents, many of which occur once, and else 2.
        label_words: the words of all labels' texts, names and synonyms belong to the vocabulary,
            however rare they are in training documents.
        max_document_words: words kept per document.
        max_label_words: words kept per label description.
        max_sentences: sentences kept per document; None for all.
        max_sentence_words: words kept per sentence; None for all.
        sentences: ISO 639-1 code of the language whose rules split texts into sentences.
        validation_size: share (below 1) or number of training documents drawn for validation,
            where the corpus has no validation split.
        test_size: the same for testing, where the corpus has no split at all. For a trained model
            a number as large as the corpus means all documents.
        split_seed: seeds these draws.
        pretrained: a pretrained model, for which texts are split into subwords too.
        pretrained_backend: what runs that model.
        max_subwords: subwords of a text that this model reads at once; see `Reading`.
        max_windows: how many pieces of that length it reads of a longer text.
        document_prompt: what that model reads before every document.
        label_prompt: what it reads before every label.
        held_out_labels: share (below 1) or number of labels to hold out, drawn from those that
            both training and validation documents have.
        language: of the texts; see `Tokenizer`.
        elision: whether an apostrophe between letters parts words; see `Tokenizer`.
    """

    min_count: int | Literal["auto"] = 5
    label_words: bool = False
    max_document_words: int = 300
    max_label_words: int = 50
    max_sentences: int | None = None
    max_sentence_words: int | None = None
    sentences: str | None = None
    validation_size: float = 0.1
    test_size: float = 0.1
    split_seed: int = 1234
    pretrained: str | None = None
    pretrained_backend: Backend = "torch"
    max_subwords: int | None = None
    max_windows: int = 1
    document_prompt: str | None = None
    label_prompt: str | None = None
    held_out_labels: float = 0.0
    language: str = "english"
    elision: bool = False

    def of_language(self, language: str) -> "EncodingSettings":
        """Return the settings for texts of a language."""
        return replace(self, language=language, elision=elides(language))

    def least_count(self, words: int) -> int:
        """Return ``min_count`` for a number of words of training documents."""
        if self.min_count == "auto":
            return 1 if words <= FEW_WORDS else 2
        return self.min_count

    def check_prompts(self) -> None:
        """Refuse prompts whose line breaks a shell has not made.

        Raises:
            InputError: a prompt has a backslash and an n, which no word follows.
        """
        for kind, prompt in (("document", self.document_prompt), ("label", self.label_prompt)):
            if re.search(r"\\n(?![a-z])", prompt or ""):
                raise InputError(
                    f"data.{kind}_prompt has a backslash and an n in place of a line break: in "
                    "YAML put the prompt into double quotes, in bash write $'...\\n...'"
                )

    def state(self) -> dict[str, Any]:
        """Return plain values, for the cache key."""
        return asdict(self)

    def tokenizer(self, vocabulary: Sequence[str], known_words_only: bool = False) -> Tokenizer:
        """Return the tokenizer with these settings and a vocabulary."""
        names = [f.name for f in fields(Tokenizer) if f.init and hasattr(self, f.name)]
        settings = {name: getattr(self, name) for name in names}
        return Tokenizer(vocabulary, known_words_only=known_words_only, **settings)
