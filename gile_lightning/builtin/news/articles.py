"""Articles in one language."""

from collections.abc import Iterator
from random import Random

from gile_lightning.builtin.news.labelling import Labelling, Labels
from gile_lightning.builtin.news.sentences import SentenceMaker
from gile_lightning.builtin.news.topics import Topic, Topics, label

TEASER_SHARE = 0.9
TEASER_SENTENCES = 1.5
SPECIFIC_SHARE, GENERAL_SHARE = 0.55, 0.33  # of the sentences; the others are off-topic
NOUNS_ABOVE = 5

Record = dict[str, str | list[str]]


def _nouns(topic: Topic, topics: Topics) -> tuple[int, ...]:
    above = topics.general[topic.parent].core
    # the first come most often, and twice: they tell topics with one parent apart
    return (*topic.core, *topic.core, *above[:NOUNS_ABOVE])


class ArticleMaker:
    """Makes the articles of a language one after the other; equal arguments make equal ones.

    Attributes:
        labelling: what draws the labels of its articles.
    """

    def __init__(self, language: str, topics: Topics, seed: int, words: int) -> None:
        """Prepare the words and the name of every topic.

        Args:
            language: in which the articles are.
            topics: those of the language.
            seed: decides the articles.
            words: of an article on average, title and teaser included.
        """
        rng = Random(f"articles {seed} {language}")
        self._draw = rng.random
        self.labelling = Labelling(topics, self._draw)
        self._sentences = SentenceMaker(language, rng)
        head = self._sentences.mean_title
        teaser = TEASER_SHARE * TEASER_SENTENCES
        self._mean_body = max(2.0, (words - head) / self._sentences.mean_words - teaser)
        self._general = [self._sentences.words(t, t.core) for t in topics.general]
        self._specific = [self._sentences.words(t, _nouns(t, topics)) for t in topics.specific]
        self._names = [[label(topic, language) for topic in group] for group in topics]
        self._language, self._number = language, 0

    def articles(self, number: int, cover: bool = False) -> Iterator[Record]:
        """Yield articles; with `cover` each label of the language occurs in at least one.

        Args:
            number: of articles; with `cover` at least the length of `labelling.cover()`.
            cover: give some articles labels that must occur.
        """
        rows: list[Labels | None] = [*self.labelling.cover()] if cover else []
        rows += [None] * (number - len(rows))
        # spread over the file, so that a part of it is no special part
        for row in sorted(rows, key=lambda _: self._draw()):
            yield self.article(self.labelling.labels(row))

    def article(self, labels: Labels) -> Record:
        """An article with given labels."""
        draw, sentences = self._draw, self._sentences
        general = [self._general[i] for i in labels.general]
        specific = [self._specific[i] for i in labels.specific]
        # what it mentions without being about it
        aside = [self._general[self.labelling.any_topic(0)]]
        aside += [self._specific[self.labelling.any_topic(1)]]
        sentences.about(specific[int(len(specific) * draw())])
        title = sentences.title()
        lead = 1 + int(2 * draw()) if draw() < TEASER_SHARE else 0
        body = round(self._mean_body * (0.5 + draw()))
        made: list[str] = []
        for _ in range(lead + max(1, body)):
            u = draw()
            group = specific if u < SPECIFIC_SHARE else general
            if u >= SPECIFIC_SHARE + GENERAL_SHARE:
                group = aside
            sentences.about(group[int(len(group) * draw())])
            made.append(sentences.sentence())
        self._number += 1
        return {
            "id": f"{self._language}-{self._number}",
            "title": title,
            "teaser": " ".join(made[:lead]),
            "text": " ".join(made[lead:]),
            "general": [self._names[0][i] for i in labels.general],
            "specific": [self._names[1][i] for i in labels.specific],
        }
