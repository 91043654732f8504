"""One pass over a raw corpus into Arrow shards of word ids, with flat memory.

The vocabulary is known only after every training document has been read. So documents are first
written with word ids that are local to their shard, beside the shard's own word list. Then the
lists are counted together, and each shard is rewritten with the final ids. A text is tokenized
once, and only one shard and the vocabulary are in memory.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gile_lightning.common.errors import InputError
from gile_lightning.common.garbage import unwatched
from gile_lightning.common.progress import track
from gile_lightning.data.document import SPLITS, Document
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.line_count import Total
from gile_lightning.data.formats.skipped import (
    WITHOUT_LABEL,
    WITHOUT_WORD,
    Skipped,
    told,
)
from gile_lightning.data.formats.unknown_labels import REMEDIES
from gile_lightning.data.known import Predecessor
from gile_lightning.data.loading.document_hashes import table_hashes
from gile_lightning.data.shards.counting import label_set_of, tokenizer_of, training_words
from gile_lightning.data.shards.draws import (
    REPEATED,
    TEST,
    TRAIN,
    draw_splits,
    hold_out,
    keep_splits,
)
from gile_lightning.data.shards.encoding_settings import EncodingSettings
from gile_lightning.data.shards.raw_shard import RawShard, with_ids, write_table
from gile_lightning.data.shards.reading import read_documents
from gile_lightning.data.tokenizing.label_set import LabelFacts, LabelSet
from gile_lightning.data.tokenizing.likely_language import likely_language
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer
from gile_lightning.data.tokenizing.unspaced import unspaced

TASK = "task.json"
HELD_OUT = "held_out"  # the names of labels that documents lack, though they had them


def encode(
    documents: Iterable[Document],
    label_texts: Mapping[str, str],
    directory: Path,
    settings: EncodingSettings,
    skipped: Skipped,
    *,
    predecessor: Predecessor = Predecessor(),  # noqa: B008 (frozen)
    tokenizer: Tokenizer | None = None,
    facts: LabelFacts = LabelFacts(),  # noqa: B008 (immutable)
    recipe: TextRecipe = TextRecipe(),  # noqa: B008 (frozen)
    total: Total | None = None,
    num_proc: int = 0,
) -> dict[str, Any]:
    """Encode a corpus into ``directory``: ``<split>-<n>.arrow`` files and ``task.json``.

    Args:
        documents: the raw documents, streamed once.
        label_texts: the text of every label that may be used; other labels are left out.
        directory: an existing empty folder.
        settings: lengths, vocabulary and draws.
        skipped: counts what is left out.
        predecessor: the model that the corpus is encoded for.
        tokenizer: one with a fixed vocabulary, such as that of the predecessor or of word vectors.
            By default the vocabulary is made from the training documents.
        facts: of these labels.
        recipe: how the texts were put together; a trained model keeps its own.
        total: about how many documents there are, if known, for the progress bar.
        num_proc: 1 splits texts and reads by turns, 2 at once; 0 does what the cores allow. The
            result is the same.

    Returns:
        The counts: documents per split, seen and unseen labels, words; and what `unspaced` and
        `likely_language` have found, if anything.

    Raises:
        InputError: a split has no document, or no document has a described label.
    """
    trained_task, known = predecessor.trained, predecessor.known
    if trained_task is not None:
        tokenizer = trained_task.tokenizer
    if tokenizer is not None and tokenizer.known_words_only:
        keep = () if known is None else known.labels.ids  # the texts that they have
        label_texts = _with_words(label_texts, tokenizer, skipped, keep)
    before: LabelSet | None = None
    if known is not None:
        before = known.labels.joined(label_texts, facts)
        label_texts = dict(zip(before.names, before.texts, strict=True)) | dict(label_texts)
        facts = before.facts().before(facts)
    names = list(label_texts)
    splitter = tokenizer or settings.tokenizer([UNKNOWN])
    with unwatched():
        raw = list(read_documents(documents, names, directory, splitter, skipped, total, num_proc))
    if not raw:
        raise InputError(_nothing_left(skipped, splitter))
    splits = SPLITS if trained_task is None else ("test",)
    earlier: list[NDArray[np.int8]] | None = None
    counted: list[NDArray[np.bool_]] | None = None
    if predecessor.documents is not None:
        hashes = [_hashes(shard, splitter) for shard in raw]
        earlier = [predecessor.documents.splits(own) for own in hashes]
        counted = [predecessor.documents.counted(own) for own in hashes]
    shards = _drawn(raw, settings, splits, skipped, earlier)
    held_out_labels: dict[str, Any] = {}
    seen: dict[str, Any] = {}
    if settings.held_out_labels and trained_task is None:
        learned = set() if before is None else {*before.names[: before.seen]}
        stay = np.array([name in learned for name in names], dtype=bool)
        shards, drawn, held_out = hold_out(
            shards, stay, settings.held_out_labels, settings.split_seed
        )
        skipped.add("training documents with no label but held-out ones", "", held_out["documents"])
        skipped.add("training assignments of held-out labels", "", held_out["assignments"])
        held_out_labels = {"held_out_labels": len(drawn), HELD_OUT: [names[x] for x in drawn]}
    trained_labels = None if trained_task is None else trained_task.labels
    fresh = shards if counted is None or known is None else _repeated(shards, counted)
    labels = label_set_of(fresh, label_texts, facts, trained_labels, before)
    if trained_task is not None:
        task = replace(trained_task, labels=labels)
        if predecessor.new_words:
            task = trained_task.with_labels(labels)
    else:
        if tokenizer is None:
            words = training_words(shards)
            language = likely_language(words, settings.language)
            seen = {"unspaced": unspaced(words), "likely_language": language}
            tokenizer = tokenizer_of(words, label_texts, facts.synonyms, settings, skipped)
        task = Task(tokenizer, labels, recipe)
        if predecessor.labels is not None and predecessor.new_words:
            task = replace(task, labels=predecessor.labels).with_labels(labels)
    sizes = _rewrite(shards, names, task, directory, splits)
    task.save(directory / TASK)
    unused = len(names) - sum(name in task.labels.ids for name in names)
    skipped.add("described labels that no document has (predict --labels scores them)", "", unused)
    return {
        "documents": sizes,
        "seen_labels": task.labels.seen,
        "unseen_labels": len(task.labels) - task.labels.seen,
        "words": len(task.tokenizer.vocabulary),
        **held_out_labels,
        **({} if earlier is None else {"known": _counts(earlier)}),
        **{key: found for key, found in seen.items() if found is not None},
    }


def _nothing_left(skipped: Skipped, tokenizer: Tokenizer) -> str:
    """Say that no document is left, and why."""
    cases = skipped.state()
    message = "no document has a described label; are these the labels of this corpus?"
    if WITHOUT_WORD in cases and WITHOUT_LABEL not in cases:
        known = " that data.word_vectors knows" if tokenizer.known_words_only else ""
        message = f"no document has a word{known}."
    reasons = [told(reason, case) for reason, case in cases.items()]
    reasons += [f"labels {remedy}" for reason, remedy in REMEDIES.items() if reason in cases]
    return f"{message} Left out: {'; '.join(reasons) or 'nothing'}"


def _hashes(shard: RawShard, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the hashes of the documents of a shard, with the word ids of a trained model."""
    final = np.array(tokenizer.word_ids(shard.word_list()), dtype=np.int32)
    unknown = len(tokenizer.vocabulary) - 1
    return table_hashes(with_ids(shard.table(), "words", final), unknown)


def _counts(earlier: Sequence[NDArray[np.int8]]) -> dict[str, int]:
    """Count the documents that a model knows, by the split that they had there."""
    places = np.concatenate(earlier)
    return {split: int((places == place).sum()) for place, split in enumerate(SPLITS)}


def _repeated(shards: Sequence[RawShard], counted: Sequence[NDArray[np.bool_]]) -> list[RawShard]:
    """Return the shards with training documents that a model has counted before as `REPEATED`."""
    return [
        shard._replace(splits=np.where(own & (shard.splits == TRAIN), REPEATED, shard.splits))
        for shard, own in zip(shards, counted, strict=True)
    ]


def _with_words(
    label_texts: Mapping[str, str], tokenizer: Tokenizer, skipped: Skipped, learned: Container[str]
) -> dict[str, str]:
    """Leave out the texts that would have no vector; count those of labels that are not learned."""
    kept = {name: label for name, label in label_texts.items() if tokenizer.words(label)}
    lost = sum(name not in kept and name not in learned for name in label_texts)
    skipped.add("labels without a known word", "", lost)
    return kept


def _drawn(
    raw: Sequence[RawShard],
    settings: EncodingSettings,
    wanted: Sequence[str],
    skipped: Skipped,
    earlier: Sequence[NDArray[np.int8]] | None,
) -> list[RawShard]:
    """Return the shards with the splits that the corpus leaves open drawn.

    Documents keep the ``earlier`` split [B] of each shard, if they have one; see `keep_splits`.

    Raises:
        InputError: a wanted split has no document.
    """
    splits = np.concatenate([shard.splits for shard in raw])
    scoring = "train" not in wanted
    sizes = settings.validation_size, settings.test_size
    given = splits.copy()
    draw = partial(draw_splits, splits, *sizes, settings.split_seed, scoring)
    draw()
    left_out = 0  # documents that would test, had they not trained the model
    known = np.full_like(splits, -1)
    if earlier is not None:
        drawn, known = splits.copy(), np.concatenate(earlier)
        keep_splits(splits, given, known, settings.test_size, scoring)
        left_out = int(((drawn == TEST) & (splits != TEST)).sum())
        draw()  # validation documents, if none is left: all splits are decided
    if scoring:
        _count_untested(splits, given, known, skipped)
    for split in wanted:
        none_tests = split == "test" and not scoring and settings.test_size == 0
        if not none_tests and not (splits == SPLITS.index(split)).any():
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(skipped.counts.items()))
            message = f"no {split} document is left; left out: {reasons or 'nothing'}"
            if split == "test" and left_out:
                remedy = _remedy(scoring, settings.test_size)
                message += f"; {left_out:,} do not test, as they trained the model: {remedy}"
            elif split == "test" and not scoring:
                message += "; to train on all documents, set --data.test_size 0"
            raise InputError(message)
    ends = np.cumsum([len(shard.splits) for shard in raw])
    cut = np.split(splits, ends[:-1])
    return [shard._replace(splits=own) for shard, own in zip(raw, cut, strict=True)]


def _count_untested(
    splits: NDArray[np.int8], given: NDArray[np.int8], known: NDArray[np.int8], skipped: Skipped
) -> None:
    """Count the documents that do not test a trained model, by the reason."""
    untested, undecided = splits != TEST, given == -1
    used = (known != -1) & (known != TEST)
    for reason, documents in (
        ("training documents (a trained model is scored)", ~undecided),
        ("documents that trained or validated the model", undecided & used),
        ("documents not drawn to test (--data.test_size; 0 tests all)", undecided & ~used),
    ):
        skipped.add(reason, "", int((untested & documents).sum()))


def _remedy(scoring: bool, test_size: float) -> str:
    if not scoring:
        return "give others, or train on all with --data.test_size 0"
    return "give others" + (", or score all others with --data.test_size 0" if test_size else "")


def _rewrite(
    shards: Sequence[RawShard],
    names: Sequence[str],
    task: Task,
    directory: Path,
    splits: Sequence[str],
) -> dict[str, int]:
    """Write the shards with final word and label ids, delete the raw ones, count documents."""
    tokenizer = task.tokenizer
    final = {word: i for i, word in enumerate([*tokenizer.vocabulary, *tokenizer.further])}
    unknown = len(tokenizer.vocabulary) - 1
    label_map = np.array([task.labels.ids.get(name, -1) for name in names], dtype=np.int32)
    sizes = dict.fromkeys(splits, 0)
    shown = track(shards, "writing shards", len(shards), "shards")
    for number, shard in enumerate(shown):
        word_map = np.array([final.get(w, unknown) for w in shard.word_list()], dtype=np.int32)
        table = with_ids(with_ids(shard.table(), "words", word_map), "labels", label_map)
        for split in splits:
            rows = table.filter(pa.array(shard.splits == SPLITS.index(split)))
            if rows.num_rows:
                write_table(directory / f"{split}-{number:05}.arrow", rows.combine_chunks())
                sizes[split] += rows.num_rows
        shard.delete()
    return sizes
