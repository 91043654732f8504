"""The transformer on ragged texts; the oracle is `SentenceTransformer.encode`."""

import threading

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import backends, batches, transformer
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.minilm import DIM, NAME, oracle
from gile_testing.sentences import SENTENCES


def subwords(texts):
    return [torch.from_numpy(x) for x in Tokenizer(["UNK"], pretrained=NAME).subwords(texts)]


@pytest.mark.parametrize("tokens", [300, 100_000])
def test_vectors_are_those_of_the_library(tokens, monkeypatch):
    monkeypatch.setattr(transformer, "CPU_TOKENS", tokens)
    vectors = backends.encode(NAME, *subwords(SENTENCES))
    torch.testing.assert_close(vectors, oracle(SENTENCES), rtol=0, atol=1e-5)
    assert not vectors.requires_grad


def test_bfloat16_rounds_a_little():
    vectors = backends.encode(NAME, *subwords(SENTENCES), "torch-bfloat16")
    assert vectors.dtype == torch.float32
    cosines = (vectors * oracle(SENTENCES)).sum(1)
    assert cosines.min() > 0.999
    assert (cosines < 1 - 1e-6).all()  # it does round
    torch.testing.assert_close(vectors.norm(dim=1), torch.ones(len(SENTENCES)))
    assert transformer.frozen(NAME) is transformer.frozen(NAME)  # and in float32 as before
    torch.testing.assert_close(backends.encode(NAME, *subwords(SENTENCES)), oracle(SENTENCES))
    identities = {backends.identity(NAME, backend) for backend in ("torch", "torch-bfloat16")}
    assert len(identities) == 2  # vectors of both are kept apart


def test_attention_of_a_model_in_bfloat16(monkeypatch):
    """By whole matrices where windows are short; that of others stays."""
    texts = subwords(SENTENCES)
    exact, rounded = transformer.frozen(NAME), transformer.frozen(NAME, torch.bfloat16)
    vectors = []
    for most, expected in ((512, "eager"), (2, "sdpa"), (512, "eager")):
        monkeypatch.setattr(transformer, "_SHORT", most)
        vectors.append(rounded(*texts))
        assert rounded.model[0].auto_model.config._attn_implementation == expected
        exact(*texts)
        assert exact.model[0].auto_model.config._attn_implementation == "sdpa"
    assert torch.equal(vectors[0], vectors[2])
    assert (vectors[0] * vectors[1]).sum(1).min() > 0.999
    trained = transformer.Transformer(NAME).bfloat16()  # published so
    trained(*texts).sum().backward()
    assert trained.model[0].auto_model.config._attn_implementation == "sdpa"


def test_a_model_keeps_the_precision_in_which_it_was_published(tmp_path):
    from sentence_transformers import SentenceTransformer

    transformer.frozen(NAME).model.save(str(tmp_path / "model"))
    published = SentenceTransformer(str(tmp_path / "model"), device="cpu").bfloat16()
    published.save(str(tmp_path / "half"))
    half = transformer.frozen(str(tmp_path / "half"))
    assert {weight.dtype for weight in half.model.parameters()} == {torch.bfloat16}


def test_a_device_without_memory_gets_smaller_batches(monkeypatch):
    """The model is on no device, and the batches are counted alone."""
    model = transformer.Transformer(NAME).requires_grad_(False).to("meta")
    tried = []

    def in_batches(encode, ids, counts, padding, size, most, device, passages):
        tried.append(most)
        if most > limit:
            raise torch.OutOfMemoryError("none left")
        return batches.Encoded(torch.zeros(len(counts), size), torch.zeros(0, size), counts)

    monkeypatch.setattr(transformer, "in_batches", in_batches)
    texts = subwords(SENTENCES)
    limit = 20_000
    with torch.no_grad():
        assert model(*texts).shape == (len(SENTENCES), DIM)
        assert tried == [65_536, 32_768, 16_384]
        model(*texts)  # which begins with what went well
        assert tried.pop() == 16_384
        limit = 0
        with pytest.raises(torch.OutOfMemoryError):
            model(*texts)
        assert tried[-1] == 512
    with pytest.raises(torch.OutOfMemoryError):  # whose graph needs memory whatever the batches
        model(*texts)
    assert tried[-2:] == [512, 512]


def test_a_text_without_a_subword_is_zeros():
    vectors = backends.encode(NAME, *subwords(["", SENTENCES[0], " ", SENTENCES[1]]))
    assert vectors[[0, 2]].eq(0).all()
    torch.testing.assert_close(vectors[[1, 3]], oracle(SENTENCES[:2]), rtol=0, atol=1e-5)
    assert backends.encode(NAME, *subwords(["", ""])).eq(0).all()
    assert backends.encode(NAME, *subwords([])).shape == (0, DIM)


def test_threads_take_batches_each(monkeypatch):
    """They see no gradients, and leave the number of threads as it was."""
    before, seen = torch.get_num_threads(), []

    def work(batch):
        seen.append((torch.get_num_threads(), threading.current_thread().name))
        assert not torch.is_grad_enabled()
        assert torch.is_inference_mode_enabled()
        if batch < 0:
            raise InputError("a bad batch")
        return batch * 2

    try:
        torch.set_num_threads(2)
        with torch.inference_mode():
            assert list(batches.side_by_side(work, range(6))) == [0, 2, 4, 6, 8, 10]
            assert {number for number, _ in seen} == {1}
            assert all(name.startswith("encode") for _, name in seen)
            with pytest.raises(InputError, match="a bad batch"):
                batches.side_by_side(work, [1, -1, 2])
            assert torch.get_num_threads() == 2
            seen.clear()
            assert list(batches.side_by_side(work, [7])) == [14]  # which may use both
            assert seen == [(2, threading.current_thread().name)]
        texts = subwords(SENTENCES)
        monkeypatch.setattr(transformer, "CPU_TOKENS", 16)  # many batches
        vectors = backends.encode(NAME, *texts)
        torch.testing.assert_close(vectors, oracle(SENTENCES), rtol=0, atol=1e-5)
    finally:
        torch.set_num_threads(before)


def test_a_folder_that_is_no_model(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(InputError, match=f"{tmp_path}: not a model of sentence-transformers"):
        transformer.Transformer(str(tmp_path))


def test_a_long_text_is_the_mean_of_its_windows():
    windows = {"max_subwords": 9, "max_windows": 3}  # 7 words each, beside two special tokens
    reader = Tokenizer(["UNK"], pretrained=NAME, **windows)
    texts = ["mice " * 16, "", "rats", "insulin " * 7, "blood " * 40]
    found = backends.encode(NAME, *map(torch.from_numpy, reader.subwords(texts)))
    pieces = oracle(["mice " * 7, "mice " * 2, "rats", "insulin " * 7, "blood " * 7])
    mean = torch.nn.functional.normalize(18 * pieces[0] + 4 * pieces[1], dim=0)
    expected = torch.stack([mean, torch.zeros(DIM), *pieces[2:]])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-5)
