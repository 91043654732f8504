"""Texts split together and one by one: the words must be the same.

All texts of the development data, where there are any, the sentences of ATT&CK, and a million
random Unicode texts; with all words, with known words alone, and with sentences and limits.

python tests/benchmarks/same_words.py [--shared FOLDER] [--texts 1000000] [--seed 0]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gile_lightning.data import ATTACK
from gile_lightning.data.formats.skipped import Skipped
from gile_lightning.data.tokenizing.batch_splitter import Pieces
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.splitting import abstracts, differences, news
from gile_testing.unicode_texts import random_texts

AT_ONCE = 50_000
LANGUAGES = {
    **{"arabic": "ar", "english": "en", "german": "de", "persian": "fa", "portuguese": "pt"},
    **{"russian": "ru", "spanish": "es", "ukrainian": "uk"},
}


def compare(name: str, documents: Sequence[Pieces], sentences: str | None) -> int:
    """Compare documents with several tokenizers; print and return how many differ."""
    text = Tokenizer(["UNK"])
    words = {word for pieces in documents[::7] for piece in pieces for word in text.words(piece)}
    tokenizers = [
        text,
        Tokenizer([*sorted(words - {"UNK"}), "UNK"], known_words_only=True),
        Tokenizer(["UNK"], sentences=sentences, max_sentence_words=9, max_sentences=3),
    ]
    found = [row for tokenizer in tokenizers for row in differences(tokenizer, documents, 2_048)]
    for row in found[:3]:
        print(*map(ascii, row))
    print(f"{name}: {len(documents):,} texts, {len(found)} differ", flush=True)
    return len(found)


def main(arguments: list[str] | None = None) -> None:
    """Compare all texts; the status is 1 if one differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path)
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(arguments)
    attack = ATTACK()
    attack.label_texts(Skipped())
    found = compare("ATT&CK", [x.pieces for x in attack.documents(Skipped())], "en")
    if args.shared is not None:
        found += compare("MEDLINE", [x.pieces for x in abstracts(args.shared / "bioasq")], "en")
        for language, code in LANGUAGES.items():
            documents = news(args.shared / "dw/raw", language)
            found += compare(language, [x.pieces for x in documents], code)
    texts = random_texts(args.texts, args.seed)
    while documents := [[piece] for _, piece in zip(range(AT_ONCE), texts, strict=False)]:
        found += compare("random", documents, None)
    raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
