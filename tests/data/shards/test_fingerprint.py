import importlib.util
import sys

import pytest

from gile_lightning.common.errors import InputError
from gile_testing.corpora import ready

READER = """
from gile_lightning.data import Corpus

class Reader(Corpus):
    def documents(self, skipped):
        return (document._replace(pieces=["{word}"]) for document in super().documents(skipped))
"""


@pytest.fixture
def reader(write, monkeypatch):
    """Imports the class `Reader` of a user's module, as another process would."""

    def reader(word, module="reader", header="", declared=None):
        path = write(f"{module}-{word}.py", header + READER.format(word=word))
        spec = importlib.util.spec_from_file_location(module, path)
        monkeypatch.setitem(sys.modules, module, importlib.util.module_from_spec(spec))
        spec.loader.exec_module(sys.modules[module])
        if declared is not None:
            sys.modules[module].Reader.version = declared
        return sys.modules[module].Reader

    return reader


def test_edited_reader_is_encoded_anew(corpus, reader):
    def key(*args, **options):
        return read(reader(*args, **options)).fingerprint()

    def read(kind):
        given = corpus()
        return kind(given.path, given.labels, cache_dir=given.cache_dir, columns=given.columns)

    for word in ("one", "two"):
        data = ready(read(reader(word)))
        assert data.tasks["english"].tokenizer.vocabulary == [word, "UNK"]
    first = key("one")
    assert key("one", header="# code elsewhere in the file\n") == first
    assert len({first, key("two"), key("one", "another"), key("one", declared=2)}) == 4
    assert key("one", declared=2) == key("one", declared=2)
    assert corpus().fingerprint() != first


def test_reader_without_source_declares_a_version(corpus):
    def read(declared):
        space = {"__name__": "nowhere"}
        exec(READER.format(word="x") + declared, space)
        return space["Reader"](corpus().path).fingerprint()

    with pytest.raises(InputError, match=r"nowhere.Reader: its source.*declare `version = 1`"):
        read("")
    assert read("    version = 1") == read("    version = 1") != read("    version = 2")
