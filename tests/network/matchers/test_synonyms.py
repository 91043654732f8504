from functools import partial

import pytest
import torch

from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.network.matchers import LexicalMatch, NameMention
from gile_testing.mentions import LABELS, label_set, made, scores

WITHOUT = LabelSet(list(LABELS), [text for text, _ in LABELS.values()], [1] * len(LABELS))


@pytest.mark.parametrize("kind", [LexicalMatch, NameMention])
def test_synonyms_can_be_left_out(kind):
    left_out = scores(made(partial(kind, synonyms=False)))
    assert torch.equal(left_out, scores(made(kind), labels=WITHOUT))
    assert not torch.equal(left_out, scores(made(kind), labels=label_set()))
