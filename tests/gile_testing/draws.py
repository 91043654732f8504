"""Batches of labels for samplers, and a test of their draws."""

import math

import torch


def batch(documents):
    ids = torch.tensor([label for document in documents for label in document]).long()
    return ids, torch.tensor([len(document) for document in documents])


def equal(labels):
    """The frequencies of so many labels, which uniform draws do not look at."""
    return torch.ones(labels, dtype=torch.long)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def assert_uniform(counts):
    """Chi-square: mean n - 1, standard deviation √(2 (n - 1)); five deviations are allowed."""
    counts = counts.double()
    expected, freedom = counts.mean(), len(counts) - 1
    assert ((counts - expected) ** 2 / expected).sum() < freedom + 5 * math.sqrt(2 * freedom)
