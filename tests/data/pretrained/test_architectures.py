"""Models of each architecture, with their prompts; the oracle is `SentenceTransformer.encode`."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import Reading, backends, dimension, subwords
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


@pytest.mark.parametrize("case", CASES)
def test_passages(saved, case, monkeypatch):
    """A passage is read as a document of its own: with the prompt, between special tokens."""
    architecture, options, prompt, _ = CASES[case]
    _, reading = saved(architecture, options, prompt)
    monkeypatch.setattr(subwords, "PASSAGE", 1000)
    rows = reading.subwords([*TEXTS, " "])
    flat, counts = np.concatenate(rows), np.array([len(row) for row in rows])
    ids, sizes, passages = reading.passages(flat, counts)
    spaces = architecture in ("qwen3", "modernbert", "gte")  # whose subwords have spaces in them
    assert np.array_equal(ids, flat) or (spaces and prompt)  # whose last space may be another's
    assert sizes.tolist() == counts[:-1].tolist()
    assert passages.tolist() == [1] * len(TEXTS) + [0]
    monkeypatch.setattr(subwords, "PASSAGE", 4)
    words = list("abcdefgh")
    (row,) = reading.subwords([" ".join(words)])
    ids, sizes, (passages,) = reading.passages(row, np.array([len(row)]))
    found = [passage.tolist() for passage in np.split(ids, sizes.cumsum()[:-1])]
    if spaces:
        start = len(reading.subwords(["a"])[0]) - 2
        if prompt and row[0] >= 0:  # the prompt's last space goes with what is behind it
            start -= 1
        parts = np.array_split(row[start:-1], passages)
        expected = [[*row[:start].tolist(), *part.tolist(), int(row[-1])] for part in parts]
    else:
        each = len(words) // passages
        starts = range(0, len(words), each)
        texts = [" ".join(words[i : i + each]) for i in starts]
        expected = [part.tolist() for part in reading.subwords(texts)]
    assert found == expected
    assert passages in (2, 4)


def test_passages_of_further_windows(saved, monkeypatch):
    """They have the prompt that their window lacks."""
    _, reading = saved("bert", {"include_prompt": False}, "a b: ")
    reading = replace(reading, max_subwords=10, max_windows=2)
    monkeypatch.setattr(subwords, "PASSAGE", 3)
    words = list("cdefghijklmn")
    (row,) = reading.subwords([" ".join(words)])
    ids, _, (passages,) = reading.passages(row, np.array([len(row)]))
    windows = [words[:5], words[5:]]  # <s> a b : c d e f g </s>, <s> h i j k l m n </s>
    parts = [windows[0][:3], windows[0][3:], windows[1][:3], windows[1][3:5], windows[1][5:]]
    expected = reading.subwords([" ".join(part) for part in parts])
    assert passages == len(parts)
    assert np.array_equal(ids, np.concatenate(expected))
    # pooling leaves the prompt out of texts that have one, and of no others beside them
    whole = backends.encode(reading.name, torch.from_numpy(row), torch.tensor([len(row)]))
    apart = [row[: row.tolist().index(NEXT)], row[row.tolist().index(NEXT) + 1 :]]
    vectors = [
        backends.encode(reading.name, torch.from_numpy(own), torch.tensor([len(own)]))
        for own in apart
    ]
    mean = sum(len(own) * vector for own, vector in zip(apart, vectors, strict=True))
    torch.testing.assert_close(whole, torch.nn.functional.normalize(mean), rtol=0, atol=1e-5)


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
