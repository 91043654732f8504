"""Ragged texts from lists of word ids."""

import torch

from gile_lightning.data.loading.ragged import Texts


def by_sentence(documents):
    """Documents as lists of sentences, which are lists of word ids."""
    sentences = [sentence for document in documents for sentence in document]
    return Texts(
        torch.tensor([word for sentence in sentences for word in sentence], dtype=torch.int32),
        torch.tensor([len(sentence) for sentence in sentences], dtype=torch.long),
        torch.tensor([len(document) for document in documents], dtype=torch.long),
    )


def texts(rows):
    """Texts of one sentence each, as lists of word ids."""
    return by_sentence([[row] for row in rows])
