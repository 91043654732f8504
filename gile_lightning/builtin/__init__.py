"""Built-in corpora: invented abstracts with headings, invented news, and sentences of ATT&CK.

The abstracts are written as BioASQ files. Headings name one concept of the lexicon ("Liver") or
combine two ("Hepatic Fibrosis"), and each has a scope note made of words which abstracts use as
well. Some combinations occur only in articles from `HELD_OUT_FROM` on, so that a split by year
leaves labels unseen in training. For the news see `gile_lightning.builtin.news`.

The headings are the same for every size and seed. Only `random.Random.random` and exact
arithmetic decide what is written. So equal arguments give equal bytes on every machine. Under
another zlib, compressed files may differ in bytes, never in content.

The sentences of MITRE ATT&CK are no invention. They lie here as a file, beside their licence.
"""

from pathlib import Path

from gile_lightning.builtin.headings import HELD_OUT_FROM
from gile_lightning.builtin.news import LANGUAGES, write_news
from gile_lightning.builtin.writer import write_bioasq

VERSION: int = 1
"""Raised whenever the BioASQ files change for equal arguments; part of cache keys."""

ATTACK_BUNDLE = Path(__file__).parent / "attack/enterprise-attack-before-2023.json.gz"
"""A STIX bundle: the Enterprise matrix of ATT&CK, with what was written before 2023."""

__all__ = ["ATTACK_BUNDLE", "HELD_OUT_FROM", "LANGUAGES", "VERSION", "write_bioasq", "write_news"]
