"""Whatever a file holds, a reader reads it or says in one sentence what is wrong."""

from random import Random

import pytest

from gile_lightning.common.errors import InputError
from gile_testing.broken import broken
from gile_testing.readers import LABELS, READERS, TEXTS, YAML

DEEP = "[" * 100_000
INPUTS = dict.fromkeys(READERS, 15) | {"configuration": 3}  # whose parser takes longer
# inputs that once ended in something else than an InputError
ONCE = [
    ("configuration", YAML.encode("utf-16")),
    ("configuration", b"trainer: " + b"[\n " * 1000),
    ("configuration", f"base: {'x' * 5000}".encode()),
    ("allMeSH", f"{DEEP}\n".encode()),
    ("allMeSH", f'{{"articles":[\n{{"pmid": {DEEP}]}}\n'.encode()),
    ("labels", f"{LABELS}{DEEP}\n".encode()),
    ("texts", f'{TEXTS}{{"a": {DEEP}\n'.encode()),
    ("DW", f'{{"label_ids": {DEEP}'.encode()),
    ("DW", f'{{"X_ids": [{DEEP}'.encode()),
    ("STIX", f'{{"type": "bundle", "objects": {DEEP}'.encode()),
]


def outcome(name, content, folder, capsys) -> str:
    """Read a file; returns what the reader says is wrong, or an empty text."""
    path = folder / READERS[name].name
    path.write_bytes(content)
    try:
        READERS[name].read(path)
    except InputError as error:
        return str(error)
    except SystemExit as stop:  # of the parser
        return capsys.readouterr().err if stop.code == 2 else f"status {stop.code}"
    return ""


@pytest.mark.parametrize("name", READERS)
def test_broken_input_is_read_or_refused(name, tmp_path, capsys):
    sound = READERS[name].sound.encode()
    assert not outcome(name, sound, tmp_path, capsys)
    inputs = [broken(Random(f"{name} {number}"), sound) for number in range(INPUTS[name])]
    told = [outcome(name, content, tmp_path, capsys) for content in inputs]
    assert any(told)
    assert not [text for text in told if "Traceback" in text or "status" in text]


@pytest.mark.parametrize(("name", "content"), ONCE)
def test_what_was_found_once_is_refused(name, content, tmp_path, capsys):
    told = outcome(name, content, tmp_path, capsys)
    if name == "texts":  # a line that is left out, with a message
        told = capsys.readouterr().err
    assert str(tmp_path) in told or "X_ids" in told or "no such file" in told
    assert len(told) < 6000
