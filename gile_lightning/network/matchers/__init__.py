"""Matchers: scores from comparing the texts of documents and labels."""

from gile_lightning.network.matchers.best_passage import BestPassage
from gile_lightning.network.matchers.character import CharacterMatch
from gile_lightning.network.matchers.cosine import Cosine
from gile_lightning.network.matchers.distilled import DistilledCosine
from gile_lightning.network.matchers.lexical import LexicalMatch
from gile_lightning.network.matchers.lexical_passage import LexicalPassage
from gile_lightning.network.matchers.matcher import Matcher, MatcherLabels, Mention
from gile_lightning.network.matchers.mention import NameMention

__all__ = [
    "BestPassage",
    "CharacterMatch",
    "Cosine",
    "DistilledCosine",
    "LexicalMatch",
    "LexicalPassage",
    "Matcher",
    "MatcherLabels",
    "Mention",
    "NameMention",
]
