"""The corpus that the page of one's own taxonomy walks through."""

import csv
import json
import runpy
from collections import Counter
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "docs" / "examples" / "help_desk.py"


def test_the_help_desk_has_20_topics_and_300_tickets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(SCRIPT), run_name="__main__")
    topics = list(csv.DictReader((tmp_path / "topics.csv").read_text().splitlines()))
    names = [topic["name"] for topic in topics]
    assert len(set(names)) == 20
    assert all(topic["description"] and topic["synonyms"] for topic in topics)
    tickets = [json.loads(x) for x in (tmp_path / "tickets.jsonl").read_text().splitlines()]
    assert len({ticket["id"] for ticket in tickets}) == 300
    counts = Counter(name for ticket in tickets for name in ticket["topics"])
    assert counts.keys() == set(names)
    assert min(counts.values()) >= 300 / 20  # every topic has its turn
    assert (tmp_path / "tickets.jsonl").stat().st_size < 100_000
