"""Relatives that occur, against a search by names."""

import random

import pytest
import torch

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network.matchers.hierarchy import Hierarchy


def label_set(parents):
    names = list(parents)
    return LabelSet(names, names, [1] * len(names), parents=list(parents.values()))


def occurring(parents, documents):
    """Count by `Hierarchy`: one row for each label of each document."""
    labels = label_set(parents)
    rows = [row for row, names in enumerate(documents) for _ in names]
    ids = [labels.ids[name] for names in documents for name in names]
    counts = Hierarchy.of(labels).occurring(torch.tensor(rows), torch.tensor(ids))
    return counts.tolist()


def search(parents, documents):
    """Count by looking at every other label of a document."""
    found = []
    for own in documents:
        others = set(own)
        for name in own:
            above = sum(parent in others for parent in parents[name])
            below = sum(name in parents[other] for other in others)
            beside = sum(
                parent in parents[other]
                for parent in parents[name]
                for other in others
                if other != name
            )
            found.append([above, below, beside])
    return found


def test_a_family():
    parents = {"animal": [], "cat": ["animal"], "dog": ["animal"], "stone": ["thing"], "pet": []}
    parents |= {"pebble": ["thing"], "puppy": ["dog", "pet"]}
    documents = [["cat", "dog", "animal"], ["puppy", "pet", "dog"], ["stone", "pebble"], ["cat"]]
    assert occurring(parents, documents) == [
        *([1, 0, 1], [1, 0, 1], [0, 2, 0]),  # cat, dog, animal
        *([2, 0, 0], [0, 1, 0], [0, 1, 0]),  # puppy, pet, dog
        *([0, 0, 1], [0, 0, 1]),  # whose parent is none of the labels
        [0, 0, 0],
    ]


def test_a_label_that_occurs_twice_counts_once():
    parents = {"animal": [], "cat": ["animal"], "dog": ["animal"]}
    found = occurring(parents, [["cat", "cat", "dog", "animal", "animal"]])
    assert found == [[1, 0, 1], [1, 0, 1], [1, 0, 1], [0, 2, 0], [0, 2, 0]]


@pytest.mark.parametrize("parents", [{"a": [], "b": []}, {"a": ["x"], "b": ["y"]}])
def test_labels_without_relatives(parents):
    assert occurring(parents, [["a", "b"], ["b"]]) == [[0, 0, 0]] * 3
    assert Hierarchy.of(label_set(parents)).occurring(*2 * [torch.zeros(0).long()]).shape == (0, 3)


@pytest.mark.parametrize("seed", range(5))
def test_random_families(seed):
    generator = random.Random(seed)
    names = [f"label {i}" for i in range(30)]
    above = [*names, "x", "y"]
    # some twice, and some labels above themselves
    given = {name: generator.choices([name, *above], k=generator.randint(0, 3)) for name in names}
    parents = {name: {*some} - {name} for name, some in given.items()}
    documents = [generator.choices(names, k=generator.randint(0, 12)) for _ in range(8)]
    assert occurring(given, documents) == search(parents, documents)
