"""Cross-encoders with random weights, against the two libraries that run them."""

import pytest

pytest.importorskip("sentence_transformers")

import numpy as np
import sentence_transformers
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import find_model
from gile_lightning.data.pretrained.cross_encoder import CrossEncoder
from gile_testing.sentences import SENTENCES
from gile_testing.small_models import save, save_pairs

PAIRS = [(a, b) for a in SENTENCES for b in ("Mitochondrial DNA", SENTENCES[4])]  # some are cut


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_pairs(tmp_path_factory.mktemp("pairs"))


def test_scores_are_those_of_the_libraries(folder):
    made = CrossEncoder(folder, 40)
    found = made.predict(PAIRS)
    oracle = sentence_transformers.CrossEncoder(str(folder), device="cpu", max_length=40)
    expected = oracle.predict(PAIRS, activation_fn=torch.nn.Identity(), show_progress_bar=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for score, pair in zip(found, PAIRS, strict=True):
        inputs = tokenizer(*pair, truncation="longest_first", max_length=40, return_tensors="pt")
        assert float(model(**inputs).logits.detach()) == pytest.approx(float(score), abs=1e-5)
    assert found.std() > 0.01
    scores = made.eval()(PAIRS)
    torch.testing.assert_close(scores.detach(), found, atol=1e-5, rtol=0)
    scores.sum().backward()
    assert all(p.grad is not None for p in made.parameters() if p.requires_grad)
    assert made.predict([]).shape == (0,)


def test_a_saved_model_gives_the_same_scores(folder, tmp_path):
    before = CrossEncoder(folder, 40)
    before.save(tmp_path / "saved")
    torch.testing.assert_close(
        CrossEncoder(tmp_path / "saved", 40).predict(PAIRS), before.predict(PAIRS)
    )


def test_a_sentence_encoder_gets_one_output(tmp_path):
    save(tmp_path, "bert")
    torch.manual_seed(3)
    made = CrossEncoder(tmp_path / "model")
    assert made.predict(PAIRS).shape == (len(PAIRS),)
    assert made.max_subwords == 60  # of its tokenizer
    torch.manual_seed(3)
    assert torch.equal(CrossEncoder(tmp_path / "model").predict(PAIRS), made.predict(PAIRS))


def test_wrong_models_are_refused(folder, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="scores 3 classes; a cross-encoder has one output"):
        CrossEncoder(save_pairs(tmp_path / "three", 3))
    with pytest.raises(InputError, match=r"max_subwords is 61; .* reads pairs of 8 to 60 subwords"):
        CrossEncoder(folder, 61)
    with pytest.raises(InputError, match=r"^--pretrained is 'none/such'.* no folder here"):
        CrossEncoder("none/such")
    (folder / "config.json").rename(tmp_path / "config.json")
    with pytest.raises(InputError, match="not a model that scores pairs"):
        CrossEncoder(folder)
    (tmp_path / "config.json").rename(folder / "config.json")
    find_model.cache_clear()
    monkeypatch.setattr("gile_lightning.data.pretrained.model.find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs sentence-transformers: pip install"):
        CrossEncoder(folder)
    find_model.cache_clear()
