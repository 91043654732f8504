"""Corpora that are encoded and set up."""


def ready(data):
    """Encode a corpus and set it up."""
    data.prepare_data()
    data.setup()
    return data
