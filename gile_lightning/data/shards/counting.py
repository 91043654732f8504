"""The counts of a corpus, and what is made of them: its label set and its vocabulary."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa

from gile_lightning.common.errors import InputError
from gile_lightning.data.document import SPLITS
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.shards.draws import REPEATED, TRAIN, UNLABELLED, count_labels
from gile_lightning.data.shards.encoding_settings import EncodingSettings
from gile_lightning.data.shards.raw_shard import RawShard
from gile_lightning.data.tokenizing.label_set import LabelFacts, LabelSet
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer, build_vocabulary


def label_set_of(
    shards: Sequence[RawShard],
    label_texts: Mapping[str, str],
    facts: LabelFacts,
    trained: LabelSet | None = None,
    known: LabelSet | None = None,
) -> LabelSet:
    """Make the label set of a corpus.

    Args:
        shards: the documents, with the splits that were drawn.
        label_texts: the text of every label, in the order of the shards' label ids.
        facts: of these labels.
        trained: the labels of a trained model. Then these come first, and labels of test documents
            that are new to the model follow as unseen ones.
        known: the labels of a model that is trained further, which count as they did there, beside
            the documents here.
    """
    names = list(label_texts)
    counts = np.zeros((len(SPLITS), len(names)), dtype=np.int64)
    for shard in shards:
        counts += count_labels(shard.table(), shard.splits, len(names))
    train, validation, test = (
        {name: int(n) for name, n in zip(names, of_split, strict=True) if n} for of_split in counts
    )
    if trained is not None:
        return trained.extended(test, label_texts, facts)
    documents = sum(int((shard.splits == TRAIN).sum()) for shard in shards)
    others = [*validation, *test]
    training = Counter(train)
    if known is not None:
        repeated = np.zeros(len(names), dtype=np.int64)
        for shard in shards:
            splits = np.where(shard.splits == REPEATED, TRAIN, REPEATED)
            repeated += count_labels(shard.table(), splits, len(names))[TRAIN]
        # documents that the model knows count for labels alone that it does not know
        fresh = (known.ids.get(name, known.seen) >= known.seen for name in names)
        pairs = zip(names, repeated.tolist(), fresh, strict=True)
        training.update({name: n for name, n, new in pairs if new})
        training.update(dict(zip(known.names, known.frequencies, strict=True)))
        training = +training  # without labels that only other documents have
        documents = known.documents and known.documents + documents
    return LabelSet.from_counts(training, others, label_texts, documents, facts)


def training_words(shards: Sequence[RawShard]) -> Counter[str]:
    """Count the words of the training documents."""
    words: Counter[str] = Counter()
    for shard in shards:
        words.update(_count_words(shard))
    return words


def tokenizer_of(
    words: Counter[str],
    label_texts: Mapping[str, str],
    synonyms: Mapping[str, Sequence[str]],
    settings: EncodingSettings,
    skipped: Skipped,
) -> Tokenizer:
    """Make a tokenizer whose vocabulary are the frequent words of the training documents.

    Args:
        words: the counts of these words.
        label_texts: the text of every label.
        synonyms: other names of labels, by their names.
        settings: what is frequent.
        skipped: counts what is left out.

    Raises:
        InputError: no word is frequent enough.
    """
    min_count = settings.least_count(words.total())
    if settings.label_words:
        words = words.copy()
        other_names = chain.from_iterable(synonyms.get(name, ()) for name in label_texts)
        terms = chain(label_texts.values(), label_texts, other_names)
        split = settings.tokenizer([UNKNOWN]).tokens
        for word in {word for term in terms for word in split(term)}:
            words[word] = max(words[word], min_count)
    vocabulary = build_vocabulary(words, min_count)
    if len(vocabulary) == 1:
        raise InputError(
            f"no word occurs {min_count} times in the training documents; lower min_count"
        )
    skipped.add(f"words rarer than min_count = {min_count}", "", len(words) - len(vocabulary) + 1)
    return settings.tokenizer(vocabulary)


def _count_words(shard: RawShard) -> dict[str, int]:
    """Count the words of a shard's training documents."""
    import pyarrow.compute as pc  # which takes a tenth of a second

    words = shard.word_list()
    rows = shard.table().filter(pa.array(np.isin(shard.splits, (TRAIN, UNLABELLED))))
    ids = pc.list_flatten(rows.column("words")).to_numpy()
    counts = np.bincount(ids, minlength=len(words)).tolist()
    return {word: n for word, n in zip(words, counts, strict=True) if n}
