"""The encoder `Pretrained`, frozen and fine-tuned, and its place in a model."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.common.factories import instantiate
from gile_lightning.data.loading.ragged import Texts
from gile_lightning.data.pretrained import backends, transformer
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_lightning.network.encoders import Concatenation, Mean, Pretrained
from gile_lightning.systems import NeuralSystem
from gile_testing.minilm import DIM, NAME, oracle
from gile_testing.sentences import SENTENCES

TEXT = Tokenizer(["insulin", "heart", "UNK"], pretrained=NAME)
TABLE = torch.zeros(3, 5)
TUNED = partial(Pretrained, trainable=True)


def texts(documents=SENTENCES):
    return Texts.from_flat(*TEXT.documents(documents), *TEXT.subwords(documents))


def made(make=Pretrained):
    encoder = make(5)
    encoder.set_tokenizer(TEXT)
    return encoder


def test_frozen(monkeypatch):
    encoder = made()
    assert encoder.output_dim == encoder.hidden_dim == DIM
    assert not list(encoder.parameters())
    assert not encoder.state_dict()
    vectors = encoder(TABLE, texts())
    torch.testing.assert_close(vectors, oracle(SENTENCES), rtol=0, atol=1e-5)
    assert not vectors.requires_grad
    both = made(partial(Concatenation, encoders=[Mean, Pretrained]))
    assert both.output_dim == 5 + DIM
    assert both.inputs == {"words", "vectors"}
    table = torch.rand(3, 5)
    expected = torch.cat([Mean(5)(table, texts()), vectors], dim=1)
    torch.testing.assert_close(both(table, texts()), expected, rtol=0, atol=1e-5)
    monkeypatch.setattr(backends, "encode", lambda *_: pytest.fail("encoded again"))
    assert encoder(TABLE, texts()._replace(vectors=vectors)) is vectors


def test_fine_tuned_starts_as_frozen():
    encoder = made(TUNED)
    first, second = (encoder(TABLE, texts(SENTENCES[:2])) for _ in range(2))
    assert not torch.allclose(first, second)  # by its dropout
    encoder.eval()
    torch.testing.assert_close(encoder(TABLE, texts()), oracle(SENTENCES), rtol=0, atol=1e-5)
    assert sum(p.numel() for p in encoder.parameters()) == 22_713_216  # the model card's 22.7M
    known = torch.rand(len(SENTENCES), DIM)  # of the model before its fine-tuning
    assert encoder(TABLE, texts()._replace(vectors=known)) is not known


def test_every_trained_weight_gets_a_gradient():
    encoder = made(TUNED).eval()
    (encoder(TABLE, texts(SENTENCES[:2])) @ torch.rand(DIM)).sum().backward()
    trained = [p for p in encoder.parameters() if p.requires_grad]
    assert len(trained) == 103 - 2  # but BERT's own pooling
    assert all(p.grad is not None for p in trained)


def model(**parts):
    torch.manual_seed(1)
    built = NeuralSystem(**parts)
    labels = LabelSet(["a", "b", "c"], ["insulin", "heart failure", "mice"], [2, 1, 1])
    built.build({"en": Task(TEXT, labels)})
    return built


def test_a_network_keeps_the_pretrained_weights():
    """The initialization of other layers leaves them alone."""
    built = model(encoder=TUNED, label_encoder=Pretrained)
    own = dict(built.network("en").encoder.transformer.named_parameters())
    for key, weight in transformer.frozen(NAME).named_parameters():
        assert torch.equal(own[key], weight)


def test_label_texts_have_the_vectors_of_their_ids():
    built = model(encoder=Pretrained, label_encoder=Pretrained)
    chosen = built.encoded("en").texts_of(torch.tensor([2, 0]))
    torch.testing.assert_close(chosen.vectors, oracle(["mice", "insulin"]), rtol=0, atol=1e-5)
    assert chosen.subwords is None  # which nothing reads
    tuned = (
        model(encoder=Pretrained, label_encoder=TUNED).encoded("en").texts_of(torch.tensor([2, 0]))
    )
    subwords, counts = TEXT.subwords(["mice", "insulin"])
    assert tuned.subwords.tolist() == subwords.tolist()
    assert tuned.subword_counts.tolist() == counts.tolist()
    assert tuned.vectors is None


def test_prompts_of_documents_and_labels_apart():
    tokenizer = replace(TEXT, document_prompt="query: ", label_prompt="topic: ")
    labels = LabelSet(["a", "b"], ["insulin", "mice"], [2, 1])
    built = NeuralSystem(encoder=Pretrained, label_encoder=Pretrained)
    built.build({"en": Task(tokenizer, labels)})
    found = built.encoded("en").texts_of(torch.tensor([0, 1])).vectors
    torch.testing.assert_close(found, oracle(["topic: insulin", "topic: mice"]), rtol=0, atol=1e-5)
    documents = Texts.from_flat(*tokenizer.documents(["Heart."]), *tokenizer.subwords(["Heart."]))
    found = built.network("en").with_vectors(documents).vectors
    torch.testing.assert_close(found, oracle(["query: Heart."]), rtol=0, atol=1e-5)


def test_unread_word_vectors_are_not_trained():
    """Several processes would wait for their gradients."""
    assert not model(encoder=Pretrained, label_encoder=Pretrained).network("en").sparse
    for label_encoder, trained in ((Pretrained, False), (Mean, True)):
        network = model(encoder=Pretrained, label_encoder=label_encoder).network("en")
        assert network.word_vectors.requires_grad is trained


def test_without_a_pretrained_model():
    with pytest.raises(InputError, match=r"set --data\.pretrained"):
        NeuralSystem(encoder=Pretrained).check()
    NeuralSystem(encoder=Pretrained).check(tokenizer=TEXT)
    NeuralSystem(encoder=TUNED).check(tokenizer=TEXT)
    with pytest.raises(InputError, match="texts without subwords"):
        made()(TABLE, Texts.from_flat(*TEXT.documents(SENTENCES)))


def test_sharing():
    tuned, other = made(TUNED), made(TUNED)
    tuned.share_with(other, "encoders")
    assert tuned.transformer is other.transformer
    with pytest.raises(InputError, match="no encoders to share"):
        made().share_with(made(), "encoders")
    made().share_with(made(), "none")


def test_a_list_of_encoders_travels_with_a_checkpoint():
    both = partial(Concatenation, encoders=[Mean, partial(TUNED, lr=2e-5)])
    parts = NeuralSystem(encoder=both).hparams
    assert parts["encoder"]["init_args"]["encoders"] == [
        {"class_path": "gile_lightning.network.encoders.mean.Mean", "init_args": {}},
        {
            "class_path": "gile_lightning.network.encoders.pretrained.Pretrained",
            "init_args": {"trainable": True, "lr": 2e-5},
        },
    ]
    again = instantiate(NeuralSystem, parts)
    assert again.hparams["encoder"] == parts["encoder"]
    first, second = again.factories.encoder(7).encoders
    assert isinstance(first, Mean)
    assert second.trainable


def test_a_model_that_is_trained_beside_frozen_ones_in_bfloat16():
    tokenizer = replace(TEXT, pretrained_backend="torch-bfloat16")
    NeuralSystem(encoder=TUNED).check(tokenizer=tokenizer)
    encoder = Pretrained(1, trainable=True)
    encoder.set_tokenizer(tokenizer)
    assert {weight.dtype for weight in encoder.parameters()} == {torch.float32}


def test_a_model_in_8_bits_is_not_trained(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda name: object())  # as if it were installed
    rounded = replace(TEXT, pretrained_backend="openvino-int8")
    NeuralSystem(encoder=Pretrained).check(tokenizer=rounded)
    with pytest.raises(InputError, match=r"set it to torch, or trainable .* to false"):
        NeuralSystem(encoder=TUNED).check(tokenizer=rounded)
