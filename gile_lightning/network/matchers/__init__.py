"""Matchers: further scores of documents and labels, beside that of the joint space."""

from gile_lightning.network.matchers.cosine import Cosine
from gile_lightning.network.matchers.lexical import LexicalMatch
from gile_lightning.network.matchers.matcher import Matcher, MatcherLabels
from gile_lightning.network.matchers.mention import NameMention

__all__ = ["Cosine", "LexicalMatch", "Matcher", "MatcherLabels", "NameMention"]
