"""DW: news articles in eight languages, from the authors' files, JSON lines or any dataset."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gile_lightning.builtin import news
from gile_lightning.common.errors import InputError, nearest, positive
from gile_lightning.data.document_data_module import DocumentDataModule
from gile_lightning.data.formats.hub_datasets import is_saved_dataset
from gile_lightning.data.language_name import NAMES
from gile_lightning.data.multilingual import Multilingual
from gile_lightning.data.pretrained import BackendChoice
from gile_lightning.data.readers.articles import Articles, LabelKind
from gile_lightning.data.readers.columns import Columns
from gile_lightning.data.readers.released_articles import ReleasedArticles
from gile_lightning.data.shards.cache import local_cache, write_once

LANGUAGES = {NAMES[code]: code for code in ("en", "de", "es", "pt", "uk", "ru", "ar", "fa")}
_COLUMNS = Columns(lead=("title", "teaser"), language="language", split="split")


class DW(Multilingual):
    """The corpus of the paper's Tables 3 to 7 (section 4.2).

    ``path`` is one of

    - nothing: the built-in corpus of invented news in the eight languages;
    - a folder in the authors' format, ``{train,dev,test}/LANGUAGE.json``, whose word ids refer to
      their word vectors;
    - a folder of JSON lines, ``LANGUAGE/{train,dev,test}.jsonl[.gz]``, with ``id``, ``text``,
      ``labels`` and perhaps ``title`` and ``teaser``;
    - a JSONL file, a saved Hugging Face dataset, or one on the hub, with a column that says the
      language (``columns.language``: its name or ISO 639-1 code).

    The words of its name describe a label. Labels that are the same known words become one.

    Args:
        path: see above.
        word_vectors: the folder with the languages' word vectors (``english.pkl.gz``, ...). To
            score a model that has them, only a corpus of word ids needs it.
        languages: names of the languages, as a list or with commas between them. A language that
            the paper lacks goes by its ISO 639-1 code.
        label_set: general or specific labels, where a corpus has both: as two columns of these
            names, or as two folders of these names (``general``, ``dw_general``) in the authors'
            format.
        columns: which column is what, for documents that are not in the authors' format.
        train_share: share of the training documents to train on, by language. The low-resource
            protocol (paper, Table 7) cuts that of the target language.
        batch_size: documents per language, training step and process (paper: 16); ``length`` may
            enlarge it.
        eval_batch_size: documents scored at a time.
        samples_per_epoch: training documents drawn per language and epoch, with replacement
            (paper: 25,000); null for a pass over the language with the most documents.
        max_sentences: sentences kept per document (paper: 30).
        max_sentence_words: words kept per sentence (paper: 30).
        max_label_words: words kept per label (released code: 100).
        validation_size: training documents drawn for validation where a corpus has no split.
        test_size: documents drawn for testing where a corpus has no split.
        held_out_labels: labels of each language to hold out of training, so that validation has
            unseen labels; see `DocumentDataModule`.
        label_documents: where no more documents of a language than this train, texts of labels do
            too; see `DocumentDataModule`.
        split_seed: seeds these draws, and those of ``train_share``.
        max_broken_lines: lines that are not JSON objects are skipped and counted up to this many.
        builtin_documents: documents per language of the built-in corpus.
        builtin_paper_labels: the built-in corpus gets as many labels as the paper's.
        cache_dir: where encoded corpora are kept; by default below ~/.cache/gile_lightning. A URL
            that fsspec knows (s3://bucket/folder) keeps them there; see `Cache`.
        seed: of the order of the training documents.
        num_proc: 1 splits texts and reads by turns when a corpus is encoded, 2 at once; 0 does what
            the cores allow. The result is the same.
        pretrained: a model of `sentence-transformers` that knows these languages, for
            `encoders.Pretrained` and `matchers.Cosine`; see `DocumentDataModule`.
        pretrained_backend: what runs that model; see `Backend`.
        max_subwords: subwords of a text, document or label, that the pretrained model reads at
            once.
        max_windows: how many pieces of that length it reads of a longer text.
        document_prompt: what the pretrained model reads before every document.
        label_prompt: what it reads before every label.
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
        label_documents: int = 0,
        split_seed: int = 1234,
        max_broken_lines: int = 100,
        builtin_documents: int = 1_500,
        builtin_paper_labels: bool = False,
        cache_dir: str | Path | None = None,
        seed: int = 1234,
        num_proc: int = 0,
        pretrained: str | None = None,
        pretrained_backend: BackendChoice = "torch",
        max_subwords: int | None = None,
        max_windows: int = 1,
        document_prompt: str | None = None,
        label_prompt: str | None = None,
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
        modules: dict[str, DocumentDataModule] = {}
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
                "sentences": LANGUAGES.get(language, language),  # also for new texts
                "held_out_labels": held_out_labels,
                "label_documents": label_documents,
                "split_seed": split_seed,
                "cache_dir": cache_dir,
                "seed": seed,
                "num_proc": num_proc,
                "pretrained": pretrained,
                "pretrained_backend": pretrained_backend,
                "max_subwords": max_subwords,
                "max_windows": max_windows,
                "document_prompt": document_prompt,
                "label_prompt": label_prompt,
            }
            if released is not None:
                modules[language] = ReleasedArticles(str(released), **options)
            else:
                modules[language] = Articles(
                    path,
                    label_set,
                    columns=columns,
                    validation_size=validation_size,
                    test_size=test_size,
                    max_broken_lines=max_broken_lines,
                    **options,
                )
        super().__init__(modules)

    @property
    def builtin(self) -> bool:
        """Whether this is the built-in corpus."""
        return self.path is None

    def prepare_data(self) -> None:
        """Write the built-in corpus if no path is given, then encode."""
        if self.builtin:
            write = partial(
                news.write_news,
                documents=self.builtin_documents,
                paper_labels=self.builtin_paper_labels,
                progress=True,
            )
            write_once(self.directory, write)
        for module in self.modules.values():
            model = module.predecessor
            if module.word_vectors is None and model.trained is None and model.tokenizer is None:
                raise InputError(
                    "no word vectors: set --data.word_vectors to the folder that has them, a file "
                    "per language (english.pkl.gz, english.txt.gz, ...)"
                )
        super().prepare_data()


def _check(languages: Sequence[str], train_share: dict[str, float], builtin: bool) -> None:
    if not languages:
        raise InputError("data.languages is empty: name at least one language")
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
        if not is_saved_dataset(folder) and any((folder / "train").glob("*.json")):
            return folder
    return None
