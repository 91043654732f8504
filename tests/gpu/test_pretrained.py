"""Parts that read a pretrained encoder, here a small one with random weights.

The encoder itself runs on the device where documents come with subwords alone, as in prediction.
Training of frozen encoders gives vectors with them.
"""

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

import torch

from gile_lightning.data.pretrained import Reading, VectorStore
from gile_testing.on_devices import compare_scores, compare_steps
from gile_testing.pretrained_models import (
    PRETRAINED,
    documents,
    pretrained_model,
    random_encoder,
)
from gile_testing.sentences import SENTENCES

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return random_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.mark.parametrize("vectors", [True, False], ids=["vectors", "subwords"])
@pytest.mark.parametrize("kind", PRETRAINED)
def test_a_training_step(kind, vectors, encoder, device, tmp_path):
    batch = documents(encoder, 0, vectors)
    compare_steps(pretrained_model(kind, encoder, tmp_path), batch, device)


@pytest.mark.parametrize("vectors", [True, False], ids=["vectors", "subwords"])
@pytest.mark.parametrize("kind", PRETRAINED)
def test_scores(kind, vectors, encoder, device, tmp_path):
    batches = [documents(encoder, place, vectors) for place in range(2)]
    compare_scores(pretrained_model(kind, encoder, tmp_path), *batches, device)


def test_vectors_that_the_cache_keeps(encoder, device, tmp_path):
    """Of texts of many lengths, long ones in windows, none for an empty one."""
    rows = Reading(encoder, max_windows=4).subwords([*SENTENCES, ""])
    texts = np.concatenate(rows), np.array([len(row) for row in rows])
    found = []
    for on in ("cpu", device):
        store = VectorStore(encoder, tmp_path / torch.device(on).type)
        of_texts, of_passages = store.fill_with_passages([texts], device=on)
        found.append([store.texts.take(of_texts), store.passages.take(of_passages)])
    of_texts, of_passages = found[0]
    assert not of_texts[-1].any()
    assert max(map(len, rows)) > 60
    assert len(of_passages) > 3 * len(rows)
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)
