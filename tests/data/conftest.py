import gzip
import json

import pytest

from gile_lightning.data import Columns, Corpus
from gile_testing.corpora import ready

LABELS = [{"name": name, "description": f"about {name}"} for name in ("x", "y", "z", "old", "new")]
DOCUMENTS = [
    {
        "id": i,
        "text": f"common {'even' if i % 2 == 0 else 'odd'} w{'abcdefghij'[i % 10]}",
        "labels": ["xyz"[i % 3], "old" if i < 10 else "new"],
        "year": 1995 + i,  # 10 documents before 2005, 10 from then on
    }
    for i in range(20)
]


@pytest.fixture
def rows():
    """The raw documents that `corpus` has unless given others."""
    return [dict(row) for row in DOCUMENTS]


@pytest.fixture
def write(tmp_path):
    """Writes bytes, text or JSON lines below the test's folder, gzipped if the name says so."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, list):
            content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        if isinstance(content, str):
            content = content.encode()
        if path.suffix == ".gz":
            content = gzip.compress(content, mtime=0)
        if not path.is_file() or path.read_bytes() != content:  # its time identifies a file
            path.write_bytes(content)
        return path

    return write


@pytest.fixture
def corpus(write, tmp_path):
    """Makes a `Corpus` of JSON lines, split by year unless told otherwise."""

    def make(documents=DOCUMENTS, labels=LABELS, **options):
        path = write("documents.jsonl", documents) if isinstance(documents, list) else documents
        defaults = {
            "columns": Columns(year="year"),
            "min_count": 1,
            "cache_dir": tmp_path / "cache",
        }
        return Corpus(str(path), write("labels.jsonl", labels), **(defaults | options))

    return make


@pytest.fixture
def prepared(corpus):
    """Makes a `Corpus` and encodes it."""

    def make(*args, **options):
        return ready(corpus(*args, **options))

    return make
