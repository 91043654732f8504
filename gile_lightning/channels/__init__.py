"""Channels: further scores of documents and labels, beside that of the joint space."""

from gile_lightning.channels.channel import Channel, LabelIndex
from gile_lightning.channels.cosine import Cosine
from gile_lightning.channels.lexical import LexicalMatch
from gile_lightning.channels.mention import NameMention

__all__ = ["Channel", "Cosine", "LabelIndex", "LexicalMatch", "NameMention"]
