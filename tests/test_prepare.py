import json

from gile_lightning import fit, prepare
from gile_testing import runs


def arguments(cache):
    given = runs.arguments(None, epochs=1)
    given[given.index("--data.cache_dir") + 1] = str(cache)
    return given


def test_prepared_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = runs.call(prepare.main, *arguments(tmp_path / "cache"))
    assert done.status is None
    articles = runs.articles(next((tmp_path / "cache").glob("builtin-*/")))
    tested = sum(int(article["year"]) >= 2005 for article in articles)
    counts = done.result["counts"]
    assert sum(counts["documents"].values()) <= len(articles) == runs.DOCUMENTS
    assert 0 < counts["documents"]["test"] <= tested
    lines = done.printed.splitlines()
    assert "built-in corpus" in lines[0]
    assert "  ".join(f"{k} {n}" for k, n in counts["documents"].items()) + " documents" in lines
    shards = next(line for line in lines if line.startswith("encoded: ")).removeprefix("encoded: ")
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]  # no run folder

    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.*")}
    assert any(str(file).startswith(shards) for file in before)
    trained = runs.call(fit.main, *arguments(tmp_path / "cache"), "--output", tmp_path / "run")
    assert "encoding" in done.errors
    assert "encoding" not in trained.errors
    after = {file: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.*")}
    assert after == before
    assert json.loads((tmp_path / "run/skipped.json").read_text()) == done.result["skipped"]


def test_missing_data(tmp_path):
    done = runs.call(prepare.main, *arguments(tmp_path / "cache"), "--data.path", "/no/where")
    assert done.status == 2
    assert done.errors == "error: /no/where: no such folder (--data.path)\n"
