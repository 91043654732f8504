"""Abstracts with about as many different words as real ones have.

6,534 abstracts of MEDLINE have 101,000 different parts between spaces, 6,500 built-in ones 23,000,
and 6,500 of these here 88,000: invented names and numbers that come seldom stand among their words.
"""

import json
from pathlib import Path
from random import Random

from gile_lightning.builtin import names, write_bioasq

SHARE = 0.2  # of the words that a rare one follows
NAMES = (names.compound_name, names.place_name, names.compound_name, names.gene_name)
FORMS = ("{}", "{}", "{}", "{}", "{},", "{}.", "({}", "{}-like")
NUMBERS = 0.15  # of the rare words


def write_corpus(directory: Path, documents: int, seed: int = 0) -> None:
    """Write the built-in corpus in the format of BioASQ, with rare words.

    Args:
        directory: where the files go.
        documents: number of abstracts.
        seed: decides the rare words.
    """
    write_bioasq(directory, documents)
    file = directory / "allMeSH_builtin.json"
    articles = json.loads(file.read_text(encoding="ascii"))["articles"]
    draw = Random(seed)
    for article in articles:
        words = [
            f"{word} {_rare(draw)}" if draw.random() < SHARE else word
            for word in article["abstractText"].split(" ")
        ]
        article["abstractText"] = " ".join(words)
    lines = ",\n".join(map(json.dumps, articles))
    file.write_text(f'{{"articles":[\n{lines}\n]}}\n', encoding="ascii")


def _rare(draw: Random) -> str:
    rank = names.rare_rank(1 - draw.random())
    name = str(rank / 100) if draw.random() < NUMBERS else draw.choice(NAMES)(rank)
    return draw.choice(FORMS).format(name)
