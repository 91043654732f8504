import json
from functools import partial

import pytest

from gile_lightning.commands import explaining
from gile_testing.explanations import explanation


def test_a_page_says_how_many_documents_it_leaves_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(explaining, "PAGE", 2)
    path, explained = tmp_path / "why.html", []

    def explain(number):
        explained.append(number)
        return explanation(id=number)

    with explaining.writer(str(path)) as writer:
        for i in range(3):
            writer.add(partial(explain, i))
    assert explained == [0, 1]  # no other is explained, which takes time
    assert capsys.readouterr().err.startswith(f"{path}: explains the first 2 of 3 documents")
    assert path.read_text().count('<article class="explained">') == 2


def test_json_is_whole_or_not_there(tmp_path):
    path = tmp_path / "why.json"
    for count in range(3):
        with explaining.writer(str(path)) as writer:
            for i in range(count):
                writer.add(partial(explanation, id=i))
        assert [state["id"] for state in json.loads(path.read_text())] == list(range(count))
    with pytest.raises(KeyError), explaining.writer(str(path)) as writer:  # noqa: PT012
        writer.add(partial(explanation, id=5))
        raise KeyError
    assert len(json.loads(path.read_text())) == 2
    assert [x.name for x in tmp_path.iterdir()] == ["why.json"]
