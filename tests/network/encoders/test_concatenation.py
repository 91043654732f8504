import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.network.encoders import WAN, Concatenation, Mean
from gile_testing.ragged import by_sentence as texts


def test_the_attention_is_that_of_the_first_encoder_that_attends():
    torch.manual_seed(1)
    vectors, documents = torch.randn(8, 4), texts([[[1, 2, 3]], [[4, 0], [5]]])
    wan = WAN(4)
    both = Concatenation(4, [Mean, lambda input_dim: wan])
    given = vectors[documents.word_ids.long()], documents
    for found, expected in zip(both.attention(*given), wan.attention(*given), strict=True):
        assert found is expected is None or torch.equal(found, expected)
    assert Concatenation(4, [Mean]).attention(*given) is None


def test_encoders_are_shared_one_by_one():
    """However many there are; most of these have no parameters."""
    first, second, fewer = (Concatenation(4, [*[Mean] * n, WAN]) for n in (300, 300, 299))
    second.share_with(first, "encoders")
    assert second.encoders[-1].layer is first.encoders[-1].layer
    with pytest.raises(InputError, match="a Concatenation of the same encoders"):
        second.share_with(fewer, "encoders")
