"""Words of texts that are split together, beside those of texts that are split one by one."""

import json
from collections.abc import Sequence
from pathlib import Path

from gile_lightning.data.document import Document
from gile_lightning.data.formats.lines import read_records
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.tokenizing.batch_splitter import BatchSplitter, Pieces
from gile_lightning.data.tokenizing.tokenizer import Tokenizer


def together(splitter: BatchSplitter, documents: Sequence[Pieces]) -> list[list[list[str]]]:
    """Return the sentences of documents as lists of words."""
    columns = [column.to_pylist() for column in splitter.split(documents)]
    names = list(splitter.words)
    found = []
    for ids, lengths in zip(*columns, strict=True):
        assert sum(lengths) == len(ids)
        words = iter(names[i] for i in ids)
        found.append([[next(words) for _ in range(length)] for length in lengths])
    return found


def differences(
    tokenizer: Tokenizer, documents: Sequence[Pieces], size: int = 500
) -> list[tuple[Pieces, list[list[str]], list[list[str]]]]:
    """Return the documents whose words differ, with the expected and the found ones.

    Args:
        tokenizer: what is a word.
        documents: their texts.
        size: documents that are split together.
    """
    splitter = BatchSplitter(tokenizer)
    different = []
    for start in range(0, len(documents), size):
        chunk = documents[start : start + size]
        for pieces, words in zip(chunk, together(splitter, chunk), strict=True):
            expected = tokenizer.split(pieces)
            if words != expected:
                different.append((pieces, expected, words))
    return different


def abstracts(folder: Path) -> list[Document]:
    """Read MEDLINE abstracts in the format of BioASQ."""
    records = read_records([folder / "allMeSH_sample.json.gz"], Skipped())
    texts = [[x.fields["title"], x.fields["abstractText"]] for x in records]
    return [Document("", str(i), pieces, [], "") for i, pieces in enumerate(texts)]


def news(folder: Path, language: str) -> list[Document]:
    """Read news of one language in the format of DW."""
    files = sorted((folder / language).glob("*.jsonl"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [Document("", str(i), [json.loads(x)["text"]], [], "") for i, x in enumerate(lines)]
