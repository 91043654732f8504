"""Whether figures of other programs are held against their page; the programs are not run."""

import json
from pathlib import Path

import pytest

PEERS = Path(__file__).parent / "peers"
KEPT = {"system": "cosine", "seen ranking loss": 0.8, "seen average precision": 50.0}


@pytest.fixture
def near(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(PEERS)
    import score

    page = tmp_path / "page.json"
    page.write_text(json.dumps({"rows": [KEPT]}))
    return lambda *rows: score.check(list(rows), page)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, True),
        ({"seen average precision": 50.9}, True),
        ({"seen average precision": 51.1}, False),
        ({"seen ranking loss": 0.9}, True),
        ({"seen ranking loss": 1.0}, False),
        ({"unseen average precision": 1.0}, False),
        ({"system": "another"}, False),
    ],
    ids=str,
)
def test_a_figure_that_is_far(near, change, expected):
    assert near(KEPT | change) is expected


def test_nothing_is_not_near(near):
    assert not near()
