"""What `prepare --check` reads of a corpus."""

import json

from gile_lightning.data import Columns, Corpus
from gile_lightning.data.inspection import inspect
from gile_testing.corpora import ready


def test_of_the_documents_with_one_id_it_reads_the_encoded_one(tmp_path):
    """The first one has no described label, the second no word; the label of the third changes."""
    others = [("a b c d e f", ["Nope"]), ("", ["Cats"]), ("about cats", ["Kittens"])]
    rows = [
        {"id": i, "text": text, "labels": labels, "split": split}
        for text, labels in others
        for i, split in enumerate(("train", "validation", "test"))
    ]
    files = {"documents": rows, "labels": [{"name": "Cats", "description": "purr"}]}
    files["changes"] = [{"old": "Kittens", "new": "Cats"}]
    for name, own in files.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, own)))
    data = Corpus(
        str(tmp_path / "documents.jsonl"),
        tmp_path / "labels.jsonl",
        columns=Columns(id="id", text="text", labels="labels", split="split"),
        min_count=1,
        label_changes=tmp_path / "changes.jsonl",
        cache_dir=tmp_path / "cache",
    )
    found = inspect(ready(data), None)
    assert found["words_per_document"] == {"mean": 2, "median": 2, "largest": 2, "cut": 0}
    assert found["mentions"]["all"] == {"pairs": 3, "name": 3, "name_or_synonym": 3}
