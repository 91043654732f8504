"""The cosine of two vectors."""

from gile_lightning.channels.channel import Channel


class Cosine(Channel):
    pass
