"""A warning where parts of a model do not know the language of its texts."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from gile_lightning.data.language_name import AUTO, stemmer_of
from gile_lightning.data.pretrained import find_model

MULTILINGUAL = "paraphrase-multilingual-MiniLM-L12-v2"
# models whose folder may lack a card
_ENGLISH_MODELS = re.compile(
    r"all-(MiniLM|mpnet|distilroberta|roberta)-.*|multi-qa-.*|msmarco-.*"
    r"|paraphrase-(MiniLM|mpnet|albert|distilroberta)-.*"
    r"|e5-(small|base|large)(-v2)?|gte-(small|base|large)(-en.*)?|bge-(small|base|large)-en.*",
    re.I,
)


def language_warning(config: Any, languages: Sequence[str], pretrained: str | None) -> str | None:
    """Say which keys to set where a stemmer or a pretrained model is for another language.

    Nothing is said of texts whose language is English: that is what a corpus says by default.

    Args:
        config: the whole configuration, as plain values.
        languages: of the corpus, by name or ISO 639-1 code.
        pretrained: the corpus' pretrained model, if there is one.
    """
    foreign = [name for name in languages if stemmer_of(name) != "english"]
    if not foreign:
        return None
    fitting = {stemmer_of(name) for name in languages}
    fitting_one = fitting.pop() if len(fitting) == 1 else None
    remedies = [
        f"model.matchers has the stemmer {stemmer} (set stemmer: {fitting_one or 'null'})"
        for stemmer in sorted(set(_stemmers(config["model"])) - {fitting_one, AUTO})
    ]
    if pretrained is not None and knows_english_alone(pretrained):
        remedies.append(
            f"{pretrained} knows English alone (set --data.pretrained to a model of several "
            f"languages, such as {MULTILINGUAL})"
        )
    if not remedies:
        return None
    return f"warning: the language of texts is {', '.join(foreign)}, but {', and '.join(remedies)}"


def knows_english_alone(model: str) -> bool:
    """Return whether a pretrained model is for English, by its card or else by its name."""
    from huggingface_hub import ModelCard

    card = find_model(model) / "README.md"
    named = None
    if card.is_file():
        with suppress(ValueError, yaml.YAMLError):  # no card as the hub has them
            named = ModelCard.load(card).data.language
    if not named:
        return _ENGLISH_MODELS.fullmatch(Path(model).name) is not None
    names = {named} if isinstance(named, str) else set(named)
    return names <= {"en", "eng", "english"}


def _stemmers(config: Any) -> Iterator[str]:
    """Yield the values of all keys ``stemmer``."""
    if isinstance(config, dict):
        if isinstance(stemmer := config.get("stemmer"), str):
            yield stemmer
        config = list(config.values())
    if isinstance(config, list):
        for value in config:
            yield from _stemmers(value)
