"""DW: news articles in eight languages, from the authors' files, JSON lines or any dataset."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from gile_lightning.builtin import news
from gile_lightning.common.errors import InputError, nearest, positive
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.lines import Record
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.multilingual import Multilingual
from gile_lightning.data.readers.corpus import Columns, Corpus
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_lightning.data.shards.cache import local_cache

LANGUAGES = {
    "english": "en",
    "german": "de",
    "spanish": "es",
    "portuguese": "pt",
    "ukrainian": "uk",
    "russian": "ru",
    "arabic": "ar",
    "persian": "fa",
}
LabelKind = Literal["general", "specific"]

_FILES = ("train", "dev", "test")
_SPLITS = {"dev": "validation", "valid": "validation"}
_SAVED = ("dataset_dict.json", "state.json")  # what `datasets` writes into a folder of its own
_COLUMNS = Columns(lead=("title", "teaser"), language="language", split="split")


class DW(Multilingual):
    """The corpus of the paper's Tables 3 to 7 (section 4.2).

    ``path`` is one of

    - nothing: a corpus of invented news in the eight languages, to try things out;
    - a folder in the authors' format, ``{train,dev,test}/LANGUAGE.json``, whose word ids refer to
      their word vectors;
    - a folder of JSON lines, ``LANGUAGE/{train,dev,test}.jsonl[.gz]``, with ``id``, ``text``,
      ``labels`` and perhaps ``title`` and ``teaser``;
    - a JSONL file, a saved Hugging Face dataset, or one on the hub, with a column that says the
      language (``columns.language``: its name or ISO 639-1 code).

    A label is described by the words of its name; labels that are the same known words are one.

    Args:
        path: see above.
        word_vectors: the folder with the languages' word vectors (``english.pkl.gz``, ...);
            not needed to score a model that has them, unless the corpus is of word ids.
        languages: names of the languages, as a list or with commas between them; others than the
            paper's by their ISO 639-1 code.
        label_set: general or specific labels, where a corpus has both: as two columns of these
            names, or as two folders of these names (``general``, ``dw_general``) in the authors'
            format. Otherwise the labels are those that there are.
        columns: which column is what, for documents that are not in the authors' format.
        train_share: share of the training documents that is used, by language: the low-resource
            protocol (paper, Table 7) cuts the target language's.
        batch_size: documents per language, training step and process (paper: 16).
        eval_batch_size: documents scored at a time.
        samples_per_epoch: training documents drawn per language and epoch, with replacement
            (paper: 25,000); null for a pass over the language with the most documents.
        max_sentences: sentences kept per document (paper: 30).
        max_sentence_words: words kept per sentence (paper: 30).
        max_label_words: words kept per label (released code: 100).
        validation_size: training documents drawn for validation where a corpus has no split.
        test_size: documents drawn for testing where a corpus has no split.
        held_out_labels: labels of each language that are taken from the training documents, so
            that validation has unseen ones; see `DocumentDataModule`.
        split_seed: seeds these draws, and what ``train_share`` keeps.
        max_broken_lines: lines that are not JSON objects are skipped and counted up to this many.
        builtin_documents: documents per language of the invented corpus.
        builtin_paper_labels: give the invented corpus as many labels as the paper's.
        cache_dir: where encoded corpora are kept; by default below ~/.cache/gile_lightning. A URL
            that fsspec knows (s3://bucket/folder) keeps them there; each node copies what it
            needs into that default folder, once.
        seed: of the order of the training documents.
        num_proc: processes that split texts into words when a corpus is encoded, beside the one
            that reads; 1 for none, 0 for one per core. The result is the same.
        pretrained: a model of `sentence-transformers` that knows these languages, for
            `encoders.Pretrained` and `matchers.Cosine`; see `DocumentDataModule`.
        max_subwords: subwords of a text, document or label, that the pretrained model is given.
    """

    def __init__(
        self,
        path: str | None = None,
        word_vectors: Path | None = None,
        languages: list[str] | str = "english,german",
        label_set: LabelKind = "general",
        *,
        columns: Columns = _COLUMNS,
        train_share: dict[str, float] | None = None,
        batch_size: int = 16,
        eval_batch_size: int = 256,
        samples_per_epoch: int | None = None,
        max_sentences: int = 30,
        max_sentence_words: int = 30,
        max_label_words: int = 100,
        validation_size: float = 0.1,
        test_size: float = 0.1,
        held_out_labels: float = 0.0,
        split_seed: int = 1234,
        max_broken_lines: int = 100,
        builtin_documents: int = 1_500,
        builtin_paper_labels: bool = False,
        cache_dir: str | Path | None = None,
        seed: int = 1234,
        num_proc: int = 1,
        pretrained: str | None = None,
        max_subwords: int = 256,
    ) -> None:
        positive(
            builtin_documents=builtin_documents,
            max_sentences=max_sentences,
            max_sentence_words=max_sentence_words,
        )
        if isinstance(languages, str):
            languages = [name.strip() for name in languages.split(",")]
        self.path = path
        self.builtin_documents = builtin_documents
        self.builtin_paper_labels = builtin_paper_labels
        cache = local_cache(cache_dir)
        kind = "paper-labels-" if builtin_paper_labels else ""
        self.directory = cache / f"builtin-news-{news.VERSION}-{kind}{builtin_documents}"
        if path is None:
            path, word_vectors = str(self.directory), self.directory / "word_vectors"
        _check(languages, train_share or {}, self.path is None)
        if len(languages) > 1 and word_vectors is not None and Path(word_vectors).is_file():
            raise InputError(
                f"{word_vectors}: one file for {len(languages)} languages; set --data.word_vectors "
                "to a folder with a file for each"
            )
        released = _released(Path(path).expanduser(), label_set)
        parts: dict[str, DocumentDataModule] = {}
        for language in languages:
            options: dict[str, Any] = {
                "language": language,
                "word_vectors": word_vectors,
                "train_share": (train_share or {}).get(language, 1.0),
                "batch_size": batch_size,
                "eval_batch_size": eval_batch_size,
                "samples_per_epoch": samples_per_epoch,
                "max_sentences": max_sentences,
                "max_sentence_words": max_sentence_words,
                "max_document_words": max_sentences * max_sentence_words,
                "max_label_words": max_label_words,
                "sentences": LANGUAGES.get(language, language),  # also for texts to come
                "held_out_labels": held_out_labels,
                "split_seed": split_seed,
                "cache_dir": cache_dir,
                "seed": seed,
                "num_proc": num_proc,
                "pretrained": pretrained,
                "max_subwords": max_subwords,
            }
            if released is not None:
                parts[language] = ReleasedArticles(str(released), **options)
            else:
                parts[language] = Articles(
                    path,
                    label_set,
                    columns=columns,
                    validation_size=validation_size,
                    test_size=test_size,
                    max_broken_lines=max_broken_lines,
                    **options,
                )
        super().__init__(parts)

    @property
    def builtin(self) -> bool:
        """Whether this is the invented corpus."""
        return self.path is None

    def prepare_data(self) -> None:
        """Write the invented corpus if it is wanted, then encode."""
        if self.builtin and not self.directory.is_dir():
            self.directory.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self.directory.with_suffix(".lock")):
                if not self.directory.is_dir():
                    partial = self.directory.with_suffix(".partial")
                    shutil.rmtree(partial, ignore_errors=True)
                    news.write_news(
                        partial,
                        self.builtin_documents,
                        paper_labels=self.builtin_paper_labels,
                        progress=True,
                    )
                    partial.replace(self.directory)
        for part in self.parts.values():
            if part.word_vectors is None and part.known is None and part.text is None:
                raise InputError(
                    "no word vectors: set --data.word_vectors to the folder that has them, a file "
                    "per language (english.pkl.gz, english.txt.gz, ...)"
                )
        super().prepare_data()


class Articles(Corpus):
    """One language of articles that are not in the authors' format.

    Args:
        path: a folder with ``LANGUAGE/{train,dev,test}.jsonl[.gz]``, or as for `Corpus`.
        label_set: the column with the labels, in documents that have it.
        kwargs: see `Corpus`.
    """

    def __init__(self, path: str, label_set: LabelKind = "general", **kwargs: Any) -> None:
        super().__init__(path, **kwargs)
        self.label_set = label_set

    def folder(self) -> Path:
        """Return the language's folder, which need not exist."""
        return Path(str(self.path)).expanduser() / self.language

    def document_files(self) -> Sequence[Path]:
        """Return the files of the language's folder, if there is one."""
        folder = self.folder()
        if not folder.is_dir():
            parent = folder.parent
            if parent.is_dir() and not any((parent / name).is_file() for name in _SAVED):
                raise InputError(f"{folder}: no such folder, and {parent} is no saved dataset")
            return super().document_files()
        files = [
            next((file for file in candidates if file.is_file()), candidates[0])
            for candidates in (
                [folder / f"{split}.jsonl{end}" for end in ("", ".gz")] for split in _FILES
            )
        ]
        missing = [str(file) for file in files if not file.is_file()]
        if self.known is None and missing:
            raise InputError(f"{', '.join(missing)}: no such file (or .gz of it)")
        return [file for file in files if file.is_file()]

    def records(self, skipped: Skipped) -> Iterator[Record]:
        """Stream the documents; a file's name says the split, a folder's the language."""
        columns = self.columns
        in_folder = self.folder().is_dir()
        for record in super().records(skipped):
            fields = record.fields
            if columns.language and in_folder:
                fields.setdefault(columns.language, self.language)
            if columns.split:
                file = Path(record.where.rpartition(":")[0]).name.partition(".")[0]
                split = fields.get(columns.split) or (file if file in _FILES else "")
                fields[columns.split] = _SPLITS.get(str(split), split)
            if self.label_set in fields:
                fields[columns.labels] = fields[self.label_set]
            yield record

    def sources(self) -> dict[str, Any]:
        """Return the files with their sizes and times, and the options that change the result."""
        return {**super().sources(), "label_set": self.label_set}


def _check(languages: Sequence[str], train_share: dict[str, float], builtin: bool) -> None:
    if not languages:
        raise InputError("data.languages is empty: name a language at least")
    doubled = {name for name in languages if list(languages).count(name) > 1}
    if doubled:
        raise InputError(f"data.languages names {', '.join(sorted(doubled))} twice")
    for name in languages:
        if name not in LANGUAGES and (builtin or len(name) > 3):
            raise InputError(
                f"data.languages: {name!r} is none of {', '.join(LANGUAGES)}"
                f"{nearest(name, LANGUAGES)}"
                + ("" if builtin else "; name another language by its ISO 639-1 code")
            )
    for name in train_share:
        if name not in languages:
            raise InputError(
                f"data.train_share: {name!r} is none of the languages {', '.join(languages)}"
                f"{nearest(name, languages)}"
            )


def _released(path: Path, label_set: str) -> Path | None:
    """Return the folder that is in the authors' format, if one is."""
    for folder in (path / label_set, path / f"dw_{label_set}", path):
        saved = any((folder / name).is_file() for name in _SAVED)
        if not saved and any((folder / "train").glob("*.json")):
            return folder
    return None
