import json

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.systems.reranker import (
    FOLDER,
    RERANKER_FORMAT,
    SETTINGS,
    Reranker,
    find_reranker,
)
from gile_lightning.training.combination import Combination
from gile_lightning.training.model_folder import CONFIG, WEIGHTS

LABELS = ["a", "b", "c", "d", "e"]
LOGITS = torch.tensor([[4.0, 1.0, 3.0, 2.0, 0.0], [0.0, 1.0, 2.0, 3.0, 4.0]])
LOG_ODDS = LOGITS / 2 - 1


class Letters:
    """Scores a pair by how often the label stands in the document, times 2."""

    max_subwords = 9

    def predict(self, pairs):
        return torch.tensor([2.0 * text.count(label) for text, label in pairs])


def reranker(depth):
    return Reranker(Letters(), Combination(9, 0.5, 1), Combination(-0.5, 2, 0.25), 0.3, depth)


def test_order_and_probabilities_equal_hand_computation():
    """Of the first document a, c and d are best: 2 + 0, 1.5 + 4 and 1 + 2."""
    logits, log_odds = reranker(3).apply(["ccde", "bb"], LABELS, LOGITS, LOG_ODDS)
    assert logits.tolist() == [[2.0, 1.0, 4.0, 3.0, 0.0], LOGITS[1].tolist()]
    # -0.5 + 2 z + s / 4 with z = 1, 0.5, 0 and s = 0, 4, 2
    assert log_odds[0].tolist() == [1.5, -0.5, 1.5, 0.0, -1.0]
    # e, d and c keep their order; b is not read
    assert log_odds[1].tolist() == [-1.0, -0.5, -0.5, 0.5, 1.5]


def test_labels_below_keep_their_order_and_stay_below():
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(20, 5, generator=generator)
    texts = ["".join(LABELS[i] * (i + n) for i in range(5)) for n in range(20)]
    for depth in (1, 2, 4, 50):
        found, log_odds = reranker(depth).apply(texts, LABELS, logits, logits)
        before, after = (x.argsort(dim=1, descending=True) for x in (logits, found))
        assert torch.equal(before[:, depth:], after[:, depth:])
        assert torch.equal(before[:, :depth].sort().values, after[:, :depth].sort().values)
        assert torch.equal(found.sort().values, logits.sort().values)
        below = logits.gather(1, before[:, depth:])
        assert torch.equal(log_odds.gather(1, before[:, depth:]), below)
    assert not torch.equal(before, after)


def test_of_some_labels_only_the_best_are_read():
    ids = torch.tensor([[4, 2, 0]])
    places, log_odds = reranker(2).rerank(
        ["ccc"], LABELS, ids, torch.tensor([[3.0, 2.0, 1.0]]), torch.tensor([[2.0, 1.0, 0.0]])
    )
    assert places.tolist() == [[1, 0, 2]]
    assert log_odds.tolist() == [[-0.5 + 2 + 1.5, -0.5 + 4, 0.0]]


def test_an_exported_model_has_no_second_stage(tmp_path):
    for file in (CONFIG, WEIGHTS):
        (tmp_path / file).write_text("")
    for name in ("user/name", tmp_path):
        with pytest.raises(InputError, match="this is an exported model: give the run folder, or"):
            find_reranker(name)


def test_a_missing_foreign_or_broken_second_stage_is_refused(tmp_path):
    checkpoint = tmp_path / "some.ckpt"
    checkpoint.write_bytes(b"weights")
    with pytest.raises(InputError, match=r"no second stage there .*fit one: .*rerank --checkpoint"):
        find_reranker(checkpoint)
    file = tmp_path / FOLDER / SETTINGS
    file.parent.mkdir()
    file.write_text("{}")
    with pytest.raises(InputError, match=r"gile_lightning.json: not readable"):
        find_reranker(checkpoint)
    weights = Combination()._asdict()
    stored = {"ranking": weights, "probability": weights, "threshold": 0.3, "depth": 3}
    file.write_text(json.dumps(stored | {"max_subwords": 9, "checkpoint": "another"}))
    # which has no number, as those of earlier versions
    with pytest.raises(InputError, match=r"fitted for another checkpoint than .*delete the folder"):
        find_reranker(checkpoint)
    file.write_text(json.dumps(stored | {"format": RERANKER_FORMAT + 1}))
    with pytest.raises(InputError, match=rf"{file}: of format 2, .* install a newer one"):
        find_reranker(checkpoint)
    file.write_text(json.dumps(stored | {"format": 0}))
    with pytest.raises(InputError, match=rf"{file}: of format 0, .* fit it anew"):
        find_reranker(checkpoint)
