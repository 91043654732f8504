"""Built-in corpus: invented news in eight languages with general and specific labels.

All languages speak of one inventory of concepts, each with words of its own, whose vectors agree
across languages. Topics are made of concepts, and labels are named by some of them; a language
has most topics of a smaller one. Words, vectors and labels are the same for every size and seed.

Only `random.Random.random`, its bytes and exact arithmetic decide what is written. So equal
arguments give equal bytes on every machine. Under another zlib, compressed files may differ in
bytes, never in content.
"""

from gile_lightning.builtin.news.languages import LANGUAGES
from gile_lightning.builtin.news.topics import DEFAULT_LABELS, PAPER_LABELS
from gile_lightning.builtin.news.writer import write_news

VERSION: int = 1
"""Raised whenever the files change for equal arguments; part of cache keys."""

__all__ = ["DEFAULT_LABELS", "LANGUAGES", "PAPER_LABELS", "VERSION", "write_news"]
