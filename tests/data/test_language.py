import json

from gile_lightning.data.labels import LabelSet
from gile_lightning.data.language import Language
from gile_lightning.data.text import TextEncoder

LANGUAGE = Language(
    TextEncoder(["ärzte", "'s", "\u200b", "細胞", "UNK"], max_document_words=7, max_label_words=3),
    LabelSet(["Änderung", "b, c"], ["line\nbreak", '"quoted"'], [4, 0], 9, [["Wandel"], []]),
)


def test_saved_and_loaded(tmp_path):
    LANGUAGE.save(tmp_path / "language.json")
    loaded = Language.load(tmp_path / "language.json")
    assert loaded == LANGUAGE
    assert loaded.labels.synonyms == [["Wandel"], []]


def test_loaded_encodes_alike():
    loaded = Language.from_state(json.loads(json.dumps(LANGUAGE.state())))
    words, lengths, sentences = loaded.text.documents(["Ärzte’s 細胞 x ärzte ärzte ärzte ärzte"])
    assert words.tolist() == [0, 1, 3, 4, 0, 0, 0]
    assert lengths.tolist() == [7]
    assert sentences.tolist() == [1]
    assert loaded.labels.ids == {"Änderung": 0, "b, c": 1}
