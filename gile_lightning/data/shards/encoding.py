"""One pass over a raw corpus into Arrow shards of word ids, with flat memory.

The vocabulary is known only when every training document has been read. So documents are first
written with word ids that are local to their shard, beside the shard's own word list; then the
lists are counted together, and each shard is rewritten with the final ids. A text is tokenized
once, and only the shard at hand and the vocabulary are in memory.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.drawing import (
    TRAIN,
    UNLABELLED,
    count_labels,
    draw_splits,
    hold_out,
)
from gile_lightning.data.shards.splitting import SplitTexts, processes, split_texts
from gile_lightning.data.shards.writing import (
    SHARD,
    SPLITS,
    Document,
    KnownIds,
    RawShard,
    Shard,
    write_raw,
    write_table,
)
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer, build_vocabulary, tokenize


@dataclass(frozen=True)
class EncodingSettings:
    """How a corpus is encoded; part of the cache key.

    Attributes:
        min_count: training occurrences that a word of the vocabulary needs.
        label_words: the words of all labels' texts, names and synonyms belong to the vocabulary,
            however rare they are in training documents.
        max_document_words: words kept per document.
        max_label_words: words kept per label description.
        max_sentences: sentences kept per document; None for all.
        max_sentence_words: words kept per sentence; None for all.
        sentences: ISO 639-1 code of the language whose rules split texts into sentences.
        validation_size: share (below 1) or number of training documents drawn for validation,
            where the corpus has no validation split of its own.
        test_size: the same for testing, where the corpus says nothing about splits; for a trained
            model, a number as large as the corpus takes all documents.
        split_seed: seeds these draws.
        pretrained: a pretrained model, for which texts are split into subwords too.
        max_subwords: subwords kept per text for that model.
        held_out_labels: share (below 1) or number of the labels that training and validation
            documents have, drawn to be taken from the training documents.
    """

    min_count: int = 5
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
    max_subwords: int = 256
    held_out_labels: float = 0.0

    def state(self) -> dict[str, Any]:
        """Return plain values, for the cache key; those of later options where they are used."""
        names = {f.name for f in fields(self)}
        if self.pretrained is None:
            names -= {"pretrained", "max_subwords"}
        if not self.held_out_labels:
            names -= {"held_out_labels"}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name in names}

    def text(self, vocabulary: Sequence[str], known_words_only: bool = False) -> Tokenizer:
        """Return the tokenizer with these settings and a vocabulary."""
        names = [f.name for f in fields(Tokenizer) if f.init and hasattr(self, f.name)]
        settings = {name: getattr(self, name) for name in names}
        return Tokenizer(vocabulary, known_words_only=known_words_only, **settings)


def encode(
    documents: Iterable[Document],
    label_texts: Mapping[str, str],
    directory: Path,
    settings: EncodingSettings,
    skipped: Skipped,
    known: Task | None = None,
    total: int | None = None,
    text: Tokenizer | None = None,
    num_proc: int = 1,
    synonyms: Mapping[str, Sequence[str]] | None = None,
    new_words: bool = False,
    recipe: TextRecipe = TextRecipe(),  # noqa: B008 (frozen)
) -> dict[str, Any]:
    """Encode a corpus into ``directory``: ``<split>-<n>.arrow`` files and ``task.json``.

    Args:
        documents: the raw documents, streamed once.
        label_texts: the text of every label that may be used; other labels are left out.
        directory: an existing empty folder.
        settings: lengths, vocabulary and draws.
        skipped: counts what is left out.
        known: the vocabulary and labels of a trained model; then only the test documents are
            written, and labels new to the model are unseen labels behind its own.
        total: number of documents, if known, for the progress bar.
        text: a tokenizer whose vocabulary is given, such as that of word vectors; by default
            the vocabulary is made of the training documents.
        num_proc: processes that split texts into words beside this one, which reads; 1 for none,
            0 for one per core. The result is the same.
        synonyms: other names of labels, by their names.
        new_words: words of labels that are new to the trained model have ids of their own
            (`Task.with_labels`).
        recipe: how the texts were put together; a trained model keeps its own.

    Returns:
        The counts: documents per split, seen and unseen labels, words.

    Raises:
        InputError: a split has no document, or no document has a described label.
    """
    if known is not None:
        text = known.tokenizer
    if text is not None and text.known_words_only:
        label_texts = _with_words(label_texts, text, skipped)
    names = list(label_texts)
    splitter = text or settings.text([UNKNOWN])
    raw = list(_read(documents, names, directory, splitter, skipped, total, num_proc))
    if not raw:
        raise InputError("no document has a described label; are these the labels of this corpus?")
    splits = np.concatenate([shard.splits for shard in raw])
    written = SPLITS if known is None else ("test",)
    sizes = settings.validation_size, settings.test_size
    draw_splits(splits, *sizes, settings.split_seed, known is not None)
    if known is not None:
        skipped.add("training documents (a trained model is scored)", "", int((splits != 2).sum()))
    untested = known is None and settings.test_size == 0  # the model is to have all documents
    for split in written:
        if not (splits == SPLITS.index(split)).any() and not (untested and split == "test"):
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(skipped.counts.items()))
            raise InputError(f"no {split} document is left; left out: {reasons or 'nothing'}")
    start = 0
    placed = []
    for shard in raw:
        placed.append(shard._replace(splits=splits[start : start + len(shard.splits)]))
        start += len(shard.splits)
    held_out: dict[str, int] = {}
    if settings.held_out_labels and known is None:
        share, seed = settings.held_out_labels, settings.split_seed
        placed, held_out = hold_out(placed, len(names), share, seed)
        skipped.add("training documents with no label but held-out ones", "", held_out["documents"])
        skipped.add("training assignments of held-out labels", "", held_out["assignments"])
    labels, text = _count(
        placed, names, label_texts, settings, text, known, skipped, synonyms or {}
    )
    if known is None:
        task = Task(text, labels, recipe)
    else:
        task = known.with_labels(labels) if new_words else replace(known, labels=labels)
    written_documents = _rewrite(placed, names, task, directory, written)
    task.save(directory / "task.json")
    unused = len(names) - sum(name in task.labels.ids for name in names)
    skipped.add("described labels that no document has", "", unused)
    return {
        "documents": written_documents,
        "seen_labels": task.labels.seen,
        "unseen_labels": len(task.labels) - task.labels.seen,
        "words": len(task.tokenizer.vocabulary),
        **({"held_out_labels": held_out["labels"]} if held_out else {}),
    }


def _with_words(
    label_texts: Mapping[str, str], text: Tokenizer, skipped: Skipped
) -> dict[str, str]:
    """Leave out the labels that would have no vector."""
    kept = {name: label for name, label in label_texts.items() if text.words(label)}
    skipped.add("labels without a known word", "", len(label_texts) - len(kept))
    return kept


def _read(
    documents: Iterable[Document],
    names: list[str],
    directory: Path,
    text: Tokenizer,
    skipped: Skipped,
    total: int | None,
    num_proc: int,
) -> Iterator[RawShard]:
    label_ids = {name: i for i, name in enumerate(names)}
    known_ids = KnownIds()
    shard = Shard(text)
    number = 0
    shown = tqdm(documents, "encoding", total, unit=" documents", smoothing=0.05)
    with closing(_split(shown, text, processes(num_proc))) as stream:
        for document, add in stream:
            if document.id in known_ids:
                skipped.add("documents with an id that came before", document.where)
                continue
            unknown = [name for name in document.labels if name not in label_ids]
            skipped.add("label assignments without a description", document.where, len(unknown))
            labels = list(dict.fromkeys(label_ids[x] for x in document.labels if x in label_ids))
            if not labels:
                skipped.add("documents without a described label", document.where)
            elif not add(shard, labels):
                skipped.add("documents without a word", document.where)
            else:
                known_ids.add(document.id)
            if len(shard.ids) == SHARD:
                yield write_raw(shard, directory, number)
                shard = Shard(text)
                number += 1
    if shard.ids:
        yield write_raw(shard, directory, number)


def _split(
    documents: Iterable[Document], text: Tokenizer, num_proc: int
) -> Generator[tuple[Document, Callable[[Shard, list[int]], bool]], None, None]:
    """Yield every document with the function that adds it to a shard, given its labels."""
    if num_proc == 1:
        for document in documents:
            yield document, partial(_add, text, document)
        return
    for document, split, number in split_texts(documents, text, num_proc):
        yield document, partial(_add_split, split, number, document)


def _add(text: Tokenizer, document: Document, shard: Shard, labels: list[int]) -> bool:
    return shard.add(document, labels, text)


def _add_split(
    split: SplitTexts, number: int, document: Document, shard: Shard, labels: list[int]
) -> bool:
    return shard.add_ids(document, labels, *split.document(number, shard))


def _count(
    raw: list[RawShard],
    names: list[str],
    label_texts: Mapping[str, str],
    settings: EncodingSettings,
    text: Tokenizer | None,
    known: Task | None,
    skipped: Skipped,
    synonyms: Mapping[str, Sequence[str]],
) -> tuple[LabelSet, Tokenizer]:
    words: Counter[str] = Counter()
    documents_with = np.zeros((len(SPLITS), len(names)), dtype=np.int64)
    for shard in raw:
        table = shard.table()
        documents_with += count_labels(table, shard.splits, len(names))
        if text is None:
            local = shard.word_list()
            rows = table.filter(pa.array(np.isin(shard.splits, (TRAIN, UNLABELLED))))
            counts = np.bincount(_values(rows, "words"), minlength=len(local))
            words.update({w: n for w, n in zip(local, counts.tolist(), strict=True) if n})
    labels = dict(zip(SPLITS, documents_with, strict=True))
    if known is not None:
        tested = [name for name, n in zip(names, labels["test"], strict=True) if n]
        return known.labels.extended(tested, label_texts, synonyms), known.tokenizer
    training = {n: int(c) for n, c in zip(names, labels["train"], strict=True) if c}
    others = [n for s in SPLITS[1:] for n, c in zip(names, labels[s], strict=True) if c]
    if text is None:
        if settings.label_words:
            aliases = chain.from_iterable(synonyms.get(name, ()) for name in label_texts)
            given = chain(label_texts.values(), label_texts, aliases)
            for word in {word for terms in given for word in tokenize(terms)}:
                words[word] = max(words[word], settings.min_count)
        text = settings.text(_vocabulary(words, settings.min_count, skipped))
    documents = sum(int((shard.splits == SPLITS.index("train")).sum()) for shard in raw)
    label_set = LabelSet.from_counts(Counter(training), others, label_texts, documents, synonyms)
    return label_set, text


def _vocabulary(words: Counter[str], min_count: int, skipped: Skipped) -> list[str]:
    vocabulary = build_vocabulary(words, min_count)
    if len(vocabulary) == 1:
        raise InputError(
            f"no word occurs {min_count} times in the training documents; lower min_count"
        )
    skipped.add(f"words rarer than min_count = {min_count}", "", len(words) - len(vocabulary) + 1)
    return vocabulary


def _values(table: pa.Table, name: str) -> NDArray[np.int32]:
    import pyarrow.compute as pc  # which takes a tenth of a second

    values: NDArray[np.int32] = pc.list_flatten(table.column(name)).to_numpy()
    return values


def _rewrite(
    raw: list[RawShard],
    names: list[str],
    task: Task,
    directory: Path,
    splits: tuple[str, ...],
) -> dict[str, int]:
    """Write the shards with final word and label ids; remove the raw ones."""
    text = task.tokenizer
    final = {word: i for i, word in enumerate([*text.vocabulary, *text.further])}
    unknown = len(text.vocabulary) - 1
    label_map = np.array([task.labels.ids.get(name, -1) for name in names], dtype=np.int32)
    sizes = dict.fromkeys(splits, 0)
    for number, shard in enumerate(tqdm(raw, "writing shards", unit=" shards", leave=False)):
        table = shard.table()
        word_map = np.array([final.get(w, unknown) for w in shard.word_list()], dtype=np.int32)
        table = _mapped(_mapped(table, "words", word_map), "labels", label_map)
        for split in splits:
            rows = table.filter(pa.array(shard.splits == SPLITS.index(split)))
            if rows.num_rows:
                write_table(directory / f"{split}-{number:05}.arrow", rows.combine_chunks())
                sizes[split] += rows.num_rows
        shard.path.unlink()
        shard.words.unlink()
    return sizes


def _mapped(table: pa.Table, name: str, mapping: NDArray[np.int32]) -> pa.Table:
    column = table.column(name).combine_chunks()
    values = pa.array(mapping[column.values.to_numpy()])
    return table.set_column(
        table.column_names.index(name), name, pa.ListArray.from_arrays(column.offsets, values)
    )
