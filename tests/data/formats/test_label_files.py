import pytest

from gile_lightning.common.errors import InputError
from gile_lightning.data.formats.label_files import read_labels


def test_labels(write):
    first = {"name": "a", "description": " d ", "synonyms": ["x", "a", "x"], "parents": ["b"]}
    path = write("l.jsonl", [first, {"name": "b"}])
    assert list(read_labels(path)) == [
        (f"{path}:1", "a", "d", ("x",), ("b",)),
        (f"{path}:2", "b", "", (), ()),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "l: no JSON object in the file"),
        ('{"nam": "a", "text": "b"}\n', "l:1: a label needs a 'name'; the keys are nam, text"),
        ('{"name": 5, "description": "b"}\n', "l:1: a label needs a 'name'"),
        ('{"name": ""}\n', "l:1: a label needs a 'name'"),
        ('{"name": "a"}\n{}\n', "l:2: .* the keys are none"),
        ('{"name": "a"}\nbroken\n', "l:2: 1 lines are not JSON"),
        ('{"name": "a"}\n{"name": "b", "synonyms": 5}\n', "l:2: 'synonyms' is not a list"),
    ],
)
def test_unusable_labels(write, content, message):
    with pytest.raises(InputError, match=message):
        list(read_labels(write("l", content)))
