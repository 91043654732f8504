"""The subwords that a pretrained model reads of a text, as `SentenceTransformer.encode` makes them.

They need the tokenizer of `transformers` alone, not the model.
"""

import functools
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained.model import find_model, identity, modules_of, read_config

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Kind = Literal["document", "label"]

LONGEST = 512  # subwords of a window that a model reads by default, if it could read more
NEXT = int(np.iinfo(np.int32).min)  # the id between two windows of a text


@dataclass(frozen=True)
class Reading:
    """How a pretrained model reads texts.

    Attributes:
        name: of the model, as `find_model` takes it.
        max_subwords: of a text that the model reads at once; by default its own maximal length,
            but `LONGEST` at most.
        max_windows: how many pieces of that length it reads of a longer text.
        document_prompt: put before every document: the name of one of the model's prompts, or the
            text itself; an empty text for none. By default the model's default prompt.
        label_prompt: the same before every label.
    """

    name: str
    max_subwords: int | None = None
    max_windows: int = 1
    document_prompt: str | None = None
    label_prompt: str | None = None

    def state(self) -> list[str]:
        """Return what the subwords of a text depend on, beside lengths.

        Raises:
            InputError: the model is not available, reads no texts of this length, or has no such
                prompt.
        """
        _tokenizer(self.name, self.max_subwords)
        return [identity(self.name), self.prompt("document"), self.prompt("label")]

    def prompt(self, kind: Kind) -> str:
        """Return the text that is put before documents or before labels.

        Raises:
            InputError: the model has no prompt of this name.
        """
        config = read_config(find_model(self.name), "config_sentence_transformers.json")
        prompts: dict[str, str] = config.get("prompts") or {}
        asked = self.document_prompt if kind == "document" else self.label_prompt
        if asked is None:
            asked = config.get("default_prompt_name") or ""
        if asked and asked not in prompts and not re.search(r"[\s:]", asked):
            known = ", ".join(prompts) or "none"
            raise InputError(
                f"data.{kind}_prompt is {asked!r}; the prompts of {self.name} are: {known}. Name "
                "one of them, or give a text such as 'query: '"
            )
        return prompts.get(asked, asked)

    def subwords(self, texts: Sequence[str], kind: Kind = "document") -> list[NDArray[np.int32]]:
        """Return the ids that the model reads of every text, those of special tokens among them.

        An id below 0 stands for its complement ``~id``: a prompt's subword that pooling leaves out.
        `NEXT` stands between the windows of a text, each of which has special tokens of its own;
        the first one has the prompt. A text without anything but spaces has no ids.

        Raises:
            InputError: the model does not read that much, or has no such prompt.
        """
        tokenizer, prompt = _tokenizer(self.name, self.max_subwords), self.prompt(kind)
        hidden = _hidden(self, kind) if prompt else 0
        encodings = tokenizer.encode_batch_fast([prompt + text for text in texts])
        rows = [
            np.array(self._windows(encoding) if text.strip() else [], dtype=np.int32)
            for text, encoding in zip(texts, encodings, strict=True)
        ]
        for row in rows if hidden else []:
            row[:hidden] = ~row[:hidden]
        return rows

    def _windows(self, encoding: "Encoding") -> list[int]:
        ids: list[int] = encoding.ids
        for further in encoding.overflowing[: self.max_windows - 1]:
            ids = [*ids, NEXT, *further.ids]
        return ids


@functools.cache
def _hidden(reading: Reading, kind: Kind) -> int:
    """Return how many subwords of a prompt pooling leaves out: all or none of them."""
    folder = find_model(reading.name)
    paths = [module["path"] for module in modules_of(folder) if module["path"]]
    if all(read_config(folder, f"{p}/config.json").get("include_prompt", True) for p in paths):
        return 0
    encoding = _tokenizer(reading.name, reading.max_subwords).encode(reading.prompt(kind))
    return len(encoding.ids) - encoding.special_tokens_mask[-1]


@functools.cache
def _tokenizer(name: str, max_subwords: int | None) -> "Tokenizer":
    # said out loud, or every fork after the first call is answered with a warning
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    from tokenizers import normalizers
    from transformers import AutoTokenizer

    folder = find_model(name)
    try:
        whole = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        tokenizer: Tokenizer = whole.backend_tokenizer
    except Exception as error:  # of many kinds, for files of many kinds
        reason = str(error).partition("\n")[0]
        raise InputError(f"{folder}: its tokenizer cannot be read ({reason})") from error
    limit = read_config(folder, "config.json").get("max_position_embeddings", math.inf)
    limit = min(whole.model_max_length, limit)
    if max_subwords is not None and max_subwords > limit:
        raise InputError(f"max_subwords is {max_subwords}; {name} reads {limit} at most")
    (own, *_) = [read_config(folder, f.name) for f in folder.glob("sentence_*_config.json")] or [{}]
    if own.get("do_lower_case"):
        parts = [normalizers.Lowercase(), tokenizer.normalizer]
        tokenizer.normalizer = normalizers.Sequence([part for part in parts if part is not None])
    tokenizer.no_padding()
    longest = max_subwords or min(own.get("max_seq_length") or limit, LONGEST)
    tokenizer.enable_truncation(longest, direction=whole.truncation_side)
    return tokenizer
