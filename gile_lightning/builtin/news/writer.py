"""The files of the built-in news corpus."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from gile_lightning.builtin.news.articles import ArticleMaker, Record
from gile_lightning.builtin.news.languages import LANGUAGES
from gile_lightning.builtin.news.topics import DEFAULT_LABELS, PAPER_LABELS, topics
from gile_lightning.builtin.news.vectors import write_vectors
from gile_lightning.common.console import note
from gile_lightning.common.errors import InputError, nearest, positive

_WORD = re.compile(r"\w+|[^\w\s]")


def write_news(
    directory: Path | str,
    documents: int = 1500,
    seed: int = 0,
    *,
    languages: Sequence[str] = LANGUAGES,
    paper_labels: bool = False,
    words: int = 200,
    progress: bool = False,
) -> None:
    """Write the built-in news corpus: articles in several languages and their word vectors.

    `<language>/{train,dev,test}.jsonl` hold 80, 10 and 10 % of a language's articles, one record
    a line: `id`, `title`, `teaser` (may be empty), `text`, and the label names `general` and
    `specific`. Every label of a language occurs in its train file. `word_vectors/<language>.pkl.gz`
    holds all words of the language but numbers, frequent ones first, with vectors of size 40
    that agree across languages. What is written for a language does not depend on the others.

    Args:
        directory: where the files go; made if missing.
        documents: number of articles of each language.
        seed: decides the articles; words, vectors and labels are always the same.
        languages: which of `LANGUAGES` to write.
        paper_labels: have as many labels as in the paper (Table 1), not a few.
        words: mean number of words of an article.
        progress: report progress on standard error.

    Raises:
        InputError: if a language is unknown, `words` is not above 0, or `documents` is too small
            for every label to occur in training.
    """
    positive(words=words)
    makers: dict[str, ArticleMaker] = {}
    held_out = documents // 10
    for language in languages:
        if language not in LANGUAGES:
            known = ", ".join(LANGUAGES)
            raise InputError(
                f"languages: {language!r} is not one of {known}{nearest(language, LANGUAGES)}"
            )
        numbers = (PAPER_LABELS if paper_labels else DEFAULT_LABELS)[language]
        maker = ArticleMaker(language, topics(language, *numbers), seed, words)
        # of n documents at least 4/5 are for training
        needed = -(-len(maker.labelling.cover()) * 5 // 4)
        if documents < needed:
            raise InputError(
                f"documents is {documents}: {language} needs at least {needed}, so that each of "
                f"its {sum(numbers)} labels occurs in training"
            )
        makers[language] = maker
    folder = Path(directory)
    (folder / "word_vectors").mkdir(parents=True, exist_ok=True)
    for language, maker in makers.items():
        (folder / language).mkdir(exist_ok=True)
        chunks: Counter[str] = Counter()
        splits = {"train": documents - 2 * held_out, "dev": held_out, "test": held_out}
        for split, number in splits.items():
            articles = maker.articles(number, cover=split == "train")
            _write(folder / language / f"{split}.jsonl", articles, chunks)
        vectors = folder / "word_vectors" / f"{language}.pkl.gz"
        write_vectors(vectors, language, _count_words(chunks))
        if progress:
            note(f"{documents} {language} articles written")


def _write(path: Path, articles: Iterable[Record], chunks: Counter[str]) -> None:
    """Write a file that takes its name only when it is complete; count what spaces separate."""
    encode = json.JSONEncoder(ensure_ascii=False).encode
    part = path.with_name(path.name + ".part")
    with open(part, "w", encoding="utf-8", newline="\n") as file:
        for article in articles:
            file.write(encode(article) + "\n")
            chunks.update(f"{article['title']} {article['teaser']} {article['text']}".split())
    os.replace(part, path)


def _count_words(chunks: Counter[str]) -> Counter[str]:
    """Count lower-case words and marks; there are far fewer chunks than words in the text."""
    counts: Counter[str] = Counter()
    for chunk, number in chunks.items():
        for word in _WORD.findall(chunk.lower()):
            counts[word] += number
    return counts
