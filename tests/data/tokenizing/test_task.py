import json

from gile_lightning.data.formats.descriptions import TextRecipe
from gile_lightning.data.tokenizing.label_set import LabelSet
from gile_lightning.data.tokenizing.task import Task
from gile_lightning.data.tokenizing.tokenizer import Tokenizer

TASK = Task(
    Tokenizer(["ärzte", "'s", "\u200b", "細胞", "UNK"], max_document_words=7, max_label_words=3),
    LabelSet(["Änderung", "b, c"], ["line\nbreak", '"quoted"'], [4, 0], 9, [["Wandel"], []]),
    TextRecipe("name", True, 2, True, ("title", "text"), "lang"),
)


def test_saved_and_loaded(tmp_path):
    TASK.save(tmp_path / "task.json")
    loaded = Task.load(tmp_path / "task.json")
    assert loaded == TASK
    assert loaded.labels.synonyms == [["Wandel"], []]


def test_an_earlier_version_knew_no_language():
    """Its language is then the name of the task; words were never parted at apostrophes."""
    german = Task(Tokenizer(["a", "UNK"], language="german"), TASK.labels)
    stored = german.state()
    assert Task.from_state(stored, "text") == german
    del stored["language"], stored["elision"]
    assert Task.from_state(stored, "german") == german
    assert Task.from_state(stored).tokenizer.language == "english"


def test_loaded_encodes_alike():
    loaded = Task.from_state(json.loads(json.dumps(TASK.state())))
    words, lengths, sentences = loaded.tokenizer.documents(
        ["Ärzte’s 細胞 x ärzte ärzte ärzte ärzte"]
    )
    assert words.tolist() == [0, 1, 3, 4, 0, 0, 0]
    assert lengths.tolist() == [7]
    assert sentences.tolist() == [1]
    assert loaded.labels.ids == {"Änderung": 0, "b, c": 1}


def test_new_words_of_other_labels():
    labels = LabelSet(["new, b", "b, c"], ["d 細胞", "x y"], [0, 0], synonyms=[["e E"], []])
    text = TASK.with_labels(labels).tokenizer
    # those of the first; the second label has another text than before
    assert text.further == ("new", ",", "b", "d", "e", "c", "x", "y")
    assert text.word_ids(["細胞", "UNK", "new", ",", "z"]) == [3, 4, 5, 6, 4]
    assert text.settings() == TASK.tokenizer.settings()
    assert TASK.with_labels(labels).labels is labels


def test_labels_of_its_own_have_no_new_words():
    own = TASK.labels
    reordered = LabelSet(own.names[::-1], own.texts[::-1], [0, 0], synonyms=own.synonyms[::-1])
    assert TASK.with_labels(reordered).tokenizer == TASK.tokenizer
    more = own.extended(["x"], {"x": "line"})
    assert TASK.with_labels(more).tokenizer.further == ("x", "line")


def test_word_vectors_have_no_new_words():
    text = Tokenizer(["a", "UNK"], known_words_only=True)
    known = Task(text, LabelSet(["a"], ["a"], [1]))
    assert known.with_labels(LabelSet(["b"], ["b"], [0])).tokenizer == text


def test_new_words_are_saved(tmp_path):
    extended = TASK.with_labels(LabelSet(["new"], ["words"], [0]))
    assert "further" not in TASK.state()
    extended.save(tmp_path / "task.json")
    loaded = Task.load(tmp_path / "task.json")
    assert loaded == extended
    assert loaded.tokenizer.word_ids(["new", "words"]) == [5, 6]
