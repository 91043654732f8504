"""Built-in corpora: invented abstracts with headings, and invented news in eight languages.

The abstracts are written as BioASQ files. Headings name one concept of the lexicon ("Liver") or
combine two ("Hepatic Fibrosis"), and each has a scope note made of words which abstracts use as
well. Some combinations occur only in articles from `HELD_OUT_FROM` on, so that a split by year
leaves labels unseen in training. For the news see `gile_lightning.builtin.news`.

The headings are the same for every size and seed. Only `random.Random.random` and exact
arithmetic decide what is written. So equal arguments give equal bytes on every machine. Under
another zlib, compressed files may differ in bytes, never in content.
"""

from gile_lightning.builtin.headings import HELD_OUT_FROM
from gile_lightning.builtin.news import LANGUAGES, write_news
from gile_lightning.builtin.writer import write_bioasq

VERSION: int = 1
"""Raised whenever the BioASQ files change for equal arguments; part of cache keys."""

__all__ = ["HELD_OUT_FROM", "LANGUAGES", "VERSION", "write_bioasq", "write_news"]
