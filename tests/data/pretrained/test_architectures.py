"""Models of each architecture, with their prompts; the oracle is `SentenceTransformer.encode`."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import Reading, backends, dimension, passages
from gile_lightning.data.pretrained.subwords import NEXT
from gile_testing.sentences import SENTENCES
from gile_testing.small_models import save

TEXTS = ["  heart ", *SENTENCES, "Insulin, insulin", "x\n"]
QUERY = "Instruct: name the topics\nQuery: "
CASES = {
    "E5": ("bert", {}, "query: ", "passage: "),
    "BGE": ("bert", {"pooling": "cls", "max_seq_length": 20}, None, None),
    "multilingual E5": ("xlm-roberta", {"max_seq_length": 40}, "query: ", "query: "),
    "BGE-M3": ("xlm-roberta", {"pooling": "cls"}, None, None),
    "Qwen3": ("qwen3", {"pooling": "lasttoken", "prompts": {"query": QUERY}}, "query", None),
    "ModernBERT": ("modernbert", {"pooling": "cls"}, None, "label: "),
    "MPNet": ("mpnet", {}, None, None),
    "GTE": ("gte", {"pooling": "cls"}, None, None),
    "Gemma": (
        "gemma3_text",
        {"dense": 24, "prompts": {"query": "task: "}, "default_prompt_name": "query"},
        None,
        "",
    ),
    "INSTRUCTOR": ("bert", {"include_prompt": False}, "Represent the text: ", "Name: "),
    "SGPT": ("qwen3", {"pooling": "weightedmean", "include_prompt": False}, "[a: ", "b: "),
    "two poolings": ("bert", {"pooling": ("cls", "max")}, None, None),
}


@pytest.fixture
def saved(tmp_path):
    """Saves a model, and returns the library's with our reading of it."""

    def made(architecture, options=None, document=None, label=None):
        model = save(tmp_path, architecture, **(options or {}))
        name = str(tmp_path / "model")
        return model, Reading(name, document_prompt=document, label_prompt=label)

    return made


def expected(model, prompt):
    by_name = {"prompt_name": prompt} if prompt in model.prompts else {"prompt": prompt}
    options = {} if prompt is None else by_name
    # one by one: before 6.2, the library's weighted mean of texts padded on the left is another
    options |= {"batch_size": 1, "normalize_embeddings": True, "convert_to_tensor": True}
    return model.encode(TEXTS, **options)


def vectors(reading, kind):
    rows = reading.subwords(TEXTS, kind)
    counts = torch.tensor([len(row) for row in rows])
    return backends.encode(reading.name, torch.from_numpy(np.concatenate(rows)), counts)


@pytest.mark.parametrize("case", CASES)
def test_vectors_are_those_of_the_library(saved, case):
    architecture, options, *prompts = CASES[case]
    model, reading = saved(architecture, options, *prompts)
    for kind, prompt in zip(("document", "label"), prompts, strict=True):
        found = vectors(reading, kind)
        torch.testing.assert_close(found, expected(model, prompt), rtol=0, atol=1e-5)
    assert found.shape[1] == dimension(reading.name)
    apart = (found[0] - found[1:]).norm(dim=1)  # so that the oracle can tell texts apart
    assert apart.min() > 1e-3


def averaged(model, rows, hidden):
    """Return the mean outputs of each passage of windows [P, d], from the library's outputs."""
    found = []
    for row in rows:
        ids = torch.from_numpy(np.where(row < 0, ~row, row)).long().unsqueeze(0)
        with torch.no_grad():
            features = model[0]({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
            outputs = features["token_embeddings"][0]
            for dense in list(model)[2:-1]:  # between the pooling and the norm
                outputs = dense({"sentence_embedding": outputs})["sentence_embedding"]
        outputs = outputs[hidden:]  # without the prompt that pooling leaves out
        number = -(-len(outputs) // passages.PASSAGE)
        places = torch.arange(len(outputs)) * number // len(outputs)
        means = [outputs[places == i].mean(0) for i in range(number)]
        found += torch.nn.functional.normalize(torch.stack(means))
    return torch.stack(found)


@pytest.mark.parametrize("case", CASES)
def test_passages(saved, case, monkeypatch):
    """A passage is the mean of what the whole window makes of its subwords."""
    architecture, options, prompt, _ = CASES[case]
    model, reading = saved(architecture, options, prompt)
    monkeypatch.setattr(passages, "PASSAGE", 4)
    rows = reading.subwords([*TEXTS, " "])
    flat = torch.from_numpy(np.concatenate(rows))
    counts = torch.tensor([len(row) for row in rows])
    if case == "two poolings":
        with pytest.raises(InputError, match=r"leave matchers\.BestPassage out"):
            backends.encode_with_passages(reading.name, flat, counts)
        return
    found = backends.encode_with_passages(reading.name, flat, counts)
    torch.testing.assert_close(found.vectors, backends.encode(reading.name, flat, counts))
    hidden = int((rows[0] < 0).sum())
    oracle = averaged(model, rows[:-1], hidden)
    torch.testing.assert_close(found.passages, oracle, rtol=0, atol=1e-5)
    assert len(oracle) > 1.5 * len(rows)
    expected_counts = [-(-(len(row) - hidden) // 4) for row in rows[:-1]] + [0]
    assert found.passage_counts.tolist() == expected_counts


def test_passages_of_further_windows(saved, monkeypatch):
    """None reaches over the end of its window."""
    model, reading = saved("bert", {"include_prompt": False}, "a b: ")
    reading = replace(reading, max_subwords=10, max_windows=2)
    monkeypatch.setattr(passages, "PASSAGE", 3)
    texts = ["g h", " ".join("cdefghijklmn"), "c"]  # windows of 7, of 10 and 9, of 6
    rows = [torch.from_numpy(row) for row in reading.subwords(texts)]
    flat, counts = torch.cat(rows), torch.tensor([len(row) for row in rows])
    found = backends.encode_with_passages(reading.name, flat, counts)
    assert found.passage_counts.tolist() == [1, 2 + 3, 1]
    between = rows[1].tolist().index(NEXT)
    apart = [rows[0], rows[1][:between], rows[1][between + 1 :], rows[2]]
    # the second window has no prompt, and so nothing that is left out
    oracle = [averaged(model, [row.numpy()], 4 * (i != 2)) for i, row in enumerate(apart)]
    torch.testing.assert_close(found.passages, torch.cat(oracle), rtol=0, atol=1e-5)
    vectors = [backends.encode(reading.name, own, torch.tensor([len(own)])) for own in apart[1:3]]
    mean = sum(len(own) * vector for own, vector in zip(apart[1:3], vectors, strict=True))
    expected = torch.nn.functional.normalize(mean)
    torch.testing.assert_close(found.vectors[1:2], expected, rtol=0, atol=1e-5)


def test_a_prompt_that_pooling_leaves_out(saved):
    _, reading = saved("bert", {"include_prompt": False}, "a b: ", "")
    (row,), (plain,) = reading.subwords(["heart"]), reading.subwords(["heart"], "label")
    assert (row < 0).tolist() == [True] * 4 + [False] * (len(plain) - 1)  # <s> a b :
    assert plain.min() >= 0


def test_an_unknown_prompt_is_refused(saved):
    _, reading = saved("bert", {"prompts": {"query": "q: "}}, "quer")
    with pytest.raises(InputError, match=r"data\.document_prompt is 'quer'; .*: document, query"):
        reading.state()


def test_own_code_is_refused(saved, tmp_path):
    _, reading = saved("bert")
    config, modules = (tmp_path / "model" / name for name in ("config.json", "modules.json"))
    text = config.read_text()
    config.write_text(json.dumps(json.loads(text) | {"auto_map": {"AutoModel": "modeling.New"}}))
    with pytest.raises(InputError, match=r"brings code of its own \(auto_map\)"):
        reading.state()
    config.write_text(text)
    for kind, message in (("own.Layer", r"own code|code of its own"), ("x.Static", "begins with")):
        listed = json.loads(modules.read_text())
        listed[1 if kind == "own.Layer" else 0]["type"] = kind
        modules.write_text(json.dumps(listed))
        with pytest.raises(InputError, match=message):
            reading.state()


@pytest.mark.parametrize("lower", [True, False])
def test_lower_case(saved, tmp_path, lower):
    saved("qwen3", {"pooling": "lasttoken"})
    file = tmp_path / "model" / "sentence_bert_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"do_lower_case": lower}))
    (upper,), (plain,) = (
        Reading(str(tmp_path / "model")).subwords([x]) for x in ("HEART", "heart")
    )
    assert (upper.tolist() == plain.tolist()) is lower


def test_maximal_length(saved):
    _, reading = saved("bert", {"max_seq_length": 20})
    for asked, length in ((None, 20), (7, 7)):
        (row,) = Reading(reading.name, asked).subwords([SENTENCES[4]])
        assert len(row) == length
    with pytest.raises(InputError, match="max_subwords is 21"):
        Reading(reading.name, 21).state()
